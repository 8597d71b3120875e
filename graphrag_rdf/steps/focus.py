"""Focus: which chunks, sentences and facts the answer may rest on.

The best chunks by rank are selected within a number of tokens (`steps/chunks.py`). Facts and sentences are
selected by score (`rank`) or, within these chunks, by the model (`llm`), whose answer is JSON Lines of
`{"id", "reasoning", "score"}`. What it says is missing is searched for (`steps/look_up.py`), and it chooses
among what that adds. `llm-score` asks it for scores first and then for its reasons for the best.
`chunks` asks nothing where the best chunks fit whole. `edges` has the model choose among facts alone, and the
answer rests on these and their sentences only. What is selected keeps its terms, its score, why it was
selected, and all its sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias
from typing import Literal as Choose

from pydantic import Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.rdf.metadata import METADATA
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import double, text_of
from graphrag_rdf.steps.activate import TEMPLATES
from graphrag_rdf.steps.chunks import record_chunks, select_chunks
from graphrag_rdf.steps.deciding import decide
from graphrag_rdf.steps.evidence import Line, collect, hit_of
from graphrag_rdf.steps.filtering import filter_found
from graphrag_rdf.steps.kinds import StepKind, Way, register
from graphrag_rdf.steps.look_up import look_up
from graphrag_rdf.steps.mentions import chunk_of
from graphrag_rdf.steps.models import ask_model
from graphrag_rdf.steps.nodes.exploration import Edge
from graphrag_rdf.steps.nodes.focus import FOCUS_NODE
from graphrag_rdf.steps.parameters import Few, Limit, Share, Some, StepParameters
from graphrag_rdf.steps.reranking import rerank_found
from graphrag_rdf.steps.sources import attach_sources
from graphrag_rdf.steps.state import Context, Parameters, Selection, State
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.trace.items import EDGE, SENTENCE
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step

_BEST = 5  # chunks that must fit whole for `chunks` to ask nothing
_UNREAD = 10  # facts that were read from no text, that a model may choose among
_PHRASES = 3  # that are searched for at a time,
_PHRASE = 200  # and characters of one
_NOTHING = {"", "none", "nothing"}
_ID = re.compile(r"(\d+)\W*([a-z])?\W*\Z", re.IGNORECASE)

Items: TypeAlias = dict[str, tuple[Line, Edge | None]]
"""Id → what the model may choose: a line of the evidence, or a fact below it."""

Choice: TypeAlias = dict[str, tuple[float | None, str | None]]
"""Id → the model's score from 0 to 1, and its reason."""


class _Parameters(StepParameters):
    edge_limit: Limit = Field(25, description="facts selected")
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


class _WithChunks(_Parameters):
    chunk_limit: Limit = Field(10, description="chunks selected, by rank")
    chunk_tokens: Limit = Field(1300, description="tokens of all selected chunks together")
    window_tokens: Some = Field(325, description="tokens taken of a longer chunk, around its best sentence")


class RankParameters(_WithChunks):
    """Of selection by score."""

    sentence_limit: Limit = Field(12, description="sentences selected that no selected fact was quoted from")
    min_share: Share = Field(0.5, description="share of the best fact's score that the others need")


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
    sure = _best_facts(
        context, state, parameters, step, parameters["edge_limit"], min_share=parameters["min_share"]
    )
    facts = [Selection(score=edge.score, edge=edge) for edge in sure]
    quoted = {sentence for edge in sure for sentence in edge.sentences}
    rows = decide(
        context,
        step,
        "selection/sentences",
        sentences=[(hit.sentence, rank, hit.score) for rank, hit in enumerate(state.hits)],
        quoted=sorted(quoted, key=str),
        min_score=parameters["min_score"],
        limit=parameters["sentence_limit"],
    )
    hits = [state.hits[int(text_of(row["rank"]))] for row in rows]
    sentences = [Selection(score=hit.score, hit=hit) for hit in hits]
    yield _select(context, state, step, [*facts, *sentences])


