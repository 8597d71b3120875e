"""Queries of one question that a model or a user's template wrote: in a reader process, with limits.

The reader starts with the first query and sees the store as it was then. It is killed at the time limit; the
next query gets a new one. A remote store has limits of its own (`remote.timeout`). Without POSIX, queries run
in this process, without a time limit.
"""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import pyoxigraph as ox

from graphrag_rdf.errors import StoreError, UsageError, short_cause
from graphrag_rdf.i18n import tr
from graphrag_rdf.layout import StorePaths
from graphrag_rdf.reader_process.evaluate import Job, QueryFailed, Wanted
from graphrag_rdf.store.answers import read_json
from graphrag_rdf.store.base import Answer, Store
from graphrag_rdf.store.embedded import EmbeddedStore

if TYPE_CHECKING:
    from graphrag_rdf.reader_process.process import Reader, Snapshot

_JSON = "application/sparql-results+json"
_MEGABYTES = 512
"""Memory of the process at most (2^20 bytes)."""
_BYTES = 1 << 24
"""Size of a result at most."""


class LimitedQueries:
    """Runs queries on a store within limits; a context manager.

    Args:
        seconds: time limit of one query.
    """

    def __init__(self, store: Store, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        self._reader: Reader | None = None
        self._snapshot: Snapshot | None = None
        self._own: StorePaths | None = None  # the folder of a snapshot that was made here

    def __enter__(self) -> LimitedQueries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reader is not None:
            self._reader.end()
        if self._own is not None:
            self._own.delete()

    def run(self, sparql: str, rows: int, *, union: bool = False) -> Answer:
        """The result of a SELECT or ASK.

        Args:
            sparql: with its prefixes.
            rows: maximum number of rows.
            union: the default graph is the union of all graphs.

        Raises:
            UsageError: it is malformed, or over a limit; the message names the limit.
            StoreError: the process or its copy of the store cannot be made.
        """
        if os.name != "posix" or not isinstance(self._store, EmbeddedStore):
            return _counted(self._store.query(sparql, union=union), rows)
        reader = self._ready(self._store)
        job = Job(text=sparql, results=Wanted(_JSON, _JSON), max_rows=rows, max_bytes=_BYTES, union=union)
        output, late = _Gathered(), threading.Event()
        timer = threading.Timer(self._seconds, self._kill, [late])
        timer.start()
        try:
            reader.run(job, output)
        except QueryFailed as failure:
            message = f"the query took longer than {self._seconds:g} s" if late.is_set() else failure.detail
            raise UsageError(message) from None
        finally:
            timer.cancel()
        return _counted(read_json(bytes(output.data)), rows)

    def _ready(self, store: EmbeddedStore) -> Reader:
        """The process, with the copy that it reads."""
        from graphrag_rdf.reader_process.process import Reader

        try:
            if self._reader is None or self._reader.gone:
                if self._reader is not None:
                    self._reader.end()
                self._reader = Reader(_MEGABYTES, store.blobs.path if store.blobs else None)
            self._snapshot = self._snapshot or self._frozen(store)
        except OSError as error:
            raise StoreError(
                tr("the process for queries cannot be started: {error}").format(error=short_cause(error)),
                tr("look for free memory and disk space"),
            ) from error
        self._reader.snapshot = self._snapshot
        return self._reader

    def _kill(self, late: threading.Event) -> None:
        late.set()
        if self._reader is not None:
            self._reader.kill()

    def _frozen(self, store: EmbeddedStore) -> Snapshot:
        """A copy that no write changes; a read-only store is its own."""
        from graphrag_rdf.reader_process.process import Snapshot

        if store.path is None:
            self._own = StorePaths(Path(tempfile.mkdtemp(prefix="graphrag-rdf-")))
            copy = ox.Store(str(self._own.database))
            copy.bulk_extend(store.quads())
            copy.flush()
            return Snapshot(self._own.database, 0, 0.0)
        if store.read_only:
            assert store.folder is not None  # noqa: S101 - it is not in memory
            return Snapshot(store.folder.resolve(), 0, 0.0)
        self._own = StorePaths(store.path.parent.resolve()).new_copy()
        store.snapshot(self._own.database)
        return Snapshot(self._own.database, 0, 0.0)


def _counted(answer: Answer, most: int) -> Answer:
    """A result without too many rows: a reader counts rows with unbound variables for less than one."""
    if len(answer.rows or ()) > most:
        raise UsageError(
            tr("the answer has more than {most:,} rows: ask for fewer (LIMIT)").format(most=most)
        )
    return answer


class _Gathered:
    """The whole output of a job."""

    def __init__(self) -> None:
        self.data = bytearray()

    def begin(self, content_type: str) -> None:
        """The type is known."""

    def write(self, data: bytes) -> int:
        """A part of it."""
        self.data += data
        return len(data)
