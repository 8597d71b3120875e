"""Exploration of Document RAG: chunks that the indexes find, without facts and entities.

With an embedding model the ranks of both indexes are fused, otherwise chunks keep their order by BM25. The
query `selection/found-chunks` decides. The answer may rest on the best chunks that fit into a number of
tokens; of their sentences those are looked at that are most like the question.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field
from pyoxigraph import NamedNode

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import TG
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.steps.dates import DateParameters
from graphrag_rdf.steps.exploration import EXPLORATION, PassageHit, begin_exploration, record_passages
from graphrag_rdf.steps.kinds import Some, StepKind, Way, Weight, register
from graphrag_rdf.steps.search import QuestionSearch, as_shares
from graphrag_rdf.steps.selection import FittingParameters, fit_chunks
from graphrag_rdf.steps.sources import chunk_of, mentions_of
from graphrag_rdf.steps.state import Context, Parameters, SentenceHit, State
from graphrag_rdf.trace.messages import GraphRagResponse

_FOUND = 100  # chunks asked of each index, and ranked
_SENTENCES = 50  # of the best chunks


class ChunkParameters(DateParameters, FittingParameters):
    """Of the search in one index."""

    candidate_limit: Some = Field(30, description="chunks kept in the trace; a reranker chooses among them")


class FusionParameters(ChunkParameters):
    """Of the search in both indexes."""

    words_weight: Weight = Field(1.0, description="weight of the rank by words (BM25)")
    meaning_weight: Weight = Field(1.0, description="weight of the rank by meaning, with an embedding model")
    rank_constant: Some = Field(
        60, description="constant of reciprocal rank fusion: the higher, the less the first ranks stand out"
    )


def by_both(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Search by words and, with an embedding model, by meaning; ranks are fused."""
    weights = {name: parameters[f"{name}_weight"] for name in ("words", "meaning")}
    if context.embedder is None or context.vectors is None:
        weights = {"words": 1.0}
    yield _explore(context, state, parameters, weights)


def by_words(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Search by BM25."""
    yield _explore(context, state, parameters, {"words": 1.0})


def by_meaning(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Search by vectors.

    Raises:
        ConfigError: without an embedding model.
    """
    if context.embedder is None or context.vectors is None:
        raise ConfigError(
            tr("chunks cannot be searched by meaning: no embedding model is set"),
            hint=tr("set embedding.model, or let the step use words"),
        )
    yield _explore(context, state, parameters, {"meaning": 1.0})


def _explore(
    context: Context, state: State, parameters: Parameters, weights: dict[str, float]
) -> GraphRagResponse:
    step = begin_exploration(context, state, parameters, "+".join(weights))
    if state.include:
        state.warn(
            "setting_ignored", tr("this pipeline follows no entities: those to include have no effect")
        )
    search = QuestionSearch(context, state, parameters, step)
    for predicate, value in search.dated.statements if search.dated else ():
        context.recorder.say(step, predicate, value)
    state.passages = _rank(search, parameters, as_shares(**weights))
    find_sentences(search, state, parameters)
    room = parameters["chunk_tokens"], parameters["whole_chunks"]
    state.chunks = fit_chunks(context, state, step, state.passages, parameters, *room)
    state.empty = not state.chunks
    candidates = state.passages[: parameters["candidate_limit"]]
    context.recorder.say(step, TG.chunkCount, integer(len(candidates)))
    for hit in candidates:
        context.recorder.say(step, TG.selectedChunk, hit.chunk)
    record_passages(context.recorder, step, candidates)
    return context.recorder.finish(step)


def _rank(search: QuestionSearch, parameters: Parameters, weights: dict[str, float]) -> list[PassageHit]:
    """The best chunks by the indexes that have a weight."""
    found = {
        name: scores
        for name, scores in (
            ("words", search.with_words(_FOUND) if "words" in weights else []),
            ("meaning", search.similar(_FOUND) if "meaning" in weights else []),
        )
        if scores
    }
    if not found:
        return []
    fused = len(weights) > 1
    dated = search.dated
    inside = {iri for scores in found.values() for iri, _ in scores if dated and iri in dated.chunks}
    rows = search.decide(
        "selection/found-chunks",
        dated=sorted(map(NamedNode, inside), key=str),
        outside=dated.weight if dated else 1.0,
        found=[
            (name, NamedNode(iri), rank, share)
            for name, scores in found.items()
            for rank, (iri, share) in enumerate(scores, start=1)
        ],
        weights=list(weights.items()),
        by_rank=fused,
        constant=parameters["rank_constant"] if fused else 0,
        limit=_FOUND,
    )
    return [PassageHit(row["chunk"], row["score"], {n: row[n] for n in weights}, weights) for row in rows]


def find_sentences(search: QuestionSearch, state: State, parameters: Parameters) -> None:
    """Note the sentences of the best chunks that are most like the question."""
    chunks = [hit.chunk for hit in state.passages[: parameters["chunk_limit"]]]
    if not chunks:
        return
    among = {chunk.value for chunk in chunks}
    sentences = search.rows("retrieval/passage-sentences", chunks=chunks)
    words = search.likeness_by_words(sorted(row["sentence"].value for row in sentences))
    meaning = search.vector
    rows = search.nearest_sentences(
        chunks,
        [
            (NamedNode(iri), NamedNode(chunk_of(iri)), words.get(iri, 0.0), meaning.get(iri, 0.0))
            for iri in sorted(words.keys() | meaning.keys())
            if chunk_of(iri) in among
        ],
        named=[],
        limit=_SENTENCES,
        **as_shares(by_words=1.0, by_meaning=1.0 if meaning else 0.0),
    )
    found = {row["sentence"]: row["likeness"] for row in rows}
    mentioned = mentions_of(search.context, state, search.step, [one.value for one in found])
    state.hits = [
        SentenceHit(
            sentence,
            mentioned[sentence.value],
            lexical=words.get(sentence.value, 0.0),
            vector=meaning.get(sentence.value, 0.0) if meaning else None,
            score=likeness,
        )
        for sentence, likeness in found.items()
    ]


TEMPLATES = (
    "facts/text-wrong",  # these two of removed facts
    "retrieval/evidence-sentences",
    "selection/found-chunks",
    "selection/passage-sentences",
    "facts/validity",  # of questions for what is valid on a date
    "retrieval/oldest-newest",  # these two of questions with a period
    "retrieval/chunks-of-period",
    "retrieval/mentioned-entities",
    "retrieval/chunks",
    "retrieval/passage-sentences",
)

SEARCH_CHUNKS = register(
    StepKind(
        "search_chunks",
        EXPLORATION,
        "Searches for chunks by words and, with an embedding model, by meaning.",
        {
            "both": Way(by_both, FusionParameters, templates=TEMPLATES),
            "words": Way(by_words, ChunkParameters, templates=TEMPLATES),
            "meaning": Way(by_meaning, ChunkParameters, templates=TEMPLATES),
        },
        finds=True,
    )
)
