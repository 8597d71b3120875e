"""`eval retrieval`: measures how many gold passages are found, compared with BM25 and dense search."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.wings.evaluation.baseline import Bm25
from graphrag_rdf.wings.evaluation.corpus import ingest_corpus, passage_iri
from graphrag_rdf.wings.evaluation.evalset import EvalSet
from graphrag_rdf.wings.evaluation.metrics import confidence95, mean, perfect, recall, reciprocal_rank

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.schedule import Progress

CUT_OFFS = (1, 2, 5, 10)
FIGURES = ("recall", "perfect", "mrr", "ci95")
"""Keys of the figures of a run."""
_DEPTH = 20
_PERFECT_AT = (5, 8)


def evaluate_retrieval(
    engine: Engine,
    evalset: EvalSet,
    *,
    extraction: str = "rules",
    pipeline: str = "graph_rag",
    compare: Sequence[str] = (),
    ks: Sequence[int] = CUT_OFFS,
    titles: bool = True,
    reading: Progress | None = None,
    progress: Callable[[int, int], None] | None = None,
    settings: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Ingest the set's corpus, and rank its passages for each question.

    Args:
        engine: on an empty store, usually in memory. Relations are built if a pipeline ranks by them, or with
            the setting `relations.build`.
        extraction: comma-separated list of rules, recorded, llm.
        compare: further pipelines, whose figures are among the baselines.
        ks: cut-offs of recall.
        reading: called for each finished passage; `progress` with (finished questions, all).

    Returns:
        the keys of `eval retrieval --format json`.
    """
    start = time.perf_counter()
    ingest_corpus(engine, evalset, extraction, titles=titles, progress=reading)
    names = [pipeline, *compare]
    kinds = {step.step for name in names for step in engine.pipeline(name).definition.steps}
    if engine.settings.relations.build or "hybrid" in kinds:
        engine.refresh("relations")
    ingest_seconds = time.perf_counter() - start
    index_of = chunk_indexes(engine, evalset)
    depth = max(*ks, *_PERFECT_AT, _DEPTH)
    asked = 0

    def rank(name: str, settings: dict[str, str] | None) -> tuple[list[list[int]], float]:
        nonlocal asked
        ranked: list[list[int]] = []
        start = time.perf_counter()
        for question in evalset.questions:
            answer = engine.retrieve(question.q, k=depth, pipeline=name, settings=settings)
            ranked.append([index_of[str(result["chunk"])] for result in answer["results"]])
            asked += 1
            if progress is not None:
                progress(asked, len(names) * len(evalset.questions))
        return ranked, round((time.perf_counter() - start) / max(1, len(evalset.questions)), 4)

    ranked, seconds = rank(pipeline, settings)
    gold = [question.gold for question in evalset.questions]
    return {
        "name": evalset.name,
        "n": len(evalset.questions),
        "passages": len(index_of),
        "extraction": extraction,
        "embedding_model": engine.settings.embedding.model,
        "rerank_model": engine.settings.rerank.model,
        "titles": titles,
        "pipeline": pipeline,
        **_figures(ranked, gold, ks),
        "baselines": {
            **{name: _compared(*rank(name, None), gold, ks) for name in compare},
            **{
                name: _figures(r, gold, ks)
                for name, r in _baselines(engine, evalset, index_of, depth, titles=titles)
            },
        },
        "ingest_seconds": round(ingest_seconds, 3),
        "seconds_per_question": seconds,
    }


def _compared(
    ranked: Sequence[Sequence[int]], seconds: float, gold: Sequence[Sequence[int]], ks: Sequence[int]
) -> dict[str, Any]:
    return {**_figures(ranked, gold, ks), "seconds_per_question": seconds}


def chunk_indexes(engine: Engine, evalset: EvalSet) -> dict[str, int]:
    """Chunk → index of its passage in the set."""
    by_document = {passage_iri(evalset, index).value: index for index in range(len(evalset.corpus))}
    rows = engine.store.select("system/chunk-documents")
    return {row["chunk"]: by_document[row["document"]] for row in rows if row["document"] in by_document}


def _figures(
    ranked: Sequence[Sequence[int]], gold: Sequence[Sequence[int]], ks: Sequence[int]
) -> dict[str, Any]:
    pairs = list(zip(ranked, gold, strict=True))
    recalls = {k: [recall(r, g, k) for r, g in pairs] for k in ks}
    return {
        "recall": {str(k): round(mean(values), 4) for k, values in recalls.items()},
        "perfect": {str(k): round(mean([perfect(r, g, k) for r, g in pairs]), 4) for k in _PERFECT_AT},
        "mrr": round(mean([reciprocal_rank(r, g) for r, g in pairs]), 4),
        "ci95": {str(k): [round(end, 4) for end in confidence95(values)] for k, values in recalls.items()},
    }


def _baselines(
    engine: Engine, evalset: EvalSet, index_of: dict[str, int], depth: int, *, titles: bool
) -> Iterable[tuple[str, list[list[int]]]]:
    bm25 = passages_bm25(evalset, titles=titles)
    yield "bm25", [bm25.rank(question.q, depth) for question in evalset.questions]
    embedder, vectors = engine.embedder, engine.vectors
    if embedder is not None and vectors is not None:
        hits = (
            vectors.search(embedder.embed([question.q])[0], kind="chunk", k=depth)
            for question in evalset.questions
        )
        yield "dense", [[index_of[hit.iri] for hit in hits_of_question] for hits_of_question in hits]


def passages_bm25(evalset: EvalSet, *, titles: bool = True) -> Bm25:
    """BM25 over a set's passages, with title and text as one field, in their main language."""
    texts = [passage.text for passage in evalset.corpus]
    language = detect_language("\n".join(texts))
    if titles:
        texts = [f"{p.title}\n{p.text}" if p.text.strip() else "" for p in evalset.corpus]
    return Bm25(texts, language)
