"""What an ingest would do: documents, chunks, calls, tokens and cost. Nothing is written.

The tokens that a model will write are estimated from what it wrote for other chunks of the store, or else
from averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.documents.tables import columns_above
from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.extract.mentions import find_mentions
from graphrag_rdf.extract.model import ChunkContext, Passage
from graphrag_rdf.ingest.document_writer import chunk_contexts, extraction_of
from graphrag_rdf.ingest.extractors import choose_extractor
from graphrag_rdf.ingest.files import find, ingest_settings, plans
from graphrag_rdf.ingest.model_stage import Cost
from graphrag_rdf.ingest.plan import DocumentPlan, Planner, missing_documents, place_chunks
from graphrag_rdf.ingest.report import ChunkCounts, Documents, FailureReport
from graphrag_rdf.ingest.schedule import UnexpectedError, attempt
from graphrag_rdf.ingest.stages import IngestPipeline, ingest_pipeline, model_stages
from graphrag_rdf.llm.budget import LlmUsage

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents
    from graphrag_rdf.ingest.extractors import ChunkExtractor


@dataclass(slots=True)
class Estimate:
    """What an ingest would do; the keys are those of `IngestReport` as far as they can be known.

    Attributes:
        chunks: how many would be added, reused and removed.
        extracted: chunks that the extractor would see.
        model: None when facts are extracted by rules.
        llm: calls and tokens at most (cached answers cost nothing); the cost is None when no price is known.
        measured: whether output tokens are estimated from what the model wrote for this store before.
        uncounted: stages that will call the model too, as often as the facts will need.
    """

    documents: Documents = field(default_factory=Documents)
    pages: int = 0
    chunks: ChunkCounts = field(default_factory=ChunkCounts)
    extracted: int = 0
    model: str | None = None
    llm: LlmUsage = field(default_factory=LlmUsage)
    measured: bool = False
    uncounted: list[str] = field(default_factory=list)
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
    """Find out what an ingest would do. Every changed document is read; no model is asked.

    Args:
        engine: may be opened read only.
        paths, refresh, sync, exclude: as of `Engine.ingest`.

    Raises:
        ConfigError: settings contradict each other, or the pipeline of the ingest is malformed.
    """
    found = find(engine, paths, None, exclude)
    extractor = choose_extractor(engine.settings, lambda: engine.gateway, engine.store)
    refresh = refresh or not engine.settings.extract.incremental
    settings = ingest_settings(engine.settings, refresh=refresh)
    max_bytes = engine.settings.documents.max_bytes
    key, namespace = settings.chunks.key, settings.facts.namespace
    planner = Planner(engine.store, extractor.key, key, max_bytes, found.sources, namespace)
    gone = missing_documents(engine.store, found.sources, paths)
    if sync:
        planner.follow(gone)
    out = Estimate(model=extractor.model, skipped=[f"{path}: {why}" for path, why in found.skipped])
    stages = ingest_pipeline(engine.settings)
    tokens = ExpectedTokens(engine, extractor, stages=stages)
    moved = 0
    for plan in plans(planner, found):
        if isinstance(plan, DocumentError):
            _failed(out, plan)
        elif plan.fate == "unchanged" and not refresh:
            out.documents.unchanged += 1
            out.chunks.reused += plan.stored.chunks if plan.stored else 0
        else:
            moved += plan.replaces is not None
            _add(out, engine, plan, extractor.key, tokens, refresh=refresh)
    out.missing = [stored.identity for stored in gone]
    if sync:
        out.documents.forgotten = len(gone) - moved
        out.chunks.removed += sum(stored.chunks for stored in gone)
    out.llm = tokens.counts()
    # without chunks to extract there is nothing to measure
    out.measured = bool(extractor.model and out.extracted) and tokens.measured is not None
    if out.extracted or out.chunks.removed:
        out.uncounted = _later_calls(engine, stages)
    return out


def _later_calls(engine: NeededComponents, stages: IngestPipeline) -> list[str]:
    """What a model makes of the facts, and corrections of them."""
    settings = engine.settings
    if settings.llm.model is None:
        return []
    repairs = settings.extract.ontology and settings.extract.ontology_repairs
    uncounted = ["extract"] if repairs and "extract" in stages else []
    for kind in model_stages():
        if kind.uncounted and kind.stage.name in stages and kind.is_wanted(settings):
            reader = kind(engine).chosen
            uncounted += [kind.stage.name] if reader is not None and reader.model else []
    return uncounted


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
        parsed = attempt(lambda: read_bytes(plan.data, plan.name, folder=plan.folder))
    except DocumentError as error:
        _failed(out, error)
        return
    if isinstance(parsed, UnexpectedError):
        _failed(out, DocumentError(plan.name, parsed.message))
        return
    settings = ingest_settings(engine.settings)
    placed = place_chunks(plan.iri, parsed, settings.chunks)
    stands = {row["chunk"].value for row in engine.store.select("ingest/chunk-places", document=plan.iri)}
    extracted = {*map(extraction_of, engine.store.select("ingest/chunk-extractors", document=plan.iri))}
    contexts = chunk_contexts(parsed, placed, key)
    now = {chunk.iri.value: (chunk, context) for chunk, context in zip(placed, contexts, strict=True)}
    out.chunks.added += len(now.keys() - stands)
    out.chunks.reused += len(now.keys() & stands)
    out.chunks.removed += len(stands - now.keys())
    out.pages += len(parsed.pages)
    due = [each for iri, each in now.items() if refresh or (iri, key, each[1].hash) not in extracted]
    out.extracted += len(due)
    out.documents.count(plan, again=bool(due))
    for chunk, context in due:
        chunk_context = ChunkContext(columns=columns_above(parsed, chunk.chunk), preceding=context)
        tokens.chunk(Passage(chunk.chunk.text, parsed.language, parsed.title, chunk_context))
    tokens.document(parsed.title, [(chunk.chunk.text, chunk.iri.value not in stands) for chunk in placed])


PER_TEXT_TOKEN, PER_NAME = 0.9, 34
"""Tokens that models write for each token of a chunk, and for each name in it: entities, and relations with
quotes. This gives 0.99 of 12 recorded answers about texts of all kinds, and 0.88 of 42 about a novel. Models
differ by more than that, so what this one wrote for chunks of the store counts more.
"""
_ENOUGH, _SAMPLE = 5, 200
"""Answered chunks from which the model's own rate is used, and how many are read for it."""


