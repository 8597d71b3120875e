"""Synthesis: the answer, from what was selected and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyoxigraph import Literal
from rapidfuzz import fuzz

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.steps.answer import compose, record_answer
from graphrag_rdf.steps.models import stream_model
from graphrag_rdf.steps.sources import source_quote
from graphrag_rdf.steps.state import Context, Parameters, Selection, SourceQuote, State
from graphrag_rdf.steps.words import shows_what_is_asked
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step

UNKNOWN = "I don't know: nothing relevant was found in the documents."
_ALIKE = 90  # percent of equal characters at which two sentences say the same
_SHOWN = 1.25  # a sentence that shows the kind of thing asked for counts so much more


def extractive(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The sentences of the evidence that best answer, in document order, each cited."""
    step = _begin(context, "extractive")
    if state.empty:
        text = _unknown(state)
    else:
        picked = _pick(context, step, state, parameters)
        text = " ".join(f"{_as_sentence(sentence.text)} [{sentence.marker}]" for sentence in picked)
    yield context.recorder.text_chunk(text)
    yield from _finish(context, state, step, text)


def by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The model's answer from the selected statements, streamed."""
    step = _begin(context, "llm")
    pieces: list[str] = []
    if state.empty:
        pieces.append(_unknown(state))
        yield context.recorder.text_chunk(pieces[0])
    else:
        for marker, selection in enumerate(state.selections, start=1):
            selection.marker = marker
        stream = stream_model(
            context,
            step,
            "answer",
            question=state.question,
            items=[_item(selection) for selection in state.selections],
            response_type=parameters["response_type"],
            allow_general_knowledge=parameters["allow_general_knowledge"],
            unknown=UNKNOWN,
        )
        for piece in stream:
            pieces.append(piece)
            yield context.recorder.text_chunk(piece)
    yield from _finish(context, state, step, "".join(pieces).strip())


def _item(selection: Selection) -> dict[str, Any]:
    text = selection.edge.text if selection.edge else selection.sources[0].quote
    quotes = [
        {"text": source.quote, "title": source.title, "page": source.page_number}
        for source in selection.sources[:3]
        if source.quote
    ]
    return {"marker": selection.marker, "text": text, "quotes": quotes}


def _begin(context: Context, mode: str) -> Step:
    step = context.recorder.step("synthesis", TG.Synthesis, TG.Answer)
    context.recorder.say(step, RAG.mode, Literal(mode))
    context.recorder.say(step, TG.document, iris.answer_document(context.recorder.run))
    return step


def _unknown(state: State) -> str:
    state.warn("no_relevant_facts", "no fact or sentence of the documents speaks of what was asked")
    state.selections = []
    return UNKNOWN


def _finish(context: Context, state: State, step: Step, text: str) -> Iterator[GraphRagResponse]:
    state.answer = text
    cited = compose(state)
    record_answer(context, state, step, cited)
    yield context.recorder.finish(step)


# --- extractive answers --------------------------------------------------------------------------


@dataclass(slots=True)
class _Sentence:
    """A candidate sentence of an extractive answer."""

    text: str
    score: float
    selection: Selection
    source: SourceQuote
    marker: int = 0


def _pick(context: Context, step: Step, state: State, parameters: Parameters) -> list[_Sentence]:
    candidates = _candidates(context, step, state)
    for sentence in candidates:
        if shows_what_is_asked(state.question, sentence.text):
            sentence.score *= _SHOWN
    candidates.sort(key=lambda s: (-s.score, s.source.document, s.source.char_offset or 0))
    picked: list[_Sentence] = []
    for sentence in candidates:
        if len(picked) >= parameters["max_sentences"]:
            break
        if picked and sentence.score < picked[0].score * parameters["min_share"]:
            break
        if all(fuzz.ratio(sentence.text, other.text) < _ALIKE for other in picked):
            picked.append(sentence)
    best = {sentence.source.document: rank for rank, sentence in reversed(list(enumerate(picked)))}
    picked.sort(key=lambda s: (best[s.source.document], s.source.char_offset or 0))
    markers: dict[int, int] = {}
    for sentence in picked:
        sentence.marker = markers.setdefault(id(sentence.selection), len(markers) + 1)
        sentence.selection.marker = sentence.marker
    return picked


def _candidates(context: Context, step: Step, state: State) -> list[_Sentence]:
    """Each sentence once, with the best selection that rests on it."""
    wanted: dict[str, Selection] = {}
    for selection in state.selections:
        nodes = (
            selection.edge.sentences if selection.edge else [selection.hit.sentence] if selection.hit else []
        )
        for node in nodes:
            known = wanted.get(node.value)
            if known is None or _weight(known) < _weight(selection):
                wanted[node.value] = selection
    if not wanted:
        return _quotes_only(state.selections)
    nodes = [
        node
        for s in state.selections
        for node in (s.edge.sentences if s.edge else ())
        if node.value in wanted
    ]
    nodes += [s.hit.sentence for s in state.selections if s.hit]
    run = context.store.run("provenance/sentence-sources", sentences=list(dict.fromkeys(nodes)))
    context.recorder.queried(step, run)
    lexical = {hit.sentence.value: hit.score for hit in state.hits}
    found: dict[str, _Sentence] = {}
    for row in run.rows:
        source = source_quote(row)
        key = source.sentence or ""
        selection = wanted[key]
        score = max(_weight(selection), lexical.get(key, 0.0))
        found.setdefault(key, _Sentence(source.quote, score, selection, source))
    return list(found.values())


def _quotes_only(selections: Sequence[Selection]) -> list[_Sentence]:
    return [
        _Sentence(source.quote, selection.score, selection, source)
        for selection in selections
        for source in selection.sources[:1]
        if source.quote
    ]


def _weight(selection: Selection) -> float:
    return selection.score


def _as_sentence(text: str) -> str:
    """A sentence on one line, ending as a sentence does (a heading or table row has no full stop)."""
    line = " ".join(text.split()).lstrip("#>-*| ").rstrip("| ")
    return line if line[-1:] in '.!?。！？…"”’)' else f"{line}."
