"""Ingest of files, of uploads, and again of what the store keeps: discover, plan, run, finish."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse
from urllib.request import url2pathname

from pyoxigraph import NamedNode

from graphrag_rdf.documents.discover import Discovery, Source, discover
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.authority import apply_authority
from graphrag_rdf.ingest.boilerplate import mark_boilerplate
from graphrag_rdf.ingest.contradictions import report_contradictions
from graphrag_rdf.ingest.duplicates import warn_of_duplicates
from graphrag_rdf.ingest.entity_decisions import settle
from graphrag_rdf.ingest.extractors import choose_extractor
from graphrag_rdf.ingest.facts import FactSettings
from graphrag_rdf.ingest.forget import forget_documents, is_pending
from graphrag_rdf.ingest.model_stage import ModelStage, refresh
from graphrag_rdf.ingest.names import unsettled
from graphrag_rdf.ingest.plan import (
    ChunkSettings,
    DocumentPlan,
    IngestSettings,
    Planner,
    Stored,
    incoming,
    missing_documents,
    stored_documents,
)
from graphrag_rdf.ingest.report import FailureReport, IngestReport
from graphrag_rdf.ingest.retract import retire_documents
from graphrag_rdf.ingest.run import Ingest
from graphrag_rdf.ingest.schedule import Progress, Stop
from graphrag_rdf.ingest.stages import IngestPipeline, ingest_pipeline, model_stages, plain_stages
from graphrag_rdf.ingest.validation import REASON, validate_written
from graphrag_rdf.ingest.validation_reports import opened_shapes
from graphrag_rdf.ingest.workers import Workers, workers_of
from graphrag_rdf.llm.budget import LlmUsage, since
from graphrag_rdf.schema.reasoning import NewTriples
from graphrag_rdf.schema.shapes import Shapes
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.folder import is_store

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.ingest import NeededComponents


log = logging.getLogger(__name__)
_NOT_VALIDATED = later(
    "validation.shapes is set, and your ingest pipeline has no stage validate: nothing is validated"
)


@dataclass(frozen=True, slots=True)
class Upload:
    """A document that a client sent.

    Attributes:
        identity: its name in the store, with "/" between folders. The suffix gives the format.
        title: that the client gave it; else it is read from the document.
    """

    identity: str
    data: bytes
    title: str = ""


def ingest_settings(settings: Settings, *, refresh: bool = False) -> IngestSettings:
    """The settings of a run."""
    documents, extract = settings.documents, settings.extract
    return IngestSettings(
        chunks=ChunkSettings(documents.chunk_size, documents.chunk_overlap, documents.chunk_unit),
        facts=FactSettings(extract.namespace, extract.entity_min_length),
        jobs=extract.jobs,
        refresh=refresh,
    )


def ingest_files(
    engine: NeededComponents,
    paths: Sequence[str | Path],
    *,
    refresh: bool,
    sync: bool,
    progress: Progress | None,
    stop: Stop | None = None,
    root: Path | None = None,
    exclude: Sequence[str] = (),
) -> IngestReport:
    """See `Engine.ingest`."""
    found = find(engine, paths, root, exclude)
    with workers_of(engine.settings) as workers:
        begun = begin(engine, refresh=refresh, progress=progress, stop=stop, workers=workers)
        max_bytes = engine.settings.documents.max_bytes
        planner = begun.run.planner(max_bytes, found.sources)
        gone = missing_documents(engine.store, found.sources, paths)
        if sync:
            planner.follow(gone)
        expected = len(found.sources) + len(found.errors)
        report = begun.run.run(incoming(plans(planner, found), max_bytes), expected=expected)
    report.skipped = [f"{path}: {why}" for path, why in found.skipped]
    for pattern in found.idle:
        report.warn(
            "unused_exclude",
            tr("--exclude {pattern}: no file or folder has this name").format(pattern=pattern),
        )
    if sync and report.stopped is None:
        _remove_gone(engine, gone, report)
    else:
        report.missing = [stored.identity for stored in gone]
    return ended(begun)


def ingest_uploads(
    engine: NeededComponents,
    uploads: Sequence[Upload],
    *,
    refresh: bool,
    progress: Progress | None,
    stop: Stop | None = None,
) -> IngestReport:
    """See `Engine.ingest_uploads`."""
    begun = begin(engine, refresh=refresh, progress=progress, stop=stop)
    run = begun.run
    max_bytes = engine.settings.documents.max_bytes
    planner = run.planner(max_bytes, [Source(Path(), upload.identity) for upload in uploads])
    planned = (planner.plan_upload(upload.identity, upload.data, upload.title) for upload in uploads)
    run.run(incoming(planned, max_bytes), expected=len(uploads))
    return ended(begun)


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that is ready, when it began, and what had been spent on models by then."""

    engine: NeededComponents
    pipeline: IngestPipeline
    run: Ingest
    progress: Progress | None
    stop: Stop | None
    spent: LlmUsage
    at: float
    shapes: Shapes | None = None


