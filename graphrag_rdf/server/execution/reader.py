"""A reader: a process that answers queries on a snapshot, and may be killed at any time.

Started as `python -m graphrag_rdf.server.execution.reader FD MEGABYTES`; FD is its end of a socket pair. It
imports the engine and nothing else of weight, holds no secret (its environment is made for it), and exits
when the server does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading

import pyoxigraph as ox

from graphrag_rdf.server.execution import wire
from graphrag_rdf.server.execution.evaluate import Job, QueryFailed, evaluate
from graphrag_rdf.server.execution.memory import MEMORY_EXIT, Memory, limit_address_space, watch

_BUFFER = 1 << 16
"""Bytes that are gathered before the first of an answer is sent: small answers fail or succeed as a whole."""

_RESTED_MB = 160
"""A reader that is larger than this after a query exits, and a new one replaces it."""


class _Frames:
    """The output of one job, as frames."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._waiting = bytearray()

    def begin(self, content_type: str) -> None:
        self._waiting += wire.json_frame(wire.HEAD, {"content_type": content_type})

    def write(self, data: bytes) -> int:
        self._waiting += wire.frame(wire.DATA, data)
        if len(self._waiting) >= _BUFFER:
            self._send()
        return len(data)

    def end(self, *, leaving: bool) -> None:
        self._waiting += wire.frame(wire.END, wire.LAST if leaving else b"")
        self._send()

    def fail(self, status: int, detail: str) -> None:
        self._waiting += wire.json_frame(wire.FAIL, {"status": status, "detail": detail})
        self._send()

    def _send(self) -> None:
        self._connection.sendall(self._waiting)
        self._waiting.clear()


def serve(connection: socket.socket, memory: Memory) -> None:
    """Answer jobs until the other end is closed."""
    frames, opened, path = wire.Frames(), None, None
    connection.sendall(wire.frame(wire.READY))
    while data := connection.recv(1 << 20):
        for kind, payload in frames.feed(data):
            if kind == wire.CLOSE:
                opened = path = None
                continue
            place, job = json.loads(payload)
            output = _Frames(connection)
            try:
                if place != path:
                    opened = None
                    opened, path = ox.Store.read_only(place), place
                assert opened is not None  # noqa: S101
                evaluate(opened, Job.from_json(job), output)
            except QueryFailed as failure:
                output.fail(failure.status, failure.detail)
                continue
            except MemoryError:
                os._exit(MEMORY_EXIT)
            except (OSError, RecursionError) as error:
                output.fail(500, f"the engine failed: {type(error).__name__}: {error}")
                continue
            leaving = memory.megabytes > _RESTED_MB
            output.end(leaving=leaving)
            if leaving:
                return


def main() -> None:
    """Run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes the connection
    connection = socket.socket(fileno=int(sys.argv[1]))
    limit_mb = int(sys.argv[2])
    limit_address_space(limit_mb)
    memory = Memory()
    threading.Thread(target=watch, args=(limit_mb, os.getppid(), memory), daemon=True).start()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        serve(connection, memory)


if __name__ == "__main__":
    main()
