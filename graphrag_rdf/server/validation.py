"""SHACL shapes of the user as a gate of what clients write: graphs, datasets, and updates.

A write is validated in the writer's thread, before it happens. What it would change is known for the Graph
Store Protocol and for updates that only have INSERT DATA. Other updates run on a copy of the store first
(hard links, milliseconds), whose facts are compared with those of the store.

Facts, and named graphs of clients together with the facts, are validated. The program's own graphs, and
graphs with shapes, are not.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, Triple
from starlette.requests import HTTPConnection
from starlette.responses import Response

from graphrag_rdf.ingest.validation import keep_report, opened_shapes, report_of
from graphrag_rdf.rdf.namespaces import PREFIXES, PROV, Graphs
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.rdf.validation import Result
from graphrag_rdf.schema.shapes import Statement, is_iri
from graphrag_rdf.schema.validation import Change, validate_between, validate_change
from graphrag_rdf.server.execution.sparql_text import only_inserts
from graphrag_rdf.server.http.negotiation import GRAPHS, negotiate
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.store.embedded import EmbeddedStore

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

REPORT = "GraphRAG-Validation"
"""Response header: the IRI of the kept report of a validation, if it has results."""
_REPORTED = {name: PREFIXES[name] for name in ("sh", "prov", "rag", "xsd")}
_OWN = frozenset(
    {
        *(Graphs.SOURCE, Graphs.RETRIEVAL, Graphs.COMMUNITY, Graphs.DERIVED, Graphs.INFERRED),
        *(Graphs.ONTOLOGY, Graphs.SYSTEM),
    }
)
_AT_ENDPOINT = "the store is behind an endpoint, so this update cannot be validated before it runs"


class RefusedWrite(Problem):
    """A write that breaks the shapes: 422, with the sh:ValidationReport in the format that Accept names."""

    def __init__(
        self, results: int, report: list[Triple], accept: str | None, kept: NamedNode | None
    ) -> None:
        headers = {REPORT: kept.value} if kept else {}
        super().__init__(422, f"the shapes of this server are broken: {results} results", headers=headers)
        self._report = report
        self._choice = negotiate(accept, GRAPHS)

    def response(self) -> Response:
        """The report, or a problem document for clients that accept no RDF."""
        if self._choice is None:
            return super().response()
        form = self._choice.format.engine
        assert isinstance(form, ox.RdfFormat)  # noqa: S101 - that of a graph
        body = ox.serialize(self._report, format=form, prefixes=_REPORTED)
        return Response(body, self.status, {**self.headers, "Content-Type": self._choice.content_type})


@dataclass
class _Delta:
    """What a write changes in one graph."""

    added: set[Statement] = field(default_factory=set)
    removed: set[Statement] = field(default_factory=set)


class Gate:
    """Validates what clients write.

    Args:
        engine: open.

    Raises:
        UsageError: the shapes cannot be used.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._settings = engine.settings.validation
        self._graphs = {NamedNode(each) for each in self._settings.shapes if is_iri(each)}
        self._shapes = opened_shapes(engine.store, self._settings)
        self._trials = 0

    def graph(
        self, connection: HTTPConnection, graph: NamedNode | None, triples: Iterable[Triple], *, replace: bool
    ) -> Passed:
        """Validate triples that are put into a graph (None: the default graph).

        Raises:
            RefusedWrite: they break the shapes, and the mode is reject.
        """
        if self._shapes is None or self._is_own(graph):
            return Passed()
        old = self._lines(self._engine.store, graph) if replace else set[bytes]()
        delta = _delta(old, set(_n_triples(triples).splitlines()))
        return self._judge(connection, {self._place(graph): delta}, "graph store")

    def quads(self, connection: HTTPConnection, quads: Iterable[Quad]) -> Passed:
        """Validate quads that are added to their graphs. Errors as of `graph`."""
        return self._judge(connection, self._added(quads), "graph store") if self._shapes else Passed()

    def update(self, connection: HTTPConnection, update: str, base: str) -> Passed:
        """Validate an update.

        Raises:
            RefusedWrite: see `graph`.
            Problem: 501 when the mode is reject, and the store is behind an endpoint that cannot be copied.
            UsageError: the update cannot be evaluated.
        """
        if self._shapes is None:
            return Passed()
        store = self._engine.store
        if only_inserts(update):
            scratch = EmbeddedStore(store.templates)
            scratch.update(update, base)
            return self._judge(connection, self._added(_all(scratch)), "update")
        if not isinstance(store, EmbeddedStore):
            if self._settings.mode == "reject":
                hint = "send INSERT DATA, or use the Graph Store Protocol"
                raise Problem(501, _AT_ENDPOINT, hint=hint)
            return Passed({REPORT: "not validated"})
        with self._copy(store) as after:
            after.update(update, base)
            deltas = self._differences(store, after)
            return self._judge(connection, deltas, "update", after)

    # --- what changes -----------------------------------------------------------------------------------

    def _is_own(self, graph: object) -> bool:
        return graph in _OWN or graph in self._graphs

    def _place(self, graph: object) -> NamedNode | None:
        """A graph as changes name it: None for the facts."""
        if isinstance(graph, NamedNode) and graph != self._engine.store.renderer.facts_graph:
            return graph
        return None

    def _added(self, quads: Iterable[Quad]) -> dict[NamedNode | None, _Delta]:
        found: defaultdict[NamedNode | None, _Delta] = defaultdict(_Delta)
        for quad in quads:
            if not self._is_own(quad.graph_name) and not isinstance(quad.graph_name, BlankNode):
                found[self._place(quad.graph_name)].added.add((quad.subject, quad.predicate, quad.object))
        return dict(found)

    def _lines(self, store: Store, graph: NamedNode | None) -> set[bytes]:
        """The triples of a graph as N-Triples, which are read and compared faster than terms."""
        place: NamedNode | DefaultGraph = graph or store.renderer.facts_graph or DefaultGraph()
        if isinstance(store, EmbeddedStore):
            with store.reading() as engine:
                data = engine.dump(format=ox.RdfFormat.N_TRIPLES, from_graph=place)
        else:
            data = _n_triples(quad.triple for quad in store.quads(place))  # type: ignore[arg-type]
        return set((data or b"").splitlines())

    def _differences(self, before: EmbeddedStore, after: EmbeddedStore) -> dict[NamedNode | None, _Delta]:
        names = {*before.graphs(), *after.graphs()}
        graphs = [each for each in names if isinstance(each, NamedNode) and not self._is_own(each)]
        found: dict[NamedNode | None, _Delta] = {}
        for graph in (None, *sorted(graphs, key=str)):
            old, new = self._lines(before, graph), self._lines(after, graph)
            if old != new:
                found[graph] = _delta(old, new)
        return found

    @contextmanager
    def _copy(self, store: EmbeddedStore) -> Iterator[EmbeddedStore]:
        """A copy of the store, for one update."""
        place = self._engine.place
        if place is None:
            copy = EmbeddedStore(store.templates)
            copy.bulk_add(_all(store))
            yield copy
            copy.close()
            return
        self._trials += 1
        folder: Path = place.snapshots / f"trial-{self._trials}"
        folder.mkdir(parents=True)  # with the lock of the copy
        try:
            store.snapshot(folder / "copy")
            copy = EmbeddedStore(store.templates, folder / "copy")
            try:
                yield copy
            finally:
                copy.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    # --- verdicts ---------------------------------------------------------------------------------------

    def _judge(
        self,
        connection: HTTPConnection,
        deltas: Mapping[NamedNode | None, _Delta],
        stage: str,
        after: Store | None = None,
    ) -> Passed:
        """Validate changes.

        Args:
            after: a store with the changes.
        """
        store, started = self._engine.store, now()
        shapes = opened_shapes(store, self._settings) if self._graphs else self._shapes
        assert shapes is not None  # noqa: S101 - else nothing is judged
        results: list[Result] = []
        for graph, delta in deltas.items():
            change = Change(delta.added, delta.removed, graph)
            found = (
                validate_change(store, shapes, change)
                if after is None
                else validate_between(store, after, shapes, change)
            )
            results += found.results
        if not results:
            return Passed()
        refused = self._settings.mode == "reject" and any(each.severity == "Violation" for each in results)
        count = sum(len(delta.added) for delta in deltas.values()) if refused else 0
        report, quads = report_of(
            shapes, results, stage=stage, mode=self._settings.mode, started=started, rejected=count
        )
        changes = Changes(content=False)
        kept = report if keep_report(store, quads, changes, self._settings.keep) else None
        if not refused:
            headers = {REPORT: kept.value} if kept else {}
            return Passed(headers, lambda: store.commit(changes))
        store.commit(changes)
        accept = connection.headers.get("accept")
        raise RefusedWrite(len(results), _triples(quads), accept, kept)


@dataclass(frozen=True)
class Passed:
    """A write that may happen.

    Attributes:
        headers: of its response.
        keep: keeps the report, after the write.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    keep: Callable[[], object] = lambda: None


def _delta(old: set[bytes], new: set[bytes]) -> _Delta:
    """The difference of two graphs in N-Triples."""
    return _Delta(_parsed(new - old), _parsed(old - new))


def _parsed(lines: Iterable[bytes]) -> set[Statement]:
    quads = ox.parse(b"\n".join(lines), ox.RdfFormat.N_TRIPLES)
    return {(quad.subject, quad.predicate, quad.object) for quad in quads}


def _n_triples(triples: Iterable[Triple]) -> bytes:
    return ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""


def _all(store: EmbeddedStore) -> list[Quad]:
    with store.reading() as engine:
        return list(engine)


def _triples(report: Iterable[Quad]) -> list[Triple]:
    """A report for clients, without the paths of files."""
    return [quad.triple for quad in report if quad.predicate != PROV.used]
