"""The protocol over standard input and output: a program of the user starts this one as its child.

Queries run in reader processes with the limits of the server, as over HTTP. All other output goes to standard
error, which the protocol does not use.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

from graphrag_rdf.config import ServerSection
from graphrag_rdf.engine import Engine
from graphrag_rdf.server.mcp import protocol
from graphrag_rdf.server.mcp.tools import Caller
from graphrag_rdf.server.service import Service

_LONGEST = 1 << 22
"""Bytes of a message."""


def serve_stdio(engine: Engine, settings: ServerSection) -> bool:
    """Serve until standard input ends.

    Returns:
        False if a signal ended it (SIGINT, SIGTERM).

    Raises:
        UsageError: when the package is not installed.
    """
    protocol.load()
    return asyncio.run(_serve(engine, settings))


async def _serve(engine: Engine, settings: ServerSection) -> bool:
    from mcp.server.stdio import stdio_server

    service, caller, stopped = Service(engine, settings), Caller.local(), asyncio.Event()
    server = protocol.build(service, lambda request: caller)  # noqa: ARG005
    with suppress(NotImplementedError):  # Windows raises KeyboardInterrupt instead
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    lines = _Lines(os.dup(sys.stdin.fileno()))
    await service.start()
    try:
        async with stdio_server(stdin=cast(Any, lines)) as (reading, writing):
            work = asyncio.create_task(server.run(reading, writing, server.create_initialization_options()))
            signalled = asyncio.create_task(stopped.wait())
            await asyncio.wait([work, signalled], return_when=asyncio.FIRST_COMPLETED)
            lines.end()
            work.cancel()
            signalled.cancel()
            with suppress(asyncio.CancelledError):
                await work
    finally:
        await service.stop()
    return not stopped.is_set()


class _Lines:
    """Lines of standard input, read in a daemon thread.

    Args:
        descriptor: of a file that nothing else uses.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, daemon=True, name="stdin").start()

    def end(self) -> None:
        """No more."""
        self._lines.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            yield line

    def _read(self) -> None:
        held = bytearray()
        with suppress(RuntimeError):  # the loop is closed: the program ends
            while data := os.read(self._descriptor, 1 << 16):
                *whole, rest = (bytes(held) + data).split(b"\n")
                held = bytearray(rest)
                for line in whole:
                    self._pass_on(line.decode("utf-8", "replace"))
                if len(held) > _LONGEST:
                    break  # longer than any message: end
            self._loop.call_soon_threadsafe(self.end)

    def _pass_on(self, line: str) -> None:
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
