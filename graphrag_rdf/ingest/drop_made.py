"""Removes merged descriptions and reports of communities with what they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.communities.build import drop_reports
from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.store.base import Changes, Store, in_batches, updates_in_batches


@dataclass(frozen=True, slots=True)
class Dropped:
    """What goes with what it was made from."""

    summaries: Sequence[NamedNode]
    reports: Sequence[NamedNode]


def drop_made(
    store: Store,
    changes: Changes,
    *,
    entities: Sequence[NamedNode] = (),
    sources: Sequence[NamedNode] = (),
) -> Dropped:
    """Add to a transaction the removal of merged descriptions and reports, and of all that derive from them.

    Args:
        entities: descriptions of these, and reports of communities that have them as members.
        sources: what was made from these chunks, documents and claims.
    """
    wanted = {"entities": entities, "sources": sources}
    found: dict[NamedNode, None] = {}
    for name, things in wanted.items():
        for batch in in_batches(things):
            rows = store.select("summaries/made-from", **{**dict.fromkeys(wanted, ()), name: batch})
            found.update((node_of(row["summary"]), None) for row in rows)
    summaries = [*found]
    changes.updates += updates_in_batches("summaries/drop", "summaries", summaries)
    reports = drop_reports(store, changes, entities=entities, sources=[*sources, *summaries])
    return Dropped(summaries, reports)


def drop_summaries(store: Store, changes: Changes, summaries: Sequence[NamedNode]) -> None:
    """Add the removal of merged descriptions to a transaction, and of the reports that read them."""
    changes.updates += updates_in_batches("summaries/drop", "summaries", summaries)
    drop_reports(store, changes, sources=summaries)
