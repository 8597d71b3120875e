"""Ingest of an evaluation set: each passage is a document of one chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf.documents.discover import Source
from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.documents.model import ParsedDocument, Sentence
from graphrag_rdf.documents.turns import find_turns
from graphrag_rdf.errors import LlmError, UsageError
from graphrag_rdf.extract.evidence import locate_fact
from graphrag_rdf.extract.model import (
    EntityCandidate,
    Extraction,
    Rejected,
    RelationCandidate,
    together,
)
from graphrag_rdf.extract.names import fold
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.boilerplate import mark_boilerplate
from graphrag_rdf.ingest.extractors import ChunkExtractor, Extracted, choose_extractor
from graphrag_rdf.ingest.facts import FactSettings
from graphrag_rdf.ingest.plan import ChunkSettings, Incoming, IngestSettings, Planner
from graphrag_rdf.ingest.report import IngestReport
from graphrag_rdf.ingest.run import Ingest
from graphrag_rdf.ingest.schedule import Progress, Stop
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.model_calls import sum_known
from graphrag_rdf.rdf.namespaces import DCTERMS
from graphrag_rdf.wings.evaluation.evalset import EvalSet

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

UNTITLED = "Untitled"
_ONE_CHUNK = ChunkSettings(size=10_000_000)
_UNSURE = 0.5  # of recorded triples, which have no confidence


def recorded(evalset: EvalSet) -> ChunkExtractor:
    """An extractor that returns recorded triples of a model.

    Args:
        evalset: must have `openie`.

    Raises:
        UsageError: when it has no `openie`.
    """
    if evalset.openie is None:
        raise UsageError(
            tr("{evalset} has no recorded triples").format(evalset=evalset.name),
            hint=tr("use --extraction rules"),
        )
    names = evalset.entities or tuple(() for _ in evalset.corpus)
    recordings = {
        (passage.title, passage.text): (triples, named)
        for passage, triples, named in zip(evalset.corpus, evalset.openie, names, strict=True)
    }
    by_text = {text: value for (_, text), value in recordings.items()}

    def extract(text: str, sentences: Sequence[Sentence], *, title: str, **_: Any) -> Extracted:
        recording = recordings.get((title, text)) or by_text.get(text) or ((), ())
        triples, named = recording
        relations: list[RelationCandidate] = []
        rejected: list[Rejected] = []
        for triple in triples:
            if len(triple) != 3 or not all(part.strip() for part in triple):
                rejected.append(Rejected("malformed", str(triple)))
                continue
            s, p, o = (part.strip() for part in triple)
            place = locate_fact(s, p, o, text, sentences, topic=title)
            span = (place.offset, place.length) if place else None
            relations.append(RelationCandidate(s, p, o, True, None, None, _UNSURE, span))
        entities = [EntityCandidate(name, None, None, (), None) for name in named if fold(name)]
        return Extracted(Extraction(tuple(entities), tuple(relations), tuple(rejected), (), None))

    return ChunkExtractor("graphrag-rdf-recorded", "1", "recorded/1", extract)


def merged_extractor(engine: Engine, evalset: EvalSet, spec: str) -> ChunkExtractor:
    """The extractor for a comma-separated list of `rules`, `recorded`, `llm` and `names` (no facts), merged.

    Raises:
        UsageError: for an unknown name.
    """
    makers: dict[str, Callable[[], ChunkExtractor]] = {
        "recorded": lambda: recorded(evalset),
        "rules": lambda: _chosen(engine, "rules"),
        "llm": lambda: _chosen(engine, "llm"),
        "names": lambda: replace(_chosen(engine, "none"), key="names/1", names=True),
    }
    parts = []
    for name in spec.split(","):
        if name.strip() not in makers:
            raise UsageError(
                tr("unknown extraction {name!r}").format(name=name.strip()),
                hint=tr("use one of: {names}").format(names=", ".join(makers)),
            )
        parts.append(makers[name.strip()]())
    if len(parts) == 1:
        return parts[0]

    def extract(text: str, sentences: Sequence[Sentence], **described: Any) -> Extracted:
        extracted = [part.extract(text, sentences, **described) for part in parts]
        return Extracted(
            reduce(together, (part.extraction for part in extracted)),
            prompt_hash=next((part.prompt_hash for part in extracted if part.prompt_hash), None),
            in_tokens=sum_known(part.in_tokens for part in extracted),
            out_tokens=sum_known(part.out_tokens for part in extracted),
            cached_in_tokens=sum_known(part.cached_in_tokens for part in extracted),
        )

    main = next((part for part in parts if part.model), parts[0])
    key = "+".join(part.key for part in parts)
    return replace(main, key=key, extract=extract, names=any(part.names for part in parts))


def _chosen(engine: Engine, use: str) -> ChunkExtractor:
    extract = engine.settings.extract.model_copy(update={"use": use})
    settings = engine.settings.model_copy(update={"extract": extract})
    return choose_extractor(settings, lambda: engine.gateway, engine.store)


def ingest_corpus(
    engine: Engine,
    evalset: EvalSet,
    spec: str = "rules",
    *,
    titles: bool = True,
    partly: bool = False,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> IngestReport:
    """Ingest the passages of a set.

    Args:
        spec: see `merged_extractor`.
        titles: whether to keep the titles of passages.
        partly: return the report even if the run ends early.
        stop: called between passages; True ends the run.

    Raises:
        KeyboardInterrupt, LlmError: see `require_whole`; not if `partly`.
    """
    settings = IngestSettings(chunks=_ONE_CHUNK, facts=FactSettings(), jobs=engine.settings.extract.jobs)
    extractor = merged_extractor(engine, evalset, spec)
    run = Ingest(engine.store, engine.blobs, extractor, engine.indexer, settings, progress, stop)
    sources = [Source(Path(), _identity(evalset, index)) for index in range(len(evalset.corpus))]
    documents = _incoming(evalset, run.planner(1 << 30, sources), titles=titles)
    report = run.run(documents, expected=len(sources))
    if not partly:
        require_whole(report)
    mark_boilerplate(engine.store)
    engine.indexer.flush(final=True)
    return report


def require_whole(report: IngestReport) -> None:
    """Raise if only a part of the documents was ingested.

    Raises:
        KeyboardInterrupt: the run was interrupted.
        LlmError: the budget is used up.
    """
    if report.stopped == "interrupted":
        raise KeyboardInterrupt
    if report.stopped:
        raise LlmError(
            tr("the budget is used up, and not all documents were ingested"),
            "budget",
            hint=tr("raise llm.budget_tokens or llm.budget_usd"),
        )


def passage_iri(evalset: EvalSet, index: int) -> NamedNode:
    """The document of a passage."""
    return iris.document(_identity(evalset, index))


def _identity(evalset: EvalSet, index: int) -> str:
    return f"{evalset.name}/{index}"


def _incoming(evalset: EvalSet, planner: Planner, *, titles: bool) -> Iterator[Incoming]:
    for index, passage in enumerate(evalset.corpus):
        if not passage.text.strip():
            continue
        plan = planner.plan_upload(_identity(evalset, index), passage.text.encode())
        title = passage.title if titles and passage.title.strip() else None
        yield Incoming(plan, lambda text=passage.text, title=title, index=index: _parsed(text, title, index))  # type: ignore[misc]


def _parsed(text: str, title: str | None, index: int) -> ParsedDocument:
    return ParsedDocument(
        text=text,
        pages=(),
        media_type="text/plain",
        title=title or UNTITLED,
        language=detect_language(text),
        encoding="utf-8",
        metadata=((DCTERMS.identifier.value, str(index)),),
        titled=title is not None,
        turns=find_turns(text),
    )
