"""Which entities are shown.

Texts name much that is no entity: words of headings, cut names, words that begin a sentence. Mentions and
IRIs stay as they were read; search uses them all. Lists, drawings, communities and exports show the entities
that `rag:shown` marks in `urn:graph:derived`. The mark follows from facts, mentions and topics by one query,
so it is the same however the store came to hold them.

After a change the query is asked about what it touched: the entities of changed chunks, and those whose names
or facts have changed. A store of an earlier version, and one that others have written to, is asked about as a
whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.ingest.names import as_literal
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.store.base import Changes, Store, in_batches, select_in_batches

_RECORD = NamedNode("urn:graphrag-rdf:entities")
_PARAMETERS = Literal('{"version": 1}')
"""Changes when the queries would find other things in the same store."""
MANY = 2_000
"""Chunks and entities from which the whole store is asked about at once."""


def update_graph(store: Store, touched: Sequence[NamedNode] | None) -> int:
    """Bring the marks of entities up to date. Nothing is written if nothing changed.

    Args:
        touched: chunks that were written and entities that may have changed; None for everything.

    Returns:
        how many quads the store has more.
    """
    changes = Changes(content=False)
    known = [as_literal(row["parameters"]) for row in store.select("derived/graph-built")]
    is_known = known == [_PARAMETERS]
    for some in in_batches(_entities(store, touched)) if is_known and touched is not None else [[]]:
        for row in store.select("derived/shown", entities=some):
            entity = node_of(row["entity"])
            if "before" in row:
                changes.remove.append(Quad(entity, RAG.shown, row["before"], Graphs.DERIVED))
            changes.add.append(Quad(entity, RAG.shown, row["shown"], Graphs.DERIVED))
    if not is_known and (known or changes):  # a store without entities has no record
        changes.remove += [quad for parameters in known for quad in _record(parameters)]
        changes.add += _record(_PARAMETERS)
    if changes:
        store.commit(changes)
    return len(changes.add) - len(changes.remove)


def _entities(store: Store, touched: Sequence[NamedNode]) -> list[NamedNode]:
    """The canonical entities that things touch."""
    found = {node_of(row["entity"]) for row in select_in_batches(store, "derived/touched", "things", touched)}
    return sorted(found, key=str)


def _record(parameters: Literal) -> Iterator[Quad]:
    yield Quad(_RECORD, RDF.type, PROV.Entity, Graphs.DERIVED)
    yield Quad(_RECORD, RAG.parameters, parameters, Graphs.DERIVED)
