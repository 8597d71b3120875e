"""The one queue of writes that clients send: the store has one writer, and a stop waits for it.

A long write, an ingest, lets the others in between its parts, so that nobody waits for its end.
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
    """Runs writes one after the other, in the order in which they came; long ones when no other waits.

    Attributes:
        waiting: writes that wait or are under way.
        trouble: why the last one could not be written at all; None when it could.

    Args:
        before: called before each, but those that are let in between the parts of another.
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
        """Run a write and wait for it, also if nobody waits for us any more; what it returns.

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
        """A write after which it is known whether there is trouble."""

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
        """Run the short writes that wait; called by a long write, in the thread of writes.

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
            with suppress(Exception):  # the write meets it too, and tells of it
                self._before()
            write()

    def _finished(self, done: asyncio.Future[Any]) -> None:
        self.waiting -= 1
        if not done.cancelled():
            done.exception()  # looked at, also when nobody waits

    async def stop(self) -> None:
        """Finish what is in the queue, and take no more."""
        with self._news:
            self._ending = True
            self._news.notify()
        while self._thread is not None and self._thread.is_alive():
            await asyncio.sleep(_LOOK)


def _work(write: Callable[[], T], loop: asyncio.AbstractEventLoop, done: asyncio.Future[T]) -> None:
    """Run a write and hand what comes of it to the loop that waits."""
    try:
        found = write()
    except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
        _soon(loop, lambda error=error: done.set_exception(error))  # type: ignore[misc]
    else:
        _soon(loop, lambda: done.set_result(found))


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)
