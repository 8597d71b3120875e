"""What an ingest would do: documents, chunks, calls, tokens and cost. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.documents.tables import columns_above
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.extract.model import Marked
from graphrag_rdf.ingest.choice import choose_extractor
from graphrag_rdf.ingest.document_writer import chunk_contexts, extraction_of
from graphrag_rdf.ingest.expected_tokens import ExpectedTokens
from graphrag_rdf.ingest.files import find, ingest_settings, plans
from graphrag_rdf.ingest.plan import (
    DocumentPlan,
    Planner,
    missing_documents,
    place_chunks,
)
from graphrag_rdf.ingest.report import ChunkCounts, Documents, FailureReport, LlmCounts
from graphrag_rdf.rdf.terms import text_of

if TYPE_CHECKING:
    from graphrag_rdf.ingest.protocols import NeededComponents


@dataclass(slots=True)
class Estimate:
    """What an ingest would do; the keys are those of `IngestReport` as far as they can be known.

    Attributes:
        chunks: `added` and `reused` would be in the store anew and still, `removed` would go.
        extracted: chunks that the extractor would see.
        model: None when facts are extracted by rules.
        llm: calls and tokens at most (cached answers cost nothing); the cost is None when no price is known.
        measured: whether output tokens are estimated from what the model wrote for this store before.
    """

    documents: Documents = field(default_factory=Documents)
    pages: int = 0
    chunks: ChunkCounts = field(default_factory=ChunkCounts)
    extracted: int = 0
    model: str | None = None
    llm: LlmCounts = field(default_factory=LlmCounts)
    measured: bool = False
    failures: list[FailureReport] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The keys of `ingest --dry-run --format json`."""
        return {"dry_run": True, **asdict(self)}


def estimate(
    engine: NeededComponents,
    paths: Sequence[str | Path],
    *,
    refresh: bool = False,
    sync: bool = False,
    exclude: Sequence[str] = (),
) -> Estimate:
    """Find out what an ingest would do. Reads every document that changed; asks no model.

    Args:
        engine: may be opened read only.
        paths, refresh, sync, exclude: as of `Engine.ingest`.

    Raises:
        ConfigError: when the settings do not fit together.
    """
    found = find(engine, paths, None, exclude)
    extractor = choose_extractor(engine.settings, lambda: engine.gateway)
    settings = ingest_settings(engine.settings, refresh=refresh)
    max_bytes = engine.settings.documents.max_bytes
    planner = Planner(engine.store, extractor.key, settings.chunks.key, max_bytes, found.sources)
    gone = missing_documents(engine.store, found.sources, paths)
    if sync:
        planner.follow(gone)
    out = Estimate(model=extractor.model, skipped=[f"{path}: {why}" for path, why in found.skipped])
    tokens = ExpectedTokens(engine, extractor)
    for plan in plans(planner, found):
        if isinstance(plan, DocumentError):
            _failed(out, plan)
        elif plan.fate == "unchanged" and not refresh:
            out.documents.unchanged += 1
            out.chunks.reused += plan.stored.chunks if plan.stored else 0
        else:
            _add(out, engine, plan, extractor.key, tokens, refresh=refresh)
    out.missing = [stored.identity for stored in gone]
    if sync:
        out.documents.forgotten = len(gone) - out.documents.moved
        out.chunks.removed += sum(stored.chunks for stored in gone)
    out.llm = tokens.counts()
    # of nothing to extract nothing is estimated: what was written before need not be read
    out.measured = bool(extractor.model and out.extracted) and tokens.measured is not None
    return out


def _failed(out: Estimate, error: DocumentError) -> None:
    out.documents.failed += 1
    out.failures.append(FailureReport(error.path, None, "read", error.reason))


def _add(
    out: Estimate,
    engine: NeededComponents,
    plan: DocumentPlan,
    key: str,
    tokens: ExpectedTokens,
    *,
    refresh: bool,
) -> None:
    try:
        parsed = read_bytes(plan.data, plan.name, folder=plan.folder)
    except DocumentError as error:
        _failed(out, error)
        return
    settings = ingest_settings(engine.settings)
    placed = place_chunks(plan.iri, parsed, settings.chunks)
    stands = {text_of(row["chunk"]) for row in engine.store.select("ingest/chunk-places", document=plan.iri)}
    extracted = {*map(extraction_of, engine.store.select("ingest/chunk-extractors", document=plan.iri))}
    contexts = chunk_contexts(parsed, placed, key)
    now = {chunk.iri.value: (chunk, context) for chunk, context in zip(placed, contexts, strict=True)}
    out.chunks.added += len(now.keys() - stands)
    out.chunks.reused += len(now.keys() & stands)
    out.chunks.removed += len(stands - now.keys())
    out.pages += len(parsed.pages)
    due = [each for iri, each in now.items() if refresh or (iri, key, each[1].hash) not in extracted]
    out.extracted += len(due)
    if plan.replaces is not None:
        out.documents.moved += 1
    elif plan.stored is None:
        out.documents.added += 1
    elif plan.stored.content_hash != plan.content_hash:
        out.documents.updated += 1
    elif due:
        out.documents.read_again += 1
    else:
        out.documents.unchanged += 1
    for chunk, context in due:
        marked = Marked(columns=columns_above(parsed, chunk.chunk), context=context)
        tokens.chunk(chunk.chunk.text, parsed.language, parsed.title, marked)
    tokens.pairs([(chunk.chunk.text, chunk.iri.value not in stands) for chunk in placed])
