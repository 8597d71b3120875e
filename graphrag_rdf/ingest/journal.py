"""The commits of a run: the first also says that the run began, and what it was."""

from __future__ import annotations

from collections.abc import Sized

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import datetime_, now
from graphrag_rdf.store.base import Changes, Store


class Journal:
    """Commits what a run changes. A run that changes nothing leaves no trace of itself.

    Args:
        extractor: the extractor's key.
        version: of the settings kept in the store.
    """

    def __init__(self, store: Store, extractor: str, version: NamedNode | None) -> None:
        self._store = store
        self._run = iris.ingest_run(iris.new_uuid())
        self._says: list[tuple[NamedNode, NamedNode | Literal]] = [
            (RDF.type, RAG.IngestRun),
            (RAG.extractor, Literal(extractor)),
        ]
        if version is not None:
            self._says.append((RAG.settings, version))
        self._begun = False
        self._quads_before = 0
        self._written = 0

    def commit(self, changes: Changes) -> None:
        """Commit, if there is anything to."""
        if not changes:
            return
        if not self._begun:
            self._begun = True
            self._quads_before = self._quads()
            changes.add += [self._of_run(p, o) for p, o in self._says]
            changes.add.append(self._of_run(PROV.startedAtTime, datetime_(now())))
        self._store.commit(changes)
        self._written += len(changes.add) - len(changes.remove)

    def end(self) -> None:
        """Say that the run ended, if it began."""
        if self._begun:
            self._store.commit(Changes(add=[self._of_run(PROV.endedAtTime, datetime_(now()))]))

    @property
    def new_quads(self) -> int:
        """By how many quads the store has grown; where it would have to count them, how many were written."""
        return self._quads() - self._quads_before if self._begun else 0

    def _of_run(self, p: NamedNode, o: NamedNode | Literal) -> Quad:
        return Quad(self._run, p, o, Graphs.SYSTEM)

    def _quads(self) -> int:
        return len(self._store) if isinstance(self._store, Sized) else self._written
