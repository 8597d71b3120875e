"""Synthesis: the answer, from what was selected and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import floor
from typing import Any

from pydantic import Field
from pyoxigraph import Literal

from graphrag_rdf.i18n import in_english, listed, tr
from graphrag_rdf.llm.model import Completion
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.steps.answer import (
    SYNTHESIS,
    cite,
    claims_of,
    in_one_form,
    read_answer,
    record_answer,
    settle,
)
from graphrag_rdf.steps.asking import AnswerParameters, Asked, Reply, shown_lines
from graphrag_rdf.steps.checking import (
    check_answer,
    in_markers,
    is_sentinel,
    may_become_sentinel,
    no_sure_answer,
    not_answered,
    nothing_found,
    uncited,
)
from graphrag_rdf.steps.evidence import Evidence, Line, collect, hit_of
from graphrag_rdf.steps.kinds import Few, Share, Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.passage_answer import BEST, CLOSEST, FURTHER, Passages, best_passages
from graphrag_rdf.steps.passage_answer import TEMPLATES as PASSAGES
from graphrag_rdf.steps.prompts import stream_model
from graphrag_rdf.steps.selection import record_chunks, record_selections
from graphrag_rdf.steps.sources import OF_FACTS, attach_sources, facts_said
from graphrag_rdf.steps.state import Context, Parameters, Selection, State
from graphrag_rdf.steps.suggest import suggest
from graphrag_rdf.trace.citations import cited_numbers, whole_citations
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step

_NAMED = 5
"""Missing words that a warning names."""
_UNSUPPORTED = frozenset({"unsupported_name", "unsupported_numeric"})


def repair(
    context: Context,
    state: State,
    step: Step,
    by_marker: Mapping[int, Sequence[Selection]],
    prompt: Mapping[str, Any],
) -> None:
    """Put a corrected answer in the place of the model's first one, if it has fewer problems. The first one
    stays in the trace, as a superseded draft.

    Args:
        by_marker: what the numbers in the prompt stand for.
        prompt: the values of the first prompt.
    """
    draft, first = state.answer, state.completion
    problems = _problems(state, by_marker, draft)
    if not problems or first is None or context.gateway is None:
        return
    completions: list[Completion] = []
    values = {**prompt, "draft": draft, "problems": problems}
    reply = Reply(
        stream_model(context, step, "repair", completions.append, prompt="repair", **values),
        notes=prompt["notes"],
    )
    for _ in reply.answer:
        pass
    second = completions[0]
    text, refused = in_one_form(reply.text, state.language, by_marker.keys())
    better = (
        bool(text)
        and not refused
        and not second.truncated
        and len(_problems(state, by_marker, text)) < len(problems)
    )
    context.gateway.discard(first if better else second)  # asked again, the model may do better
    if better:
        state.answer, state.completion = text, second
        context.recorder.say(step, RAG.supersededDraft, context.recorder.keep_text(draft))


def _problems(state: State, by_marker: Mapping[int, Sequence[Selection]], answer: str) -> list[str]:
    """What the model is told of an answer, a line for each uncited or unsupported sentence."""
    sentences = cite(answer, state.language, by_marker)
    claims = claims_of(state, sentences)
    problems = [f"no sentence has the number {n}: {each.text}" for each in sentences for n in each.invalid]
    problems += [f"cites nothing: {claim.words}" for claim in uncited(state.question, claims, state.language)]
    with in_english():
        checked = [*check_answer(state.question, claims, state.language)]
    return problems + [detail for kind, detail in checked if kind in _UNSUPPORTED]


class _Parameters(StepParameters):
    max_sentences: Some = Field(
        3, description="marked sentences, each in its passage, of an answer without a model or closest to one"
    )
    passage_tokens: Some = Field(500, description="tokens of a passage: of a longer chunk a part is shown")
    suggestions: Few = Field(
        0, description="questions to ask next: by the model, else from facts next to the answer"
    )


class ExtractiveParameters(_Parameters):
    """Of answers that are passages."""

    min_margin: Share = Field(
        0.41, description="how much of the question the marked sentence must say to be an answer"
    )


class ModelParameters(_Parameters, AnswerParameters):
    """Of answers that a model writes."""

    repair: bool = Field(
        False,
        description="return uncited and unsupported sentences to the model once; nothing is streamed then",
    )


def extractive(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The best passages. The answer is the marked sentence of the first, if that says what is asked."""
    step = begin_answer(context, state, "extractive")
    best = best_passages(context, step, state, parameters)
    if best.found and (state.vouched or best.margin >= parameters["min_margin"]):
        first, *further = best.found
        first.label = BEST
        for passage in further:
            passage.label = FURTHER
        state.shown = best.found
        for passage in best.found:
            _select(context, state, step, passage.selection)
        for selection in state.selections:
            selection.marker = None
        first.selection.marker = 1
        for fact in facts_said(context, state, step, [first.selection]):
            _select(context, state, step, fact)
        text = f"{first.answer} [1]"
        state.missing = best.missing
        if best.uncertain and not state.vouched:
            lacks = tr("This quote may not answer the question: it does not contain {words}.")
            state.warn("uncertain_answer", lacks.format(words=_quoted(best.missing)))
    else:
        text = _unknown(context, state, step, best, _too_far(best, parameters["min_margin"]))
    yield context.recorder.text_chunk(text)
    yield from finish_with_suggestions(context, state, parameters, step, text)


