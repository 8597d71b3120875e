"""Which facts and sentences go into the selection: a reranker scores them again, a filter drops some of them.

Reranking reads the best chunks, facts and sentences with the question:

    score = (1 - rerank_weight) × score before + rerank_weight × (r - least r) / (most r - least r)

r is what the reranker gives, of whatever scale; of those that it was not asked about, the least. Order
among those does not change, and none of them passes one that was reranked. The trace keeps r, and the score
and rank that a chunk had before.

The filter is off by default. A model (`llm`) reads the candidates and says which to keep, and why; a reranker
(`rerank`) scores them, and those are kept that reach `filter_min_score` between the least and the best. What
is kept and what is dropped is in the trace, with reason or score. When the filter fails, a warning says so
and everything stays. The idea of a filter before retrieval goes on is HippoRAG 2's recognition memory (arXiv
2502.14802).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import GraphRagError, LlmError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.rdf.terms import edge_id
from graphrag_rdf.steps.exploration import Edge, PassageHit
from graphrag_rdf.steps.prompts import ask_model
from graphrag_rdf.steps.scores import best, scaled
from graphrag_rdf.steps.state import Context, Parameters, SentenceHit, State
from graphrag_rdf.trace.kinds import ItemKind, Statement, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.model import Fact
from graphrag_rdf.trace.reader import Reading
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.trace.text import fact_words, number_words

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
        rows = context.select(step, "retrieval/sentence-texts", sentences=wanted)
        texts = {row["sentence"].value: row["text"] for row in rows}
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
        state.warn(
            "rerank_failed",
            tr("{error}; {ranked} stay as they were ranked before").format(error=error, ranked=tr(purpose)),
        )
        return None
    if not all(map(math.isfinite, scores)):
        state.warn(
            "rerank_failed",
            tr("{reranker} gave no numbers; {ranked} stay as they were").format(
                reranker=context.reranker.name, ranked=tr(purpose)
            ),
        )
        return None
    context.recorder.reranked(step, purpose, context.reranker.name, len(texts), time.perf_counter() - clock)
    return scores


def rerank_passages(context: Context, state: State, step: Step, parameters: Parameters) -> None:
    """Look at the best `rerank_limit` passages of the state again, with their titles."""
    if not reranks(context, parameters):
        return
    asked = state.passages[: parameters["rerank_limit"]]
    rows = context.select(step, "retrieval/chunks", chunks=[hit.chunk for hit in asked])
    texts = {row["chunk"].value: f"{row['title']}\n{row['text']}" for row in rows}
    asked = [hit for hit in asked if hit.chunk.value in texts]
    scores = ask_reranker(context, state, step, later("passages"), [texts[hit.chunk.value] for hit in asked])
    if scores is None:
        return
    given = {hit.chunk.value: score for hit, score in zip(asked, scores, strict=True)}
    weight = parameters["rerank_weight"]
    before = state.passages
    ranks = {hit.chunk.value: rank for rank, hit in enumerate(before)}
    order = _order(
        [hit.score for hit in before], {ranks[chunk]: score for chunk, score in given.items()}, weight
    )
    for rank, score, share in order:
        hit = before[rank]
        hit.rank_before, hit.score_before = rank + 1, hit.score
        hit.reranked = given.get(hit.chunk.value)
        _mix(hit, score, share, weight)
    state.passages = [before[rank] for rank, _, _ in order]


def _order(
    scores: Sequence[float], given: Mapping[int, float], weight: float
) -> list[tuple[int, float, float]]:
    """The places of what was found, in their new order, each with its new score and the reranker's share.

    Args:
        scores: in the order of before.
        given: place → what the reranker gave.
        weight: its share of the score.
    """
    shares = dict(zip(given, scaled([*given.values()], equal=0.0), strict=True))
    found = [
        (place, (1 - weight) * before + weight * shares.get(place, 0.0), shares.get(place, 0.0))
        for place, before in enumerate(scores)
    ]
    return best(found, itemgetter(1))


def _mix(hit: PassageHit, score: float, share: float, weight: float) -> None:
    """The reranker becomes one more signal; the others, and the paths that they are sums of, make room."""
    hit.score, hit.total = score, None
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
    scores = ask_reranker(context, state, step, later("facts and sentences"), [one.text for one in asked])
    if scores is None:
        return
    found: list[Edge | SentenceHit] = [*state.edges, *state.hits]
    places = {id(one): place for place, one in enumerate(found)}
    given = {}
    for one, score in zip(asked, scores, strict=True):
        one.found.reranked = given[places[id(one.found)]] = score
    order = _order([one.score for one in found], given, parameters["rerank_weight"])
    for place, score, _ in order:
        found[place].score = score
    first = len(state.edges)
    state.edges, state.hits = (
        [state.edges[place] for place, _, _ in order if place < first],
        [state.hits[place - first] for place, _, _ in order if place >= first],
    )


def label_graph(edges: Iterable[Edge]) -> dict[str, Edge]:
    """Edges by id, in order; the second edge with the same labels gets `id-2`, and so on."""
    by_id: dict[str, Edge] = {}
    for edge in edges:
        base = key = edge_id(edge.s_label, edge.p_label, edge.o_label)
        number = 1
        while key in by_id and by_id[key].triple != edge.triple:
            number += 1
            key = f"{base}-{number}"
        by_id[key] = edge
    return by_id


_DECISIONS = 8  # of a filter, that `trace show` lists without --full
_NO = (False, "false", "no", 0)


@item
class FilterDecision:
    """What the filter decided about a candidate: a fact, or a sentence.

    Attributes:
        triple, fact: None of a sentence, and when it was erased.
        sentence, text: None of a fact; the text also when the sentence is gone.
        score: of the candidate.
        reasoning: of a model.
        reranked: what a reranker gave.
        filter: llm or rerank.
    """

    JSON: ClassVar = (
        *("iri", "filter", "kept", "score", "reasoning", "rerank=reranked", "sentence", "text"),
        "edge=fact",
    )

    kept: bool = said(RAG.kept)
    score: float = said(TG.score)
    reasoning: str | None = said(TG.reasoning, words=True, default=None)
    reranked: float | None = said(RAG.rerankScore, default=None)
    triple: Statement | None = said(TG.edge, words=True, fact=True, default=None)
    edge_id: str | None = said(RAG.edgeId, default=None)
    sentence: NamedNode | None = said(RAG.candidateSentence, default=None)
    index: int | None = said(RAG.index, default=None)
    filter: str = ""
    fact: Fact | None = None
    text: str | None = None
    iri: NamedNode | None = None


def _complete_decisions(reading: Reading, found: Sequence[FilterDecision]) -> None:
    facts = reading.facts(one.triple for one in found)
    words = reading.sentence_texts(one.sentence for one in found)
    for one in found:
        assert one.iri is not None  # noqa: S101 - it was read
        (step,) = reading.subjects(RAG.filterDecision, one.iri)
        one.filter = reading.text(step, RAG.filter) or ""
        one.fact = facts.get(one.triple) if one.triple else None
        one.text = words.get(one.sentence) if one.sentence else None


FILTER_DECISION = ItemKind(
    "decision",
    "filter",
    RAG.filterDecision,
    RAG.FilterDecision,
    FilterDecision,
    complete=_complete_decisions,
)


def write_decisions(page: Lines, decisions: Sequence[FilterDecision], full: bool) -> None:
    """What a filter decided: first what it dropped, which stands nowhere else in the trace."""
    if not decisions:
        return
    kept = sum(decision.kept for decision in decisions)
    page.line(
        tr("    The filter ({filter}) kept {kept} of {count} candidate(s)").format(
            filter=decisions[0].filter, kept=kept, count=len(decisions)
        )
    )
    shown = sorted(decisions, key=lambda decision: decision.kept)
    for decision in shown if full else shown[:_DECISIONS]:
        named = decision.sentence.value if decision.sentence else ""
        words = f"“{decision.text}”" if decision.text else named
        score = (
            ""
            if decision.reranked is None
            else tr(" · reranker {score}").format(score=number_words(decision.reranked))
        )
        reason = f": {decision.reasoning}" if decision.reasoning else ""
        about = f"{fact_words(decision.fact) if decision.sentence is None else words}{score}{reason}"
        page.paragraph(about, "      ", tr("Kept: ") if decision.kept else tr("Dropped: "), dim=True)
    if not full and len(shown) > _DECISIONS:
        page.line(tr("      … and {number} more (--full)").format(number=len(shown) - _DECISIONS))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a candidate is kept; why, in the model's words; what the reranker gave."""

    kept: bool
    reason: str | None = None
    score: float | None = None


