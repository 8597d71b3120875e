"""Taking out what documents no longer say.

A fact lives while a subgraph contains it; only facts that lost a container are looked at. Chunks that a
stored trace rests on are retired, not deleted: their text and evidence stay as tombstones, so that the
trace can still be walked back.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyoxigraph import NamedNode

from graphrag_rdf.ingest import names
from graphrag_rdf.rdf.namespaces import RDFS, SKOS
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.store.base import Changes, Row, Store

_NAMES = (RDFS.label, SKOS.altLabel)


def retract_chunks(
    store: Store, chunks: Sequence[NamedNode], changes: Changes, *, erase: bool = False
) -> list[NamedNode]:
    """Add the removal of chunks, and of the facts that only they supported, to a transaction.

    Args:
        chunks: IRIs of the chunks.
        changes: the transaction.
        erase: leave no tombstones (`forget`).

    Returns:
        the things whose names may change: give them to `settle_names` after the commit.
    """
    if not chunks:
        return []
    candidates = store.select("ingest/contained-in-chunks", chunks=chunks)
    cited = set() if erase else {row["chunk"] for row in store.select("ingest/cited-chunks", chunks=chunks)}
    gone = [chunk for chunk in chunks if chunk not in cited]
    if gone:
        changes.updates.append(("ingest/retract-chunks", {"chunks": gone}))
    if cited:
        retired = [chunk for chunk in chunks if chunk in cited]
        changes.updates.append(("ingest/entomb-chunks", {"chunks": retired, "now": now()}))
    return _retract_facts(candidates, changes)


def retract_subgraphs(store: Store, subgraphs: Sequence[NamedNode], changes: Changes) -> list[NamedNode]:
    """Add the removal of subgraphs (an extraction that another replaces) to a transaction."""
    if not subgraphs:
        return []
    candidates = store.select("ingest/contained-in-subgraphs", subgraphs=subgraphs)
    changes.updates.append(("ingest/retract-subgraphs", {"subgraphs": subgraphs}))
    return _retract_facts(candidates, changes)


def _retract_facts(candidates: list[Row], changes: Changes) -> list[NamedNode]:
    facts = [(row["s"], row["p"], row["o"]) for row in candidates if row["p"] not in _NAMES]
    if facts:
        changes.updates.append(("ingest/retract-facts", {"candidates": facts}))
    return [node for row in candidates if row["p"] in _NAMES and isinstance(node := row["s"], NamedNode)]


def settle_names(store: Store, things: Sequence[NamedNode]) -> None:
    """After a retraction: drop names that nothing contains, elect labels, forget nameless entities."""
    things = sorted(set(things), key=str)
    store.commit(names.drop_unsupported(store, things))
    store.commit(names.elect(store, things))
    for start in range(0, len(things), 500):
        store.commit(
            Changes(updates=[("ingest/retract-entities", {"entities": things[start : start + 500]})])
        )
