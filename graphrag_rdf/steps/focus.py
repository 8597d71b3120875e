"""Focus: which chunks, sentences and facts the answer may rest on.

The best chunks by rank are selected within a number of tokens (`steps/selection.py`). Facts and sentences are
selected by score (`rank`) or, within these chunks, by the model (`llm`): it is asked for the answer, and
notes what the answer needs, and why (`steps/asking.py`). What it says is missing is searched for
(`steps/choice.py`). The step that answers goes on with what the model writes. `llm-score` asks it for scores
first and then for its reasons for the best. `chunks` asks nothing where the best chunks fit whole. With
`edges` the model chooses among facts alone, and the answer rests on these and their sentences only. What is
selected keeps its terms, its score, why it was selected, and all its sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal as Choose

from pydantic import Field
from pyoxigraph import Literal

from graphrag_rdf.i18n import ERASED, tr
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.rdf.terms import double
from graphrag_rdf.steps.activate import TEMPLATES
from graphrag_rdf.steps.choice import LOOK_UP, ask, choose, offer, offered, selections_of
from graphrag_rdf.steps.evidence import collect
from graphrag_rdf.steps.kinds import Few, Limit, Share, Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.reranking import FILTER_DECISION, filter_found, rerank_found, write_decisions
from graphrag_rdf.steps.scores import best
from graphrag_rdf.steps.selection import (
    FittingParameters,
    best_facts,
    record_chunks,
    record_selections,
    select_chunks,
)
from graphrag_rdf.steps.sources import OF_FACTS, OF_SENTENCES, attach_sources
from graphrag_rdf.steps.state import Context, Parameters, Selection, State
from graphrag_rdf.steps.weighing import weigh_found
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.trace.kinds import NodeKind, StepField
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import SELECTIONS, TraceStep
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.trace.text import fact_words, number_words, place_words, write_sentences, write_why

_CHUNKS = 3  # that `trace show` lists without --full
_BEST = 5  # chunks that must fit whole for `chunks` to ask nothing


class _Parameters(StepParameters):
    edge_limit: Limit = Field(12, description="facts selected")
    min_score: Share = Field(0.15, description="score below which nothing is selected")
    filter: Choose["none", "llm", "rerank"] = Field(
        "none", description="what decides first which facts and sentences count"
    )
    filter_limit: Limit = Field(
        40, description="facts, and sentences, that the filter looks at; the others are left out"
    )
    filter_min_score: Share = Field(
        0.3,
        description="with filter rerank: between the least and the best score, below which one is dropped",
    )
    rerank_weight: Share = Field(
        0.5, description="with a reranker: its share of the score of a fact or sentence"
    )
    rerank_limit: Some = Field(30, description="facts, and sentences, that the reranker scores")
    authority_weight: Share = Field(
        0.5, description="weight of the authority of documents, where they have one; 0: none"
    )


class _WithChunks(_Parameters, FittingParameters):
    pass


_SHARE = 0.5
"""Of the best fact's score, which the others need."""


class RankParameters(_WithChunks):
    """Of selection by score."""

    edge_limit: Limit = Field(12, description="facts selected")
    sentence_limit: Limit = Field(3, description="sentences selected that no selected fact was quoted from")


class EdgesParameters(_Parameters):
    """Of the choice among facts."""

    offered_limit: Limit = Field(15, description="facts that the model chooses from")


class ScoreParameters(_WithChunks, EdgesParameters):
    """Of scores by the model."""


class ModelParameters(ScoreParameters):
    """Of the choice by the model."""

    lookups: Few = Field(2, description="times that the program searches for what the model misses; 0: never")
    lookup_tokens: Some = Field(500, description="tokens of the chunks that each look-up adds")