def filter_found(context: Context, state: State, step: Step, parameters: Parameters) -> None:
    """Keep in the state what the filter keeps of its best `filter_limit` facts and as many sentences.

    Those beyond the limit, which nobody looked at, go too.
    """
    way = parameters["filter"]
    limit = parameters["filter_limit"]
    if way == "none" or not limit:
        return
    asked = candidates(context, step, state.edges[:limit], state.hits[:limit])
    if not asked:
        return
    try:
        verdicts = _WAYS[way](context, state, step, parameters, asked)
    except GraphRagError as error:
        state.warn("filter_failed", tr("{error}; all candidates were kept").format(error=error))
        return
    kept = {id(one.found) for one, verdict in zip(asked, verdicts, strict=True) if verdict.kept}
    state.edges = [edge for edge in state.edges if id(edge) in kept]
    state.hits = [hit for hit in state.hits if id(hit) in kept]
    state.vouched = way == "llm"
    _record(context, step, way, asked, verdicts)


def _by_model(
    context: Context, state: State, step: Step, parameters: Parameters, asked: Sequence[Candidate]
) -> list[Verdict]:
    del parameters
    offers = _offers(asked)
    items = [json.dumps(_offer(key, one), ensure_ascii=False) for key, one in offers.items()]
    text = ask_model(context, step, "filter", prompt="filter", question=state.question, items=items)
    answers, bad = parse_items(text)
    verdicts = {
        str(each.get("id", "")): _verdict(each) for each in reversed(answers) if isinstance(each, dict)
    }
    unknown = [key for key in verdicts if key not in offers and key != "none"]
    if not verdicts.keys() - {*unknown}:
        raise LlmError(
            tr("the model's answer to the filter cannot be used: {text!r}").format(text=text[:80]),
            "unparsable",
        )
    if unknown or bad:
        pieces = [*unknown, *(f"unreadable: {one.text[:80]}" for one in bad)]
        state.warn(
            "selection_ignored",
            tr("the filter named what was not offered: {names}").format(names="; ".join(pieces[:5])),
        )
    return [verdicts.get(key, Verdict(kept=False)) for key in offers]


