"""Snapshots of the store for readers: made on demand, dropped when no reader uses them any more.

A snapshot is a folder of hard links (`EmbeddedStore.snapshot`, milliseconds), inside the store's own folder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol, TypeAlias

from graphrag_rdf.layout import COPIES, StorePaths, remove
from graphrag_rdf.reader_process.process import Snapshot
from graphrag_rdf.store.embedded import EmbeddedStore

MAX_AGE = 0.25
"""Seconds that a reader may be behind writes that are not its client's own."""


class Holder(Protocol):
    """Reads a snapshot."""

    snapshot: Snapshot | None


class Snapshots:
    """Snapshots of a store that is written to.

    Args:
        place: of the store, its path without links.
    """

    def __init__(self, store: EmbeddedStore, place: StorePaths) -> None:
        self._store = store
        self._place = place
        self._newest: Snapshot | None = None
        self._all: set[Snapshot] = set()
        self._lock = threading.Lock()
        # always the same one: memory that the engine takes in one thread and frees in another is not returned
        self._thread = ThreadPoolExecutor(1, "snapshot")

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

    def fresh(self, min_commit: int, holder: Holder) -> Snapshot:
        """A snapshot with a commit, at most `MAX_AGE` behind; the holder's from now on."""
        with self._lock:
            if not self._fits(min_commit):
                self._newest = self._thread.submit(self._take).result()
                self._all.add(self._newest)
            assert self._newest is not None  # noqa: S101
            holder.snapshot = self._newest
            return self._newest

    def tidy(self, holders: Collection[Holder]) -> None:
        """Drop snapshots that nobody reads; called often. The newest stays until the store changes."""
        with self._lock:
            self._newest = self.current
            dropped = self._all - {self._newest, *(holder.snapshot for holder in holders)}
            self._all -= dropped
            for snapshot in dropped:
                StorePaths(snapshot.path.parent).delete()

    def close(self) -> None:
        """Drop everything."""
        self._newest = None
        self._all.clear()
        self._thread.shutdown(wait=False)
        remove(self._place.snapshots, COPIES)

    def _fits(self, min_commit: int) -> bool:
        newest = self._newest
        if newest is None or newest.commit < min_commit or newest.generation != self._store.generation:
            return False
        return newest is self.current or time.monotonic() - newest.taken < MAX_AGE

    def _take(self) -> Snapshot:
        path = self._place.new_copy().database
        start, commit, generation = time.monotonic(), self._store.commit_number(), self._store.generation
        self._store.snapshot(path)
        return Snapshot(path, commit, start, generation)


class Unchanging:
    """A read-only store is its own snapshot; see `Snapshots`."""

    former = False

    def __init__(self, path: Path, commit: int) -> None:
        self.current = Snapshot(path, commit, 0.0)

    def fresh(self, min_commit: int, holder: Holder) -> Snapshot:
        """The store."""
        del min_commit
        holder.snapshot = self.current
        return self.current

    def tidy(self, holders: Collection[Holder]) -> None:
        """Nothing to do."""
        del holders

    def close(self) -> None:
        """Nothing to do."""


SnapshotSource: TypeAlias = Snapshots | Unchanging
"""Where readers get their store from."""
