"""Snapshots of the store for readers: made on demand, dropped when no reader uses them any more.

A snapshot is a folder of hard links (`EmbeddedStore.snapshot`, milliseconds), inside the store's own folder.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from graphrag_rdf.store.embedded import EmbeddedStore

MAX_AGE = 0.25
"""Seconds that a reader may be behind writes that are not its client's own."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A frozen store.

    Attributes:
        commit: all commits up to this one are in it.
        generation: of the database that it is a copy of (see `EmbeddedStore.purge`).
        taken: `time.monotonic` just before it was made.
    """

    path: Path
    commit: int
    taken: float
    generation: int = 0

    @property
    def place(self) -> str:
        """Its path, for the engine."""
        return str(self.path)


class Snapshots:
    """Snapshots of a store that is written to.

    Args:
        folder: for them alone; what is left in it from before is dropped.
    """

    def __init__(self, store: EmbeddedStore, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._newest: Snapshot | None = None
        self._all: set[Snapshot] = set()
        self._lock = asyncio.Lock()
        # always the same one: memory that the engine takes in one thread and frees in another is not returned
        self._thread = ThreadPoolExecutor(1, "snapshot")
        self._number = 0
        self.made = 0
        self.seconds = 0.0
        shutil.rmtree(folder, ignore_errors=True)

    @property
    def current(self) -> Snapshot | None:
        """The newest one if the store has not changed since; else None."""
        newest = self._newest
        if newest is None or newest.generation != self._store.generation:
            return None
        return newest if newest.commit == self._store.commit_number() else None

    @property
    def former(self) -> bool:
        """Whether there are any of a database that was rewritten since (`EmbeddedStore.purge`)."""
        return any(snapshot.generation != self._store.generation for snapshot in self._all)

    async def fresh(self, min_commit: int) -> Snapshot:
        """A snapshot with a commit, at most `MAX_AGE` behind."""
        if (found := self._fit(min_commit)) is not None:
            return found
        async with self._lock:
            if (found := self._fit(min_commit)) is not None:
                return found
            self._newest = await asyncio.get_running_loop().run_in_executor(self._thread, self._take)
            return self._newest

    async def tidy(self, in_use: Callable[[], Collection[Snapshot]]) -> None:
        """Drop snapshots that nobody reads; called often. The newest stays until the store changes.

        Args:
            in_use: returns those that are read; called when no snapshot is being made.
        """
        loop = asyncio.get_running_loop()
        async with self._lock:
            self._newest = self.current
            dropped = self._all - set(in_use()) - {self._newest}
        for snapshot in dropped:
            drop = partial(shutil.rmtree, snapshot.path, ignore_errors=True)
            await loop.run_in_executor(self._thread, drop)
            self._all.discard(snapshot)

    def close(self) -> None:
        """Drop everything."""
        self._newest = None
        self._all.clear()
        self._thread.shutdown(wait=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _fit(self, min_commit: int) -> Snapshot | None:
        newest = self._newest
        if newest is None or newest.commit < min_commit or newest.generation != self._store.generation:
            return None
        return newest if newest is self.current or time.monotonic() - newest.taken < MAX_AGE else None

    def _take(self) -> Snapshot:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._number += 1
        path = self._folder / str(self._number)
        start, commit, generation = time.monotonic(), self._store.commit_number(), self._store.generation
        self._store.snapshot(path)
        self.made += 1
        self.seconds += time.monotonic() - start
        taken = Snapshot(path, commit, start, generation)
        self._all.add(taken)  # also if the query that needed it was cancelled
        return taken


class Unchanging:
    """A read-only store is its own snapshot."""

    def __init__(self, path: Path, commit: int) -> None:
        self._snapshot = Snapshot(path, commit, 0.0)

    @property
    def current(self) -> Snapshot | None:
        """See `Snapshots.current`."""
        return self._snapshot

    @property
    def former(self) -> bool:
        """See `Snapshots.former`."""
        return False

    async def fresh(self, min_commit: int) -> Snapshot:
        """See `Snapshots.fresh`."""
        del min_commit
        return self._snapshot

    async def tidy(self, in_use: Callable[[], Collection[Snapshot]]) -> None:
        """Nothing to do."""
        del in_use

    def close(self) -> None:
        """Nothing to do."""


SnapshotSource: TypeAlias = Snapshots | Unchanging
"""Where readers get their store from."""
