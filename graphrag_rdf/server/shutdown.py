"""A stop in order, and in time: listen no more, finish writes, let clients take their answers, end all.

Each part has its time; what is not through by then is left. Nothing that was acknowledged is lost by that: a
write is one transaction, and what waits for nothing but a client, or a thread that reads, may be cut off.
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
from typing import Any

import uvicorn

from graphrag_rdf.server.connection import BoundedProtocol
from graphrag_rdf.server.execution.process import kill_all
from graphrag_rdf.server.service import Service

log = logging.getLogger(__name__)

WRITES = 60.0
"""Seconds that a stop waits for the writes that were taken on; an ingest ends at its next chunk."""

GRACE = 8.0
"""Seconds from the signal, or two from the end of the writes, for questions and queries under way."""

STALLED = 2.0
"""Seconds after which a client is cut off that neither sends nor takes what is under way."""

CLOSING = 15.0
"""Seconds for the end of processes, threads and the store."""

_TAKEN = 2.0
_LOOK = 0.1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_FAILED, _INTERRUPTED = 1, 130


class Deadline:
    """The end of the process at a time that can be moved, whatever else it is busy with."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def move(self, seconds: float, code: int, why: str) -> None:
        """End it so long from now.

        Args:
            why: said in the log then.
        """
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, _late, (code, why))
        self._timer.daemon = True
        self._timer.start()


class Server(uvicorn.Server):
    """uvicorn's, with a stop as the module says. A signal asks for it; the second ends all at once."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._deadline = Deadline()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let a signal end the server and no more: uvicorn would raise it again once everything is closed."""
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
            log.warning("stopping when what is under way is finished; once more to stop at once")
        self._deadline.move(
            WRITES, _FAILED, f"a write that took longer than {WRITES:g} s was left; nothing of it was stored"
        )
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()
        watching = asyncio.create_task(self._watch())
        await self._service.finish_writes()
        self._deadline.move(GRACE + CLOSING, 0, "what does not end was left")
        await self._answered(max(_TAKEN, begun + GRACE - time.monotonic()))
        watching.cancel()
        await self._cut_off()
        await self.lifespan.shutdown()

    async def _answered(self, seconds: float) -> None:
        """Wait until all clients have what they asked for, if they take it."""
        end = time.monotonic() + seconds
        while (self.server_state.connections or self.server_state.tasks) and time.monotonic() < end:
            await asyncio.sleep(_LOOK / 2)

    async def _watch(self) -> None:
        """Tell connections that the server stops, and cut off those that stall."""
        seen: dict[Any, tuple[object, float]] = {}
        while True:
            now = time.monotonic()
            for connection in list(self.server_state.connections):
                if connection not in seen:
                    connection.shutdown()
                state = _state(connection)
                before, since = seen.get(connection, (None, now))
                seen[connection] = state, since if state == before else now
                if state is not None and now - since > STALLED and state == before:
                    connection.transport.abort()
            await asyncio.sleep(_LOOK)

    async def _cut_off(self) -> None:
        """Part with who is still there."""
        left = list(self.server_state.connections)
        if left or self.server_state.tasks:
            log.warning("requests that were under way for too long were cut off: %s", len(left))
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


def _state(connection: Any) -> object:
    """What changes while a client takes and sends; None when nothing waits for it."""
    if unsent := connection.transport.get_write_buffer_size():
        return "unsent", unsent
    if isinstance(connection, BoundedProtocol) and (got := connection.body_so_far()) is not None:
        return "body", got
    return None


def end_now(code: int) -> None:
    """End the process, and those that it started, without waiting for any thread."""
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