def by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Let the model choose sentences and facts of the selected chunks, and search for what it misses."""
    step = _begin(context, state, parameters, "llm")
    state.chunks = select_chunks(context, state, step, parameters)
    yield _choose_by_model(context, state, parameters, step)


def score_then_reason(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Let the model score sentences and facts of the selected chunks, then say what the best contribute."""
    step = _begin(context, state, parameters, "llm-score")
    state.chunks = select_chunks(context, state, step, parameters)
    items = _offer(context, state, parameters, step)
    scores, _ = _ask(context, state, parameters, step, items, ask="score")
    scored = [key for key, (score, _) in scores.items() if score is not None]
    rows = decide(
        context,
        step,
        "selection/scored",
        scores=[(place, scores[key][0]) for place, key in enumerate(scored)],
        limit=parameters["edge_limit"],
    )
    best = {key: items[key] for key in (scored[int(text_of(row["place"]))] for row in rows)}
    reasons, _ = _ask(context, state, parameters, step, best, ask="reason")
    chosen = {key: (scores[key][0], reasons.get(key, (None, None))[1]) for key in best}
    yield _select_chosen(context, state, parameters, step, _chosen(state, parameters, items, chosen))


def chunks_alone(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Select chunks, and ask the model only if the best ones do not fit whole."""
    step = _begin(context, state, parameters, "chunks")
    state.chunks = select_chunks(context, state, step, parameters)
    best = state.chunks[:_BEST]
    whole = not any(selection.window for selection in best)
    if whole and len(best) == len(state.passages[:_BEST]):
        yield _select(context, state, step, [])
    else:
        yield _choose_by_model(context, state, parameters, step)


def edges_alone(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Let the model choose facts; the answer rests on these and the sentences that they were read from."""
    step = _begin(context, state, parameters, "edges")
    edges = _offered(context, state, parameters, step)
    said = [edge.sentences[0] for edge in edges if edge.sentences]
    unread = [edge for edge in edges if not edge.sentences]
    state.evidence = collect(context, state, step, [], said, unread)
    state.evidence.offer(edges)
    items = {key: item for key, item in state.evidence.numbered().items() if item[1]}
    chosen, _ = _ask(context, state, parameters, step, items)
    yield _select_chosen(context, state, parameters, step, _chosen(state, parameters, items, chosen))


def _choose_by_model(context: Context, state: State, parameters: Parameters, step: Step) -> GraphRagResponse:
    """Choose among the selected chunks, and among those that each look-up adds. What the last one adds goes
    to the answer without being asked about.
    """
    selections: list[Selection] = []
    asked: set[object] = set()
    chosen_before: list[str] = []
    lookups = parameters["lookups"] if state.exploring else 0
    while True:
        items = _offer(context, state, parameters, step)
        found = {key: item for key, item in items.items() if _about(item) not in asked}
        chosen, missing = _ask(
            context, state, parameters, step, found, lookups=lookups, chosen_before=chosen_before
        )
        selections += _chosen(state, parameters, found, chosen)
        useful = {found[key][0].chunk for key in chosen}
        for line, _ in found.values():
            if line.chunk is not None and line.chunk not in useful:
                state.chunks[line.chunk].passed_over = True
        if not (lookups and missing and look_up(context, state, step, parameters, missing)):
            break
        state.evidence = None  # it lacks what was added
        lookups -= 1
        if not lookups:
            break
        asked |= {_about(one) for one in found.values()}
        chosen_before += dict.fromkeys(found[key][0].text for key in chosen)
    return _select_chosen(context, state, parameters, step, selections)


def _offer(context: Context, state: State, parameters: Parameters, step: Step) -> Items:
    """What the model chooses from: the sentences of the selected chunks, facts that were read from them, and
    facts that were read from no text. Heads of documents tell who made them and when already, so that such
    facts are offered only if the question asks for them.
    """
    edges = _offered(context, state, parameters, step)
    unread = [edge for edge in edges if not edge.sentences and (edge.triple[1] not in METADATA or edge.asked)]
    state.evidence = collect(context, state, step, state.chunks, (), unread[:_UNREAD])
    state.evidence.offer(edges)
    return state.evidence.numbered()


def _about(item: tuple[Line, Edge | None]) -> object:
    """What stands on the line of an item: a sentence, or a fact that was read from none."""
    line, _ = item
    return line.sentence or line.facts[0].triple


def _offered(context: Context, state: State, parameters: Parameters, step: Step) -> list[Edge]:
    """The facts that a model may choose among."""
    return _best_facts(context, state, parameters, step, parameters["offered_limit"], unverified=True)


def _best_facts(
    context: Context,
    state: State,
    parameters: Parameters,
    step: Step,
    limit: int,
    *,
    min_share: float = 0.0,
    unverified: bool = False,
) -> list[Edge]:
    """The best facts that exploration found.

    Args:
        min_share: of the best fact's score that others need.
        unverified: also those whose quote was not found in its chunk.
    """
    rows = decide(
        context,
        step,
        "selection/facts",
        facts=[(*edge.triple, rank, edge.score, edge.unverified) for rank, edge in enumerate(state.edges)],
        min_score=parameters["min_score"],
        min_share=min_share,
        unverified=unverified,
        limit=limit,
    )
    return [state.edges[int(text_of(row["rank"]))] for row in rows]


def _ask(
    context: Context,
    state: State,
    parameters: Parameters,
    step: Step,
    items: Items,
    *,
    ask: str = "choose",
    lookups: int = 0,
    chosen_before: Sequence[str] = (),
) -> tuple[Choice, list[str]]:
    """What the model says of the items: to choose among them, to score each, or to give reasons; and what it
    would search for, none of which was searched for before.

    Args:
        lookups: how often what is missing may still be searched for.
        chosen_before: sentences.
    """
    if not items:
        return {}, []
    assert state.evidence is not None  # noqa: S101 - the items are of it
    lines = list({line.number: line for line, _ in items.values()}.values())
    text = ask_model(
        context,
        step,
        "select further" if state.looked_up else {"choose": "select"}.get(ask, f"select {ask}"),
        prompt="select",
        question=state.question,
        history=state.conversation,
        documents=state.evidence.told(lines, items.keys()),
        ask=ask,
        lookups=lookups,
        before=chosen_before,
        searched=state.looked_up,
        facts_only=all(edge for _, edge in items.values()),
        limit=parameters["edge_limit"],
    )
    said, bad = parse_items(text)
    chosen: Choice = {}
    missing: dict[str, str] = {}
    unknown = [f"unreadable: {item.text[:80]}" for item in bad]
    if not said and not bad and text.strip(" \n\"'.*").lower() not in ("", "none"):
        unknown.append(f"unreadable: {text.strip()[:80]}")
    for item in said:
        for phrase in _missing(item):
            missing.setdefault(phrase.casefold(), phrase)
        for key in _ids(item):
            if key == "none" or (not key and "missing" in item):
                continue
            if key not in items:
                unknown.append(key or str(item)[:80])
            elif key not in chosen:
                reasoning = " ".join(str(item.get("reasoning") or item.get("reason") or "").split())
                chosen[key] = _score(item.get("score")), reasoning or None
    if unknown:
        state.warn("selection_ignored", f"the model chose what was not offered: {'; '.join(unknown[:5])}")
    before = {phrase.casefold() for phrase in state.looked_up}
    return chosen, [phrase for key, phrase in missing.items() if key not in before][:_PHRASES]


def _missing(item: Any) -> list[str]:
    """What an answer line says to search for next."""
    given = item.get("missing") if isinstance(item, dict) else None
    phrases = (
        " ".join(str(one).split())[:_PHRASE] for one in (given if isinstance(given, list) else [given]) if one
    )
    return [phrase for phrase in phrases if phrase.casefold() not in _NOTHING]


def _ids(item: Any) -> list[str]:
    """The ids of an answer line as they were offered, however they are written: `[12]`, `S12`, `12 a`."""
    given = item.get("id", item.get("ids", "")) if isinstance(item, dict) else ""
    found = []
    for one in given if isinstance(given, list) else [given]:
        match = _ID.search(str(one))
        found.append((match[1] + (match[2] or "").lower()) if match else str(one).strip().lower())
    return found


def _score(value: Any) -> float | None:
    """A score from 0 to 1; also one that was written as text, of ten, or in percent."""
    try:
        score = float(str(value).strip().rstrip("%"))
    except ValueError:
        return None
    if not 0 <= score <= 100:
        return None
    return score if score <= 1 else score / 10 if score <= 10 and "%" not in str(value) else score / 100


def _chosen(state: State, parameters: Parameters, items: Items, chosen: Choice) -> list[Selection]:
    """What the model chose."""
    selections = []
    for key, (score, reasoning) in chosen.items():
        line, edge = items[key]
        if score == 0:  # not chosen, only listed
            continue
        if edge:
            known = edge.score if score is None else score
            selections.append(Selection(score=known, edge=edge, reasoning=reasoning))
        else:
            hit = hit_of(state, line, score or parameters["min_score"])
            known = hit.score if score is None else score
            selections.append(Selection(score=known, hit=hit, reasoning=reasoning))
    return selections


def _select_chosen(
    context: Context, state: State, parameters: Parameters, step: Step, selections: Sequence[Selection]
) -> GraphRagResponse:
    """Select what the model chose."""
    scores = [(place, one.score, one.edge is not None) for place, one in enumerate(selections)]
    rows = decide(
        context,
        step,
        "selection/chosen",
        facts=[(place, score) for place, score, fact in scores if fact],
        sentences=[(place, score) for place, score, fact in scores if not fact],
        limit=parameters["edge_limit"],
    )
    best = [selections[int(text_of(row["place"]))] for row in rows]
    return _select(context, state, step, best, by_model=True)


def _begin(context: Context, state: State, parameters: Parameters, mode: str) -> Step:
    """The step, with what exploration found as it goes into the selection."""
    step = context.recorder.step(FOCUS_NODE)
    context.recorder.say(step, RAG.mode, Literal(mode))
    rerank_found(context, state, step, parameters)
    filter_found(context, state, step, parameters)
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


def record_selections(context: Context, step: Step, selections: Sequence[Selection], first: int = 0) -> None:
    """Write which facts and sentences were selected.

    Args:
        first: how many selections the trace has already.
    """
    for rank, selection in enumerate(selections, start=first + 1):
        about = selection.edge or selection.hit
        assert about is not None  # noqa: S101
        selection.rank = rank
        selection.lexical, selection.vector, selection.graph = about.lexical, about.vector, about.graph
        selection.reranked = about.reranked
        if selection.edge:
            selection.triple = selection.edge.triple
            selection.hop, selection.edge_id = selection.edge.hop, selection.edge.label_hash
        elif selection.hit:
            selection.chunk = NamedNode(chunk_of(selection.hit.sentence.value))
            selection.sentence = selection.hit.sentence
        used = selection.sources
        selection.used_chunks = _nodes(source.chunk for source in used)
        selection.used_origins = _nodes(source.document for source in used if source.chunk is None)
        selection.evidence = _nodes(source.evidence for source in used)
        context.recorder.item(step, EDGE if selection.edge else SENTENCE, selection)


def _nodes(found: Iterable[str | None]) -> tuple[NamedNode, ...]:
    return tuple(NamedNode(iri) for iri in dict.fromkeys(found) if iri)


_TEMPLATES = (
    "retrieval/chunks",
    "retrieval/passage-sentences",
    "retrieval/sentence-texts",  # with a filter or reranker
    "retrieval/document-details",
    "retrieval/document-texts",  # of dialogues, for their speakers
    "documents/named-alike",
    "selection/chunks",
    "selection/facts",
    "selection/sentences",
    "selection/chosen",
    "selection/reranked",
    "selection/filtered",
    "provenance/sources",
    "provenance/containers",
    "provenance/origins",
    "provenance/sentence-sources",
    "provenance/rows",
)
_LOOK_UP = tuple(dict.fromkeys((*_TEMPLATES, *TEMPLATES)))
_FILTER = {"filter": "filter.j2"}
_SELECT = {"select": "select.j2", **_FILTER}

FOCUS = register(
    StepKind(
        "focus",
        FOCUS_NODE,
        "Selects the chunks, sentences and facts that the answer may rest on.",
        {
            "rank": Way(rank, RankParameters, prompts=_FILTER, templates=_TEMPLATES),
            "llm": Way(by_model, ModelParameters, needs_model=True, prompts=_SELECT, templates=_LOOK_UP),
            "llm-score": Way(
                score_then_reason,
                ScoreParameters,
                needs_model=True,
                prompts=_SELECT,
                templates=(*_TEMPLATES, "selection/scored"),
            ),
            "chunks": Way(
                chunks_alone, ModelParameters, needs_model=True, prompts=_SELECT, templates=_LOOK_UP
            ),
            "edges": Way(
                edges_alone, EdgesParameters, needs_model=True, prompts=_SELECT, templates=_TEMPLATES
            ),
        },
        auto=("rank", "llm"),
    )
)
