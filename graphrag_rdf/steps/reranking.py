"""Reranking: the best passages, facts and sentences are looked at again, each read with the question.

    score = (1 - rerank_weight) × score before + rerank_weight × (r - least r) / (most r - least r)

r is what the reranker gives, of whatever scale; of those that it was not asked about, the least. Order
among those does not change, and none of them passes one that was reranked. The trace keeps r, and the score
and rank that a passage had before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.steps.deciding import decide
from graphrag_rdf.steps.nodes.exploration import Edge, PassageHit
from graphrag_rdf.steps.state import Context, Parameters, SentenceHit, State
from graphrag_rdf.trace.recorder import Step

SIGNAL = "rerank"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact or sentence that the answer may rest on, with its words.

    Attributes:
        quote: of a fact the sentence that it was taken from; empty where there is none.
    """

    found: Edge | SentenceHit
    quote: str

    @property
    def text(self) -> str:
        """Its words, as a reranker reads them."""
        told = f"{self.found.text}. " if isinstance(self.found, Edge) else ""
        return f"{told}{self.quote}".strip()


def candidates(
    context: Context, step: Step, edges: Sequence[Edge], hits: Sequence[SentenceHit]
) -> list[Candidate]:
    """Facts and sentences with their words; sentences that are gone meanwhile are left out."""
    first = {edge.triple: edge.sentences[0] for edge in edges if edge.sentences}
    wanted = sorted({*first.values(), *(hit.sentence for hit in hits)}, key=str)
    texts: dict[str, str] = {}
    if wanted:
        run = context.store.run("retrieval/sentence-texts", sentences=wanted)
        context.recorder.queried(step, run)
        texts = {node_of(row["sentence"]).value: text_of(row["text"]) for row in run.rows}
    found = [
        Candidate(edge, texts.get(first[edge.triple].value, "") if edge.triple in first else "")
        for edge in edges
    ]
    return found + [Candidate(hit, texts[hit.sentence.value]) for hit in hits if hit.sentence.value in texts]


def reranks(context: Context, parameters: Parameters) -> bool:
    """Whether there is a reranker, and its word counts."""
    return context.reranker is not None and parameters["rerank_weight"] > 0


def ask_reranker(
    context: Context, state: State, step: Step, purpose: str, texts: Sequence[str]
) -> list[float] | None:
    """What the reranker gives each text; None, and a warning, when it fails.

    Raises:
        GraphRagError: never; what fails is told in the warning `rerank_failed`.
    """
    if context.reranker is None or not texts:
        return None
    clock = time.perf_counter()
    try:
        scores = context.reranker.scores(state.question, texts)
    except GraphRagError as error:
        state.warn("rerank_failed", f"{error}; {purpose} stay as they were ranked before")
        return None
    if not all(map(math.isfinite, scores)):
        state.warn("rerank_failed", f"{context.reranker.name} gave no numbers; {purpose} stay as they were")
        return None
    context.recorder.reranked(step, purpose, context.reranker.name, len(texts), time.perf_counter() - clock)
    return scores


def rerank_passages(context: Context, state: State, step: Step, parameters: Parameters) -> None:
    """Look at the best `rerank_limit` passages of the state again, with their titles."""
    if not reranks(context, parameters):
        return
    asked = state.passages[: parameters["rerank_limit"]]
    run = context.store.run("retrieval/chunks", chunks=[hit.chunk for hit in asked])
    context.recorder.queried(step, run)
    texts = {text_of(row["chunk"]): f"{text_of(row['title'])}\n{text_of(row['text'])}" for row in run.rows}
    asked = [hit for hit in asked if hit.chunk.value in texts]
    scores = ask_reranker(context, state, step, "passages", [texts[hit.chunk.value] for hit in asked])
    if scores is None:
        return
    given = {hit.chunk.value: score for hit, score in zip(asked, scores, strict=True)}
    weight = parameters["rerank_weight"]
    before = state.passages
    ranks = {hit.chunk.value: rank for rank, hit in enumerate(before)}
    order = _order(
        context,
        step,
        [hit.score for hit in before],
        {ranks[chunk]: score for chunk, score in given.items()},
        weight,
    )
    for rank, score, share in order:
        hit = before[rank]
        hit.rank_before, hit.score_before = rank + 1, hit.score
        hit.reranked = given.get(hit.chunk.value)
        _mix(hit, score, share, weight)
    state.passages = [before[rank] for rank, _, _ in order]


def _order(
    context: Context, step: Step, scores: Sequence[float], given: Mapping[int, float], weight: float
) -> list[tuple[int, float, float]]:
    """The places of what was found, in their new order, each with its new score and the reranker's share.

    Args:
        scores: in the order of before.
        given: place → what the reranker gave.
        weight: its share of the score.
    """
    rows = decide(
        context,
        step,
        "selection/reranked",
        found=list(enumerate(scores)),
        given=list(given.items()),
        weight=weight,
    )
    return [
        (int(text_of(row["rank"])), float(text_of(row["score"])), float(text_of(row["share"])))
        for row in rows
    ]


def _mix(hit: PassageHit, score: float, share: float, weight: float) -> None:
    """The reranker becomes one more signal; the others, and the paths that they are sums of, make room."""
    hit.score = score
    hit.signals = {**hit.signals, SIGNAL: share}
    hit.weights = {name: (1 - weight) * value for name, value in hit.weights.items()} | {SIGNAL: weight}
    for path in hit.paths:
        path.share *= 1 - weight
    for relation in hit.relations:
        relation.share *= 1 - weight


def rerank_found(context: Context, state: State, step: Step, parameters: Parameters) -> None:
    """Look at the best `rerank_limit` facts and as many sentences of the state again."""
    if not reranks(context, parameters):
        return
    limit = parameters["rerank_limit"]
    asked = candidates(context, step, state.edges[:limit], state.hits[:limit])
    scores = ask_reranker(context, state, step, "facts and sentences", [one.text for one in asked])
    if scores is None:
        return
    found: list[Edge | SentenceHit] = [*state.edges, *state.hits]
    places = {id(one): place for place, one in enumerate(found)}
    given = {}
    for one, score in zip(asked, scores, strict=True):
        one.found.reranked = given[places[id(one.found)]] = score
    order = _order(context, step, [one.score for one in found], given, parameters["rerank_weight"])
    for place, score, _ in order:
        found[place].score = score
    first = len(state.edges)
    state.edges, state.hits = (
        [state.edges[place] for place, _, _ in order if place < first],
        [state.hits[place - first] for place, _, _ in order if place >= first],
    )
