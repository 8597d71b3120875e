"""A reader: a process that answers queries on a snapshot, and may be killed at any time.

Started as `python -m graphrag_rdf.reader_process.main FD MEGABYTES [BLOBS]`; FD is its end of a socket
pair, BLOBS the folder of the blob store. It imports the engine and nothing else of weight, holds no secret
(its environment is made for it), and exits when the server does.

It receives a store's folder, a job and the language of errors; or None to close the store. It sends READY
once; then, for each job, HEAD (content type), DATA …, and END or FAIL (JSON). What it sends is never
unpickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import pyoxigraph as ox

from graphrag_rdf.i18n import set_language, tr
from graphrag_rdf.reader_process.evaluate import Job, QueryFailed, evaluate
from graphrag_rdf.reader_process.memory import MEMORY_EXIT, Memory, limit_address_space, watch
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.functions import Functions, functions

READY, HEAD, DATA, END, FAIL = b"R", b"H", b"D", b"E", b"F"
LAST = b"last"
"""After an END with this the reader exits."""

_BUFFER = 1 << 16
"""Bytes that are gathered before the first of an answer is sent: small answers fail or succeed as a whole."""

_RESTED_MB = 160
"""A reader that is larger than this after a query exits, and a new one replaces it."""


class _Sender:
    """The output of one job."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._gathered = bytearray(DATA)
        self._head: str | None = None

    def begin(self, content_type: str) -> None:
        self._head = content_type

    def write(self, data: bytes) -> int:
        self._gathered += data
        if len(self._gathered) >= _BUFFER:
            self.send()
        return len(data)

    def send(self) -> None:
        if self._head is not None:
            self._connection.send_bytes(HEAD + self._head.encode())
            self._head = None
        self._connection.send_bytes(self._gathered)
        del self._gathered[1:]


def serve(connection: Connection, memory: Memory, functions: Functions) -> None:
    """Answer jobs until the other end is closed; queries may call the functions."""
    opened, path = None, None
    connection.send_bytes(READY)
    while True:
        received: tuple[str, Job, str] | None = connection.recv()
        if received is None:
            opened = path = None
            continue
        place, job, language = received
        sender = _Sender(connection)
        try:
            set_language(language)
            if place != path:
                opened = None
                opened, path = ox.Store.read_only(place), place
            assert opened is not None  # noqa: S101
            evaluate(opened, job, sender, functions)
        except QueryFailed as failure:
            connection.send_bytes(_failed(failure.status, failure.detail))
            continue
        except MemoryError:
            os._exit(MEMORY_EXIT)
        except (OSError, RecursionError) as error:
            message = tr("the engine failed: {error}").format(error=f"{type(error).__name__}: {error}")
            connection.send_bytes(_failed(500, message))
            continue
        sender.send()
        leaving = memory.megabytes > _RESTED_MB
        connection.send_bytes(END + (LAST if leaving else b""))
        if leaving:
            return


def _failed(status: int, detail: str) -> bytes:
    return FAIL + json.dumps({"status": status, "detail": detail}).encode()


def main() -> None:
    """Run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes the connection
    connection = Connection(int(sys.argv[1]))
    limit_mb = int(sys.argv[2])
    blobs = BlobStore(Path(sys.argv[3])) if len(sys.argv) > 3 else None
    limit_address_space(limit_mb)
    memory = Memory()
    threading.Thread(target=watch, args=(limit_mb, os.getppid(), memory), daemon=True).start()
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        serve(connection, memory, functions(blobs))


if __name__ == "__main__":
    main()
