"""The commits of a run: the first also says that the run began, and what it was."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import datetime_, now
from graphrag_rdf.store.base import Changes, Store


class Journal:
    """Commits what a run changes. A run that changes nothing leaves no trace of itself.

    Attributes:
        quads: how many were put in, less those taken out. The store is not counted: that reads all of it.

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
        self._started: Literal | None = None
        self._newest = store.content_commit()
        self.quads = 0
        self._others = 0

    def others(self) -> int:
        """How often somebody else was seen to have changed the content, as clients of a server may between
        two chunks; 0 when the run was alone."""
        newest = self._store.content_commit()
        if newest != self._newest:
            self._newest = newest
            self._others += 1
        return self._others

    def commit(self, changes: Changes) -> None:
        """Commit, if there is anything to."""
        if not changes:
            return
        self.others()  # before our own commit hides it
        if self._started is None:
            self._started = datetime_(now())
            changes.add += self._of_run()
        self._store.commit(changes)
        self._newest = self._store.content_commit()
        kept = sum(quad.predicate != RAG.unlinked for quad in changes.add)
        self.quads += kept - len(changes.remove)

    def end(self) -> None:
        """Say that the run ended, if it began, or if an earlier one was stopped: it is settled by now."""
        if self._started is None and self._store.select("checks/runs-finished", limit=1):
            self._started = datetime_(now())
        if self._started is not None:
            ended = Quad(self._run, PROV.endedAtTime, datetime_(now()), Graphs.SYSTEM)
            self._store.commit(Changes(add=[*self._of_run(), ended]))  # DROP ALL may have taken the beginning

    def _of_run(self) -> list[Quad]:
        says = [*self._says, (PROV.startedAtTime, self._started)]
        return [Quad(self._run, p, o, Graphs.SYSTEM) for p, o in says if o is not None]
