"""An orderly stop within limits: stop listening, finish writes, let clients take their answers, end all.

Each part has a time limit, after which it is abandoned. No acknowledged write is lost: a write is one
transaction, and everything else that is cut off only reads.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from graphrag_rdf.server.connection import BoundedProtocol
from graphrag_rdf.server.execution.readers import kill_all
from graphrag_rdf.server.service import Service

log = logging.getLogger(__name__)

WRITES = 60.0
"""Seconds that a stop waits for accepted writes; an ingest ends after its current chunk."""

GRACE = 5.0
"""Seconds from the signal, or two from the end of the writes, for running questions and queries."""

CLOSING = 15.0
"""Seconds for the end of processes, threads and the store."""

_TAKEN = 2.0
_LOOK = 0.05
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_FAILED, _INTERRUPTED = 1, 130


class Deadline:
    """Ends the process at a time that can be moved, whatever else it does."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def move(self, seconds: float, code: int, why: str) -> None:
        """End it in so many seconds.

        Args:
            why: logged then.
        """
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, _late, (code, why))
        self._timer.daemon = True
        self._timer.start()


class Server(uvicorn.Server):
    """uvicorn's server with the stop that the module describes. A second signal ends the process at once."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._deadline = Deadline()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal. uvicorn would also raise it again once everything is closed."""
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        del sig, frame
        if self.should_exit:
            end_now(_INTERRUPTED)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See the module."""
        begun = time.monotonic()
        if self._service.writes.waiting or self.server_state.tasks:
            log.warning("stopping after running requests; once more to stop at once")
        self._deadline.move(
            WRITES,
            _FAILED,
            f"a write that took longer than {WRITES:g} s was abandoned; nothing of it was stored",
        )
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._service.finish_writes()
        self._deadline.move(GRACE + CLOSING, 0, "threads that do not end were abandoned")
        await self._answered(max(_TAKEN, begun + GRACE - time.monotonic()))
        await self._cut_off()
        await self.lifespan.shutdown()

    async def _answered(self, seconds: float) -> None:
        """Wait until all clients have their answers."""
        end = time.monotonic() + seconds
        while (self.server_state.connections or self.server_state.tasks) and time.monotonic() < end:
            await asyncio.sleep(_LOOK)

    async def _cut_off(self) -> None:
        """Disconnect the remaining clients."""
        left = list(self.server_state.connections)
        if left or self.server_state.tasks:
            log.warning("requests that did not end in time were cut off: %s", len(left))
        for connection in left:
            if isinstance(connection, BoundedProtocol):
                connection.give_up()
            else:
                connection.transport.abort()
        await self._answered(1)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        for task in list(self.server_state.tasks):
            task.cancel()


def end_now(code: int) -> None:
    """End the process and its reader processes without waiting for any thread."""
    kill_all()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, RuntimeError):  # closed, or in use by what was interrupted
            continue
    os._exit(code)


def _late(code: int, why: str) -> None:
    log.warning("%s", why)
    end_now(code)
