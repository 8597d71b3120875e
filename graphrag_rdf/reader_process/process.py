"""Reader processes: each answers queries on a snapshot of the store, and is killed at the query's limits.

A reader gets an environment that is made for it and holds no secret.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import graphrag_rdf
from graphrag_rdf.i18n import language, tr
from graphrag_rdf.reader_process.evaluate import Job, Output, QueryFailed
from graphrag_rdf.reader_process.main import DATA, END, FAIL, HEAD, LAST
from graphrag_rdf.reader_process.memory import MEMORY_EXIT, resident_mb

log = logging.getLogger(__name__)

_IDLE, _IDLE_MB = 5.0, 56
"""A reader that was idle for so many seconds is replaced if it holds more than this (2^20 bytes)."""
_STARTING = 60.0
"""Seconds that a process may take until it reports that it is ready; a busy machine needs many."""
_PASSED_ON = (
    *("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "TMPDIR"),
    *("GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_CONF"),
)
"""Variables of the environment that are passed on: none that can hold a secret."""

_STARTED: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A frozen store.

    Attributes:
        commit: all commits up to this one are in it.
        generation: of the database that it is a copy of (see `EmbeddedStore.purge`).
        taken: `time.monotonic` just before it was made.
    """

    path: Path
    commit: int
    taken: float
    generation: int = 0

    @property
    def place(self) -> str:
        """Its path, for the engine."""
        return str(self.path)


class Reader:
    """The server's end of one reader process, used by one thread at a time.

    Attributes:
        snapshot: the one that it reads.

    Args:
        memory_mb: resident memory of the process at most, in 2^20 bytes.
        blobs: folder of the blob store, from which queries read texts.

    Raises:
        OSError: it cannot be started, ends at once or takes too long.
    """

    def __init__(self, memory_mb: int, blobs: Path | None = None) -> None:
        self.snapshot: Snapshot | None = None
        self._memory_mb = memory_mb
        self._idle_since = 0.0
        self._ended = False
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = _spawn(theirs.fileno(), memory_mb, blobs)
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
            self._connection.send((self.snapshot.place, job, language()))
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
            return QueryFailed(
                503,
                tr("the query needed more than {memory_mb} MB of memory").format(memory_mb=self._memory_mb),
            )
        if not killed:
            log.warning("a reader process ended in a query, with code %s", self._process.returncode)
        return QueryFailed(503, tr("the process that ran the query ended; others are not affected"))

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


def kill_all() -> None:
    """Kill all readers, also stopped ones (SIGSTOP), which do not notice that the server has ended."""
    for process in list(_STARTED):
        process.kill()


def bare_environment() -> dict[str, str]:
    """The environment of a process of this program that may be attacked: it holds no secret."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**passed_on, "PYTHONPATH": str(Path(graphrag_rdf.__file__).parents[1])}


def _spawn(fd: int, memory_mb: int, blobs: Path | None) -> subprocess.Popen[bytes]:
    folder = [str(blobs.absolute())] if blobs else []
    process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own words
        [sys.executable, "-P", "-m", "graphrag_rdf.reader_process.main", str(fd), str(memory_mb), *folder],
        env=bare_environment(),
        pass_fds=(fd,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd="/",
    )
    _STARTED.add(process)
    return process
