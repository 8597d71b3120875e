"""Runs of the engine in threads, read by asynchronous routes. Disconnecting ends a run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from graphrag_rdf.from_thread import ThreadRun
from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.trace.messages import GraphRagResponse

log = logging.getLogger(__name__)

T = TypeVar("T")
Messages = Generator[GraphRagResponse, None, None]
Run = ThreadRun[GraphRagResponse]

_WAITING = 32
"""Questions that may wait for a thread."""

_PATIENCE, _LOOK = 4.0, 0.02
"""Seconds that a stop waits for the end of runs, and between two looks at them."""


class Runs:
    """The threads in which questions are answered, in the language of the request.

    Args:
        size: questions at once.
    """

    def __init__(self, size: int) -> None:
        self._threads = ThreadPoolExecutor(size, "answer")
        self._most = size + _WAITING
        self._open: set[Run] = set()
        self.under_way = 0

    async def call(self, work: Callable[[], T]) -> T:
        """Run a function.

        Raises:
            Problem: 503 when too much is waiting.
        """
        self._enter()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, work)
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
        self._threads.submit(copy_context().run, run.work)
        return run

    def _enter(self) -> None:
        if self.under_way >= self._most:
            raise Problem(503, tr("too many questions are waiting"), headers={"Retry-After": "5"})
        self.under_way += 1

    def _ended(self, run: Run) -> None:
        if run in self._open:
            self._open.discard(run)
            self.under_way -= 1

    async def stop(self) -> None:
        """Cancel all runs and wait a while until their traces are closed: one may wait for a model."""
        for run in list(self._open):
            run.close()
        end = time.monotonic() + _PATIENCE
        while self.under_way and time.monotonic() < end:
            await asyncio.sleep(_LOOK)
        if self.under_way:
            log.warning("questions that did not end in %g s were abandoned: %s", _PATIENCE, self.under_way)
        self._threads.shutdown(wait=False, cancel_futures=True)
