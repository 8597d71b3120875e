"""A lock on a folder, held by an open file: the system releases it when the process ends."""

from __future__ import annotations

import os
from pathlib import Path

from graphrag_rdf.errors import StoreError, StoreLockedError
from graphrag_rdf.i18n import tr


class FolderLock:
    """A lock that is held until `release`.

    Args:
        path: the lock file, created if missing. It stays.

    Raises:
        StoreLockedError: when another process, or another part of this one, holds it.
        StoreError: when the file cannot be created.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(
                tr("cannot write {path}: {cause}").format(path=path, cause=error),
                hint=tr("check free space and permissions"),
            ) from error
        try:
            _lock(self._handle)
        except OSError as error:
            os.close(self._handle)
            raise StoreLockedError(tr("{parent} is in use").format(parent=path.parent)) from error

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


if os.name == "posix":
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

else:
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
