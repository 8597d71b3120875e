"""Ingest of files: discover, plan, run, and what a run says of what is gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_rdf.documents.discover import Discovery, discover
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.ingest.facts import FactSettings
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import ChunkSettings, DocumentPlan, Planner, missing_documents, stored_documents
from graphrag_rdf.ingest.report import IngestReport, LlmCounts
from graphrag_rdf.ingest.run import Ingest, IngestSettings, Progress, Stop, incoming

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.engine import Engine


def ingest_settings(settings: Settings, *, refresh: bool = False) -> IngestSettings:
    """The settings of a run."""
    documents, extract = settings.documents, settings.extract
    return IngestSettings(
        chunks=ChunkSettings(documents.chunk_size, documents.chunk_overlap, documents.chunk_unit),
        facts=FactSettings(extract.namespace, extract.entity_min_length, extract.entity_max_length),
        jobs=extract.jobs,
        refresh=refresh,
    )


def ingest_files(
    engine: Engine,
    paths: Sequence[str | Path],
    *,
    refresh: bool,
    sync: bool,
    progress: Progress | None,
    stop: Stop | None = None,
) -> IngestReport:
    """See `Engine.ingest`."""
    found = find(engine, paths)
    run = Ingest(
        engine.store,
        engine.librarian,
        engine.extractor(),
        engine.indexer,
        ingest_settings(engine.settings, refresh=refresh),
        progress,
        stop,
    )
    planner = run.planner(engine.settings.documents.max_bytes)
    report = run.run(incoming(plans(planner, found)))
    if engine.indexer.error:
        report.warn("embedding_failed", engine.indexer.error)
    report.skipped = [str(path) for path in found.skipped]
    roots = [Path(path) for path in paths if Path(path).is_dir()]
    gone = missing_documents(stored_documents(engine.store).values(), found.sources, roots)
    if sync and gone and report.stopped is None:
        forgotten = forget_documents(engine, [stored.iri for stored in gone])
        report.documents.forgotten = len(gone)
        report.chunks.removed += forgotten.chunks
    else:
        report.missing = [stored.identity for stored in gone]
    if "gateway" in engine.__dict__:
        usage = engine.gateway.usage
        report.llm = LlmCounts(usage.calls, usage.cached, usage.in_tokens, usage.out_tokens, usage.cost_usd)
    return report


def find(engine: Engine, paths: Sequence[str | Path]) -> Discovery:
    """The files that the arguments name, without the store's own folder."""
    exclude = [engine.place.root] if engine.place else []
    return discover([str(path) for path in paths], exclude=exclude)


def plans(planner: Planner, found: Discovery) -> Iterator[DocumentPlan | DocumentError]:
    """The plan of each file, or why it cannot be read."""
    for path, reason in found.errors:
        yield DocumentError(path, reason)
    for source in found.sources:
        try:
            yield planner.plan(source)
        except DocumentError as error:
            yield error
