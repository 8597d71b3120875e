"""The traces of a store, for programs: `Engine.traces`."""

from __future__ import annotations

from collections.abc import Iterator

from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.catalogue import Pruned, TraceSummary, delete_trace, find_trace, list_traces
from graphrag_rdf.trace.export import TraceFormat, export_trace
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.reader import read_trace


class Traces:
    """What was asked of a store, and how the answers came about.

    A trace is named by the IRI of its session or question, the end of it, or `last`.

    Raises:
        UsageError: (its methods) when there is no such trace, or several.
    """

    def __init__(self, store: Store, blobs: BlobStore) -> None:
        self._store = store
        self._blobs = blobs

    def __iter__(self) -> Iterator[TraceSummary]:
        """The newest 1,000, newest first."""
        return iter(self.list(1000))

    def __getitem__(self, name: str) -> Trace:
        """A trace, read whole."""
        return read_trace(self._store, find_trace(self._store, name), self._blobs)

    def list(self, limit: int = 50, kind: str | None = None) -> list[TraceSummary]:
        """The newest traces, newest first; sub-traces follow theirs.

        Args:
            kind: of this pipeline only.
        """
        return list_traces(self._store, limit, kind)

    def export(self, name: str, form: TraceFormat = "trig", *, with_sources: bool = True) -> str:
        """A trace as RDF, PROV-N, PROV-JSON, PROV-XML or a page; see `trace.export.export_trace`."""
        session = find_trace(self._store, name)
        return export_trace(self._store, self._blobs, session, form, with_sources=with_sources)

    def delete(self, name: str) -> Pruned:
        """Take a trace out, with its sub-traces and what only they hold."""
        return delete_trace(self._store, self._blobs, find_trace(self._store, name))
