"""Reports of validations with SHACL shapes of the user, for documents (`validation`) and changes (`gate`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.rdf.terms import Term, now
from graphrag_rdf.rdf.validation import Result, ValidationFacts, validation_report
from graphrag_rdf.schema.shapes import Shapes, Statement, is_iri, read_shapes, run_shacl
from graphrag_rdf.store.base import Changes, Store, select_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.config.sections import ValidationSection

VIOLATION = "Violation"
"""The severity that is a reason to reject."""
_MOST = 1000
"""Results that a kept report has, the worst first; `rag:resultCount` counts all."""


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


class Provenance:
    """Finds the subgraphs that results are about: of their fact, else of the facts with their focus and path,
    else of all facts of their focus node.

    Args:
        stated: see `Validated`.
        containers: subgraphs of facts that the store does not contain any more.
    """

    def __init__(
        self,
        store: Store,
        stated: Mapping[Statement, Collection[Statement]],
        containers: Mapping[Statement, Sequence[NamedNode]] | None = None,
    ) -> None:
        self._store = store
        self._stated = stated
        self._containers = containers or {}
        self._about: defaultdict[Term | tuple[Term, Term], list[Statement]] = defaultdict(list)
        for (s, p, o), facts in stated.items():
            for node in (s, o, (s, p)):
                self._about[node] += facts

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
            found.add(row["subgraph"])
        return sorted(found, key=str)


def report_of(
    report: NamedNode,
    shapes: Shapes,
    results: Sequence[Result],
    *,
    stage: str,
    mode: str,
    started: datetime,
    rejected: int,
    subgraphs: Callable[[Result], Sequence[NamedNode]] = lambda _: (),
) -> list[Quad]:
    """The report of a validation.

    Args:
        report: its IRI.
        stage: see `ValidationFacts`.
        rejected: number of facts that were rejected.
        subgraphs: called with a result: those that contain the facts which it is about.
    """
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
    return list(validation_report(report, facts))


def keep_report(store: Store, report: Sequence[Quad], changes: Changes, keep: int) -> bool:
    """Add a report to a transaction, and the removal of the oldest ones; whether it is kept.

    Args:
        keep: number of reports that the store keeps.
    """
    rows = store.select("validation/old-reports", keep=max(0, keep - 1))
    if rows:
        old = [row["report"] for row in rows]
        changes.updates.append(("validation/drop-reports", {"reports": old}))
    if keep:
        changes.add += report
    return keep > 0


def _named(source: str) -> NamedNode:
    return NamedNode(source if is_iri(source) else Path(source).resolve().as_uri())
