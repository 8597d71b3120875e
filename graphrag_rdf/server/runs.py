"""A run of the engine in a thread, read by an asynchronous route; who hangs up ends it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from graphrag_rdf.server.problems import Problem
from graphrag_rdf.trace.messages import GraphRagResponse

T = TypeVar("T")
Messages = Generator[GraphRagResponse, None, None]

_WAITING = 32
"""Questions that may wait beside those that are being answered."""


class Runs:
    """The threads in which questions are answered.

    Args:
        size: questions at once.
    """

    def __init__(self, size: int) -> None:
        self._threads = ThreadPoolExecutor(size, "answer")
        self._most = size + _WAITING
        self._open: set[Run] = set()
        self.under_way = 0

    async def call(self, work: Callable[[], T]) -> T:
        """Run something that gives its result at the end.

        Raises:
            Problem: 503 when too much is waiting.
        """
        self._enter()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self.under_way -= 1

    def start(self, begin: Callable[[], Messages]) -> Run:
        """Begin a run; close it in any case.

        Raises:
            Problem: 503 when too much is waiting.
        """
        self._enter()
        run = Run(begin, self._ended)
        self._open.add(run)
        self._threads.submit(run.work)
        return run

    def _enter(self) -> None:
        if self.under_way >= self._most:
            raise Problem(503, "too many questions are waiting", headers={"Retry-After": "5"})
        self.under_way += 1

    def _ended(self, run: Run) -> None:
        if run in self._open:
            self._open.discard(run)
            self.under_way -= 1

    async def stop(self) -> None:
        """Cancel all runs and wait until their traces are closed."""
        for run in list(self._open):
            run.close()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=False)


class Run:
    """One run. Its messages come from the thread in which all of it happens, its end included."""

    def __init__(self, begin: Callable[[], Messages], ended: Callable[[Run], None]) -> None:
        self._begin = begin
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[GraphRagResponse | BaseException | None] = asyncio.Queue()
        self._stop = threading.Event()

    def work(self) -> None:
        """The run, in its thread."""
        try:
            if not self._stop.is_set():
                self._read(self._begin())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._tell(error)
        self._tell(None)
        self._soon(lambda: self._ended(self))

    def _read(self, messages: Messages) -> None:
        try:
            for message in messages:
                self._tell(message)
                if self._stop.is_set():
                    return
        finally:
            messages.close()  # closes the trace as cancelled, unless it is at its end

    def close(self) -> None:
        """Nobody listens any more: the run ends at its next message."""
        self._stop.set()

    async def messages(self, patience: float | None = None) -> AsyncIterator[GraphRagResponse | None]:
        """The messages as they come; None when for so many seconds there was none.

        Raises:
            GraphRagError: what the run raises.
        """
        while True:
            try:
                async with asyncio.timeout(patience):
                    item = await self._news.get()
            except TimeoutError:
                yield None
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def _tell(self, item: GraphRagResponse | BaseException | None) -> None:
        self._soon(lambda: self._news.put_nowait(item))

    def _soon(self, call: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)
