"""What failed before and what fails now: recorded once, taken away when it succeeds or is gone."""

from __future__ import annotations

from typing import Any, TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.ingest.plan import DocumentPlan, is_there, stored_documents
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.terms import node_of, now, text_of, to_python
from graphrag_rdf.store.base import Changes, Store

Updates: TypeAlias = list[tuple[str, dict[str, Any]]]


class FailureRecords:
    """The failures that the store records, as they were when the run began."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known = {
            (str(row["about"]), str(to_python(row["stage"]))): row for row in store.select("ingest/failures")
        }

    def record(self, about: NamedNode, stage: str, reason: str, path: str, changes: Changes) -> None:
        """Record a failure, unless it is recorded already."""
        known = self._known.get((str(about), stage))
        if known is not None and to_python(known["reason"]) == reason:
            return
        if known is not None:
            changes.updates += _clear([about])
        changes.add += prov.failure(about, stage, reason, now(), path)

    def of_document(self, plan: DocumentPlan) -> Updates:
        """What takes away that a document could not be read: under its name or, before that was known, under
        its file's.
        """
        failed = {about for about, _ in self._known}
        return _clear([node for node in (plan.iri, iris.document(plan.location)) if str(node) in failed])

    def of_chunk(self, chunk: NamedNode) -> Updates:
        """What takes away that a chunk could not be extracted from."""
        return _clear([chunk] if (str(chunk), "extract") in self._known else [])

    def of_gone_files(self) -> Updates:
        """What takes away failures of files that are no longer there and never became a document."""
        gone = [
            node_of(row["about"])
            for (_, stage), row in self._known.items()
            if stage == "read" and not is_there(text_of(row["about"]))
        ]
        documents = stored_documents(self._store, gone)
        return _clear([about for about in gone if about.value not in documents])


def _clear(things: list[NamedNode]) -> Updates:
    return [("ingest/clear-failures", {"things": things})] if things else []
