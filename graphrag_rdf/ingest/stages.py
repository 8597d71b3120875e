"""Stages of the ingest, run again from what the store keeps, for some documents or all: no file is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse
from urllib.request import url2pathname

from pyoxigraph import NamedNode

from graphrag_rdf.documents.discover import Source
from graphrag_rdf.errors import DocumentError, SearchIndexError
from graphrag_rdf.ingest import names
from graphrag_rdf.ingest.files import begin, ended, ingest_settings
from graphrag_rdf.ingest.plan import DocumentPlan, Stored, stored_documents
from graphrag_rdf.ingest.report import IngestReport
from graphrag_rdf.ingest.work import Progress, Stop, incoming
from graphrag_rdf.rdf.terms import Term, node_of
from graphrag_rdf.store.base import Changes

if TYPE_CHECKING:
    from graphrag_rdf.ingest.protocols import NeededComponents


def refresh_texts(
    engine: NeededComponents,
    documents: Sequence[NamedNode],
    *,
    mentions_only: bool,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> IngestReport:
    """Extract anew from the bytes that are kept of documents, as `ingest --refresh` does from their files.

    Args:
        documents: empty for all. What came in without being cut here (RDF, evaluation sets) is left as it is.
        mentions_only: only the names in sentences; facts stay, and so do names that are known already.
            Documents that were cut with other settings than those in force are skipped then.

    Raises:
        LlmError: when the model cannot be used at all.
    """
    begun = begin(engine, refresh=True, progress=progress, stop=stop, mentions_only=mentions_only)
    max_bytes = engine.settings.documents.max_bytes
    rows = engine.store.select("ingest/originals", documents=documents)
    kept = {node_of(row["document"]).value: row["original"] for row in rows}
    known = stored_documents(engine.store, map(NamedNode, kept)).values()
    chunker = ingest_settings(engine.settings).chunks.key
    skipped = [stored for stored in known if mentions_only and stored.chunker != chunker]
    plans = _plans(engine, [stored for stored in known if stored not in skipped], kept)
    report = begun.run.run(incoming(plans, max_bytes))
    report.skipped = [stored.identity for stored in skipped]
    return ended(engine, report, begun)


def _plans(
    engine: NeededComponents, known: Sequence[Stored], kept: dict[str, Term]
) -> Iterator[DocumentPlan | DocumentError]:
    for stored in known:
        data = engine.blobs.get(node_of(kept[stored.iri.value]))
        if data is None:
            yield DocumentError(stored.identity, "its bytes are kept no more", "ingest it again")
            continue
        path = Path(url2pathname(urlparse(stored.location).path))
        source = Source(path if stored.location.startswith("file:") else Path(), stored.identity)
        yield DocumentPlan(source, stored.iri, data, stored.content_hash, stored, "updated")


def refresh_names(engine: NeededComponents, documents: Sequence[NamedNode]) -> int:
    """Elect labels anew, and let entities point anew at what stands for them; how many things were looked at.

    Args:
        documents: only what these name; empty: everything.
    """
    store = engine.store
    engine.indexer.recover()
    things = [node_of(row["thing"]) for row in store.select("ingest/named-in", documents=documents)]
    store.commit(Changes(add=list(names.unsettled(things)), content=False))
    settled = names.settle(store)
    engine.indexer.changed(entities=settled)
    engine.indexer.flush(final=True)
    return len(settled)


def refresh_index(engine: NeededComponents, documents: Sequence[NamedNode]) -> None:
    """Write the search indexes anew.

    Args:
        documents: only the passages, sentences and entities of these; empty: the whole indexes.

    Raises:
        SearchIndexError: when vectors cannot be made.
    """
    if not documents:
        engine.rebuild_indexes()
        return
    store, indexer = engine.store, engine.indexer
    indexer.recover()
    indexer.changed(
        chunks=[node_of(row["chunk"]) for row in store.select("derived/chunks", documents=documents)],
        entities=[node_of(row["thing"]) for row in store.select("ingest/named-in", documents=documents)],
    )
    indexer.flush(final=True, purge=True)
    if indexer.error is not None:
        raise SearchIndexError(f"the vectors could not be made: {indexer.error}")
