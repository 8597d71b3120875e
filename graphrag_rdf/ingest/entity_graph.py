"""The graph of entities that needs no model: which entities are shown, and which sentences name together.

Texts name much that is no entity: words of headings, cut names, words that begin a sentence. Mentions and
IRIs stay as they were read; search uses them all. Lists, drawings, communities and exports show the entities
that `rag:shown` marks in `urn:graph:derived`. Two of them co-occur (`rag:coOccursWith`) if enough sentences
name both; the sentences are a query over mentions (`derived/co-occurrence-sentences`), only their number is
kept. Both follow from facts, mentions and titles by one query each, so they are the same however the store
came to hold them.

After a change the queries are asked about what it touched. A chunk that was written can only show more, and
only its own pairs are counted again. What may have lost something is marked (`rag:undrawn`) by the
transaction that takes it away. A store of an earlier version, and one that others have written to, is asked
about as a whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.ingest.names import undrawn, undrawn_pair
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.store.base import Changes, Row, Store, in_batches, select_in_batches
from graphrag_rdf.store.records import ENTITIES, parameters_of

_VERSION = 1
"""Changes when the queries would find other things in the same store."""
MANY = 2_000
"""Chunks and entities from which the whole store is asked about at once."""
_AT_ONCE = 1_000  # entities in a query; a sentence is read once in each that has one of its entities


def update_graph(store: Store, noted: Sequence[NamedNode] | None, min_count: int) -> int:
    """Bring the graph up to date. Nothing is written if nothing changed.

    What is marked `rag:undrawn` is looked at in any case.

    Args:
        noted: chunks that were written, and entities of which there may be more than before; None for
            everything.
        min_count: sentences that name two entities together, at least.

    Returns:
        how many quads the store has more.
    """
    parameters = Literal(json.dumps({"min_count": min_count, "version": _VERSION}))
    text = parameters_of(store, ENTITIES)
    before = None if text is None else Literal(text)
    marked = [row["thing"] for row in store.select("derived/undrawn")]
    pairs = store.select("derived/undrawn-pairs")
    if noted is None or before != parameters or len(noted) + len(marked) > MANY:
        more, _ = _mark(store, [[]])
        entities = [row["entity"] for row in store.select("derived/canonical")]
        more += _pair(store, entities, min_count, every=True)
    else:
        again = [*_touched(store, marked), *_touched(store, noted, gained=True)]
        more, changed = _mark(store, in_batches([*dict.fromkeys(again)]))
        more += _pair(store, changed, min_count)
        found = select_in_batches(store, "derived/pairs-in-chunks", "chunks", [*marked, *noted], known=False)
        more += _count_again(store, [*pairs, *found], min_count)
    changes = Changes(remove=[*undrawn(marked), *map(undrawn_pair, pairs)], content=False)
    if before != parameters and (before or more):  # a store without entities has no record
        changes.remove += _record(before) if before else ()
        changes.add += _record(parameters)
        more += 0 if before else 2
    store.commit(changes)
    return more


def built_with(store: Store, default: int) -> int:
    """The number of sentences from which entities co-occur in the store; the default without a graph."""
    text = parameters_of(store, ENTITIES)
    return default if text is None else int(json.loads(text)["min_count"])


def _touched(store: Store, things: Sequence[NamedNode], *, gained: bool = False) -> list[NamedNode]:
    """The canonical entities that changed things may hide, or show if they have only gained something."""
    rows = select_in_batches(store, "derived/touched", "things", things, gained=gained)
    return sorted({row["entity"] for row in rows}, key=str)


def _mark(store: Store, batches: Iterable[Sequence[NamedNode]]) -> tuple[int, list[NamedNode]]:
    """Mark what is shown; how many quads the store has more, and the entities whose mark has changed.

    Args:
        batches: of entities; an empty one stands for all.
    """
    changes = Changes(content=False)
    for some in batches:
        for row in store.select("derived/shown", entities=some):
            if row["before"] is not None:
                changes.remove.append(Quad(row["entity"], RAG.shown, row["before"], Graphs.DERIVED))
            changes.add.append(Quad(row["entity"], RAG.shown, row["shown"], Graphs.DERIVED))
    store.commit(changes)
    return len(changes.add) - len(changes.remove), [node_of(quad.subject) for quad in changes.add]


def _pair(store: Store, entities: Sequence[NamedNode], min_count: int, *, every: bool = False) -> int:
    """Update the co-occurrences of entities; how many quads the store has more.

    Args:
        every: whether these are all, so that each pair is looked for from one side only.
    """
    more = 0
    for some in in_batches(entities, _AT_ONCE):
        which: dict[str, Any] = {"entities": some, "every": every}
        wanted = store.select("derived/co-occurrences", **which, min_count=min_count)
        more += _correct(store, wanted, store.select("derived/known-pairs", **which, pairs=[]))
    return more


def _count_again(store: Store, pairs: Iterable[Row], min_count: int) -> int:
    """Count the sentences of these pairs again; how many quads the store has more."""
    found: list[tuple[NamedNode, NamedNode]] = sorted({(row["one"], row["other"]) for row in pairs}, key=str)
    ends = sorted({end for pair in found for end in pair}, key=str)
    rows = select_in_batches(store, "retrieval/counts", "entities", ends)
    chunks = {row["entity"]: row["chunks"] for row in rows}
    more = 0
    for some in in_batches(found):
        # the query reads the sentences of the first, which is the rarer one
        rarest = [tuple(sorted(pair, key=lambda end: chunks.get(end, 0))) for pair in some]
        wanted = store.select("derived/co-occurrence-sentences", pairs=rarest, min_count=min_count)
        more += _correct(
            store, wanted, store.select("derived/known-pairs", entities=[], every=True, pairs=some)
        )
    return more


def _correct(store: Store, wanted: Iterable[Row], known: Iterable[Row]) -> int:
    """Replace known co-occurrences; how many quads the store has more."""
    new, old = _quads(wanted), _quads(known)
    add, remove = [quad for quad in new if quad not in old], [quad for quad in old if quad not in new]
    store.commit(Changes(remove=remove, add=add, content=False))
    return len(add) - len(remove)


def _quads(pairs: Iterable[Row]) -> dict[Quad, None]:
    return {quad: None for row in pairs for quad in _co_occurrence(row)}


def _co_occurrence(row: Row) -> Iterator[Quad]:
    one, other = sorted((row["one"], row["other"]), key=str)
    name = hashlib.sha1(f"{one.value} {other.value}".encode(), usedforsecurity=False).hexdigest()
    relation = NamedNode(f"urn:graphrag-rdf:co-occurrence:{name}")
    yield Quad(one, RAG.coOccursWith, other, Graphs.DERIVED)
    yield Quad(relation, RDF.type, RAG.CoOccurrence, Graphs.DERIVED)
    yield Quad(relation, RDF.reifies, Triple(one, RAG.coOccursWith, other), Graphs.DERIVED)
    yield Quad(relation, RAG.count, row["count"], Graphs.DERIVED)


def _record(parameters: Literal) -> Iterator[Quad]:
    yield Quad(ENTITIES, RDF.type, PROV.Entity, Graphs.DERIVED)
    yield Quad(ENTITIES, RAG.parameters, parameters, Graphs.DERIVED)


def sentences_of_pairs(
    store: Store, pairs: Sequence[tuple[NamedNode, NamedNode]]
) -> dict[tuple[NamedNode, NamedNode], str]:
    """A sentence that names both entities of each pair, on one line."""
    rows = select_in_batches(store, "derived/co-occurrence-sentences", "pairs", pairs)
    return {(row["one"], row["other"]): " ".join(row["text"].split()) for row in rows}