def begin(
    engine: NeededComponents,
    *,
    refresh: bool,
    progress: Progress | None,
    stop: Stop | None,
    mentions_only: bool = False,
    workers: Workers | None = None,
) -> Begun:
    """Make a run ready: indexes, and what stages do before the documents.

    Raises:
        ConfigError: when the pipeline of the ingest is malformed, or settings contradict each other.
        UsageError: when SHACL shapes are set and cannot be used.
    """
    at, spent = time.perf_counter(), engine.budget.usage
    refresh = refresh or not engine.settings.extract.incremental
    pipeline, indexer = ingest_pipeline(engine.settings), engine.indexer
    indexer.recover()
    indexer.noted = NewTriples()
    shapes = opened_shapes(engine.store, engine.settings.validation) if "validate" in pipeline else None
    for entry in pipeline.begin:
        if (plain := plain_stages().get(entry.stage)) and plain.before:
            plain.before(engine)
    settings = replace(
        ingest_settings(engine.settings, refresh=refresh),
        version=engine.settings_version,
        mentions_only=mentions_only,
        metadata="metadata" in pipeline,
        marked=shapes is not None,
    )
    extractor = choose_extractor(engine.settings, lambda: engine.gateway, engine.store, use_cache=not refresh)
    run = Ingest(engine.store, engine.blobs, extractor, indexer, settings, progress, stop, workers)
    if "validate" not in pipeline and engine.settings.validation.is_on:
        run.report.warn("not_validated", tr(_NOT_VALIDATED))
    return Begun(engine, pipeline, run, progress, stop, spent, at, shapes)


def ended(begun: Begun) -> IngestReport:
    """Run the stages that follow the documents, in the order of the pipeline; the whole report."""
    engine, report = begun.engine, begun.run.report
    if engine.indexer.error is not None:
        report.warn("embedding_failed", engine.indexer.error)
    with_model = {kind.stage.name: kind for kind in model_stages()}
    for entry in begun.pipeline.end:
        if entry.stage in AFTER_DOCUMENTS:
            AFTER_DOCUMENTS[entry.stage](begun)
        elif (plain := plain_stages().get(entry.stage)) and plain.after:
            plain.after(begun)
        elif entry.stage in with_model:
            _model_stage(begun, with_model[entry.stage])
    if engine.indexer.noted is not None:
        report_contradictions(engine.store, engine.indexer.noted, report)
        engine.indexer.noted = None
    report.llm = since(begun.spent, engine.budget.usage)
    report.seconds = round(time.perf_counter() - begun.at, 3)
    return report


def _authority(begun: Begun) -> None:
    apply_authority(begun.engine.store, begun.engine.settings.documents.authority)


def _boilerplate(begun: Begun) -> None:
    changed = bool(begun.run.written or begun.run.refreshed)
    begun.run.report.quads += mark_boilerplate(begun.engine.store, changed=changed)
    begun.run.report.quads += begun.engine.indexer.flush(final=True)


def _duplicates(begun: Begun) -> None:
    if begun.run.report.stopped is None:
        warn_of_duplicates(begun.engine.store, begun.engine.blobs, begun.run.written, begun.run.report)


def _validate(begun: Begun) -> None:
    """Validate what was written. A stopped run is validated by the next one."""
    report = begun.run.report
    if begun.shapes is None or report.stopped is not None:
        return
    report.validation = found = validate_written(begun.engine, begun.shapes)
    if found is not None and found.rejected:
        report.facts -= found.rejected
        report.rejected[REASON] = report.rejected.get(REASON, 0) + found.rejected


def _model_stage(begun: Begun, kind: type[ModelStage[Any, Any, Any]]) -> None:
    """Run a stage that the settings want. A stopped run leaves it to the next one."""
    engine, report = begun.engine, begun.run.report
    if not kind.is_wanted(engine.settings) or report.stopped is not None:
        return
    if kind.needs_model is not None and engine.settings.llm.model is None:
        report.warn("no_llm", tr(kind.needs_model))
        return
    again = frozenset(begun.run.refreshed)
    outcome = refresh(engine, kind, again=again, lazily=True, progress=begun.progress, stop=begun.stop)
    report.stages[kind.stage.name] = kind.result(outcome)
    report.stopped = outcome.stopped
    for warning in outcome.warnings:
        report.warn(**warning)
    names = [[*failure.names.values()] for failure in outcome.failures]
    known = stored_documents(engine.store, [NamedNode(first) for first, *_ in names if ":" in first])
    for failure, (first, *more) in zip(outcome.failures, names, strict=True):
        place = known[first].location if first in known else first
        report.failures.append(
            FailureReport(place, more[-1] if more else None, kind.failed_at, failure.reason)
        )