def by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The model's answer from the selected evidence, streamed: the one that has begun with the selection, or
    a new one. It is not asked where nothing was selected.
    """
    step = begin_answer(context, state, "llm")
    evidence = _evidence(context, state, step)
    if state.asked is None and not shown_lines(state, evidence, parameters) and not evidence.points:
        best = best_passages(context, step, state, parameters)
        state.answer = _unknown(context, state, step, best, tr("Nothing was selected that could answer it."))
        yield context.recorder.text_chunk(state.answer)
    else:
        asked = state.asked or Asked(context, state, evidence, parameters)
        _record_room(context, state, step, evidence, asked.lines)
        state.general_knowledge = parameters["allow_general_knowledge"]
        if not parameters["repair"]:
            yield from give_out(context, state, asked.reply.answer)
        state.completion = asked.finish(step, "answer")
        numbered = _numbered(state, evidence, asked.lines)
        read_answer(state, numbered.keys(), asked.reply.text)
        if parameters["repair"]:
            if state.answered:
                repair(context, state, step, numbered, asked.values)
            yield context.recorder.text_chunk(state.answer)
        if not state.answered:
            state.vouched = False
            _closest(context, state, step, best_passages(context, step, state, parameters))
        else:
            cited = [selection for n in cited_numbers(state.answer) for selection in numbered.get(n, ())]
            attach_sources(context, state, step, [selection for selection in cited if not selection.sources])
            for selection in (*cited, *facts_said(context, state, step, cited)):
                _select(context, state, step, selection)
    yield from finish_with_suggestions(context, state, parameters, step, state.answer)


def give_out(context: Context, state: State, stream: Iterator[str]) -> Iterator[GraphRagResponse]:
    """The pieces of a model's answer, with its citations in one form; in place of the sentinel, that the
    program doesn't know.
    """
    held = ""
    stream = map(in_markers, whole_citations(stream))
    for piece in stream:
        held += piece
        if not may_become_sentinel(held):
            yield context.recorder.text_chunk(held)
            for further in stream:
                yield context.recorder.text_chunk(further)
            return
    yield context.recorder.text_chunk(
        not_answered(state.language, state.question) if is_sentinel(held) else held
    )


def _evidence(context: Context, state: State, step: Step) -> Evidence:
    """What was selected, as it is shown: what a model chose among, or what was selected by score."""
    evidence = state.evidence
    if evidence is None:
        edges = [selection.edge for selection in state.selections if selection.edge]
        sentences = [edge.sentences[0] for edge in edges if edge.sentences]
        sentences += [selection.hit.sentence for selection in state.selections if selection.hit]
        unread = [edge for edge in edges if edge.says_more]
        evidence = collect(context, state, step, state.chunks, sentences, unread)
        evidence.offer(edges)
        state.evidence = evidence
    evidence.choose(state.selections)
    evidence.add_points(state.points)
    return evidence


def _record_room(
    context: Context, state: State, step: Step, evidence: Evidence, lines: Sequence[Line]
) -> None:
    """Write how long the evidence is, and which selections had no room in it, as a whole or in part."""
    context.recorder.say(step, RAG.evidenceTokens, integer(sum(line.tokens for line in lines)))
    numbers = {line.number for line in lines}
    missing = [line for line in evidence.lines if line.number not in numbers]
    nodes = [state.chunks[line.chunk].iri for line in missing if line.chunk is not None]
    nodes += [selection.iri for line in missing for selection in line.chosen]
    for node in dict.fromkeys(node for node in nodes if node is not None):
        context.recorder.say(step, RAG.leftOut, node)


def _numbered(state: State, evidence: Evidence, lines: Sequence[Line]) -> dict[int, list[Selection]]:
    """What the numbers stand for: of a line its sentence, or where no chunk has it what was chosen of it; of
    a fact below it the fact.
    """
    numbered: dict[int, list[Selection]] = {}
    for line in lines:
        own = [selection for selection in line.chosen if selection.edge is None or line.chunk is None]
        numbered[line.number] = own or [_unchosen(state, line)]
        for edge in line.below:
            chosen = (selection for selection in line.chosen if selection.edge is edge)
            numbered[line.fact_number(edge)] = [next(chosen, None) or Selection(score=edge.score, edge=edge)]
        for number in (line.number, *map(line.fact_number, line.below)):
            for selection in numbered[number]:
                selection.marker = number
                selection.shown = f"{evidence.heads.get(line.document, '')}\n{line.text}"
    for number, point in evidence.points.items():
        shown = f"{point.head}\n{point.text}"
        numbered[number] = [
            replace(selection, marker=number, shown=shown, iri=None) for selection in point.rests
        ]
    return numbered


def _unchosen(state: State, line: Line) -> Selection:
    """A sentence of a selected chunk, with the score of that if exploration did not look at it."""
    assert line.chunk is not None  # noqa: S101
    assert line.source is not None  # noqa: S101
    hit = hit_of(state, line, state.chunks[line.chunk].score)
    return Selection(score=hit.score, hit=hit, sources=(line.source,))


def begin_answer(context: Context, state: State, mode: str) -> Step:
    """The step. The chunks that the answer may rest on are its own selections if no step before selected."""
    step = context.recorder.step(SYNTHESIS)
    if any(chunk.iri is None for chunk in state.chunks):
        record_chunks(context, state, step, len(state.selections))
    context.recorder.say(step, RAG.mode, Literal(mode))
    context.recorder.say(step, TG.document, context.recorder.answer_document)
    return step


def _select(context: Context, state: State, step: Step, selection: Selection) -> None:
    if all(selection is not cited for cited in state.selections):
        record_selections(context, step, [selection], first=state.selected)
        state.selections.append(selection)


def _unknown(context: Context, state: State, step: Step, best: Passages, reason: str) -> str:
    """Say that there is no answer; what comes nearest to one is kept beside it."""
    state.answered = False
    _closest(context, state, step, best)
    if best.found or best.in_documents:
        state.warn("no_relevant_facts", reason if best.found else tr("No sentence was found to be quoted."))
        return no_sure_answer(state.language, state.question)
    empty = context.text_index is not None and not context.text_index.count("chunk")
    reason = (
        tr("The store is empty: ingest documents first.")
        if empty
        else tr("Nothing in the documents shares a name or word with the question.")
    )
    state.warn("no_relevant_facts", reason)
    return nothing_found(state.language, state.question)


def _too_far(best: Passages, least: float) -> str:
    """Why no sentence is the answer: what the closest one lacks, and the figure that decides, rounded down so
    that it never looks enough.
    """
    message = tr(
        "No sentence comes close enough to the question: {margin:.3f}, and {least:g} is needed "
        "(synthesis.min_margin)."
    ).format(margin=floor(best.margin * 1000) / 1000, least=least)
    if best.missing:
        lacks = tr("The closest sentence does not contain {words}.").format(words=_quoted(best.missing))
        return f"{lacks} {message}"
    return message


def _quoted(words: Sequence[str]) -> str:
    return listed([f"“{word}”" for word in words[:_NAMED]])


def _closest(context: Context, state: State, step: Step, best: Passages) -> None:
    """Keep and record what comes nearest to an answer that is not there; nothing is cited."""
    state.shown = best.found
    state.missing = best.missing
    state.closest = [passage.source for passage in best.found if passage.source.chunk is not None]
    for passage in best.found:
        passage.label = CLOSEST
        _select(context, state, step, passage.selection)
        if passage.selection.iri is not None:
            context.recorder.say(step, RAG.closest, passage.selection.iri)
    for selection in state.selections:
        selection.marker = None


def finish_with_suggestions(
    context: Context, state: State, parameters: Parameters, step: Step, text: str
) -> Iterator[GraphRagResponse]:
    state.answer = text
    cited = settle(context, state, step)
    if number := parameters["suggestions"]:
        state.final["suggestions"] = suggest(context, state, step, number)
    record_answer(context, state, step, cited)
    yield context.recorder.finish(step)


_TEMPLATES = (
    *PASSAGES,
    *(template for template in OF_FACTS if template not in PASSAGES),
    "retrieval/labels",
    "documents/named-alike",  # documents with equal titles are shown with their paths
    "retrieval/edges",  # these two for suggestions without a model
    "retrieval/names",
)
_SUGGEST = {"suggest": "suggest.j2"}

SYNTHESISE = register(
    StepKind(
        "synthesise",
        SYNTHESIS,
        "Answers from what was selected, and cites it.",
        {
            "extractive": Way(extractive, ExtractiveParameters, prompts=_SUGGEST, templates=_TEMPLATES),
            "llm": Way(
                by_model,
                ModelParameters,
                needs_model=True,
                continues=True,
                prompts={"answer": "answer.j2", "repair": "repair.j2", **_SUGGEST},
                templates=(
                    *_TEMPLATES,
                    "boilerplate/marked",
                    "retrieval/document-details",
                    "retrieval/document-texts",
                ),
            ),
        },
        auto=("extractive", "llm"),
    )
)
