"""Validation of what was written with SHACL shapes of the user, at the end of a run.

SHACL judges a graph: the type of a captain may be pages later, or in another document. So facts are validated
when all documents of a run are read. Subgraphs are marked (`rag:unvalidated`) in the transaction that writes
them, so that a killed run is validated by the next one.

Mode reject: a fact that breaks a shape becomes a rejected candidate, with the shape. Of more values than
`sh:maxCount` allows, those of earlier runs stay, then those that most chunks state. What is missing is no
fault of a fact, and is reported only; so are warnings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.ingest.drop_made import drop_made
from graphrag_rdf.ingest.entity_decisions import settle
from graphrag_rdf.ingest.names import undrawn
from graphrag_rdf.ingest.report import ValidationCounts
from graphrag_rdf.ingest.validation_reports import VIOLATION, Provenance, keep_report, report_of
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import RDFS, SKOS
from graphrag_rdf.rdf.terms import Term, now
from graphrag_rdf.rdf.validation import Result
from graphrag_rdf.schema.shapes import Shapes, Statement
from graphrag_rdf.schema.validation import Validated, validate_nodes
from graphrag_rdf.store.base import Changes, Store, in_batches, select_in_batches
from graphrag_rdf.trace.facts import label_of, read_labels

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents

REASON = "breaks_shape"
_BATCH = 500
_NAMES = (RDFS.label, SKOS.altLabel)

Rejection: TypeAlias = tuple[Statement, Result]


def validate_written(engine: NeededComponents, shapes: Shapes) -> ValidationCounts | None:
    """Validate the facts that were written since the last validation; None if there are none."""
    store, settings = engine.store, engine.settings.validation
    marked = [row["subgraph"] for row in store.select("validation/marked")]
    if not marked:
        return None
    started = now()
    containers: defaultdict[Statement, list[NamedNode]] = defaultdict(list)
    for row in select_in_batches(store, "validation/facts-of", "subgraphs", marked, _BATCH):
        containers[row["s"], row["p"], row["o"]].append(row["subgraph"])
    found = validate_nodes(store, shapes, list(containers))
    rejected = _offending(store, found, containers) if settings.mode == "reject" else []
    changes = Changes(remove=[*prov.unvalidated(marked)])
    _reject(store, rejected, containers, changes)
    about = Provenance(store, found.stated, containers)
    report = iris.validation_report(iris.new_uuid())
    quads = report_of(
        report,
        shapes,
        found.results,
        stage="ingest",
        mode=settings.mode,
        started=started,
        rejected=len(rejected),
        subgraphs=about.of,
    )
    kept = keep_report(store, quads, changes, settings.keep)
    entities = {term for (s, _, o), _ in rejected for term in (s, o) if isinstance(term, NamedNode)}
    changes.add += undrawn(sorted(entities, key=str))
    store.commit(changes)
    if rejected:
        engine.indexer.changed(entities=[*sorted(entities, key=str), *settle(store)])
        engine.indexer.flush(final=True)
    violations = sum(each.severity == VIOLATION for each in found.results)
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
        if result.severity != VIOLATION or focus is None or path is None or path in _NAMES:
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
        others[row["s"], row["p"], row["o"]].add(row["subgraph"])
    for fact in facts:
        if others[fact] <= set(containers[fact]):
            changes.remove.append(Quad(*fact))  # type: ignore[arg-type]
    subgraphs = sorted({place[0] for place in places}, key=str)
    for each in in_batches(subgraphs, _BATCH):
        sources = store.select("ingest/sources-of-subgraphs", subgraphs=each)
        drop_made(store, changes, sources=[row["source"] for row in sources])
