"""Runs of the engine in threads, read by asynchronous routes; who hangs up ends one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from graphrag_rdf.from_thread import ThreadRun
from graphrag_rdf.server.problems import Problem
from graphrag_rdf.trace.messages import GraphRagResponse

T = TypeVar("T")
Messages = Generator[GraphRagResponse, None, None]
Run = ThreadRun[GraphRagResponse]

_WAITING = 32
"""Questions that may wait beside those that are being answered."""


class Runs:
    """The threads in which questions are answered.

    Args:
        size: questions at once.
    """

    def __init__(self, size: int) -> None:
        self._threads = ThreadPoolExecutor(size, "answer")
        self._most = size + _WAITING
        self._open: set[Run] = set()
        self.under_way = 0

    async def call(self, work: Callable[[], T]) -> T:
        """Run something that gives its result at the end.

        Raises:
            Problem: 503 when too much is waiting.
        """
        self._enter()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self.under_way -= 1

    def start(self, begin: Callable[[], Messages]) -> Run:
        """Begin a run; close it in any case.

        Raises:
            Problem: 503 when too much is waiting.
        """
        self._enter()
        run = Run(begin, self._ended)
        self._open.add(run)
        self._threads.submit(run.work)
        return run

    def _enter(self) -> None:
        if self.under_way >= self._most:
            raise Problem(503, "too many questions are waiting", headers={"Retry-After": "5"})
        self.under_way += 1

    def _ended(self, run: Run) -> None:
        if run in self._open:
            self._open.discard(run)
            self.under_way -= 1

    async def stop(self) -> None:
        """Cancel all runs and wait until their traces are closed."""
        for run in list(self._open):
            run.close()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=False)
