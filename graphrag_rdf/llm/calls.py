"""One call on its way: what is asked, what it takes, and what its raw answer says."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from graphrag_rdf.llm.budget import Budget, Reservation
from graphrag_rdf.llm.failures import Target, failure
from graphrag_rdf.llm.limits import Slot
from graphrag_rdf.llm.model import CallRecord, Completion, Message, estimate_tokens, prompt_hash


@dataclass(frozen=True)
class Asked:
    """A chat call as it was asked for.

    Attributes:
        parameters: everything but model and messages that changes the answer.
        hash: see `Completion.prompt_hash`.
        clock: monotonic seconds at the start.
        since: monotonic seconds when the texts in the messages were read, at the earliest.
    """

    model: str
    messages: tuple[Message, ...]
    parameters: Mapping[str, Any]
    purpose: str
    since: float
    hash: str = field(init=False)
    clock: float = field(default_factory=time.monotonic)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

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
        tokens: tuple[int | None, int | None],
        cost_usd: float | None,
        attempts: int,
    ) -> Completion:
        """The answer to it, come just now."""
        seconds = time.monotonic() - self.clock
        return Completion(
            raw, self.model, *tokens, cost_usd, False, finish_reason, seconds, attempts, self.hash
        )

    def record(self, completion: Completion | None, error: str | None) -> CallRecord:
        """The entry of the log."""
        return CallRecord(
            self.purpose, self.model, self.messages, self.parameters, completion, error, self.started
        )


class Take:
    """What one attempt takes from the limits: call it with tokens and cost as they come to be known.

    Attributes:
        slot: its place in the rate limits.
        begun: an answer began to come, so it is paid for even if it breaks off.
    """

    def __init__(self, budget: Budget, reserved: Reservation) -> None:
        self.slot: Slot | None = None
        self.begun = False
        self._budget = budget
        self._reserved = reserved
        self._settled = False

    def __call__(self, in_tokens: int | None, out_tokens: int | None, cost_usd: float | None) -> None:
        self._settled = True
        self._budget.settle(self._reserved, in_tokens, out_tokens, cost_usd)
        if self.slot is not None and in_tokens is not None:
            self.slot.tokens = in_tokens + (out_tokens or 0)

    def close(self) -> None:
        """Settle what was begun, give back what was not."""
        if self._settled:
            return
        if self.begun:
            self(None, None, None)
        else:
            self._budget.release(self._reserved)


def raw_output(content: str | None, thinking: str | None, finish_reason: str | None, target: Target) -> str:
    """The output of a model, with thinking between tags.

    Args:
        content: as it came; null is no answer, unless the limit of tokens left no room for any.
        thinking: what the server or litellm has separated from it.

    Raises:
        LlmError: there is no answer.
    """
    if content is not None or finish_reason == "length":
        return (f"<think>{thinking}</think>" if thinking else "") + (content or "")
    if finish_reason == "content_filter":
        raise failure("bad_request", "a content filter withheld the answer", target)
    raise failure("server", "an answer without text", target)


def told_tokens(usage: Any) -> tuple[int | None, int | None]:
    """Prompt and answer tokens as a server told them.

    litellm puts 0 where a server is silent; as no prompt has 0 tokens, that stands for silence.
    """
    read = getattr(usage, "prompt_tokens", None) or None
    return (read, getattr(usage, "completion_tokens", None)) if read is not None else (None, None)