class ExpectedTokens:
    """Adds up calls and tokens.

    Args:
        stages: of the ingest.
    """

    def __init__(
        self, engine: NeededComponents, extractor: ChunkExtractor, *, stages: IngestPipeline
    ) -> None:
        self._extractor = extractor
        settings = engine.settings
        self._stages = [
            kind(engine)
            for kind in model_stages()
            if kind.stage.name in stages
            and kind.is_wanted(settings)
            and not (kind.needs_model and settings.llm.model is None)
        ]
        self._engine = engine
        self._rounds = 1 + engine.settings.extract.gleaning_rounds
        self._passages: list[Passage] = []
        self._calls = 0
        self._in = 0
        self._out = 0

    def chunk(self, passage: Passage) -> None:
        """Count a chunk. Its prompt is counted by `counts`, with those of its call."""
        if self._extractor.prompt is not None:
            self._passages.append(passage)

    def _extraction(self, passages: Sequence[Passage]) -> None:
        """Count the call about some chunks; and for each its gleanings, with all messages before them."""
        from graphrag_rdf.llm.model import estimate_tokens

        def read_by(prompt: str) -> int:
            return estimate_tokens([{"role": "user", "content": prompt}])

        together = self._extractor.together
        if together is not None:
            self._calls += 1
            self._in += read_by(together.prompt(passages))
        for passage in passages:
            prompt = self._extractor.prompt(  # type: ignore[misc]
                passage.text, language=passage.language, title=passage.title, context=passage.context
            )
            read, written = read_by(prompt), round(written_tokens(passage.text) * (self.measured or 1.0))
            self._out += written * self._rounds
            for number in range(1 if together is not None else 0, self._rounds):
                self._calls += 1
                self._in += read + number * written
            if self._engine.settings.llm.style == "small":  # two calls share what one would write
                self._calls += 1
                self._in += read

    def document(self, title: str, chunks: Sequence[tuple[str, bool]]) -> None:
        """Count what stages with a model ask about a document; see `ModelStage.cost_of_document`."""
        cost = Cost.sum(stage.cost_of_document(title, chunks) for stage in self._stages)
        self._calls += cost.calls
        self._in += cost.read
        self._out += cost.written

    @cached_property
    def measured(self) -> float | None:
        """What this extractor wrote for chunks of the store, as a multiple of what was to be expected; None
        while too few are known.
        """
        rows = self._engine.store.select(
            "ingest/written-tokens", extractor=self._extractor.key, limit=_SAMPLE
        )
        if len(rows) < _ENOUGH:
            return None
        texts = [row["text"] for row in rows]
        wrote: int = sum(row["tokens"] for row in rows)
        return wrote / self._rounds / sum(map(written_tokens, texts))

    def counts(self) -> LlmUsage:
        """The totals; zeros without a model."""
        together = self._extractor.together
        for group in (
            together.grouped(self._passages, lambda each: (each.text, each.language))
            if together
            else ((each,) for each in self._passages)
        ):
            self._extraction(group)
        self._passages = []
        cost = self._engine.gateway.price(self._in, self._out) if self._calls else 0.0
        return LlmUsage(self._calls, 0, self._in, self._out, cost)


def written_tokens(text: str) -> int:
    """Tokens that models write for a chunk, on average."""
    language = detect_language(text)
    sentences = split_sentences(text, language)
    names = {mention.name for mention in find_mentions(text, sentences, language=language)}
    return round(PER_TEXT_TOKEN * count_tokens(text) + PER_NAME * len(names))
