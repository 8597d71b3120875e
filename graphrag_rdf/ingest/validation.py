"""Validation of what was written with SHACL shapes of the user, at the end of a run, and the kept reports.

SHACL judges a graph: the type of a captain may be pages later, or in another document. So facts are validated
when all documents of a run are read. Subgraphs are marked (`rag:unvalidated`) in the transaction that writes
them, so that a killed run is validated by the next one.

Mode reject: a fact that breaks a shape becomes a rejected candidate, with the shape. Of more values than
`sh:maxCount` allows, those of earlier runs stay, then those that most chunks state. What is missing is no
fault of a fact, and is reported only; so are warnings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.drop_made import drop_made
from graphrag_rdf.ingest.entity_decisions import settle
from graphrag_rdf.ingest.report import ValidationCounts
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import RDFS, SKOS
from graphrag_rdf.rdf.terms import Term, node_of, now
from graphrag_rdf.rdf.validation import Result, ValidationFacts, validation_report
from graphrag_rdf.schema.shapes import Shapes, Statement, is_iri, read_shapes, run_shacl
from graphrag_rdf.schema.validation import Change, Validated, validate_change, validate_nodes
from graphrag_rdf.store.base import Changes, Store, in_batches, select_in_batches
from graphrag_rdf.trace.facts import label_of, read_labels

if TYPE_CHECKING:
    from graphrag_rdf.config.sections import ValidationSection
    from graphrag_rdf.ingest import NeededComponents

REASON = "breaks_shape"
_MOST = 1000
"""Results that a kept report has, the worst first; `rag:resultCount` counts all."""
_BATCH = 500
_SAID = 3  # results of a refused import that its error names
_NAMES = (RDFS.label, SKOS.altLabel)
_VIOLATION = "Violation"

Rejection: TypeAlias = tuple[Statement, Result]


def opened_shapes(store: Store, settings: ValidationSection) -> Shapes | None:
    """The shapes of the settings, known to be well-formed; None if validation is off.

    Raises:
        UsageError: pySHACL is not installed, or the shapes cannot be read or are malformed.
    """
    if not settings.is_on:
        return None
    from rdflib import Graph

    shapes = read_shapes(store, settings.shapes)
    run_shacl(Graph(), shapes.graph)
    return shapes


def validate_written(engine: NeededComponents, shapes: Shapes) -> ValidationCounts | None:
    """Validate the facts that were written since the last validation; None if there are none."""
    store, settings = engine.store, engine.settings.validation
    marked = [node_of(row["subgraph"]) for row in store.select("validation/marked")]
    if not marked:
        return None
    started = now()
    containers: defaultdict[Statement, list[NamedNode]] = defaultdict(list)
    for row in select_in_batches(store, "validation/facts-of", "subgraphs", marked, _BATCH):
        containers[row["s"], row["p"], row["o"]].append(node_of(row["subgraph"]))
    found = validate_nodes(store, shapes, list(containers))
    rejected = _offending(store, found, containers) if settings.mode == "reject" else []
    changes = Changes(remove=[*prov.unvalidated(marked)])
    _reject(store, rejected, containers, changes)
    about = _Provenance(store, found, containers)
    report, quads = report_of(
        shapes,
        found.results,
        stage="ingest",
        mode=settings.mode,
        started=started,
        rejected=len(rejected),
        subgraphs=about.of,
    )
    kept = keep_report(store, quads, changes, settings.keep)
    store.commit(changes)
    if rejected:
        entities = {term for (s, _, o), _ in rejected for term in (s, o) if isinstance(term, NamedNode)}
        engine.indexer.changed(entities=[*sorted(entities, key=str), *settle(store)])
        engine.indexer.flush(final=True)
    violations = sum(each.severity == _VIOLATION for each in found.results)
    warnings = len(found.results) - violations
    iri = report.value if kept else None
    return ValidationCounts(settings.mode, found.nodes, violations, warnings, len(rejected), iri)


# --- what is rejected -----------------------------------------------------------------------------------


def _offending(
    store: Store, found: Validated, containers: Mapping[Statement, Sequence[NamedNode]]
) -> list[Rejection]:
    """The facts of marked subgraphs that break a shape, each once, as they are stated."""
    by_end: defaultdict[tuple[Term, Term], list[Statement]] = defaultdict(list)
    for fact in found.stated:
        by_end[fact[0], fact[1]].append(fact)
    rejected: dict[Statement, Result] = {}
    for result in found.results:
        focus, path, value = result.focus, result.path, result.value
        if result.severity != _VIOLATION or focus is None or path is None or path in _NAMES:
            continue
        facts: Collection[Statement] = ()
        if value is not None:
            facts = [(focus, path, value)]
        elif result.limit is not None:
            facts = _surplus(store, by_end[focus, path], result.limit, found, containers)
        for fact in facts:
            for stated in found.stated.get(fact, ()):
                if stated in containers:
                    rejected.setdefault(stated, result)
    return sorted(rejected.items(), key=str)


def _surplus(
    store: Store,
    facts: Sequence[Statement],
    limit: int,
    found: Validated,
    containers: Mapping[Statement, Sequence[NamedNode]],
) -> list[Statement]:
    """The facts beyond a limit."""

    def rank(fact: Statement) -> tuple[bool, int, str]:
        rows = store.select("facts/containers", edges=[*found.stated[fact]])
        fresh = {each for stated in found.stated[fact] for each in containers.get(stated, ())}
        is_new = all(row["subgraph"] in fresh for row in rows) and bool(fresh)
        return is_new, -len(rows), str(fact[2])

    return sorted(facts, key=rank)[limit:]


def _reject(
    store: Store,
    rejected: Sequence[Rejection],
    containers: Mapping[Statement, Sequence[NamedNode]],
    changes: Changes,
) -> None:
    """Add to a transaction that facts become rejected candidates of the subgraphs that contained them."""
    if not rejected:
        return
    labels = read_labels(store, [term for fact, _ in rejected for term in fact])
    places: list[tuple[NamedNode, Term, Term, Term]] = []
    for fact, result in rejected:
        s, p, o = fact
        said = " | ".join(label_of(term, labels) for term in fact)
        for subgraph in containers[fact]:
            places.append((subgraph, s, p, o))
            key = " ".join(map(str, ("shape", s, p, o)))
            item = f"{said}: {result.message}"
            changes.add += prov.rejected(subgraph, key, REASON, item, result.named_shape)
            changes.remove.append(prov.contains(subgraph, s, p, o))  # type: ignore[arg-type]
    for batch in in_batches(places, _BATCH):
        changes.updates.append(("validation/withdraw", {"facts": batch}))
    others: defaultdict[Statement, set[NamedNode]] = defaultdict(set)
    facts = [fact for fact, _ in rejected]
    for row in select_in_batches(store, "facts/containers", "edges", facts):
        others[row["s"], row["p"], row["o"]].add(node_of(row["subgraph"]))
    for fact in facts:
        if others[fact] <= set(containers[fact]):
            changes.remove.append(Quad(*fact))  # type: ignore[arg-type]
    subgraphs = sorted({place[0] for place in places}, key=str)
    for each in in_batches(subgraphs, _BATCH):
        sources = store.select("ingest/sources-of-subgraphs", subgraphs=each)
        drop_made(store, changes, sources=[node_of(row["source"]) for row in sources])


class _Provenance:
    """Finds the subgraphs that results are about: of their fact, else of the facts with their focus and path,
    else of all facts of their focus node."""

    def __init__(
        self, store: Store, found: Validated, containers: Mapping[Statement, Sequence[NamedNode]]
    ) -> None:
        self._store = store
        self._stated = found.stated
        self._containers = containers
        self._about: defaultdict[Term | tuple[Term, Term], list[Statement]] = defaultdict(list)
        for (s, p, o), stated in found.stated.items():
            for node in (s, o, (s, p)):
                self._about[node] += stated

    def of(self, result: Result) -> list[NamedNode]:
        """The subgraphs of a result, in order."""
        fact = (result.focus, result.path, result.value)
        stated = self._stated.get(fact)  # type: ignore[arg-type]
        if not stated and result.focus is not None and result.path is not None:
            stated = self._about.get((result.focus, result.path))
        if not stated and result.focus is not None:
            stated = self._about.get(result.focus, ())
        facts = sorted(set(stated or ()), key=str)
        found = {each for one in facts for each in self._containers.get(one, ())}
        for row in select_in_batches(self._store, "facts/containers", "edges", facts):
            found.add(node_of(row["subgraph"]))
        return sorted(found, key=str)


# --- reports --------------------------------------------------------------------------------------------


def report_of(
    shapes: Shapes,
    results: Sequence[Result],
    *,
    stage: str,
    mode: str,
    started: datetime,
    rejected: int,
    subgraphs: Callable[[Result], Sequence[NamedNode]] = lambda _: (),
) -> tuple[NamedNode, list[Quad]]:
    """The report of a validation: its IRI, and its quads.

    Args:
        stage: ingest, import, graph store, update.
        rejected: number of facts that were rejected.
        subgraphs: called with a result: those that contain the facts which it is about.
    """
    report = iris.validation_report(iris.new_uuid())
    facts = ValidationFacts(
        stage=stage,
        mode=mode,
        started=started,
        ended=now(),
        shapes=[_named(source) for source in shapes.sources],
        shapes_hash=shapes.digest,
        conforms=not results,
        results=[(each, subgraphs(each)) for each in results[:_MOST]],
        result_count=len(results),
        rejected_count=rejected,
    )
    return report, list(validation_report(report, facts))


def keep_report(store: Store, report: Sequence[Quad], changes: Changes, keep: int) -> bool:
    """Add a report to a transaction, and the removal of the oldest ones; whether it is kept.

    Args:
        keep: number of reports that the store keeps.
    """
    rows = store.select("validation/old-reports", keep=max(0, keep - 1))
    if rows:
        old = [node_of(row["report"]) for row in rows]
        changes.updates.append(("validation/drop-reports", {"reports": old}))
    if keep:
        changes.add += report
    return keep > 0


class BrokenShapesError(UsageError):
    """Facts that break shapes, and are therefore not written."""


def validate_import(
    engine: NeededComponents, facts: Collection[Statement], subgraph: NamedNode, changes: Changes
) -> int:
    """Validate facts before a transaction writes them; the number of results.

    Args:
        subgraph: which will contain them.

    Raises:
        BrokenShapesError: they break the shapes, and the mode is reject.
        UsageError: the shapes cannot be used.
    """
    store, settings = engine.store, engine.settings.validation
    shapes = opened_shapes(store, settings)
    if shapes is None:
        return 0
    started = now()
    results = validate_change(store, shapes, Change(facts)).results
    broken = [each for each in results if each.severity == _VIOLATION]
    refused = settings.mode == "reject" and bool(broken)
    _, quads = report_of(
        shapes,
        results,
        stage="import",
        mode=settings.mode,
        started=started,
        rejected=len(facts) if refused else 0,
        subgraphs=lambda _: () if refused else (subgraph,),
    )
    if not refused:
        keep_report(store, quads, changes, settings.keep)
        return len(results)
    alone = Changes(content=False)
    keep_report(store, quads, alone, settings.keep)
    store.commit(alone)
    labels = read_labels(store, [term for each in broken for term in (each.focus, each.path) if term])
    said = [
        f"{' · '.join(label_of(term, labels) for term in (each.focus, each.path, each.value) if term)}: "
        f"{each.message}"
        for each in broken[:_SAID]
    ]
    more = f" … and {len(broken) - _SAID:,} more" if len(broken) > _SAID else ""
    raise BrokenShapesError(
        tr("{count:,} violations of the shapes: {said}{more}").format(
            count=len(broken), said="; ".join(said), more=more
        ),
        hint=tr("nothing was imported. graphrag-rdf queries run validation/results lists all of them"),
    )


def _named(source: str) -> NamedNode:
    return NamedNode(source if is_iri(source) else Path(source).resolve().as_uri())
