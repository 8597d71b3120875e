"""One call: its prompt as it is sent, its usage, and its raw answer."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphrag_rdf.i18n import tr
from graphrag_rdf.llm.budget import Budget, Reservation, Slot
from graphrag_rdf.llm.failures import Target, failure
from graphrag_rdf.llm.model import (
    CHARS_PER_TOKEN,
    Completion,
    Message,
    encodable,
    estimate_tokens,
    prompt_hash,
)


@dataclass(frozen=True)
class Asked:
    """A chat call as it was asked for.

    Attributes:
        parameters: everything but model and messages that changes the answer.
        hash: see `Completion.prompt_hash`.
        clock: monotonic seconds at the start.
        since: monotonic seconds when the texts in the messages were read, at the earliest.
        shared: characters at the beginning of the first message that other calls begin with too.
        deadline: monotonic seconds when nobody waits for an answer any more.
        answers: how many the answer contains.
    """

    model: str
    messages: tuple[Message, ...]
    parameters: Mapping[str, Any]
    since: float
    shared: int = 0
    deadline: float = math.inf
    answers: int = 1
    hash: str = field(init=False)
    clock: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", prompt_hash(self.model, self.messages, self.parameters))

    @property
    def prompt(self) -> str:
        """The texts of all messages."""
        return "\n".join(message["content"] for message in self.messages)

    @property
    def size(self) -> int:
        """Expected prompt tokens."""
        return estimate_tokens(self.messages)

    def completion(
        self,
        raw: str,
        finish_reason: str | None,
        tokens: Told,
        cost_usd: float | None,
        attempts: int,
    ) -> Completion:
        """The answer to it, received just now."""
        seconds = time.monotonic() - self.clock
        return Completion(
            raw,
            self.model,
            tokens.read,
            tokens.written,
            cost_usd,
            False,
            finish_reason,
            seconds,
            attempts,
            self.hash,
            tokens.cached,
        )


class Take:
    """The usage of one attempt: call it with tokens and cost once they are known.

    Attributes:
        slot: its place in the rate limits.
        begun: an answer began, so it costs even if it breaks off.
    """

    def __init__(self, budget: Budget, reserved: Reservation) -> None:
        self.slot: Slot | None = None
        self.begun = False
        self._budget = budget
        self._reserved = reserved
        self._settled = False

    def __call__(self, tokens: Told, cost_usd: float | None) -> None:
        self._settled = True
        self._budget.settle(self._reserved, tokens.read, tokens.written, cost_usd, tokens.cached)
        if self.slot is not None and tokens.read is not None:
            self.slot.tokens = tokens.read + (tokens.written or 0)

    def close(self) -> None:
        """Settle a begun attempt, release another."""
        if self._settled:
            return
        if self.begun:
            self(Told(), None)
        else:
            self._budget.release(self._reserved)


def raw_output(content: str | None, thinking: str | None, finish_reason: str | None, target: Target) -> str:
    """The output of a model, with thinking between tags.

    Args:
        content: as received; null is no answer, unless the token limit left no room for one.
        thinking: thinking that the server or litellm has separated.

    Raises:
        LlmError: there is no answer.
    """
    if content is not None or finish_reason == "length":
        return (f"<think>{thinking}</think>" if thinking else "") + (content or "")
    if finish_reason == "content_filter":
        raise failure("bad_request", tr("a content filter withheld the answer"), target)
    raise failure("server", tr("an answer without text"), target)


def written_call(content: str | None, calls: Sequence[Any] | None) -> str | None:
    """What a model wrote, with the first function that it calls in lines `Action:` and `Args:`."""
    if not calls:
        return content
    function = calls[0].function
    return f"{content or ''}\nAction: {function.name}\nArgs: {function.arguments or '{}'}".lstrip()


class Told(NamedTuple):
    """Reported tokens: of the prompt, of the answer, and of the prompt those from the provider's cache."""

    read: int | None = None
    written: int | None = None
    cached: int | None = None


def told_tokens(usage: Any) -> Told:
    """The tokens that a server reported.

    litellm has 0 for unreported ones; as no prompt has 0 tokens, that is unambiguous.
    """
    read = getattr(usage, "prompt_tokens", None) or None
    if read is None:
        return Told()
    details = getattr(usage, "prompt_tokens_details", None)
    return Told(
        read, getattr(usage, "completion_tokens", None), getattr(details, "cached_tokens", None) or None
    )


_WORTH = 1024 * CHARS_PER_TOKEN
"""Characters: shorter beginnings are not kept, whether they are marked or not."""


def marked_messages(asked: Asked, target: Target) -> list[dict[str, Any]]:
    """The messages of a call, for litellm."""
    messages: list[dict[str, Any]] = [
        {**message, "content": encodable(message["content"])} for message in asked.messages
    ]
    if target.provider == "anthropic" and asked.shared >= _WORTH:
        text = messages[0]["content"]
        mark = {"type": "ephemeral"}
        messages[0]["content"] = [
            {"type": "text", "text": text[: asked.shared], "cache_control": mark},
            {"type": "text", "text": text[asked.shared :]},
        ]
    return messages
