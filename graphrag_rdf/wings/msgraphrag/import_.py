"""Import of the tables of Microsoft GraphRAG.

1. Documents and chunks, with sentences and the names in them, are written as by any ingest; the extraction of
   a chunk is what the tables say of its text unit (`texts`, `extraction`).
2. Descriptions and weights, which were made from several text units, derive from all of them (`elements`).
3. Claims are those of their chunks (`claims`).
4. Communities and reports replace those of an earlier import; findings cite what their text cites by number
   (`communities`, `reports`). A store with communities of its own keeps these.

Each part compares what it wants with what the store has, so the same import again changes nothing, and one
that was interrupted is finished. All documents have names below `ms-graphrag/`, so no other is replaced.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_rdf.ingest.boilerplate import mark_boilerplate
from graphrag_rdf.ingest.facts import FactSettings
from graphrag_rdf.ingest.plan import GivenChunks, IngestSettings, stored_documents
from graphrag_rdf.ingest.run import Ingest
from graphrag_rdf.ingest.validation import validate_written
from graphrag_rdf.ingest.validation_reports import opened_shapes
from graphrag_rdf.rdf import iris
from graphrag_rdf.wings.communities.stages.claims import link_claims
from graphrag_rdf.wings.msgraphrag.claims import write_claims
from graphrag_rdf.wings.msgraphrag.community_graph import write_communities
from graphrag_rdf.wings.msgraphrag.elements import write_elements
from graphrag_rdf.wings.msgraphrag.extraction import table_extractor
from graphrag_rdf.wings.msgraphrag.found import Found, find_imported
from graphrag_rdf.wings.msgraphrag.report import TablesReport
from graphrag_rdf.wings.msgraphrag.tables import Tables, read_tables
from graphrag_rdf.wings.msgraphrag.texts import FOLDER, GivenText, incoming, key_of, read_texts, sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.report import IngestReport
    from graphrag_rdf.ingest.schedule import Progress, Stop

_MAX_BYTES = 1 << 30


def import_tables(
    engine: Engine, folder: str | Path, *, progress: Progress | None = None, stop: Stop | None = None
) -> TablesReport:
    """Import the tables of a folder.

    Args:
        folder: with the tables, or with a folder `output` that has them.
        progress: called after each chunk.
        stop: called between chunks; True ends the import, and the next one goes on there.

    Raises:
        UsageError: the folder has no text units, a table cannot be read, or the SHACL shapes of the settings
            cannot be used.
        ConfigError: it has parquet files, and the extra for these is not installed.
        StoreError: the store cannot be written.
    """
    begun = time.perf_counter()
    report = TablesReport()
    tables = read_tables(Path(folder), report)
    texts = read_texts(tables, report, _namespace(engine))
    shapes = opened_shapes(engine.store, engine.settings.validation)
    with engine.keeping_indexes():
        run = _ingest(engine, tables, texts, progress, stop, marked=shapes is not None)
        _take_over(report, run)
        if run.stopped is None:
            if shapes is not None:
                report.validation = validate_written(engine, shapes)
            found = find_imported(engine, tables, texts, report)
            _write_rest(engine, tables, found, report)
    report.seconds = round(time.perf_counter() - begun, 3)
    return report


def _namespace(engine: Engine) -> str:
    """Of documents: the default if earlier imports made it theirs, for chunks are named after documents."""
    before = f"{iris.documents(iris.DEFAULT_NAMESPACE)}{FOLDER}/"
    there = any(iri.startswith(before) for iri in stored_documents(engine.store))
    return iris.DEFAULT_NAMESPACE if there else engine.settings.extract.namespace


def _ingest(
    engine: Engine,
    tables: Tables,
    texts: Sequence[GivenText],
    progress: Progress | None,
    stop: Stop | None,
    *,
    marked: bool,
) -> IngestReport:
    extract = engine.settings.extract
    settings = IngestSettings(
        chunks=GivenChunks(digest=key_of(texts)),
        facts=FactSettings(extract.namespace, extract.entity_min_length),
        metadata=False,
        version=engine.settings_version,
        marked=marked,
    )
    extractor = table_extractor(tables, texts, extract.entity_min_length)
    run = Ingest(engine.store, engine.blobs, extractor, engine.indexer, settings, progress, stop)
    documents = incoming(texts, run.planner(_MAX_BYTES, sources(texts)), _MAX_BYTES)
    report = run.run(documents, expected=len(sources(texts)))
    mark_boilerplate(engine.store)
    return report


def _take_over(report: TablesReport, run: IngestReport) -> None:
    """Take over the result of the ingest."""
    report.facts, report.entities, report.stopped = run.facts, run.entities, run.stopped
    report.warnings += [dict(warning) for warning in run.warnings]
    for failure in run.failures:
        report.note("documents", failure.path, "malformed", failure.reason)


def _write_rest(engine: Engine, tables: Tables, found: Found, report: TablesReport) -> None:
    """Write what does not depend on one chunk alone."""
    store = engine.store
    elements = write_elements(store, found)
    chunks, claims = write_claims(store, tables, found, report)
    if chunks:
        link_claims(store, engine.settings.extract.namespace)
    communities = write_communities(store, tables, found, claims, report)
    report.changed = elements + chunks + communities
    if elements:
        engine.indexer.changed(entities=sorted(found.canonical, key=str))
    engine.indexer.flush(final=True)
    if communities:
        engine.indexer.refresh_reports()
