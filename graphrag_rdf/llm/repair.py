"""Checks the form of an answer, and asks the model once more, with the reason, if it has another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from graphrag_rdf.errors import LlmError
from graphrag_rdf.i18n import tr
from graphrag_rdf.llm.model import Completion, Message

if TYPE_CHECKING:
    from graphrag_rdf.llm.gateway import LlmGateway

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


def in_form(form: type[M], item: object) -> M:
    """An object of an answer, validated.

    Raises:
        ValueError: its first three faults, without words of the answer.
    """
    try:
        return form.model_validate(item)
    except ValidationError as error:
        faults = error.errors(include_input=False, include_context=False, include_url=False)[:3]
        message = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults)
        raise ValueError(message) from None


def ask_for(
    gateway: LlmGateway,
    prompt: str,
    read: Callable[[Completion], T],
    *,
    what: str,
    form: str,
    hint: str,
    purpose: str,
    model: str | None,
    json_mode: bool = False,
    use_cache: bool = True,
) -> tuple[T, list[Completion]]:
    """Ask a model, at most twice, until its answer can be read.

    Args:
        read: makes of an answer what was asked for; raises ValueError with the fault, without words of it.
        what: that is asked for, such as "report".
        form: of a good answer, as the model is told in the second question.
        hint: a way out for people.

    Returns:
        (what was asked for, the answers in order).

    Raises:
        LlmError: a call failed, or the second answer cannot be read either (kind `unparsable`; the answers
            are then taken out of the cache, so that another run asks again).
    """
    messages: list[Message] = [{"role": "user", "content": prompt}]
    answers: list[Completion] = []
    fault = ""
    for _ in range(2):
        answer = gateway.chat(
            messages, purpose=purpose, json_mode=json_mode, model=model, use_cache=use_cache
        )
        answers.append(answer)
        try:
            return read(answer), answers
        except ValueError as error:
            fault = str(error)
        again = f"That is not a {what}: {fault}. Answer again, with {form}."
        messages += [{"role": "assistant", "content": answer.text}, {"role": "user", "content": again}]
    for answer in answers:
        gateway.discard(answer)
    raise LlmError(
        tr("the model's answer is no {what}: {fault}").format(what=what, fault=fault), "unparsable", hint
    )