def rank(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Select by score."""
    step = _begin(context, state, parameters, "rank")
    state.chunks = select_chunks(context, state, step, parameters)
    sure = best_facts(state, parameters, parameters["edge_limit"], min_share=_SHARE)
    facts = [Selection(score=edge.score, edge=edge) for edge in sure]
    quoted = {sentence for edge in sure for sentence in edge.sentences}
    hits = [hit for hit in state.hits if hit.score >= parameters["min_score"] and hit.sentence not in quoted]
    sentences = [Selection(score=hit.score, hit=hit) for hit in hits[: parameters["sentence_limit"]]]
    yield _select(context, state, step, [*facts, *sentences])


def by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Let the model note what the answer needs of the selected chunks, and search for what it misses."""
    step = _begin(context, state, parameters, "llm")
    state.chunks = select_chunks(context, state, step, parameters)
    yield _select_chosen(context, state, parameters, step, choose(context, state, parameters, step))


def score_then_reason(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Let the model score sentences and facts of the selected chunks, then say what the best contribute."""
    step = _begin(context, state, parameters, "llm-score")
    state.chunks = select_chunks(context, state, step, parameters)
    items = offer(context, state, parameters, step)
    scores = ask(context, state, parameters, step, items, ask="score")
    scored = [key for key, (score, _) in scores.items() if score]
    first = best(scored, lambda key: scores[key][0] or 0.0, parameters["edge_limit"])
    reasons = ask(context, state, parameters, step, {key: items[key] for key in first}, ask="reason")
    chosen = {key: (scores[key][0], reasons.get(key, (None, None))[1]) for key in first}
    yield _select_chosen(context, state, parameters, step, selections_of(state, parameters, items, chosen))


def chunks_alone(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Select chunks, and ask the model only if the best ones do not fit whole."""
    step = _begin(context, state, parameters, "chunks")
    state.chunks = select_chunks(context, state, step, parameters)
    first = state.chunks[:_BEST]
    whole = not any(selection.window for selection in first)
    if whole and len(first) == len(state.passages[:_BEST]):
        yield _select(context, state, step, [])
    else:
        yield _select_chosen(context, state, parameters, step, choose(context, state, parameters, step))


def edges_alone(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Let the model choose facts; the answer rests on these and the sentences that they were read from."""
    step = _begin(context, state, parameters, "edges")
    edges = offered(state, parameters)
    sentences = [edge.sentences[0] for edge in edges if edge.sentences]
    unread = [edge for edge in edges if edge.says_more]
    state.evidence = collect(context, state, step, [], sentences, unread)
    state.evidence.offer(edges)
    items = {key: item for key, item in state.evidence.numbered().items() if item[1]}
    chosen = ask(context, state, parameters, step, items)
    yield _select_chosen(context, state, parameters, step, selections_of(state, parameters, items, chosen))


def _select_chosen(
    context: Context, state: State, parameters: Parameters, step: Step, selections: Sequence[Selection]
) -> GraphRagResponse:
    """Select what the model chose: the first facts and as many sentences, best score first."""
    facts = [selection for selection in selections if selection.edge]
    sentences = [selection for selection in selections if not selection.edge]
    limit = parameters["edge_limit"]
    chosen = best([*facts[:limit], *sentences[:limit]], lambda selection: selection.score)
    return _select(context, state, step, chosen, by_model=True)


def _begin(context: Context, state: State, parameters: Parameters, mode: str) -> Step:
    """The step, with what exploration found as it goes into the selection."""
    step = context.recorder.step(FOCUS_NODE)
    context.recorder.say(step, RAG.mode, Literal(mode))
    rerank_found(context, state, step, parameters)
    filter_found(context, state, step, parameters)
    weigh_found(context, state, step, parameters)
    return step


def _select(
    context: Context, state: State, step: Step, selections: list[Selection], *, by_model: bool = False
) -> GraphRagResponse:
    attach_sources(context, state, step, selections)
    selections = [selection for selection in selections if selection.sources]
    # what a model chose, with a reason, counts; whether the rest answers is for synthesis to say
    state.vouched = state.vouched or (by_model and bool(selections))
    for selection in selections:
        selection.concept = _concept(state, selection)
    state.selections = selections
    state.empty = not selections and not state.chunks
    context.recorder.say(step, RAG.coverage, double(_coverage(context, state, selections)))
    record_selections(context, step, selections)
    record_chunks(context, state, step, len(selections))
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


def _text(page: Lines, step: TraceStep, full: bool) -> None:
    write_decisions(page, step.items["filter"], full)
    edges = [selection for selection in step.selections if selection.chunk is None]
    sentences = [selection for selection in step.selections if selection.sentence is not None]
    chunks = [selection for selection in step.selections if selection.whole]
    page.line(tr("    Selected {count} edge(s)").format(count=len(edges)))
    for selection in edges:
        page.paragraph(fact_words(selection.fact), "      ", tr("Edge: "))
        write_why(page, selection)
    if sentences:
        page.line(tr("    Selected {count} sentence(s)").format(count=len(sentences)))
    write_sentences(page, sentences)
    if chunks:
        page.line(
            tr("    Selected {count} chunk(s); {left_out} more had no room").format(
                count=len(chunks), left_out=step.values["left_out"]
            )
        )
    for look_up in step.items["look_ups"]:
        count = tr("{count} chunk(s) by {queries} queries").format(
            count=len(look_up.selections), queries=look_up.queries
        )
        page.paragraph(f"{look_up.text or tr(ERASED)} · {count}", "      ", tr("Looked up: "))
    for selection in chunks if full else chunks[:_CHUNKS]:
        named = selection.chunk.value if selection.chunk else ""
        places = "; ".join(place_words(source) for source in selection.sources) or named
        page.paragraph(f"{places} · {number_words(selection.score)}", "      ", tr("Chunk: "))
        if full and selection.reasoning:
            page.paragraph(selection.reasoning, "        ", tr("Reason: "))
    if not full and len(chunks) > _CHUNKS:
        page.line(tr("      … and {number} more (--full)").format(number=len(chunks) - _CHUNKS))


FOCUS_NODE = NodeKind(
    "focus",
    TG.Focus,
    "What the answer may rest on.",
    fields=(StepField("coverage", RAG.coverage), StepField("left_out", RAG.leftOut, read=len)),
    items=(FILTER_DECISION, LOOK_UP, *SELECTIONS),
    text=_text,
    page=Path(__file__).with_name("focus.html.j2"),
)

_TEMPLATES = (
    "retrieval/chunks",
    "retrieval/passage-sentences",
    "retrieval/sentence-texts",  # with a filter or reranker
    "retrieval/document-details",
    "retrieval/document-texts",  # of dialogues, for their speakers
    "documents/named-alike",
    "boilerplate/marked",
    "selection/weighed",  # where documents have an authority
    *OF_FACTS,
    *OF_SENTENCES,
    "provenance/rows",
)
_LOOK_UP = tuple(dict.fromkeys((*_TEMPLATES, *TEMPLATES, "selection/read-by-model")))
_FILTER = {"filter": "filter.j2"}
_SELECT = {"select": "select.j2", **_FILTER}
_ANSWER = {"answer": "answer.j2", **_FILTER}

FOCUS = register(
    StepKind(
        "focus",
        FOCUS_NODE,
        "Selects the chunks, sentences and facts that the answer may rest on.",
        {
            "rank": Way(rank, RankParameters, prompts=_FILTER, templates=_TEMPLATES),
            "llm": Way(by_model, ModelParameters, needs_model=True, prompts=_ANSWER, templates=_LOOK_UP),
            "llm-score": Way(
                score_then_reason,
                ScoreParameters,
                needs_model=True,
                prompts=_SELECT,
                templates=_TEMPLATES,
            ),
            "chunks": Way(
                chunks_alone, ModelParameters, needs_model=True, prompts=_ANSWER, templates=_LOOK_UP
            ),
            "edges": Way(
                edges_alone, EdgesParameters, needs_model=True, prompts=_SELECT, templates=_TEMPLATES
            ),
        },
        auto=("rank", "llm"),
    )
)
