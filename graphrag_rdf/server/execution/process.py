"""The server's end of a reader process: started, given one query at a time, killed at the query's limits.

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
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import graphrag_rdf
from graphrag_rdf.server.execution import wire
from graphrag_rdf.server.execution.answers import Answer
from graphrag_rdf.server.execution.evaluate import Job, QueryFailed
from graphrag_rdf.server.execution.memory import MEMORY_EXIT, resident_mb
from graphrag_rdf.server.execution.snapshots import Snapshot

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
class Limits:
    """What a query may use.

    Attributes:
        seconds: wall time, from the start in a reader to the last byte.
        memory_mb: resident memory of its process, in 2^20 bytes.
        waiting: queries that may wait for a reader, each for `patience` seconds.
    """

    seconds: float = 30.0
    memory_mb: int = 1024
    waiting: int = 256
    patience: float = 10.0


class Reader(asyncio.Protocol):
    """The server's end of one reader process.

    Args:
        freed: called when it can take another job, and when it has ended (`gone`).
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
    async def start(cls, limits: Limits, freed: Callable[[Reader], None], threads: Executor) -> Reader:
        """Start a process and wait until it is ready: its start does not count for a query's limits.

        Args:
            threads: where it is started, which takes a moment.

        Raises:
            OSError: it cannot be started, ends at once or takes too long.
        """
        ours, theirs = socket.socketpair()
        loop = asyncio.get_running_loop()
        with theirs:
            process = await loop.run_in_executor(threads, _spawn, theirs.fileno(), limits.memory_mb)
        ours.setblocking(False)
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
        """Whether it is idle and holds more memory than a fresh one (as far as the system tells)."""
        if time.monotonic() - self.free_since < _IDLE:
            return False
        try:
            return resident_mb(self._process.pid) > _IDLE_MB
        except OSError:
            return False

    def kill(self) -> None:
        """End the process at once. Reading resumes, so that its end is noticed."""
        self._killed = True
        with suppress(ProcessLookupError):
            self._process.kill()
        self._room(True)

    def close(self) -> None:
        """Let an idle process exit."""
        if self._transport is not None:
            self._transport.close()

    # --- asyncio.Protocol ------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process can be written to."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not a subclass

    def data_received(self, data: bytes) -> None:
        """Parts of an answer."""
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
        """Wait for the process's end (in a thread), and report why its answer failed."""
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
        if code in (MEMORY_EXIT, -signal.SIGABRT):
            return QueryFailed(503, f"the query needed more than {self._limits.memory_mb} MB of memory")
        if not self._killed:  # else the client disconnected
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
