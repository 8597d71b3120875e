"""Frozen copies of a store: what other processes read while a server has the store open.

The server makes a copy (`make_copy`: hard links, milliseconds), in a folder of its own inside the store's.
The process that asked for it holds the copy's lock while it reads (`FrozenCopy`), and deletes the copy. The
system releases the lock of a process that was killed: the next one that makes a copy, or opens the store to
write, deletes what nobody holds (`drop_unused`).
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from graphrag_rdf import layout
from graphrag_rdf.errors import StoreError, StoreLockedError
from graphrag_rdf.i18n import tr
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.generations import is_database
from graphrag_rdf.store.lock import FolderLock

_UNCLAIMED = 10.0
"""Seconds that a copy has to be locked by the process it was made for."""


def make_copy(store: EmbeddedStore, folder: Path) -> str:
    """Make a copy in the folder of copies; return its name.

    Raises:
        StoreError: when the disk or the engine fails.
    """
    copy = layout.new_copy(folder)
    try:
        store.snapshot(copy.database)
    except BaseException:
        copy.delete()
        raise
    return copy.root.name


class FrozenCopy:
    """A copy that this process reads, until `close`.

    Attributes:
        database: its database.

    Args:
        folder: of the copies.
        name: see `make_copy`.

    Raises:
        StoreError: when there is no such copy, or this user may not lock it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._place = layout.StorePaths(folder / name)
        self.database = self._place.database
        missing = StoreError(
            tr("there is no copy {name!r} of the store in {folder}").format(name=name, folder=folder)
        )
        if Path(name).name != name or not is_database(self.database):
            raise missing
        self._lock = FolderLock(self._place.lock)
        if not is_database(self.database):  # it was dropped meanwhile
            self.close()
            raise missing

    def close(self) -> None:
        """Delete it. A second call does nothing."""
        self._place.delete()
        self._lock.release()
        self._place.delete()  # Windows deletes no file that is open


def in_use(folder: Path) -> set[str]:
    """The names of the copies that a process reads, or was just given."""
    drop_unused(folder)
    return {copy.root.name for copy in layout.copies(folder)}


def drop_all_unused(folder: Path, unclaimed: float = _UNCLAIMED) -> None:
    """As `drop_unused`, and delete the folder if it is empty: no process makes copies any more, or yet."""
    drop_unused(folder, unclaimed)
    with suppress(OSError):  # missing, or not empty
        folder.rmdir()


def drop_unused(folder: Path, unclaimed: float = _UNCLAIMED) -> None:
    """Delete the copies that no process reads.

    Args:
        unclaimed: seconds that a copy stays which nobody has locked.
    """
    for copy in layout.copies(folder):
        try:
            if time.time() - copy.root.stat().st_mtime < unclaimed:
                continue
            lock = FolderLock(copy.lock)
        except (OSError, StoreLockedError, StoreError):  # gone, in use, or another user's
            continue
        copy.delete()
        lock.release()
        copy.delete()
