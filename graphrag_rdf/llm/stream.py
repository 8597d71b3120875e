"""Streamed answers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from graphrag_rdf.i18n import tr
from graphrag_rdf.llm.calls import Take, Told, raw_output, told_tokens
from graphrag_rdf.llm.failures import Target, failure
from graphrag_rdf.llm.model import Completion, ThinkingFilter


class ChatStream:
    """The pieces of one answer; iterate once. Closing it, or leaving its `with` block, closes the connection.

    Args:
        pieces: given the function to call with the whole completion, yields its pieces.
    """

    def __init__(self, pieces: Callable[[Callable[[Completion], None]], Generator[str, None, None]]) -> None:
        self._completion: Completion | None = None
        self._pieces = pieces(self._finish)

    def __iter__(self) -> Iterator[str]:
        return self._pieces

    def __enter__(self) -> ChatStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def completion(self) -> Completion:
        """The whole answer.

        Raises:
            RuntimeError: the stream was not read to its end.
        """
        if self._completion is None:
            raise RuntimeError("a stream has a completion once all its pieces are read")
        return self._completion

    def close(self) -> None:
        """Stop; the rest is not requested."""
        self._pieces.close()

    def _finish(self, completion: Completion) -> None:
        self._completion = completion


class OpenStream:
    """A stream after its first piece, or its end without one. Thinking is not returned.

    Args:
        spending: the attempt's share of limits and budget; held until the stream ends.
        send: opens litellm's stream.
        price: cost in USD of prompt and answer tokens, None when unknown.
        target: what is called.
        attempt: its number.
        inside: it begins within thinking, see `ThinkingFilter`.

    Raises:
        LlmError: it broke before the first piece, so it can be retried.
    """

    def __init__(
        self,
        spending: AbstractContextManager[Take],
        send: Callable[[], Any],
        price: Callable[[int, int], float | None],
        target: Target,
        attempt: int,
        *,
        inside: bool = False,
    ) -> None:
        self.attempt = attempt
        self.raw = ""
        self.finish_reason: str | None = None
        self.tokens = Told()
        self.cost_usd: float | None = None
        self._price = price
        self._target = target
        self._thinking = ThinkingFilter(inside=inside)
        with contextlib.ExitStack() as stack:
            self._take = stack.enter_context(spending)
            raw = send()
            stack.callback(_close, raw)
            self._pieces = self._read(raw)
            self._first = next(self._pieces, None)
            self._stack = stack.pop_all()

    def __iter__(self) -> Iterator[str]:
        with self._stack:
            if self._first is not None:
                yield self._first
                yield from self._pieces

    def _read(self, raw: Any) -> Iterator[str]:
        pieces: list[str] = []
        thoughts: list[str] = []
        for chunk in raw:
            usage = getattr(chunk, "usage", None)
            if usage is not None:
                self.tokens = told_tokens(usage)
            if not chunk.choices:
                continue
            self.finish_reason = chunk.choices[0].finish_reason or self.finish_reason
            delta = chunk.choices[0].delta
            piece, thought = delta.content or "", getattr(delta, "reasoning_content", None) or ""
            self._take.begun = self._take.begun or bool(piece or thought)
            pieces.append(piece)
            thoughts.append(thought)
            if shown := self._thinking.feed(piece):
                yield shown
        if not _is_finished(raw):
            raise failure("connection", tr("the stream ended before the answer did"), self._target)
        self.raw = raw_output("".join(pieces), "".join(thoughts), self.finish_reason, self._target)
        if self.tokens.read is not None and self.tokens.written is not None:
            self.cost_usd = self._price(self.tokens.read, self.tokens.written)
        self._take(self.tokens, self.cost_usd)
        if text_left := self._thinking.end():
            yield text_left


def _is_finished(raw: Any) -> bool:
    """Whether the server ended its answer; when the connection just closes, litellm ends it with "stop"."""
    reasons = ("received_finish_reason", "intermittent_finish_reason")
    return any(getattr(raw, name, "unknown") for name in reasons)


def _close(raw: Any) -> None:
    """litellm's wrapper cannot be closed from synchronous code, what it wraps can."""
    wrapped = getattr(raw, "completion_stream", raw)
    for part in (wrapped, getattr(wrapped, "response", None)):
        close = getattr(part, "close", None)
        if close is not None:
            with contextlib.suppress(Exception):
                close()
