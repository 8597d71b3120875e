"""Prompts: rendered from templates, with outside text kept inside its tags, and sent to the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from jinja2 import StrictUndefined
from jinja2 import TemplateError as JinjaError
from jinja2.loaders import FileSystemLoader
from jinja2.sandbox import ImmutableSandboxedEnvironment

from graphrag_rdf.errors import LlmError, TemplateError
from graphrag_rdf.i18n import tr
from graphrag_rdf.llm.model import fenced
from graphrag_rdf.steps.state import Context
from graphrag_rdf.trace.model import Call
from graphrag_rdf.trace.recorder import Step

if TYPE_CHECKING:
    from graphrag_rdf.llm.model import Completion


T = TypeVar("T")

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@cache
def _environment(folders: tuple[Path, ...]) -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        autoescape=False,
    )


def render(folders: tuple[Path, ...], name: str, **values: Any) -> str:
    """A prompt for these values; every text among them is `quoted` first.

    Args:
        folders: where the template is; the first that has it counts.

    Raises:
        TemplateError: when the template is missing or fails.
    """
    try:
        return _environment(folders).get_template(name).render(quoted(values)).strip()
    except (JinjaError, OSError) as error:
        raise TemplateError(
            tr("prompt {file}: {error}").format(file=folders[0] / name, error=error)
        ) from error


def quoted(value: Any) -> Any:
    """Data that cannot end the tags it stands between: our own tags in it lose their first bracket."""
    if isinstance(value, str):
        return fenced(_CONTROL.sub("\ufffd", value))
    if isinstance(value, dict):
        return {key: quoted(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [quoted(item) for item in value]
    return value


def ask_model(context: Context, step: Step, purpose: str, *, prompt: str, **values: Any) -> str:
    """The text of `complete`, which has the same arguments and errors."""
    return complete(context, step, purpose, prompt=prompt, **values).text


def complete(
    context: Context,
    step: Step,
    purpose: str,
    *,
    prompt: str,
    functions: Sequence[Mapping[str, Any]] = (),
    **values: Any,
) -> Completion:
    """The model's whole answer to one of the step's prompts; the call is recorded with the step.

    Args:
        prompt: what the prompt is for, as the kind of the step declares it.
        functions: that the model may call, see `LlmGateway.chat`.

    Raises:
        LlmError: when the call fails after its retries, or no model is set (a filter's, say; a step
            that needs one does not begin).
    """
    gateway, text = _ready(context, prompt, {**values, "functions": functions})
    messages = [{"role": "user", "content": text}]
    completion: Completion = gateway.chat(
        messages,
        purpose=purpose,
        since=context.recorder.began,
        functions=functions,
        deadline=context.deadline,
    )
    record_call(context, step, purpose, text, completion)
    return completion


def ask_for(
    context: Context, step: Step, purpose: str, read: Callable[[str], T], *, prompt: str, **values: Any
) -> T:
    """What can be read from the model's answer; it is asked once more, with the fault, if nothing can.

    Args:
        read: raises ValueError with the fault, without words of the answer.
        prompt: has the value `fault`, "" the first time.

    Raises:
        LlmError: a call failed, or the second answer cannot be read either (kind `unparsable`; both are taken
            out of the cache then, so that another run asks again).
    """
    answers: list[Completion] = []
    fault = ""
    for _ in range(2):
        completion = complete(context, step, purpose, prompt=prompt, fault=fault, **values)
        answers.append(completion)
        try:
            return read(completion.text)
        except ValueError as error:
            fault = str(error)
    for completion in answers:
        if context.gateway is not None:
            context.gateway.discard(completion)
    raise LlmError(tr("the model's answer cannot be read: {fault}").format(fault=fault), "unparsable")


def stream_model(
    context: Context,
    step: Step,
    purpose: str,
    done: Callable[[Completion], None],
    *,
    prompt: str,
    **values: Any,
) -> Iterator[str]:
    """The model's answer piece by piece; the call is recorded when it is complete.

    Args:
        done: called with the whole answer.
        prompt: what the prompt is for, as the kind of the step declares it.

    Raises:
        LlmError: when the call fails, also half-way.
    """

    def ended(text: str, completion: Completion) -> None:
        record_call(context, step, purpose, text, completion)
        done(completion)

    return open_stream(context, purpose, ended, prompt=prompt, **values)


def open_stream(
    context: Context, purpose: str, done: Callable[[str, Completion], None], *, prompt: str, **values: Any
) -> Iterator[str]:
    """As `stream_model`, of a call that is not recorded yet.

    Args:
        done: called with the prompt and the whole answer.
    """
    gateway, text = _ready(context, prompt, values)
    messages = [{"role": "user", "content": text}]
    stream = gateway.stream(
        messages, purpose=purpose, since=context.recorder.began, deadline=context.deadline
    )
    try:
        for piece in stream:
            context.seconds_left()
            yield piece
    finally:
        stream.close()
    done(text, stream.completion)


def _ready(context: Context, prompt: str, values: dict[str, Any]) -> tuple[Any, str]:
    if context.gateway is None:
        raise LlmError(tr("this needs a model, and none is set"), "model", tr("name one with --model"))
    return context.gateway, render(context.prompt_folders, context.prompts[prompt], **values)


def record_call(context: Context, step: Step, purpose: str, prompt: str, completion: Completion) -> None:
    """Record a call to a model with a step."""
    call = Call(
        "llm",
        purpose=purpose,
        model=completion.model,
        in_tokens=completion.in_tokens,
        out_tokens=completion.out_tokens,
        cached_in_tokens=completion.cached_in_tokens,
        ms=round(completion.seconds * 1000),
        cached=completion.cached,
        cost_usd=completion.cost_usd,
    )
    context.recorder.called(step, call, prompt, completion.raw)
