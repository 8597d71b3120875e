"""The reader processes: kept alive, one query each at a time, killed when a query goes over its limits."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from graphrag_rdf.server.execution import wire
from graphrag_rdf.server.execution.answers import Answer, Gone, retry, unless_gone
from graphrag_rdf.server.execution.evaluate import Job, QueryFailed
from graphrag_rdf.server.execution.process import spawn
from graphrag_rdf.server.execution.run_in_thread import aside
from graphrag_rdf.server.execution.snapshots import Snapshot, SnapshotSource
from graphrag_rdf.server.http.problems import CLIENT_LEFT, Problem

log = logging.getLogger(__name__)

_TIDY = 1.0
_IDLE = 5.0
_IDLE_MB = 56
"""What a reader may hold (2^20 bytes) that had nothing to do for so many seconds; a fresh one holds less."""

_STARTING = 60.0
"""Seconds that a process may take until it says that it is ready; on a busy machine that is many."""

_ENDING, _LOOK = 2.0, 0.01
"""Seconds that a stop waits until readers that it killed are gone, and between two looks."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a query may use.

    Attributes:
        seconds: wall time, from when it is given to a reader to the last byte.
        memory_mb: resident memory of its process, in 2^20 bytes.
        waiting: queries that may wait for a reader; `patience` how many seconds each.
    """

    seconds: float = 30.0
    memory_mb: int = 1024
    waiting: int = 256
    patience: float = 10.0


class Reader(asyncio.Protocol):
    """The server's end of one reader process.

    Args:
        freed: called when it can take another job, or with `gone` True when it has ended.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], limits: Limits, freed: Callable[[Reader], None]
    ) -> None:
        self.snapshot: Snapshot | None = None
        self.gone = False
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.free_since = 0.0
        self._process = process
        self._limits = limits
        self._freed = freed
        self._frames = wire.Frames()
        self._answer: Answer | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._overdue = False
        self._killed = False
        self._leaving = False
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def start(cls, limits: Limits, freed: Callable[[Reader], None]) -> Reader:
        """A new process that said it is ready: what it takes to start counts for no query's limits.

        Raises:
            OSError: it cannot be started, ended at once or takes too long.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            process = await aside(_spawn, theirs.fileno(), limits.memory_mb)
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        _, reader = await loop.create_unix_connection(lambda: cls(process, limits, freed), sock=ours)
        try:
            async with asyncio.timeout(_STARTING):
                await reader.ready
        except BaseException:
            reader.kill()
            reader.close()
            raise
        return reader

    @property
    def is_there(self) -> bool:
        """Whether it can be given a job, as far as is known."""
        return not self.gone and self._transport is not None and not self._transport.is_closing()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def run(self, job: Job, snapshot: Snapshot) -> Answer:
        """Begin a job; one at a time."""
        assert self._transport is not None  # noqa: S101
        self.snapshot = snapshot
        answer = self._answer = Answer(snapshot.commit, self.kill, self._room)
        self._timer = asyncio.get_running_loop().call_later(self._limits.seconds, self._expire)
        self._transport.write(wire.json_frame(wire.JOB, [snapshot.place, job.as_json()]))
        return answer

    def let_go_of_snapshot(self) -> None:
        """Close the store that an idle reader holds open."""
        if self._transport is not None and self.snapshot is not None:
            self._transport.write(wire.frame(wire.CLOSE))
            self.snapshot = None

    def is_swollen(self) -> bool:
        """Whether it rests, and holds more than a resting reader should (as far as the system tells)."""
        if time.monotonic() - self.free_since < _IDLE:
            return False
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text("ascii").split()[1])
        except OSError:
            return False
        return pages * os.sysconf("SC_PAGE_SIZE") > _IDLE_MB << 20

    def kill(self) -> None:
        """End the process at once; its end is heard, also where nothing more was to come in."""
        self._killed = True
        with suppress(ProcessLookupError):
            self._process.kill()
        self._room(True)

    def close(self) -> None:
        """Let an idle process leave."""
        if self._transport is not None:
            self._transport.close()

    # --- asyncio.Protocol ------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process can be written to."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not a subclass

    def data_received(self, data: bytes) -> None:
        """Components of an answer."""
        for kind, payload in self._frames.feed(data):
            answer = self._answer
            if kind == wire.READY and not self.ready.done():
                self.ready.set_result(None)
            if answer is None:
                continue
            if kind == wire.DATA:
                answer.put(payload)
            elif kind == wire.HEAD:
                answer.begin(json.loads(payload)["content_type"])
            elif kind == wire.END:
                self._leaving = payload == wire.LAST
                self._finish()
                answer.end()
            else:
                self._finish()
                answer.fail(QueryFailed(**json.loads(payload)))

    def connection_lost(self, error: Exception | None) -> None:
        """The process has ended, or is about to."""
        del error
        self.gone = True
        if not self.ready.done():
            self.ready.set_exception(OSError("it ended before it was ready"))
        answer, self._answer = self._answer, None
        if self._timer is not None:
            self._timer.cancel()
        reaping = (answer, asyncio.get_running_loop())
        threading.Thread(target=self._reap, args=reaping).start()
        self._freed(self)

    def _reap(self, answer: Answer | None, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for the process's end (in a thread), and tell who waits for its answer why there is none."""
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        if answer is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(answer.fail, self._cause(code))

    def _cause(self, code: int) -> QueryFailed:
        if self._overdue:
            return QueryFailed(504, f"the query took longer than {self._limits.seconds:g} s")
        if code in (wire.MEMORY_EXIT, -signal.SIGABRT):
            return QueryFailed(503, f"the query needed more than {self._limits.memory_mb} MB of memory")
        if not self._killed:  # as it is where nobody waits for the rest of an answer
            log.warning("a reader process ended in the middle of a query, with code %s", code)
        return QueryFailed(503, "the process that ran the query ended; others are not affected")

    def _expire(self) -> None:
        self._overdue = True
        self.kill()

    def _finish(self) -> None:
        self._answer = None
        if self._timer is not None:
            self._timer.cancel()
        if not self._leaving:
            self._freed(self)

    def _room(self, more: bool) -> None:
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.resume_reading if more or self._killed else self._transport.pause_reading)()


