"""The queue of clients' writes: the store has one writer, and a stop waits for it.

A long write, such as an ingest, lets short ones run between its parts.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from graphrag_rdf.errors import StoreError
from graphrag_rdf.server.execution.nesting import deep_stacks
from graphrag_rdf.server.http.problems import Problem

T = TypeVar("T")
_WAITING = 64
_LOOK = 0.02


class WriteQueue:
    """Runs writes in order; long ones when no short one waits.

    Attributes:
        waiting: writes that wait or run.
        trouble: why the last write failed; None if it succeeded.

    Args:
        before: called before each write that does not run between the parts of another.
    """

    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        self._before = before
        self._short: deque[Callable[[], None]] = deque()
        self._long: deque[Callable[[], None]] = deque()
        self._news = threading.Condition()
        self._ending = False
        self._thread: threading.Thread | None = None
        self.waiting = 0
        self.trouble: StoreError | None = None

    async def run(self, write: Callable[[], T], *, long: bool = False) -> T:
        """Run a write, also if the caller is cancelled; what it returns.

        Args:
            long: it calls `let_others_in` between its parts.

        Raises:
            Problem: 503 when too many are waiting, or the server is stopping.
        """
        if self._ending:
            raise Problem(503, "the server is stopping", headers={"Retry-After": "5"})
        if self.waiting >= _WAITING:
            raise Problem(503, "too many writes are waiting", headers={"Retry-After": "2"})
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        done.add_done_callback(self._finished)
        self.waiting += 1
        with self._news:
            (self._long if long else self._short).append(lambda: _work(self._tried(write), loop, done))
            self._news.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
            with deep_stacks():
                self._thread.start()
        return await asyncio.shield(done)

    def _tried(self, write: Callable[[], T]) -> Callable[[], T]:
        """The write, recording whether it failed."""

        def tried() -> T:
            try:
                found = write()
            except StoreError as error:
                self.trouble = error
                raise
            self.trouble = None
            return found

        return tried

    def let_others_in(self, before: Callable[[], object], after: Callable[[], object]) -> None:
        """Run the short writes that wait; called by a long write, in the writer's thread.

        Args:
            before, after: called around them, if there are any.
        """
        if not self._short:
            return
        before()
        while self._short:
            self._short.popleft()()
        after()

    def _run(self) -> None:
        while True:
            with self._news:
                while not (self._short or self._long or self._ending):
                    self._news.wait()
                waiting = self._short or self._long
                if not waiting:
                    return
                write = waiting.popleft()
            with suppress(Exception):  # the write meets the error too, and reports it
                self._before()
            write()

    def _finished(self, done: asyncio.Future[Any]) -> None:
        self.waiting -= 1
        if not done.cancelled():
            done.exception()  # else asyncio logs it as never retrieved

    async def stop(self) -> None:
        """Finish the queue, and accept no more."""
        with self._news:
            self._ending = True
            self._news.notify()
        while self._thread is not None and self._thread.is_alive():
            await asyncio.sleep(_LOOK)


def _work(write: Callable[[], T], loop: asyncio.AbstractEventLoop, done: asyncio.Future[T]) -> None:
    """Run a write and pass its result to the event loop."""
    try:
        found = write()
    except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
        _soon(loop, lambda error=error: done.set_exception(error))  # type: ignore[misc]
    else:
        _soon(loop, lambda: done.set_result(found))


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)
