"""Focus: which facts and sentences the answer may rest on.

By score (`rank`), by the model (`llm`: JSON Lines of `{"id", "reasoning"}` over labelled edges), or by the
model among the best ranked (`rank+llm`). What is selected keeps its terms, its score, why it was selected,
and all its sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import double, integer
from graphrag_rdf.steps.filtering import filter_found
from graphrag_rdf.steps.labels import edge_id, label_graph
from graphrag_rdf.steps.models import ask_model
from graphrag_rdf.steps.recording import edge_term, score_facts
from graphrag_rdf.steps.reranking import rerank_found
from graphrag_rdf.steps.sources import attach_sources
from graphrag_rdf.steps.state import Context, Edge, Parameters, Selection, State
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step


def rank(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Select by score."""
    step = _begin(context, state, parameters, "rank")
    best = max((edge.score for edge in state.edges), default=0.0)
    least = max(parameters["min_score"], parameters["min_share"] * best)
    edges = [edge for edge in state.edges if edge.score >= least]
    yield _select(context, state, parameters, step, [Selection(edge.score, edge=edge) for edge in edges])


def by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Let the model select among all edges, up to what may be offered."""
    step = _begin(context, state, parameters, "llm")
    yield _with_model(context, state, parameters, step, state.edges)


def rank_then_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Let the model select among the best ranked."""
    step = _begin(context, state, parameters, "rank+llm")
    edges = [edge for edge in state.edges if edge.score >= parameters["min_score"]]
    yield _with_model(context, state, parameters, step, edges)


def _with_model(
    context: Context, state: State, parameters: Parameters, step: Step, edges: Sequence[Edge]
) -> GraphRagResponse:
    offered = label_graph(edges[: parameters["offered_limit"]])
    if not offered:  # sentences alone: nothing to choose from
        return _select(context, state, parameters, step, [])
    quotes = _evidence_texts(context, step, list(offered.values()))
    items = [json.dumps(_offer(key, edge, quotes), ensure_ascii=False) for key, edge in offered.items()]
    text = ask_model(
        context,
        step,
        "select",
        question=state.question,
        history=state.conversation,
        items=items,
        edge_limit=parameters["edge_limit"],
    )
    chosen, bad = parse_items(text)
    selections: dict[str, Selection] = {}
    unknown = [f"unreadable: {item.text[:80]}" for item in bad]
    for item in chosen:
        key = str(item.get("id", "")) if isinstance(item, dict) else ""
        if key not in offered:
            unknown.append(key or str(item)[:80])
        elif key not in selections:
            edge = offered[key]
            reasoning = str(item.get("reasoning") or "").strip() or None
            selections[key] = Selection(edge.score, edge=edge, reasoning=reasoning)
    if unknown:
        state.warn("selection_ignored", f"the model chose what was not offered: {'; '.join(unknown[:5])}")
    return _select(context, state, parameters, step, list(selections.values()), by_model=True)


def _offer(key: str, edge: Edge, quotes: dict[NamedNode, str]) -> dict[str, str]:
    offer = {"id": key, "s": edge.s_label, "p": edge.p_label, "o": edge.o_label}
    quote = next((quotes[s] for s in edge.sentences if s in quotes), None)
    return offer | ({"sentence": quote} if quote else {})


def _evidence_texts(context: Context, step: Step, edges: Sequence[Edge]) -> dict[NamedNode, str]:
    sentences = sorted({sentence for edge in edges for sentence in edge.sentences[:1]}, key=str)
    if not sentences:
        return {}
    run = context.store.run("retrieval/sentence-texts", sentences=sentences)
    context.recorder.queried(step, run)
    return {row["sentence"]: row["text"].value for row in run.rows}  # type: ignore[union-attr,misc]


def _begin(context: Context, state: State, parameters: Parameters, mode: str) -> Step:
    """The step, with what exploration found as it goes into the selection."""
    step = context.recorder.step("focus", TG.Focus)
    context.recorder.say(step, RAG.mode, Literal(mode))
    rerank_found(context, state, step, parameters)
    filter_found(context, state, step, parameters)
    return step


def _select(
    context: Context,
    state: State,
    parameters: Parameters,
    step: Step,
    selections: list[Selection],
    *,
    by_model: bool = False,
) -> GraphRagResponse:
    selections = selections[: parameters["edge_limit"]]
    quoted = {sentence for selection in selections if selection.edge for sentence in selection.edge.sentences}
    hits = [hit for hit in state.hits if hit.sentence not in quoted and hit.score >= parameters["min_score"]]
    selections += [Selection(hit.score, hit=hit) for hit in hits[: parameters["sentence_limit"]]]
    attach_sources(context, state, step, selections)
    selections = [selection for selection in selections if selection.sources]
    # what a model chose, with a reason, counts; whether the rest answers is for synthesis to say
    state.vouched = state.vouched or (by_model and any(selection.edge for selection in selections))
    for selection in selections:
        selection.concept = _concept(state, selection)
    state.selections = selections
    state.empty = not selections
    context.recorder.say(step, RAG.coverage, double(_coverage(context, state, selections)))
    record_selections(context, step, selections)
    return context.recorder.finish(step)


def _coverage(context: Context, state: State, selections: Sequence[Selection]) -> float:
    texts = []
    for selection in selections:
        texts += [source.quote for source in selection.sources]
        texts += [source.title for source in selection.sources[:1]]
        if selection.edge:
            texts += [selection.edge.text, selection.edge.asked]
    return QuestionWords.of(state.question, state.language, context.text_index).coverage(*texts)


def _concept(state: State, selection: Selection) -> str | None:
    """The concept that the selection shares most words with."""
    text = " ".join(
        [selection.edge.text if selection.edge else "", *(s.quote for s in selection.sources[:1])]
    )
    terms = set(analyse(text, state.language))
    return max(
        state.concepts,
        key=lambda concept: len(terms & set(analyse(concept, state.language))),
        default=None,
    )


def record_selections(context: Context, step: Step, selections: Sequence[Selection], first: int = 0) -> None:
    """Write what was selected.

    Args:
        first: how many selections the trace has already.
    """
    recorder = context.recorder
    for index, selection in enumerate(selections, start=first):
        about = selection.edge or selection.hit
        assert about is not None  # noqa: S101
        shared = (
            *score_facts(about),
            (RAG.rank, integer(index + 1)),
            (TG.concept, Literal(selection.concept) if selection.concept else None),
            (TG.reasoning, Literal(selection.reasoning) if selection.reasoning else None),
        )
        if selection.edge:
            edge = selection.edge
            selection.node = recorder.item(
                step,
                TG.selectedEdge,
                "edge",
                index,
                (RDF.type, TG.EdgeSelection),
                *shared,
                (RAG.hop, integer(edge.hop)),
                (RAG.edgeId, Literal(edge_id(edge.s_label, edge.p_label, edge.o_label))),
            )
            step.quads.append(recorder.quad(selection.node, TG.edge, edge_term(edge)))
        else:
            source = selection.sources[0]
            selection.node = recorder.item(
                step,
                TG.selectedChunk,
                "chunk",
                index,
                (RDF.type, TG.ChunkSelection),
                *shared,
                (TG.document, NamedNode(source.chunk) if source.chunk else None),
                (RAG.selectedSentence, selection.hit.sentence if selection.hit else None),
            )
        for source in selection.sources:
            used = (
                (RAG.usedChunk, source.chunk),
                (RAG.usedOrigin, source.document if source.chunk is None else None),
                (RAG.supportedBy, source.evidence),
            )
            step.quads += [
                recorder.quad(selection.node, link, NamedNode(iri)) for link, iri in used if iri is not None
            ]