class ReaderPool:
    """Readers, and who waits for one.

    Args:
        size: processes.
    """

    def __init__(self, snapshots: SnapshotSource, size: int, limits: Limits) -> None:
        self.limits = limits
        self._snapshots = snapshots
        self._size = size
        self._readers: set[Reader] = set()
        self._starting = 0
        self._idle: list[Reader] = []  # the last one freed is the first one used: its caches are warm
        self._waiting: deque[asyncio.Future[Reader]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False

    @property
    def queued(self) -> int:
        """Queries that wait for a reader."""
        return len(self._waiting)

    async def start(self) -> None:
        """Start all readers, and the tidying of snapshots."""
        for _ in range(self._size):
            self._replace()
        self._keep(self._tidy())

    async def stop(self) -> None:
        """End all readers; what still runs is cut off."""
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
        self._snapshots.close()

    async def without_former(self) -> bool:
        """See `Queries.without_former`: queries on them end within their time."""
        end = time.monotonic() + self.limits.seconds + _ENDING
        while time.monotonic() < end:
            await self._let_go()
            if not self._snapshots.former:
                return True
            await asyncio.sleep(_LOOK)
        return False

    async def run(self, job: Job, min_commit: int, gone: Gone) -> Answer:
        """See `Queries.run`."""
        answer = await self._taken_on(job, min_commit, gone)
        try:
            await unless_gone(answer, gone)
        except BaseException:
            answer.drop()
            raise
        return answer

    async def _taken_on(self, job: Job, min_commit: int, gone: Gone) -> Answer:
        """The answer of the first reader that is still there when its snapshot is."""
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
        """A reader that had nothing to do, soon; for a client that is there by then."""
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
                raise Problem(503, "no reader was free for too long", headers=retry(503)) from None
            raise
        finally:
            with suppress(ValueError):
                self._waiting.remove(turn)
        if left:
            self._freed(reader)
            raise Problem(CLIENT_LEFT, "the client left")
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
            reader = await Reader.start(self.limits, self._freed)
        except OSError as error:
            log.error("a reader process cannot be started: %s", error)  # noqa: TRY400 - said in one line
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


def _spawn(fd: int, memory_mb: int) -> subprocess.Popen[bytes]:
    return spawn("graphrag_rdf.server.execution.reader", str(fd), str(memory_mb), fds=(fd,))
