"""The one queue of writes that clients send: the store has one writer, and a stop waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from graphrag_rdf.server.problems import Problem

_WAITING = 64


class WriteQueue:
    """Runs writes one after the other, in the order in which they came."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "writer")
        self.waiting = 0

    async def run(self, write: Callable[[], int]) -> int:
        """Run a write and wait for it, also if nobody waits for us any more; the new commit number.

        Raises:
            Problem: 503 when too many are waiting.
        """
        if self.waiting >= _WAITING:
            raise Problem(503, "too many writes are waiting", headers={"Retry-After": "2"})
        self.waiting += 1
        done = asyncio.get_running_loop().run_in_executor(self._thread, write)
        done.add_done_callback(self._finished)
        return await asyncio.shield(done)

    def _finished(self, done: asyncio.Future[int]) -> None:
        self.waiting -= 1
        if not done.cancelled():
            done.exception()  # looked at, also when nobody waits

    async def stop(self) -> None:
        """Finish what is in the queue."""
        await asyncio.to_thread(self._thread.shutdown, wait=True)
