"""SHACL shapes of the user as a gate of what is written: a change is validated before it happens.

| what | how the change is known |
|---|---|
| facts of an import, a correction, edited files; graphs and datasets; `INSERT DATA` | it is given |
| other updates | they run on a copy of the store first (hard links, milliseconds), whose facts are compared |
| a dump | it is loaded into an empty store, or into a copy of the one that it is added to |

Facts, and named graphs of clients together with the facts, are validated. The program's own graphs, and
graphs with shapes, are not. Documents are validated when they are read, see `ingest.validation`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyoxigraph as ox
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, Triple

from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.i18n import ngettext, tr
from graphrag_rdf.ingest.validation_reports import (
    VIOLATION,
    Provenance,
    keep_report,
    opened_shapes,
    report_of,
)
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.rdf.validation import Result
from graphrag_rdf.schema.shapes import Shapes, Statement, is_iri
from graphrag_rdf.schema.validation import Change, validate_between, validate_change
from graphrag_rdf.sparql.tokens import only_inserts
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.trace.facts import label_of, read_labels

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents

_OWN = frozenset(
    {
        *(Graphs.SOURCE, Graphs.RETRIEVAL, Graphs.COMMUNITY, Graphs.DERIVED, Graphs.INFERRED),
        *(Graphs.ONTOLOGY, Graphs.SYSTEM),
    }
)
_UNREAD = frozenset({Graphs.SOURCE, Graphs.RETRIEVAL, Graphs.COMMUNITY})
"""Graphs of a dump that a validation does not need."""
_VERSIONS = f"{Graphs.ONTOLOGY.value}:"
_SAID = 3
"""Results that an error names."""


class BrokenShapesError(UsageError):
    """A change breaks shapes, and was therefore not written.

    Attributes:
        report: the sh:ValidationReport.
        kept: its IRI, if the store keeps it.
    """

    def __init__(self, message: str, hint: str, report: Sequence[Quad], kept: NamedNode | None) -> None:
        super().__init__(message, hint=hint)
        self.report = report
        self.kept = kept


class CannotValidateError(GraphRagError):
    """A change that the store would have to try first, which only an embedded one can."""


@dataclass
class _Delta:
    """The change of one graph."""

    added: Collection[Statement] = ()
    removed: Collection[Statement] = ()


@dataclass(frozen=True)
class Passed:
    """A change that may be written.

    Attributes:
        results: that the shapes have, if the mode is report, or none is a violation.
        report: IRI of the report that `keep` keeps, if there are results.
        unvalidated: nothing was validated, as only an embedded store can try the change.
        write: adds the report to a transaction. With the subgraphs that contain the facts it is about, or
            None: those that are in the store.
    """

    results: Sequence[Result] = ()
    report: NamedNode | None = None
    unvalidated: bool = False
    write: Callable[[Changes, Sequence[NamedNode] | None], object] = lambda *_: None
    store: Store | None = None

    def keep(self) -> None:
        """Keep the report in a transaction of its own, after the change was written."""
        if self.report is not None and self.store is not None:
            changes = Changes(content=False)
            self.write(changes, None)
            self.store.commit(changes)


class Gate:
    """Validates changes as the settings `validation` say.

    Args:
        engine: open.
    """

    def __init__(self, engine: NeededComponents) -> None:
        self._engine = engine
        self._settings = engine.settings.validation
        self._graphs = {NamedNode(each) for each in self._settings.shapes if is_iri(each)}
        self._read: Shapes | None = None

    @property
    def is_on(self) -> bool:
        """Whether anything is validated."""
        return self._settings.is_on

    def require_shapes(self) -> None:
        """Read the shapes, if validation is on.

        Raises:
            UsageError: they cannot be used.
        """
        if self.is_on:
            self._shapes(self._engine.store)

    def facts(
        self,
        added: Collection[Statement],
        removed: Collection[Statement] = (),
        *,
        stage: str,
        dry_run: bool = False,
    ) -> Passed:
        """Validate a change of the facts.

        Args:
            stage: see `rdf.validation.ValidationFacts`.
            dry_run: keep no report.

        Raises:
            BrokenShapesError: it breaks the shapes, and the mode is reject.
            UsageError: the shapes cannot be used.
        """
        return self._judge({None: _Delta(added, removed)}, stage, dry_run=dry_run)

    def graph(
        self,
        graph: NamedNode | None,
        triples: Iterable[Triple],
        *,
        replace: bool,
    ) -> Passed:
        """Validate triples that are put into a graph (None: the default graph). Errors as of `facts`."""
        if not self.is_on or self._is_own(graph):
            return Passed()
        old = self._lines(self._engine.store, graph) if replace else set[bytes]()
        delta = _delta(old, set(_n_triples(triples).splitlines()))
        return self._judge({self._place(graph): delta}, "graph store")

    def quads(self, quads: Iterable[Quad], *, stage: str = "graph store") -> Passed:
        """Validate quads that are added to their graphs. Errors as of `facts`."""
        return self._judge(self._added(quads), stage) if self.is_on else Passed()

    def update(self, update: str, base: str | None = None) -> Passed:
        """Validate an update.

        Raises:
            BrokenShapesError: as of `facts`.
            CannotValidateError: the mode is reject, and the store is behind an endpoint.
            UsageError: the update cannot be evaluated.
        """
        if not self.is_on:
            return Passed()
        store = self._engine.store
        if only_inserts(update):
            scratch = EmbeddedStore(store.templates)
            scratch.update(update, base)
            return self.quads(_all(scratch), stage="update")
        if not isinstance(store, EmbeddedStore):
            return self._untried(tr("send INSERT DATA, or use the Graph Store Protocol"))
        with self._copy(store) as after:
            after.update(update, base)
            return self._judge(self._differences(store, after), "update", store, after)

    def dump(self, quads: Iterable[Quad], *, merge: bool) -> Passed:
        """Validate the dump of a store that is restored.

        Args:
            quads: with the facts in the default graph.
            merge: it is added to what the store has, which is else empty.

        Raises:
            BrokenShapesError: as of `facts`.
            CannotValidateError: the mode is reject, and the dump is added to a store behind an endpoint.
            UsageError: the shapes cannot be used.
        """
        if not self.is_on:
            return Passed()
        store = self._engine.store
        needed = (quad for quad in quads if quad.graph_name not in _UNREAD)
        if not merge:
            before, after = EmbeddedStore(store.templates), EmbeddedStore(store.templates)
            after.bulk_add(needed)
            return self._judge(self._differences(before, after), "restore", before, after)
        if not isinstance(store, EmbeddedStore):
            return self._untried(tr("restore the dump into an empty store"))
        with self._copy(store) as after:
            after.bulk_add(needed)
            return self._judge(self._differences(store, after), "restore", store, after)

    # --- what changes -----------------------------------------------------------------------------------

    def _shapes(self, store: Store) -> Shapes:
        """The shapes; those in graphs of a store are read each time."""
        if self._graphs or self._read is None:
            self._read = opened_shapes(store, self._settings)
        assert self._read is not None  # noqa: S101 - validation is on
        return self._read

    def _untried(self, hint: str) -> Passed:
        if self._settings.mode == "reject":
            message = tr("the store is behind an endpoint, so this cannot be validated before it is written")
            raise CannotValidateError(message, hint=hint)
        return Passed(unvalidated=True)

    def _is_own(self, graph: object) -> bool:
        return graph in _OWN or graph in self._graphs or getattr(graph, "value", "").startswith(_VERSIONS)

    def _place(self, graph: object) -> NamedNode | None:
        """A graph as changes name it: None for the facts."""
        if isinstance(graph, NamedNode) and graph != self._engine.store.renderer.facts_graph:
            return graph
        return None

    def _added(self, quads: Iterable[Quad]) -> dict[NamedNode | None, _Delta]:
        found: defaultdict[NamedNode | None, set[Statement]] = defaultdict(set)
        for quad in quads:
            if not self._is_own(quad.graph_name) and not isinstance(quad.graph_name, BlankNode):
                found[self._place(quad.graph_name)].add((quad.subject, quad.predicate, quad.object))
        return {graph: _Delta(added) for graph, added in found.items()}

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
        """A copy of the store, to be changed once."""
        place = self._engine.place
        if place is None:
            copy = EmbeddedStore(store.templates)
            copy.bulk_add(_all(store))
            yield copy
            copy.close()
            return
        trial = place.new_copy()
        try:
            store.snapshot(trial.database)
            copy = EmbeddedStore(store.templates, trial.database)
            try:
                yield copy
            finally:
                copy.close()
        finally:
            trial.delete()

    # --- verdicts ---------------------------------------------------------------------------------------

    def _judge(
        self,
        deltas: Mapping[NamedNode | None, _Delta],
        stage: str,
        before: Store | None = None,
        after: Store | None = None,
        *,
        dry_run: bool = False,
    ) -> Passed:
        """Validate changes.

        Args:
            before, after: stores without and with the changes, if there is one with them.
        """
        if not (self.is_on and deltas):
            return Passed()
        store, started = self._engine.store, now()
        shapes = self._shapes(after or store)
        results: list[Result] = []
        stated: dict[Statement, Collection[Statement]] = {}
        for graph, delta in deltas.items():
            change = Change(delta.added, delta.removed, graph)
            found = (
                validate_change(store, shapes, change)
                if before is None or after is None
                else validate_between(before, after, shapes, change)
            )
            results += found.results
            stated |= found.stated
        report = iris.validation_report(iris.new_uuid())
        quads_of = partial(
            report_of, report, shapes, results, stage=stage, mode=self._settings.mode, started=started
        )
        violations = [each for each in results if each.severity == VIOLATION]
        if violations and self._settings.mode == "reject":
            quads = quads_of(rejected=sum(len(delta.added) for delta in deltas.values()))
            kept = report if not dry_run and self._keep(quads) else None
            raise _refusal(after or store, violations, quads, kept)
        keep = self._settings.keep

        def write(changes: Changes, subgraphs: Sequence[NamedNode] | None) -> None:
            about = Provenance(store, stated).of if subgraphs is None else lambda _: subgraphs
            keep_report(store, quads_of(rejected=0, subgraphs=about), changes, keep)

        return Passed(results, report if keep and results else None, write=write, store=store)

    def _keep(self, report: Sequence[Quad]) -> bool:
        changes = Changes(content=False)
        kept = keep_report(self._engine.store, report, changes, self._settings.keep)
        self._engine.store.commit(changes)
        return kept


def _refusal(
    store: Store, violations: Sequence[Result], report: Sequence[Quad], kept: NamedNode | None
) -> BrokenShapesError:
    """The error that names the first violations.

    Args:
        store: with the names of things.
    """
    first = violations[:_SAID]
    terms = [[term for term in (each.focus, each.path, each.value) if term] for each in first]
    labels = read_labels(store, [term for each in terms for term in each])
    said = [
        f"{' · '.join(label_of(term, labels) for term in named)}: {each.message}"
        for named, each in zip(terms, first, strict=True)
    ]
    count = len(violations)
    if count > _SAID:
        said.append(tr("… and {count:,} more").format(count=count - _SAID))
    message = ngettext(
        "{count:,} violation of the shapes: {said}", "{count:,} violations of the shapes: {said}", count
    ).format(count=count, said="; ".join(said))
    hint = tr("nothing was written")
    if kept:
        command = f"graphrag-rdf queries run validation/results -p reports={kept.value} -p limit=100"
        hint = tr("nothing was written. The report: {command}").format(command=command)
    return BrokenShapesError(message, hint, report, kept)


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
