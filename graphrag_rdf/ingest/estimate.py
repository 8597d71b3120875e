"""What an ingest would do: documents, chunks, calls, tokens and cost. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.documents.tables import columns_above
from graphrag_rdf.documents.tokens import count_tokens
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.extract.marked import Marked
from graphrag_rdf.ingest.choice import choose_extractor
from graphrag_rdf.ingest.document_writer import chunk_contexts, extraction_of
from graphrag_rdf.ingest.files import find, ingest_settings, plans
from graphrag_rdf.ingest.plan import (
    DocumentPlan,
    Planner,
    missing_documents,
    place_chunks,
)
from graphrag_rdf.ingest.report import ChunkCounts, Documents, FailureReport, LlmCounts
from graphrag_rdf.rdf.terms import text_of, to_python

if TYPE_CHECKING:
    from graphrag_rdf.documents.context import Context
    from graphrag_rdf.documents.model import Chunk, ParsedDocument
    from graphrag_rdf.ingest.extractors import ChunkExtractor
    from graphrag_rdf.ingest.needed import NeededParts

OUT_PER_CHUNK, OUT_PER_TEXT_TOKEN = 50, 2.0
"""Tokens that models write for a chunk, and for each token of it: entities and relations with their quotes.
Stories give half of it, encyclopaedias more; what this model wrote for chunks of the store counts more.
"""
_ENOUGH = 5
"""Chunks of which it is known what the model wrote, before that counts."""


@dataclass(slots=True)
class Estimate:
    """What an ingest would do; the keys are those of `IngestReport` as far as they can be known.

    Attributes:
        chunks: `added` and `reused` would be in the store anew and still, `removed` would go.
        extracted: chunks that the extractor would see.
        model: None when facts are extracted by rules.
        llm: calls and tokens at most (cached answers cost nothing); the cost is None when no price is known.
    """

    documents: Documents = field(default_factory=Documents)
    pages: int = 0
    chunks: ChunkCounts = field(default_factory=ChunkCounts)
    extracted: int = 0
    model: str | None = None
    llm: LlmCounts = field(default_factory=LlmCounts)
    failures: list[FailureReport] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The keys of `ingest --dry-run --format json`."""
        return {"dry_run": True, **asdict(self)}


def estimate(
    engine: NeededParts,
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
    planner = Planner.of(engine.store, extractor.key, settings.chunks.key, max_bytes, found.sources)
    gone = missing_documents(engine.store, found.sources, paths)
    if sync:
        planner.follow(gone)
    out = Estimate(model=extractor.model, skipped=[f"{path}: {why}" for path, why in found.skipped])
    tokens = _Tokens(engine, extractor)
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
    return out


def _failed(out: Estimate, error: DocumentError) -> None:
    out.documents.failed += 1
    out.failures.append(FailureReport(error.path, None, "read", error.reason))


def _add(
    out: Estimate, engine: NeededParts, plan: DocumentPlan, key: str, tokens: _Tokens, *, refresh: bool
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
        tokens.chunk(chunk.chunk, parsed, context)


class _Tokens:
    """Adds up what a model would read and write."""

    def __init__(self, engine: NeededParts, extractor: ChunkExtractor) -> None:
        self._extractor = extractor
        self._engine = engine
        self._rounds = engine.settings.extract.gleaning_rounds
        self._wrote = self._per_character()
        self._calls = 0
        self._in = 0
        self._out = 0

    def _per_character(self) -> float | None:
        """Tokens that this extractor wrote for each character of the store's chunks, if enough are known."""
        (row,) = self._engine.store.select("ingest/written-tokens", extractor=self._extractor.key)
        chunks, tokens, characters = (to_python(row[name]) for name in ("chunks", "tokens", "characters"))
        if not isinstance(chunks, int) or chunks < _ENOUGH:
            return None
        return int(str(tokens)) / int(str(characters)) / (1 + self._rounds)

    def chunk(self, chunk: Chunk, parsed: ParsedDocument, context: Context) -> None:
        """Count a chunk: its prompt, and each gleaning with all that was said before."""
        from graphrag_rdf.ingest.extractors import LlmComponent
        from graphrag_rdf.llm.model import estimate_tokens

        if not isinstance(self._extractor, LlmComponent):
            return
        text, marked = chunk.text, Marked(columns=columns_above(parsed, chunk), context=context)
        prompt = self._extractor.prompt(text, language=parsed.language, title=parsed.title, marked=marked)
        read = estimate_tokens([{"role": "user", "content": prompt}])
        if self._wrote is None:
            written = OUT_PER_CHUNK + round(count_tokens(text) * OUT_PER_TEXT_TOKEN)
        else:
            written = round(len(text) * self._wrote)
        for number in range(1 + self._rounds):
            self._calls += 1
            self._in += read + number * written
            self._out += written
        if self._engine.settings.llm.style == "small":  # what is written is shared out between two calls
            self._calls += 1
            self._in += read

    def counts(self) -> LlmCounts:
        """The totals; zeros without a model."""
        if not self._extractor.waits:
            return LlmCounts(0, 0, 0, 0, 0.0)
        cost = self._engine.gateway.price(self._in, self._out) if self._calls else 0.0
        return LlmCounts(self._calls, 0, self._in, self._out, cost)
