"""Frozen copies of the store for other processes on this computer; see `store.frozen`."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.frozen import drop_all_unused, in_use, make_copy

_MOST = 32
"""Copies at once."""
_LOOK = 0.05
"""Seconds between two looks."""


class FrozenCopies:
    """Makes copies for processes that know the key, which is in the store's folder.

    Who can read the folder can read the store, so the key grants nothing; clients elsewhere do not know it.

    Args:
        folder: of the copies.
    """

    def __init__(self, store: EmbeddedStore, folder: Path) -> None:
        self.key = secrets.token_urlsafe(24)
        self._store = store
        self._folder = folder
        # always the same one: memory that the engine takes in one thread and frees in another is not returned
        self._thread = ThreadPoolExecutor(1, "frozen")

    async def make(self, key: str) -> tuple[str, int]:
        """Make a copy of all that was committed; return its name, and a commit that it has.

        Raises:
            Problem: 403 for a wrong key, 503 when there are too many copies.
            StoreError: when the disk or the engine fails.
        """
        if not hmac.compare_digest(key.encode(), self.key.encode()):
            raise Problem(403, tr("this is not the key of the store that the server has open"))
        return await asyncio.get_running_loop().run_in_executor(self._thread, copy_context().run, self._make)

    async def unread(self, seconds: float) -> bool:
        """Wait until no process reads one of the present copies; whether that was so in time."""
        end = time.monotonic() + seconds
        present = readers = await asyncio.to_thread(in_use, self._folder)
        while readers and time.monotonic() < end:
            await asyncio.sleep(_LOOK)
            readers = present & await asyncio.to_thread(in_use, self._folder)
        return not readers

    def close(self) -> None:
        """Make no more, and delete those that nobody reads."""
        self._thread.shutdown(wait=True)
        drop_all_unused(self._folder)

    def _make(self) -> tuple[str, int]:
        if len(in_use(self._folder)) >= _MOST:
            raise Problem(
                503,
                tr("{most} processes read copies of the store").format(most=_MOST),
                headers={"Retry-After": "10"},
            )
        commit = self._store.commit_number()
        return make_copy(self._store, self._folder), commit