AFTER_DOCUMENTS: Mapping[str, Callable[[Begun], None]] = {
    "authority": _authority,
    "boilerplate": _boilerplate,
    "duplicates": _duplicates,
    "validate": _validate,
}
"""The functions of our optional stages at the end of a run without a model; `Ingest` runs the others."""


def _remove_gone(engine: NeededComponents, gone: Sequence[Stored], report: IngestReport) -> None:
    """Retire documents whose files were moved; forget the others."""
    if not gone and not is_pending(engine.store):
        return
    rows = engine.store.select("ingest/replaced", documents=[stored.iri for stored in gone])
    moved = {row["document"] for row in rows}
    retired = [stored.iri for stored in gone if stored.iri in moved]
    vanished = [stored.iri for stored in gone if stored.iri not in moved]
    if retired:
        report.chunks.removed += retire_documents(engine.store, retired, engine.indexer)
    if vanished or is_pending(engine.store):
        report.chunks.removed += forget_documents(engine, vanished).chunks
        report.documents.forgotten = len(vanished)


def find(
    engine: NeededComponents,
    paths: Sequence[str | Path],
    root: Path | None = None,
    patterns: Sequence[str] = (),
) -> Discovery:
    """The files that the arguments name, without the store's own folder; the rest as in `discover`."""
    exclude = [engine.place.store or engine.place.root] if engine.place else []
    found = discover(
        [str(path) for path in paths], exclude=exclude, patterns=patterns, root=root, is_store=is_store
    )
    for folder, why in found.left_out:
        log.info("%s was left out: %s", folder, why)
    return found


def plans(planner: Planner, found: Discovery) -> Iterator[DocumentPlan | DocumentError]:
    """The plan of each file, or why it cannot be read."""
    for path, reason in found.errors:
        yield DocumentError(path, reason)
    for source in found.sources:
        try:
            yield planner.plan(source)
        except DocumentError as error:
            yield error


def refresh_texts(
    engine: NeededComponents,
    documents: Sequence[NamedNode],
    *,
    mentions_only: bool,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> IngestReport:
    """Extract again from the stored bytes of documents, as `ingest --refresh` does from their files.

    Args:
        documents: empty for all. Imported RDF and evaluation sets have no bytes and are left as they are.
        mentions_only: only the names in sentences. Facts stay, and so do known names.
            Documents whose chunks were made with other settings are skipped then.

    Raises:
        LlmError: when the model cannot be used at all.
    """
    begun = begin(engine, refresh=True, progress=progress, stop=stop, mentions_only=mentions_only)
    max_bytes = engine.settings.documents.max_bytes
    rows = engine.store.select("ingest/originals", documents=documents)
    kept: dict[str, NamedNode] = {row["document"].value: row["original"] for row in rows}
    known = stored_documents(engine.store, map(NamedNode, kept)).values()
    chunker = ingest_settings(engine.settings).chunks.key
    skipped = [stored for stored in known if mentions_only and stored.chunker != chunker]
    read_again = [stored for stored in known if stored not in skipped]
    plans = _plans(engine, read_again, kept)
    report = begun.run.run(incoming(plans, max_bytes), expected=len(read_again))
    report.skipped = [stored.identity for stored in skipped]
    return ended(begun)


def _plans(
    engine: NeededComponents, known: Sequence[Stored], kept: Mapping[str, NamedNode]
) -> Iterator[DocumentPlan | DocumentError]:
    for stored in known:
        data = engine.blobs.get(kept[stored.iri.value])
        if data is None:
            yield DocumentError(
                stored.identity, tr("its bytes are not in the blob store"), tr("ingest it again")
            )
            continue
        path = Path(url2pathname(urlparse(stored.location).path))
        is_here = stored.location.startswith("file:")
        source = Source(path if is_here else Path(), stored.identity)
        title = "" if is_here else stored.title  # a client may have given it
        yield DocumentPlan(source, stored.iri, data, stored.content_hash, stored, "updated", title=title)


def refresh_names(engine: NeededComponents, documents: Sequence[NamedNode]) -> int:
    """Elect labels again, and update canonical links; how many things were settled.

    Args:
        documents: only the things that these name; empty: everything.
    """
    store = engine.store
    engine.indexer.recover()
    things = [row["thing"] for row in store.select("ingest/named-in", documents=documents)]
    store.commit(Changes(add=list(unsettled(things)), content=False))
    settled = settle(store)
    engine.indexer.changed(entities=settled)
    engine.indexer.flush(final=True)
    return len(settled)
