"""The queue of clients' writes: the store has one writer, and a stop waits for it.

A long write, such as an ingest, lets short ones run between its parts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from graphrag_rdf.errors import StoreError
from graphrag_rdf.i18n import tr
from graphrag_rdf.server.execution.nesting import deep_stacks
from graphrag_rdf.server.http.problems import Problem

T = TypeVar("T")
_WAITING, _LOOK = 64, 0.02


class WriteQueue:
    """Runs writes in order; long ones when no short one waits.

    Attributes:
        waiting: writes that wait or run.
        trouble: why the last write failed; None if it succeeded.

    Args:
        before: called before each write that does not run between the parts of another.
        after: called after each write that succeeded.
    """

    def __init__(
        self, before: Callable[[], object] = lambda: None, after: Callable[[], object] = lambda: None
    ) -> None:
        self._before, self._after = before, after
        self._short: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._long: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._thread = ThreadPoolExecutor(1, "writer")
        self._ending = False
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
            raise Problem(503, tr("the server is stopping"), headers={"Retry-After": "5"})
        if self.waiting >= _WAITING:
            raise Problem(503, tr("too many writes are waiting"), headers={"Retry-After": "2"})
        done: Future[T] = Future()
        result = asyncio.wrap_future(done)
        result.add_done_callback(self._finished)
        self.waiting += 1
        (self._long if long else self._short).append((partial(copy_context().run, write), done))
        with deep_stacks():
            self._thread.submit(self._next)
        return await asyncio.shield(result)

    def let_others_in(self, before: Callable[[], object], after: Callable[[], object]) -> None:
        """Run the short writes that wait; called by a long write, in the writer's thread.

        Args:
            before, after: called around them, if there are any.
        """
        if not self._short:
            return
        before()
        while self._short:
            self._work(*self._short.popleft())
        after()

    def _next(self) -> None:
        """Called once for each write; those between the parts of a long one are done by then."""
        waiting = self._short or self._long
        if waiting:
            with suppress(Exception):  # the write meets the error too, and reports it
                self._before()
            self._work(*waiting.popleft())

    def _work(self, write: Callable[[], Any], done: Future[Any]) -> None:
        try:
            outcome = write()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self.trouble = error if isinstance(error, StoreError) else self.trouble
            done.set_exception(error)
        else:
            self.trouble = None
            self._after()
            done.set_result(outcome)

    def _finished(self, done: asyncio.Future[Any]) -> None:
        self.waiting -= 1
        if not done.cancelled():
            done.exception()  # else asyncio logs it as never retrieved

    async def stop(self) -> None:
        """Finish the queue, and accept no more."""
        self._ending = True
        while self.waiting:
            await asyncio.sleep(_LOOK)
        self._thread.shutdown(wait=False)
