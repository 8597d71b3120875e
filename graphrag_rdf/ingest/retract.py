"""Removes what documents no longer say.

A fact lives while a subgraph contains it; only facts that lost a container are candidates for removal.
Chunks that a stored trace cites are retired, not deleted: their text and evidence stay as tombstones, so
that the trace can still be followed to its sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.ingest.drop_made import drop_made
from graphrag_rdf.ingest.entity_decisions import settle
from graphrag_rdf.ingest.names import uncounted, undrawn, undrawn_pairs, unsettled
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import METADATA_KEY, RDFS, SKOS
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.store.base import Changes, Row, Store

if TYPE_CHECKING:
    from graphrag_rdf.ingest.indexing import StoreIndexer

_NAMES = (RDFS.label, SKOS.altLabel)


def retract_chunks(
    store: Store, chunks: Sequence[NamedNode], changes: Changes, *, erase: bool = False
) -> None:
    """Add the removal of chunks, of their derived relations, and of the facts that only they supported, to a
    transaction.

    Args:
        chunks: IRIs of the chunks.
        changes: the transaction.
        erase: leave no tombstones (`forget`).

    Things that lose a name or a mention are marked: call `entity_decisions.settle` after the commit.
    """
    if not chunks:
        return
    candidates = store.select("ingest/contained-in-chunks", chunks=chunks)
    cited = set() if erase else {row["chunk"] for row in store.select("ingest/cited-chunks", chunks=chunks)}
    gone = [chunk for chunk in chunks if chunk not in cited]
    mentioned = [row["linked"] or row["entity"] for row in store.select("links/mentioned", chunks=chunks)]
    changes.add += uncounted(sorted(set(mentioned), key=str))
    lost = store.select("links/topics-lost", chunks=chunks)  # no name of theirs is linked any more
    changes.add += unsettled(row["entity"] for row in lost)
    changes.add += undrawn_pairs(store, chunks)
    changes.updates.append(("links/drop", {"chunks": chunks}))
    if gone:
        changes.updates.append(("ingest/retract-chunks", {"chunks": gone}))
    if cited:
        retired = [chunk for chunk in chunks if chunk in cited]
        changes.updates.append(("ingest/entomb-chunks", {"chunks": retired, "now": now()}))
    changes.updates += [(f"derived/drop-{what}", {"chunks": chunks}) for what in ("shared", "follows")]
    changes.updates.append(("communities/drop-chunks", {"chunks": chunks}))
    drop_made(store, changes, sources=chunks)
    _retract_facts(candidates, changes)


def retract_subgraphs(store: Store, subgraphs: Sequence[NamedNode], changes: Changes) -> None:
    """Add the removal of subgraphs (an extraction that another replaces) to a transaction.

    Things that lose a name are marked, as by `retract_chunks`.
    """
    if not subgraphs:
        return
    candidates = store.select("ingest/contained-in-subgraphs", subgraphs=subgraphs)
    sources = store.select("ingest/sources-of-subgraphs", subgraphs=subgraphs)
    drop_made(store, changes, sources=[row["source"] for row in sources])
    changes.updates.append(("ingest/retract-subgraphs", {"subgraphs": subgraphs}))
    _retract_facts(candidates, changes)


def retract_metadata(store: Store, documents: Sequence[NamedNode], changes: Changes) -> None:
    """Add the removal of the facts that the metadata of documents give to a transaction."""
    retract_subgraphs(store, [iris.subgraph(document, METADATA_KEY) for document in documents], changes)


def retire_documents(store: Store, documents: Sequence[NamedNode], indexer: StoreIndexer) -> int:
    """Remove documents whose files were moved and have another name now.

    Nothing is erased: chunks that a trace cites stay as tombstones.

    Returns:
        how many chunks were removed.
    """
    rows = store.select("forget/chunks", documents=documents)
    chunks = [row["chunk"] for row in rows]
    changes = Changes()
    retract_metadata(store, documents, changes)
    changes.updates.append(("ingest/retire-documents", {"documents": documents, "now": now()}))
    retire_chunks(store, chunks, indexer, changes)
    return len(chunks)


def retire_chunks(
    store: Store, chunks: Sequence[NamedNode], indexer: StoreIndexer, more: Changes | None = None
) -> None:
    """Remove chunks; those that a trace cites stay as tombstones.

    Args:
        more: what else changes, in the same transaction, after that.
    """
    sentences = store.select("ingest/sentences-of", chunks=chunks) if chunks else []
    changes = Changes()
    retract_chunks(store, chunks, changes)
    if more is not None:
        changes.updates += more.updates
        changes.add += more.add
    store.commit(changes)
    indexer.removed([*chunks, *(row["sentence"] for row in sentences)])
    indexer.changed(entities=settle(store))
    indexer.flush(final=True)


def _retract_facts(candidates: list[Row], changes: Changes) -> None:
    facts = [(row["s"], row["p"], row["o"]) for row in candidates if row["p"] not in _NAMES]
    if facts:
        changes.updates.append(("ingest/retract-facts", {"candidates": facts}))
    named = {row["s"] for row in candidates if row["p"] in _NAMES}
    changes.add += uncounted(sorted((node for node in named if isinstance(node, NamedNode)), key=str))
    ends = {row[part] for row in candidates for part in ("s", "o")}
    changes.add += undrawn(sorted((node for node in ends if isinstance(node, NamedNode)), key=str))
