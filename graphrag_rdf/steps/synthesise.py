"""Synthesis: the answer, from what was selected and from nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import Field
from pyoxigraph import Literal

from graphrag_rdf.documents.sentences import without_emoji
from graphrag_rdf.extract.names import mostly_cjk
from graphrag_rdf.i18n import in_english, tr
from graphrag_rdf.llm.model import Completion
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.rdf.terms import double, integer
from graphrag_rdf.steps.answer import (
    SYNTHESIS,
    cite,
    claims_of,
    in_one_form,
    read_answer,
    record_answer,
    settle,
)
from graphrag_rdf.steps.checking import (
    SENTINEL,
    check_answer,
    in_markers,
    is_sentinel,
    may_become_sentinel,
    not_answered,
    nothing_found,
    uncited,
)
from graphrag_rdf.steps.evidence import Evidence, Line, collect, hit_of
from graphrag_rdf.steps.kinds import Few, Limit, Share, Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.prompts import stream_model
from graphrag_rdf.steps.quoting import Candidate, Quotes, pick
from graphrag_rdf.steps.selection import record_chunks, record_selections
from graphrag_rdf.steps.sources import OF_SENTENCES
from graphrag_rdf.steps.state import Context, Parameters, Selection, State
from graphrag_rdf.steps.suggest import suggest
from graphrag_rdf.trace.citations import cited_numbers, whole_citations
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step

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
    found: list[Completion] = []
    values = {**prompt, "draft": draft, "problems": problems}
    for _ in stream_model(context, step, "repair", found.append, prompt="repair", **values):
        pass
    second = found[0]
    text, refused = in_one_form(second.text, state.language, by_marker.keys())
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


_PRONOUN = re.compile(r"(?:He|She|It|They|Er|Sie|Es|Hij|Zij|Het)\b")


class _Parameters(StepParameters):
    max_sentences: Some = Field(3, description="sentences of an answer that quotes the documents")
    min_share: Share = Field(
        0.1, description="share of the first sentence's value that each further sentence must add"
    )
    suggestions: Few = Field(
        0, description="questions to ask next: by the model, else from facts next to the answer"
    )


class ExtractiveParameters(_Parameters):
    """Of answers that quote the documents."""

    min_margin: Share = Field(
        0.345,
        description="how far quotes must stand out from the best chunks' other sentences to be an answer",
    )


class ModelParameters(_Parameters):
    """Of answers that a model writes."""

    evidence_tokens: Some = Field(
        1300, description="tokens of the evidence in the prompt: what was chosen, then the rest by rank"
    )
    unchosen_tokens: Limit = Field(
        200, description="of these, tokens for chunks that the model could choose from and chose nothing of"
    )
    response_type: str = Field(
        "a short answer of a few sentences", description="what the answer should be like"
    )
    allow_general_knowledge: bool = Field(
        False, description="let the model add what it knows; such sentences are marked and cite nothing"
    )
    repair: bool = Field(
        False,
        description="return uncited and unsupported sentences to the model once; nothing is streamed then",
    )


def extractive(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The sentences of the evidence that best answer, in document order, each cited."""
    step = begin_answer(context, state, "extractive")
    found = pick(context, step, state, parameters)
    context.recorder.say(step, RAG.margin, double(found.margin))
    if found.quotes and (state.vouched or found.margin >= parameters["min_margin"]):
        quotes = _cite(context, state, step, found)
        text = " ".join(f"{_as_sentence(quote)} [{quote.selection.marker}]" for quote in quotes)
        text = found.verdict + text
    else:
        text = _unknown(context, state, step, found)
    yield context.recorder.text_chunk(text)
    yield from finish_with_suggestions(context, state, parameters, step, text)


