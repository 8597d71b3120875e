"""An answer to a query, between its producer and the client."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from graphrag_rdf.server.execution.evaluate import QueryFailed
from graphrag_rdf.server.http.problems import CLIENT_LEFT, Problem, TransferAborted

Gone = Callable[[], Awaitable[bool]]
"""Whether the client has disconnected."""

_LOOK = 0.5


class Answer:
    """An answer that is read while its parts arrive.

    Attributes:
        content_type: known when `begun`.
        commit: the store's commit that it saw.

    Args:
        let_go: called once when the rest is not wanted.
        room: called with whether more parts may come.
    """

    HIGH, LOW = 1 << 20, 1 << 18
    """Waiting bytes at which the producer must pause, and may continue."""

    def __init__(
        self,
        commit: int,
        let_go: Callable[[], None] | None = None,
        room: Callable[[bool], None] | None = None,
    ) -> None:
        self.commit = commit
        self.content_type = ""
        self._parts: deque[bytes] = deque()
        self._waiting = 0
        self._paused = False
        self._ended = False
        self._failure: QueryFailed | None = None
        self._news = asyncio.Event()
        self._let_go = let_go
        self._room = room

    # --- the producer's side ---------------------------------------------------------------------------

    def begin(self, content_type: str) -> None:
        """Its content type is known."""
        self.content_type = content_type

    def put(self, data: bytes) -> None:
        """A part."""
        self._parts.append(data)
        self._waiting += len(data)
        if self._room is not None and not self._paused and self._waiting > self.HIGH:
            self._paused = True
            self._room(False)
        self._news.set()

    def end(self) -> None:
        """It is complete."""
        self._ended = True
        self._news.set()

    def fail(self, failure: QueryFailed) -> None:
        """It failed."""
        self._failure = self._failure or failure
        self._ended = True
        self._news.set()

    # --- the client's side -----------------------------------------------------------------------------

    @property
    def whole(self) -> bytes | None:
        """All of it, removed from here, if it is complete."""
        if not self._ended or self._failure is not None:
            return None
        data = b"".join(self._parts)
        self._parts.clear()
        return data

    async def begun(self) -> None:
        """Wait for the first part or the end.

        Raises:
            Problem: it failed; nothing was sent, so the client gets the reason.
        """
        while not self._parts and not self._ended:
            self._news.clear()
            await self._news.wait()
        if self._failure is not None:
            raise Problem(self._failure.status, self._failure.detail, headers=retry(self._failure.status))

    async def parts(self) -> AsyncIterator[bytes]:
        """The parts as they come.

        Raises:
            TransferAborted: it failed after its first part.
        """
        try:
            while True:
                while self._parts:
                    part = self._parts.popleft()
                    self._waiting -= len(part)
                    if self._paused and self._room is not None and self._waiting < self.LOW:
                        self._paused = False
                        self._room(True)
                    yield part
                if self._failure is not None:
                    raise TransferAborted(self._failure.detail)
                if self._ended:
                    return
                self._news.clear()
                await self._news.wait()
        finally:
            self.drop()

    def drop(self) -> None:
        """The rest is not wanted."""
        if not self._ended and self._let_go is not None:
            self._let_go()
        self._parts.clear()


async def unless_gone(answer: Answer, gone: Gone) -> None:
    """Wait for the first part, while the client is connected.

    Raises:
        Problem: the answer failed before, or the client has disconnected.
    """
    while True:
        try:
            async with asyncio.timeout(_LOOK):
                return await answer.begun()
        except TimeoutError:
            if await gone():
                raise Problem(CLIENT_LEFT, "the client disconnected") from None


def retry(status: int) -> dict[str, str]:
    """Headers of a status: when to retry."""
    return {"Retry-After": "1"} if status in (429, 503) else {}
