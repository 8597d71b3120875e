"""The server's reader processes: a pool that replaces those which were killed or hold too much memory."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from graphrag_rdf.i18n import tr
from graphrag_rdf.reader_process.evaluate import Job, QueryFailed
from graphrag_rdf.reader_process.process import Reader
from graphrag_rdf.server.execution.queries import PATIENCE, Answer
from graphrag_rdf.server.execution.snapshots import SnapshotSource

log = logging.getLogger(__name__)

_TIDY, _LOOK = 1.0, 0.01
"""Seconds between two tidyings, and between two looks."""


class ReaderPool:
    """The readers, and the snapshots that they read.

    Args:
        size: processes.
        memory_mb, blobs: see `Reader`.
    """

    def __init__(
        self, snapshots: SnapshotSource, size: int, memory_mb: int, blobs: Path | None = None
    ) -> None:
        self._snapshots = snapshots
        self._size = size
        self._memory_mb = memory_mb
        self._blobs = blobs
        self._readers: set[Reader] = set()
        self._idle: list[Reader] = []  # used last in, first out: warm caches
        self._news = threading.Condition()  # of both
        self._stopping = threading.Event()
        self._starter = ThreadPoolExecutor(size, "reader")

    def start(self) -> None:
        """Start all readers, and the tidying of snapshots."""
        for _ in range(self._size):
            self._starter.submit(self._start_one)
        threading.Thread(target=self._tidy_often, name="tidy", daemon=True).start()

    def stop(self) -> None:
        """Kill all readers; running queries are cut off."""
        self._stopping.set()
        with self._news:
            self._news.notify_all()
            for reader in self._readers:
                reader.kill()  # also one that is stopped (SIGSTOP), which sees no close
        self._starter.shutdown(wait=False, cancel_futures=True)
        self._snapshots.close()

    def evaluate(self, job: Job, answer: Answer) -> None:
        """Run a job in the first reader that is still there once a snapshot is ready.

        Raises:
            QueryFailed: see `Reader.run`; or no reader was free in time.
        """
        while True:
            reader = self._take()
            try:
                snapshot = self._snapshots.fresh(answer.min_commit, reader)
                if reader.gone:
                    continue
                with answer.running(snapshot.commit, reader.kill):
                    reader.run(job, answer)
                return
            finally:
                self._give_back(reader)

    async def without_former(self, seconds: float) -> bool:
        """Drop copies of a database that was rewritten; whether all are gone in so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.to_thread(self._tidy)
            if not self._snapshots.former:
                return True
            await asyncio.sleep(_LOOK)
        return False

    # --- readers come and go ---------------------------------------------------------------------------

    def _take(self) -> Reader:
        with self._news:
            self._news.wait_for(lambda: self._idle or self._stopping.is_set(), PATIENCE)
            if not self._idle or self._stopping.is_set():
                raise QueryFailed(503, tr("no reader process became free in time"))
            return self._idle.pop()

    def _give_back(self, reader: Reader) -> None:
        with self._news:
            if not reader.gone:
                self._idle.append(reader)
                self._news.notify()
                return
            self._readers.discard(reader)
        reader.end()
        with suppress(RuntimeError):  # the pool was stopped
            self._starter.submit(self._start_one)

    def _start_one(self) -> None:
        while not self._stopping.is_set():
            try:
                reader = Reader(self._memory_mb, self._blobs)
            except OSError as error:
                log.error("a reader process cannot be started: %s", error)  # noqa: TRY400
                self._stopping.wait(1)
                continue
            with self._news:
                self._readers.add(reader)
            if self._stopping.is_set():
                reader.kill()
            self._give_back(reader)
            return

    def _tidy_often(self) -> None:
        while not self._stopping.wait(_TIDY):
            self._tidy()

    def _tidy(self) -> None:
        """Replace swollen readers, and drop the snapshots that nobody reads any more."""
        with self._news:
            idle, self._idle = self._idle, []
        for reader in idle:
            if reader.is_swollen():
                reader.kill()  # another takes its place
            elif reader.snapshot is not None and reader.snapshot is not self._snapshots.current:
                reader.let_go_of_snapshot()
            self._give_back(reader)
        with self._news:
            readers = set(self._readers)
        self._snapshots.tidy(readers)
