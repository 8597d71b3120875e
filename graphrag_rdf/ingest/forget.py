"""Forgetting documents: what only they supported goes too, and their text goes everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.plan import stored_documents
from graphrag_rdf.ingest.retract import retract_chunks, settle_names
from graphrag_rdf.rdf.terms import text_of, to_python
from graphrag_rdf.store.base import Changes, Store

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_BATCH = 200


@dataclass(slots=True)
class Forgotten:
    """What was forgotten, or would be.

    Attributes:
        facts, entities: gone with the documents.
        kept_facts: facts of the documents that other documents support too.
        traces: traces whose text was erased because they rest on the documents.
        erased: objects of the librarian and entries of the cache that held their text.
    """

    documents: int = 0
    chunks: int = 0
    facts: int = 0
    entities: int = 0
    kept_facts: int = 0
    traces: int = 0
    erased: int = 0

    def as_json(self) -> dict[str, object]:
        """The keys of `forget --format json`."""
        return {
            "documents": self.documents,
            "removed": {"chunks": self.chunks, "facts": self.facts, "entities": self.entities},
            "kept_facts": self.kept_facts,
            "traces": self.traces,
            "erased": self.erased,
        }


def find_documents(store: Store, names: Sequence[str]) -> list[NamedNode]:
    """Documents by IRI, identity, path or title.

    Raises:
        UsageError: when a name is unknown, or a title is not unique.
    """
    known = stored_documents(store)
    found: list[NamedNode] = []
    for name in names:
        matches = [
            stored.iri
            for stored in known.values()
            if name in (stored.iri.value, stored.identity, stored.location, stored.title)
            or _same_file(name, stored.location)
        ]
        if not matches:
            raise UsageError(
                f"no document is called {name!r}", hint="graphrag-rdf queries run ingest/documents"
            )
        if len(matches) > 1:
            listed = ", ".join(sorted(match.value for match in matches))
            raise UsageError(f"{name!r} names several documents: {listed}", hint="use the IRI")
        found += matches
    return found


def _same_file(name: str, location: str) -> bool:
    from pathlib import Path

    return Path(name).exists() and Path(name).resolve().as_uri() == location


def forget_documents(engine: Engine, documents: Sequence[NamedNode], *, dry_run: bool = False) -> Forgotten:
    """Forget documents: chunks, facts that only they support, and their text in traces, librarian, cache and
    indexes. Hashes stay.
    """
    store = engine.store
    out = Forgotten(documents=len(documents))
    rows = store.select("forget/chunks", documents=documents)
    chunks = [node for row in rows if isinstance(node := row["chunk"], NamedNode)]
    out.chunks = len(chunks)
    supported = store.select("forget/facts", chunks=chunks) if chunks else []
    for row in supported:
        alone = bool(to_python(row["alone"]))
        out.facts += alone
        out.kept_facts += not alone
    before = _entities(store)
    if dry_run:
        out.entities = len(store.select("forget/entities", chunks=chunks)) if chunks else 0
        out.traces = len(store.select("forget/traces", chunks=chunks)) if chunks else 0
        return out
    texts = [text_of(row["text"]) for row in rows if "text" in row]
    objects = [text_of(row["object"]) for row in store.select("forget/objects", documents=documents)]
    sentences = store.select("ingest/sentences-of", chunks=chunks) if chunks else []
    traces = [
        node
        for row in store.select("forget/traces", chunks=chunks)
        if isinstance(node := row["trace"], NamedNode)
    ]
    quotes = [text_of(row["quote"]) for row in store.select("forget/quotes", chunks=chunks)] if chunks else []
    changes = Changes()
    if traces:
        changes.updates.append(("forget/erase-traces", {"traces": traces}))
    touched = retract_chunks(store, chunks, changes, erase=True)
    changes.updates.append(("forget/documents", {"documents": documents}))
    store.commit(changes)
    settle_names(store, touched)
    out.traces = len(traces)
    out.entities = before - _entities(store)
    out.erased = sum(engine.librarian.delete(iri) for iri in objects)
    out.erased += engine.librarian.erase_containing([*texts, *quotes])
    if engine.response_cache is not None:
        out.erased += engine.response_cache.forget([*texts, *quotes])
    engine.indexer.removed(
        [*chunks, *(n for row in sentences if isinstance(n := row["sentence"], NamedNode))]
    )
    engine.indexer.changed(entities=touched)
    engine.indexer.flush(final=True)
    store.optimize()
    return out


def _entities(store: Store) -> int:
    return len(store.select("index/all-entities"))