def _offers(asked: Sequence[Candidate]) -> dict[str, Candidate]:
    """Candidates by the id that the model sees, in their order."""
    by_triple = {one.found.triple: one for one in asked if isinstance(one.found, Edge)}
    edges = label_graph(one.found for one in by_triple.values() if isinstance(one.found, Edge))
    sentences = [one for one in asked if not isinstance(one.found, Edge)]
    return {key: by_triple[edge.triple] for key, edge in edges.items()} | {
        f"s{number}": one for number, one in enumerate(sentences, start=1)
    }


def _offer(key: str, one: Candidate) -> dict[str, str]:
    offer = {"id": key}
    if isinstance(one.found, Edge):
        offer |= {"s": one.found.s_label, "p": one.found.p_label, "o": one.found.o_label}
    return offer | ({"sentence": one.quote} if one.quote else {})


def _verdict(item: Mapping[str, Any]) -> Verdict:
    keep = item.get("keep", True)
    reason = item.get("reason") or item.get("reasoning")
    kept = (keep.strip().lower() if isinstance(keep, str) else keep) not in _NO
    return Verdict(kept, " ".join(str(reason).split()) if reason else None)


def _by_reranker(
    context: Context, state: State, step: Step, parameters: Parameters, asked: Sequence[Candidate]
) -> list[Verdict]:
    if context.reranker is None:
        raise LlmError(
            tr("the filter needs a reranker and none is set"), "model", tr("name one with --rerank")
        )
    known = [one.found.reranked for one in asked if one.found.reranked is not None]
    scores = known if len(known) == len(asked) else None
    if scores is None:
        scores = ask_reranker(context, state, step, later("candidates"), [one.text for one in asked])
    if scores is None:
        raise LlmError(tr("the reranker failed"), "server")
    least = parameters["filter_min_score"]
    return [Verdict(share >= least, score=score) for share, score in zip(scaled(scores), scores, strict=True)]


_WAYS: Mapping[str, Callable[[Context, State, Step, Parameters, Sequence[Candidate]], list[Verdict]]] = {
    "llm": _by_model,
    "rerank": _by_reranker,
}


def _record(
    context: Context, step: Step, way: str, asked: Sequence[Candidate], verdicts: Sequence[Verdict]
) -> None:
    recorder = context.recorder
    recorder.say(step, RAG.filter, Literal(way))
    decisions = []
    for one, verdict in zip(asked, verdicts, strict=True):
        found = one.found
        decision = FilterDecision(verdict.kept, found.score, verdict.reason or None, verdict.score)
        if isinstance(found, Edge):
            decision.triple, decision.edge_id = found.triple, found.label_hash
        else:
            decision.sentence = found.sentence
        decisions.append(decision)
    recorder.items(step, FILTER_DECISION, decisions)
