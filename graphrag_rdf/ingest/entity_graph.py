"""The graph of entities that needs no model: which entities are shown, and which sentences name together.

Texts name much that is no entity: words of headings, cut names, words that begin a sentence. Mentions and
IRIs stay as they were read; search uses them all. Lists, drawings, communities and exports show the entities
that `rag:shown` marks in `urn:graph:derived`. Two of them co-occur (`rag:coOccursWith`) if enough sentences
name both; the sentences are a query over mentions (`derived/co-occurrence-sentences`), only their number is
kept. Both follow from facts, mentions and titles by one query each, so they are the same however the store
came to hold them.

After a change the queries are asked about what it touched: the entities of changed chunks, and those whose
names or facts have changed. A store of an earlier version, and one that others have written to, is asked
about as a whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.ingest.names import as_literal
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.store.base import Changes, Row, Store, in_batches, select_in_batches

_RECORD = NamedNode("urn:graphrag-rdf:entities")
_VERSION = 1
"""Changes when the queries would find other things in the same store."""
MANY = 2_000
"""Chunks and entities from which the whole store is asked about at once."""


def update_graph(store: Store, touched: Sequence[NamedNode] | None, min_count: int) -> int:
    """Bring the graph up to date. Nothing is written if nothing changed.

    Args:
        touched: chunks that were written and entities that may have changed; None for everything.
        min_count: sentences that name two entities together, at least.

    Returns:
        how many quads the store has more.
    """
    parameters = Literal(json.dumps({"min_count": min_count, "version": _VERSION}))
    known = [as_literal(row["parameters"]) for row in store.select("derived/graph-built")]
    every = touched is None or known != [parameters]
    entities = [] if every or touched is None else _touched(store, touched)
    shown, changed = _mark(store, entities, every=every)
    more = shown + _pair(store, [*dict.fromkeys([*entities, *changed])], min_count, every=every)
    if known != [parameters] and (known or more):  # a store without entities has no record
        old = [quad for each in known for quad in _record(each)]
        store.commit(Changes(remove=old, add=[*_record(parameters)], content=False))
        more += 2 - len(old)
    return more


def built_with(store: Store, default: int) -> int:
    """The number of sentences from which entities co-occur in the store; the default without a graph."""
    for row in store.select("derived/graph-built"):
        return int(json.loads(text_of(row["parameters"]))["min_count"])
    return default


def _touched(store: Store, things: Sequence[NamedNode]) -> list[NamedNode]:
    """The canonical entities that things touch."""
    found = {node_of(row["entity"]) for row in select_in_batches(store, "derived/touched", "things", things)}
    return sorted(found, key=str)


def _mark(store: Store, entities: Sequence[NamedNode], *, every: bool) -> tuple[int, list[NamedNode]]:
    """Mark what is shown; how many quads the store has more, and the entities whose mark has changed."""
    changes = Changes(content=False)
    for some in [[]] if every else in_batches(entities):
        for row in store.select("derived/shown", entities=some):
            entity = node_of(row["entity"])
            if "before" in row:
                changes.remove.append(Quad(entity, RAG.shown, row["before"], Graphs.DERIVED))
            changes.add.append(Quad(entity, RAG.shown, row["shown"], Graphs.DERIVED))
    store.commit(changes)
    return len(changes.add) - len(changes.remove), [node_of(quad.subject) for quad in changes.add]


def _pair(store: Store, entities: Sequence[NamedNode], min_count: int, *, every: bool) -> int:
    """Update the co-occurrences of entities; how many quads the store has more."""
    if every:
        entities = [node_of(row["entity"]) for row in store.select("derived/canonical")]
    more = 0
    for some in in_batches(entities):
        which = {"entities": some, "every": every}
        wanted = _quads(store.select("derived/co-occurrences", **which, min_count=min_count))
        there = _quads(store.select("derived/known-pairs", **which))
        changes = Changes(
            remove=[quad for quad in there if quad not in wanted],
            add=[quad for quad in wanted if quad not in there],
            content=False,
        )
        store.commit(changes)
        more += len(changes.add) - len(changes.remove)
    return more


def _quads(pairs: Sequence[Row]) -> dict[Quad, None]:
    return {quad: None for row in pairs for quad in _co_occurrence(row)}


def _co_occurrence(row: Row) -> Iterator[Quad]:
    one, other = node_of(row["one"]), node_of(row["other"])
    name = hashlib.sha1(f"{one.value} {other.value}".encode(), usedforsecurity=False).hexdigest()
    relation = NamedNode(f"urn:graphrag-rdf:co-occurrence:{name}")
    yield Quad(one, RAG.coOccursWith, other, Graphs.DERIVED)
    yield Quad(relation, RDF.type, RAG.CoOccurrence, Graphs.DERIVED)
    yield Quad(relation, RDF.reifies, Triple(one, RAG.coOccursWith, other), Graphs.DERIVED)
    yield Quad(relation, RAG.count, row["count"], Graphs.DERIVED)


def _record(parameters: Literal) -> Iterator[Quad]:
    yield Quad(_RECORD, RDF.type, PROV.Entity, Graphs.DERIVED)
    yield Quad(_RECORD, RAG.parameters, parameters, Graphs.DERIVED)


def sentences_of_pairs(
    store: Store, pairs: Sequence[tuple[NamedNode, NamedNode]]
) -> dict[tuple[NamedNode, NamedNode], str]:
    """A sentence that names both entities of each pair, on one line."""
    rows = select_in_batches(store, "derived/co-occurrence-sentences", "pairs", pairs)
    return {
        (node_of(row["one"]), node_of(row["other"])): " ".join(text_of(row["text"]).split()) for row in rows
    }
