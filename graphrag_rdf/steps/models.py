"""Asking the model from a step: render the prompt, call, record the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import LlmError
from graphrag_rdf.steps.prompts import render
from graphrag_rdf.steps.state import Context
from graphrag_rdf.trace.recorder import ModelCall, Step

if TYPE_CHECKING:
    from graphrag_rdf.llm.model import Completion


def ask_model(context: Context, step: Step, purpose: str, *, prompt: str, **values: Any) -> str:
    """The model's whole answer to one of the step's prompts; the call is recorded with the step.

    Args:
        prompt: what the prompt is for, as the kind of the step declares it.

    Raises:
        LlmError: when the call fails after its retries, or no model is set.
    """
    gateway, text = _ready(context, prompt, values)
    messages = [{"role": "user", "content": text}]
    completion = gateway.chat(messages, purpose=purpose, since=context.recorder.began)
    _record(context, step, purpose, text, completion)
    return str(completion.text)


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
    gateway, text = _ready(context, prompt, values)
    messages = [{"role": "user", "content": text}]
    stream = gateway.stream(messages, purpose=purpose, since=context.recorder.began)
    try:
        yield from stream
    finally:
        stream.close()
    _record(context, step, purpose, text, stream.completion)
    done(stream.completion)


def _ready(context: Context, prompt: str, values: dict[str, Any]) -> tuple[Any, str]:
    if context.gateway is None:
        raise LlmError(
            "this step needs a model and none is set",
            kind="model",
            hint="name one with --model, or let the step use rules",
        )
    return context.gateway, render(context.prompt_folders, context.prompts[prompt], **values)


def _record(context: Context, step: Step, purpose: str, prompt: str, completion: Any) -> None:
    call = ModelCall(
        purpose=purpose,
        model=completion.model,
        prompt=prompt,
        completion=completion.raw,
        in_tokens=completion.in_tokens,
        out_tokens=completion.out_tokens,
        cost_usd=completion.cost_usd,
        seconds=completion.seconds,
        cached=completion.cached,
        cached_in_tokens=completion.cached_in_tokens,
    )
    context.recorder.called(step, call)
