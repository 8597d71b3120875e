"""The pool of reader processes, and the queries that wait for one."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from graphrag_rdf.server.execution.answers import Answer, Gone, retry, unless_gone
from graphrag_rdf.server.execution.evaluate import Job
from graphrag_rdf.server.execution.process import Limits, Reader
from graphrag_rdf.server.execution.snapshots import Snapshot, SnapshotSource
from graphrag_rdf.server.http.problems import CLIENT_LEFT, Problem

log = logging.getLogger(__name__)

_TIDY = 1.0

_ENDING, _LOOK = 2.0, 0.01
"""Seconds that a stop waits until killed readers have ended, and between two looks."""


class ReaderPool:
    """Readers, and the queries that wait for one.

    Args:
        size: processes.
    """

    def __init__(self, snapshots: SnapshotSource, size: int, limits: Limits) -> None:
        self.limits = limits
        self._snapshots = snapshots
        self._size = size
        self._readers: set[Reader] = set()
        self._starting = 0
        self._idle: list[Reader] = []  # used last in, first out: warm caches
        self._waiting: deque[asyncio.Future[Reader]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(1, "reader")  # pages may use all threads of the event loop
        self._stopping = False

    async def start(self) -> None:
        """Start all readers, and the tidying of snapshots."""
        for _ in range(self._size):
            self._replace()
        self._keep(self._tidy())

    async def stop(self) -> None:
        """Kill all readers; running queries are cut off."""
        self._stopping = True
        for task in list(self._tasks):
            task.cancel()
        for waiting in self._waiting:
            waiting.cancel()
        for reader in list(self._readers):
            reader.kill()  # an idle one has nothing to lose, and one that is stopped (SIGSTOP) sees no close
        end = time.monotonic() + _ENDING
        while self._readers and time.monotonic() < end:
            await asyncio.sleep(_LOOK)
        self._threads.shutdown(wait=False)
        self._snapshots.close()

    async def without_former(self) -> bool:
        """Drop copies of a database that was rewritten; whether all are gone.

        Their queries end within the time limit.
        """
        end = time.monotonic() + self.limits.seconds + _ENDING
        while time.monotonic() < end:
            await self._let_go()
            if not self._snapshots.former:
                return True
            await asyncio.sleep(_LOOK)
        return False

    async def run(self, job: Job, min_commit: int, gone: Gone) -> Answer:
        """The answer to a query, begun.

        Args:
            min_commit: the store's state must have this commit.
            gone: whether the client has disconnected.

        Raises:
            Problem: it failed before its first part, or no reader was free.
        """
        answer = await self._taken_on(job, min_commit, gone)
        try:
            await unless_gone(answer, gone)
        except BaseException:
            answer.drop()
            raise
        return answer

    async def _taken_on(self, job: Job, min_commit: int, gone: Gone) -> Answer:
        """The answer of the first reader that is still there once a snapshot is ready."""
        while True:
            reader = await self._free(gone)
            try:
                snapshot = await self._snapshots.fresh(min_commit)
            except BaseException:
                self._freed(reader)
                raise
            if reader.is_there:
                return reader.run(job, snapshot)

    # --- readers come and go ---------------------------------------------------------------------------

    async def _free(self, gone: Gone) -> Reader:
        """An idle reader, as soon as there is one; unless the client has left by then."""
        while self._idle:
            reader = self._idle.pop()
            if reader.is_there:
                return reader
        if len(self._waiting) >= self.limits.waiting:
            raise Problem(503, "too many queries are waiting", headers=retry(503))
        turn: asyncio.Future[Reader] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            reader = await asyncio.wait_for(turn, self.limits.patience)
            left = await gone()
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._freed(turn.result())
            if isinstance(error, TimeoutError):
                raise Problem(503, "no reader process became free in time", headers=retry(503)) from None
            raise
        finally:
            with suppress(ValueError):
                self._waiting.remove(turn)
        if left:
            self._freed(reader)
            raise Problem(CLIENT_LEFT, "the client disconnected")
        return reader

    def _freed(self, reader: Reader) -> None:
        if reader.gone:
            self._readers.discard(reader)
            if reader in self._idle:
                self._idle.remove(reader)
            if not self._stopping:
                self._replace()
            return
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(reader)
                return
        reader.free_since = time.monotonic()
        self._idle.append(reader)

    def _replace(self) -> None:
        if len(self._readers) + self._starting < self._size:
            self._starting += 1
            self._keep(self._start_one())

    async def _start_one(self) -> None:
        try:
            reader = await Reader.start(self.limits, self._freed, self._threads)
        except OSError as error:
            log.error("a reader process cannot be started: %s", error)  # noqa: TRY400
            await asyncio.sleep(1)
            self._starting -= 1
            self._replace()
            return
        self._starting -= 1
        self._readers.add(reader)
        self._freed(reader)

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _in_use(self) -> set[Snapshot]:
        return {reader.snapshot for reader in self._readers if reader.snapshot is not None}

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY)
            for reader in [reader for reader in self._idle if reader.is_swollen()]:
                self._idle.remove(reader)
                reader.close()  # another takes its place
            await self._let_go()

    async def _let_go(self) -> None:
        """Drop the snapshots that nobody reads any more."""
        for reader in self._idle:
            if reader.snapshot is not None and reader.snapshot is not self._snapshots.current:
                reader.let_go_of_snapshot()
        await self._snapshots.tidy(self._in_use)
