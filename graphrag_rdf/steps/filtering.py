"""The filter: which of the facts and sentences that exploration found go into the selection at all.

Off by default. A model (`llm`) reads the candidates and says which to keep, and why; a reranker
(`rerank`) scores them, and those are kept that reach `filter_min_score` between the least and the best. What
is kept and what is dropped is in the trace, with reason or score. When the filter fails, a warning says so
and everything stays. The idea of a filter before retrieval goes on is HippoRAG 2's recognition memory (arXiv
2502.14802).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyoxigraph import Literal

from graphrag_rdf.errors import GraphRagError, LlmError
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.deciding import decide
from graphrag_rdf.steps.labels import label_graph
from graphrag_rdf.steps.models import ask_model
from graphrag_rdf.steps.nodes.exploration import Edge
from graphrag_rdf.steps.nodes.focus import FILTER_DECISION, FilterDecision
from graphrag_rdf.steps.reranking import Candidate, ask_reranker, candidates
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.recorder import Step

_NO = (False, "false", "no", 0)


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
        state.warn("filter_failed", f"{error}; all candidates were kept")
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
    said, bad = parse_items(text)
    verdicts = {str(item.get("id", "")): _verdict(item) for item in reversed(said) if isinstance(item, dict)}
    unknown = [key for key in verdicts if key not in offers and key != "none"]
    if not verdicts.keys() - {*unknown}:
        raise LlmError(f"the model's answer to the filter cannot be used: {text[:80]!r}", "unparsable")
    if unknown or bad:
        pieces = [*unknown, *(f"unreadable: {one.text[:80]}" for one in bad)]
        state.warn("selection_ignored", f"the filter named what was not offered: {'; '.join(pieces[:5])}")
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
        raise LlmError("the filter needs a reranker and none is set", "model", "name one with --rerank")
    known = [one.found.reranked for one in asked if one.found.reranked is not None]
    scores = known if len(known) == len(asked) else None
    if scores is None:
        scores = ask_reranker(context, state, step, "candidates", [one.text for one in asked])
    if scores is None:
        raise LlmError("the reranker failed", "server")
    given = list(enumerate(scores))
    rows = decide(context, step, "selection/filtered", given=given, min_score=parameters["filter_min_score"])
    return [
        Verdict(text_of(row["kept"]) == "true", score=score) for row, score in zip(rows, scores, strict=True)
    ]


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
