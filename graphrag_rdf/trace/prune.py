"""Taking traces out: their quads, the blobs that nothing else names, and the retired chunks
that only they kept from being erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.terms import Term, now
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace import rows

_BATCH = 50


@dataclass(slots=True)
class Pruned:
    """What was taken out: traces (sub-traces counted), stored objects, chunks retired by earlier edits."""

    traces: int = 0
    objects: int = 0
    chunks: int = 0


def delete_trace(store: Store, blobs: BlobStore, iri: NamedNode | str) -> Pruned:
    """Take out a trace and its sub-traces.

    Args:
        iri: the session.

    Raises:
        UsageError: when there is no such session.
    """
    session = NamedNode(iri) if isinstance(iri, str) else iri
    if not store.select("trace/session", session=session):
        raise UsageError(
            f"there is no trace {session.value}", hint="graphrag-rdf trace list shows the traces"
        )
    return _delete(store, blobs, [session])


def prune(
    store: Store,
    blobs: BlobStore,
    *,
    keep: int | None = None,
    older_than: datetime | timedelta | None = None,
) -> Pruned:
    """Take out old traces with their sub-traces.

    Args:
        keep: how many of the newest stay, sub-traces not counted.
        older_than: what began before this moment, or so long ago, goes. With both, what either names goes.

    Raises:
        UsageError: when neither is given, or `keep` is negative.
    """
    if keep is None and older_than is None:
        raise UsageError("nothing says which traces to take out", hint="use --keep N or --older-than DAYS")
    sessions: dict[str, NamedNode] = {}
    if keep is not None:
        if keep < 0:
            raise UsageError(f"{keep} traces cannot be kept", hint="use --keep 0 to take out all")
        found = store.select("trace/beyond", keep=keep)
        sessions |= {rows.must(row, "session"): rows.node(row, "session") for row in found}
    if older_than is not None:
        before = now() - older_than if isinstance(older_than, timedelta) else older_than
        found = store.select("trace/older", before=before)
        sessions |= {rows.must(row, "session"): rows.node(row, "session") for row in found}
    return _delete(store, blobs, list(sessions.values()))


def _delete(store: Store, blobs: BlobStore, sessions: Sequence[NamedNode]) -> Pruned:
    out = Pruned()
    gone: set[NamedNode] = set()
    for start in range(0, len(sessions), _BATCH):
        batch = [session for session in sessions[start : start + _BATCH] if session not in gone]
        if not batch:
            continue
        below = batch
        while below := _started(store, below, {*batch, *gone}):
            batch += below
        _delete_batch(store, blobs, batch, out)
        gone.update(batch)
    out.traces = len(gone)
    return out


def _started(store: Store, sessions: list[NamedNode], known: set[NamedNode]) -> list[NamedNode]:
    """The runs that runs started, without those that are known."""
    found = store.select("trace/sub-traces", sessions=sessions)
    return [one for row in found if (one := rows.node(row, "session")) not in known]


def _delete_batch(store: Store, blobs: BlobStore, sessions: list[NamedNode], out: Pruned) -> None:
    found = store.select("trace/objects", sessions=sessions)
    objects = list({rows.must(row, "object"): rows.node(row, "object") for row in found}.values())
    retired = [rows.node(row, "chunk") for row in store.select("trace/used-chunks", sessions=sessions)]
    # the store first: an object that nothing names is litter, a name without its object is a broken trace
    store.commit(Changes(updates=[("trace/delete", {"sessions": sessions})], content=False))
    if objects:
        out.objects += blobs.sweep(objects, lambda free: _named(store, free))
    if retired:
        cited = {row["chunk"] for row in store.select("ingest/cited-chunks", chunks=retired)}
        chunks = [chunk for chunk in retired if chunk not in cited]
        if chunks:
            changes = Changes(updates=[("ingest/retract-chunks", {"chunks": chunks})], content=False)
            store.commit(changes)
            out.chunks += len(chunks)


def _named(store: Store, objects: Sequence[NamedNode]) -> set[Term]:
    return {row["object"] for row in store.select("trace/shared-objects", objects=objects)}
