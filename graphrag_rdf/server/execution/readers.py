"""Reader processes: started, given one query at a time on a snapshot, killed at the query's limits.

A reader gets an environment that is made for it and holds no secret.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import graphrag_rdf
from graphrag_rdf.server.execution.evaluate import Job, Output, QueryFailed
from graphrag_rdf.server.execution.memory import MEMORY_EXIT, resident_mb
from graphrag_rdf.server.execution.queries import PATIENCE, Answer
from graphrag_rdf.server.execution.reader import DATA, END, FAIL, HEAD, LAST
from graphrag_rdf.server.execution.snapshots import Snapshot, SnapshotSource

log = logging.getLogger(__name__)

_IDLE, _IDLE_MB = 5.0, 56
"""A reader that was idle for so many seconds is replaced if it holds more than this (2^20 bytes)."""
_STARTING = 60.0
"""Seconds that a process may take until it reports that it is ready; a busy machine needs many."""
_TIDY, _LOOK = 1.0, 0.01
"""Seconds between two tidyings, and between two looks."""
_PASSED_ON = (
    *("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "TMPDIR"),
    *("GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_CONF"),
)
"""Variables of the environment that are passed on: none that can hold a secret."""

_STARTED: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()


class Reader:
    """The server's end of one reader process, used by one thread at a time.

    Attributes:
        snapshot: the one that it reads.

    Args:
        memory_mb: resident memory of the process at most, in 2^20 bytes.

    Raises:
        OSError: it cannot be started, ends at once or takes too long.
    """

    def __init__(self, memory_mb: int) -> None:
        self.snapshot: Snapshot | None = None
        self._memory_mb = memory_mb
        self._idle_since = 0.0
        self._ended = False
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = _spawn(theirs.fileno(), memory_mb)
        self._connection = Connection(ours.detach())
        try:
            ready = self._connection.poll(_STARTING) and self._connection.recv_bytes()
        except (EOFError, OSError):
            ready = False
        if not ready:
            self.end()
            raise OSError("it ended before it was ready, or took too long")

    @property
    def gone(self) -> bool:
        """Whether it has ended, or was told to."""
        return self._ended or self._process.poll() is not None

    def run(self, job: Job, output: Output) -> None:
        """Run a job on the snapshot.

        Raises:
            QueryFailed: see `evaluate`; or the process ended.
        """
        assert self.snapshot is not None  # noqa: S101 - the pool has set it
        try:
            self._connection.send((self.snapshot.place, job))
            while (data := self._connection.recv_bytes())[:1] != END:
                if data[:1] == DATA:
                    output.write(data[1:])
                elif data[:1] == HEAD:
                    output.begin(data[1:].decode())
                elif data[:1] == FAIL:
                    raise QueryFailed(**json.loads(data[1:]))
            self._ended = data[1:] == LAST
        except (EOFError, OSError):
            raise self._cause() from None
        self._idle_since = time.monotonic()

    def _cause(self) -> QueryFailed:
        """Why the process ended in the middle of a query."""
        killed, self._ended = self._ended, True
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        if self._process.returncode in (MEMORY_EXIT, -signal.SIGABRT):
            return QueryFailed(503, f"the query needed more than {self._memory_mb} MB of memory")
        if not killed:
            log.warning("a reader process ended in a query, with code %s", self._process.returncode)
        return QueryFailed(503, "the process that ran the query ended; others are not affected")

    def let_go_of_snapshot(self) -> None:
        """Close the store that an idle reader holds open."""
        with suppress(OSError):
            self._connection.send(None)
        self.snapshot = None

    def is_swollen(self) -> bool:
        """Whether it is idle and holds more memory than a fresh one (as far as the system tells)."""
        try:
            return time.monotonic() - self._idle_since > _IDLE and resident_mb(self._process.pid) > _IDLE_MB
        except OSError:
            return False

    def kill(self) -> None:
        """End the process at once."""
        self._ended = True
        self._process.kill()

    def end(self) -> None:
        """End the process, and wait for that."""
        self.kill()
        self._process.wait()
        self._connection.close()


class ReaderPool:
    """The readers, and the snapshots that they read.

    Args:
        size: processes.
        memory_mb: see `Reader`.
    """

    def __init__(self, snapshots: SnapshotSource, size: int, memory_mb: int) -> None:
        self._snapshots = snapshots
        self._size = size
        self._memory_mb = memory_mb
        self._readers: set[Reader] = set()
        self._idle: list[Reader] = []  # used last in, first out: warm caches
        self._news = threading.Condition()  # of both
        self._stopping = threading.Event()
        self._starter = ThreadPoolExecutor(size, "reader")

    def start(self) -> None:
        """Start all readers, and the tidying of snapshots."""
        for _ in range(self._size):
            self._starter.submit(self._start_one)
        threading.Thread(target=self._tidy_often, name="tidy", daemon=True).start()

    def stop(self) -> None:
        """Kill all readers; running queries are cut off."""
        self._stopping.set()
        with self._news:
            self._news.notify_all()
            for reader in self._readers:
                reader.kill()  # also one that is stopped (SIGSTOP), which sees no close
        self._starter.shutdown(wait=False, cancel_futures=True)
        self._snapshots.close()

    def evaluate(self, job: Job, answer: Answer) -> None:
        """Run a job in the first reader that is still there once a snapshot is ready.

        Raises:
            QueryFailed: see `Reader.run`; or no reader was free in time.
        """
        while True:
            reader = self._take()
            try:
                snapshot = self._snapshots.fresh(answer.min_commit, reader)
                if reader.gone:
                    continue
                with answer.running(snapshot.commit, reader.kill):
                    reader.run(job, answer)
                return
            finally:
                self._give_back(reader)

    async def without_former(self, seconds: float) -> bool:
        """Drop copies of a database that was rewritten; whether all are gone in so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.to_thread(self._tidy)
            if not self._snapshots.former:
                return True
            await asyncio.sleep(_LOOK)
        return False

    # --- readers come and go ---------------------------------------------------------------------------

    def _take(self) -> Reader:
        with self._news:
            self._news.wait_for(lambda: self._idle or self._stopping.is_set(), PATIENCE)
            if not self._idle or self._stopping.is_set():
                raise QueryFailed(503, "no reader process became free in time")
            return self._idle.pop()

    def _give_back(self, reader: Reader) -> None:
        with self._news:
            if not reader.gone:
                self._idle.append(reader)
                self._news.notify()
                return
            self._readers.discard(reader)
        reader.end()
        with suppress(RuntimeError):  # the pool was stopped
            self._starter.submit(self._start_one)

    def _start_one(self) -> None:
        while not self._stopping.is_set():
            try:
                reader = Reader(self._memory_mb)
            except OSError as error:
                log.error("a reader process cannot be started: %s", error)  # noqa: TRY400
                self._stopping.wait(1)
                continue
            with self._news:
                self._readers.add(reader)
            if self._stopping.is_set():
                reader.kill()
            self._give_back(reader)
            return

    def _tidy_often(self) -> None:
        while not self._stopping.wait(_TIDY):
            self._tidy()

    def _tidy(self) -> None:
        """Replace swollen readers, and drop the snapshots that nobody reads any more."""
        with self._news:
            idle, self._idle = self._idle, []
        for reader in idle:
            if reader.is_swollen():
                reader.kill()  # another takes its place
            elif reader.snapshot is not None and reader.snapshot is not self._snapshots.current:
                reader.let_go_of_snapshot()
            self._give_back(reader)
        with self._news:
            readers = set(self._readers)
        self._snapshots.tidy(readers)


def kill_all() -> None:
    """Kill all readers, also stopped ones (SIGSTOP), which do not notice that the server has ended."""
    for process in list(_STARTED):
        process.kill()


def _spawn(fd: int, memory_mb: int) -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own words
        [sys.executable, "-P", "-m", "graphrag_rdf.server.execution.reader", str(fd), str(memory_mb)],
        env={**environment, "PYTHONPATH": str(Path(graphrag_rdf.__file__).parents[1])},
        pass_fds=(fd,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd="/",
    )
    _STARTED.add(process)
    return process