def by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The model's answer from the selected evidence, streamed. It is not asked where nothing was selected."""
    step = begin_answer(context, state, "llm")
    evidence = _evidence(context, state, step)
    passed_over = {rank for rank, chunk in enumerate(state.chunks) if chunk.passed_over}
    lines = evidence.fitting(parameters["evidence_tokens"], parameters["unchosen_tokens"], passed_over)
    if not lines and not evidence.points:
        state.answer = _unknown(context, state, step, pick(context, step, state, parameters))
        yield context.recorder.text_chunk(state.answer)
    else:
        _record_room(context, state, step, evidence, lines)
        state.general_knowledge = parameters["allow_general_knowledge"]
        prompt = {
            "question": state.question,
            "history": state.conversation,
            "documents": evidence.told(lines),
            "points": evidence.told_points(),
            "response_type": parameters["response_type"],
            "allow_general_knowledge": parameters["allow_general_knowledge"],
            "unknown": SENTINEL,
        }
        done = partial(setattr, state, "completion")
        pieces = stream_model(context, step, "answer", done, prompt="answer", **prompt)
        if not parameters["repair"]:
            yield from give_out(context, state, pieces)
        for _ in pieces:  # else it is given out when it is repaired
            pass
        numbered = _numbered(state, evidence, lines)
        read_answer(state, numbered.keys())
        if parameters["repair"]:
            if state.answered:
                repair(context, state, step, numbered, prompt)
            yield context.recorder.text_chunk(state.answer)
        if not state.answered:
            state.vouched = False
            _closest(context, state, step, pick(context, step, state, parameters))
        else:
            for number in sorted(numbered.keys() & set(cited_numbers(state.answer))):
                for selection in numbered[number]:
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
        said = [edge.sentences[0] for edge in edges if edge.sentences]
        said += [selection.hit.sentence for selection in state.selections if selection.hit]
        unread = [edge for edge in edges if edge.says_more]
        evidence = collect(context, state, step, state.chunks, said, unread)
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
    """What the numbers of lines stand for: what was chosen of a line, else its sentence."""
    numbered = {}
    for line in lines:
        numbered[line.number] = line.chosen or [_unchosen(state, line)]
        for selection in numbered[line.number]:
            selection.marker = line.number
            selection.shown = f"{evidence.heads.get(line.document, '')}\n{line.text}"
    for number, point in evidence.points.items():
        shown = f"{point.head}\n{point.text}"
        numbered[number] = [replace(one, marker=number, shown=shown, iri=None) for one in point.rests]
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


def _cite(context: Context, state: State, step: Step, found: Quotes) -> list[Candidate]:
    """The quotes as they are read, numbered by what they rest on; what focus did not select is recorded."""
    quotes = found.in_order()
    for quote in quotes:
        _select(context, state, step, quote.selection)
    numbers: dict[int, int] = {}
    for quote in quotes:
        quote.selection.marker = numbers.setdefault(id(quote.selection), len(numbers) + 1)
    return quotes


def _select(context: Context, state: State, step: Step, selection: Selection) -> None:
    if all(selection is not other for other in state.selections):
        record_selections(context, step, [selection], first=state.selected)
        state.selections.append(selection)


def _unknown(context: Context, state: State, step: Step, found: Quotes) -> str:
    """Say that there is no answer; what comes nearest to one is kept beside it."""
    state.answered = False
    _closest(context, state, step, found)
    if found.quotes:
        state.warn("not_answered", tr("The evidence covers too little of the question."))
        return not_answered(state.language, state.question)
    state.warn("no_relevant_facts", tr("Nothing in the documents shares a name or word with the question."))
    return nothing_found(state.language, state.question)


def _closest(context: Context, state: State, step: Step, found: Quotes) -> None:
    """Keep and record what comes nearest to an answer that is not there; nothing is cited."""
    state.closest = [quote.source for quote in found.quotes if quote.source.chunk is not None]
    for quote in found.quotes:
        _select(context, state, step, quote.selection)
        if quote.selection.iri is not None:
            context.recorder.say(step, RAG.closest, quote.selection.iri)
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


def _as_sentence(sentence: Candidate) -> str:
    """A sentence on one line, ending as a sentence does (a heading or table row has no full stop); where it
    begins with a pronoun, and the fact and the document's title agree who that is, the name is added in
    brackets. What the fact alone says may have been read wrongly, and a quotation vouches for its words.
    """
    line = " ".join(sentence.text.split()).lstrip("#>-*| ").rstrip("| ")
    edge = sentence.selection.edge
    pronoun = _PRONOUN.match(line)
    named = edge is not None and edge.s_label.lower() in sentence.source.title.lower()
    if edge and pronoun and named and edge.s_label not in line:
        line = f"{pronoun[0]} [{edge.s_label}]{line[pronoun.end() :]}"
    stop = "。" if mostly_cjk(line) else "."
    return line if without_emoji(line)[-1:] in '.!?。！？…"”’)' else f"{line.rstrip(',;:，；：')}{stop}"


_TEMPLATES = (
    "selection/quotable",
    "selection/margin",
    "selection/decided-against",
    *OF_SENTENCES,
    "provenance/rows",  # of tables, whose rows are quoted with the names of columns
    "retrieval/chunks",  # as far as focus did not read them
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
                prompts={"answer": "answer.j2", "repair": "repair.j2", **_SUGGEST},
                templates=(
                    *_TEMPLATES,
                    "retrieval/passage-sentences",  # these four where focus went by rank
                    "boilerplate/marked",
                    "retrieval/document-details",
                    "retrieval/document-texts",
                ),
            ),
        },
        auto=("extractive", "llm"),
    )
)
