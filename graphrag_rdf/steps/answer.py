"""The answer: markers resolved to sources, warnings, the JSON that people script against, and its trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.i18n import ERASED, tr
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.rdf.terms import Term, integer, local_name, one_label, text_of
from graphrag_rdf.steps.checking import (
    GENERAL,
    UNRELIABLE,
    Claim,
    check_answer,
    is_sentinel,
    not_answered,
    refuses,
    sentence_spans,
    with_markers,
    without_sentinel,
)
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.selection import record_selections
from graphrag_rdf.steps.sources import mentions_of
from graphrag_rdf.steps.state import Context, Selection, State
from graphrag_rdf.trace.citations import Style, cited_numbers, in_style, marker
from graphrag_rdf.trace.documents import Source, names_of
from graphrag_rdf.trace.kinds import WARNING, ItemKind, NodeKind, Statement, StepField, Warned, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import ANSWER_SENTENCE, SELECTIONS, AnswerSentence, Fact, ScoreShare, TraceStep
from graphrag_rdf.trace.reader import Reading
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.trace.reuse import KeptAnswer, keep_answer
from graphrag_rdf.trace.text import write_sentences

if TYPE_CHECKING:
    from graphrag_rdf.steps.passage_answer import Passage


@item
class Suggestion:
    """A question to ask next.

    Attributes:
        question: None when it was erased with a document.
        by: what made it: `llm`, or `graph` from a fact.
        triple, fact: of `graph`.
    """

    JSON: ClassVar = ("iri", "question", "by", "fact")

    question: str | None = said(TG.content, words=True)
    by: Choice["llm", "graph"] = said(RAG.mode)
    triple: Statement | None = said(TG.edge, words=True, fact=True, default=None)
    index: int | None = said(RAG.index, default=None)
    fact: Fact | None = None
    iri: NamedNode | None = None


def _complete_suggestions(reading: Reading, found: Sequence[Suggestion]) -> None:
    facts = reading.facts(one.triple for one in found)
    for one in found:
        one.fact = facts.get(one.triple) if one.triple else None


SUGGESTION = ItemKind(
    "suggestion",
    "suggestions",
    RAG.suggestion,
    RAG.Suggestion,
    Suggestion,
    always=("index",),
    complete=_complete_suggestions,
)
MARGIN = ItemKind("signal", "margin", RAG.scoreShare, RAG.ScoreShare, ScoreShare)
"""How far the quotes of an extractive answer stand out."""


def _text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    said = step.values
    if said["evidence_tokens"] is not None:
        told = (
            tr(
                "    Evidence of about {tokens} tokens; {left_out} selection(s) left out, in part or as a "
                "whole"
            )
            if said["left_out"]
            else tr("    Evidence of about {tokens} tokens")
        )
        page.line(told.format(tokens=said["evidence_tokens"], left_out=said["left_out"]))
    if said["draft"]:
        page.line(tr("    Corrected; the first draft is kept as {draft}").format(draft=said["draft"].value))
    further = [selection for selection in step.selections if selection.sentence is not None]
    if further:
        page.line(tr("    Selected {count} more sentence(s)").format(count=len(further)))
        write_sentences(page, further)
    if step.answer:
        page.line()
        page.prose(step.answer, "")
    if step.answer is None:
        stored = said["stored"]
        page.paragraph(
            tr("(the text is kept as {stored})").format(stored=stored.value)
            if stored
            else tr("(the text was erased)"),
            "    ",
        )
    if said["reuses"]:
        page.line()
        page.paragraph(said["reuses"].value, "    ", tr("Given before: "))
    if step.items["suggestions"]:
        page.line()
        for suggestion in step.items["suggestions"]:
            how = tr("from the graph") if suggestion.by == "graph" else tr("by the model")
            page.paragraph(f"{suggestion.question or tr(ERASED)} ({how})", "    ", tr("To ask next: "))
    if step.answer and step.warnings:
        page.line()


TEXT = (
    StepField("answer", TG.content, words=True, stored=RAG.storedText),
    StepField("stored", RAG.storedText),
)
"""Fields of a step that has a text (`TraceRecorder.text`)."""
RESULT = (replace(TEXT[0], compared=True), TEXT[1])
"""The same of a text that is not the answer yet: a difference between two traces names it."""

SYNTHESIS = NodeKind(
    "synthesis",
    TG.Synthesis,
    "The answer, with its citations.",
    types=(TG.Answer,),
    fields=(
        *TEXT,
        StepField("evidence_tokens", RAG.evidenceTokens),
        StepField("left_out", RAG.leftOut, read=len),
        StepField("draft", RAG.supersededDraft),
        StepField("reuses", RAG.reusesAnswer),
    ),
    items=(ANSWER_SENTENCE, SUGGESTION, MARGIN, *SELECTIONS),
    quotes=("extractive",),
    answered_by=("answer", "repair"),
    text=_text,
    page=Path(__file__).with_name("synthesis.html.j2"),
)


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of the answer.

    Attributes:
        offset, length: in the answer's text, markers included.
        selections: what it cites, in order.
        invalid: numbers in it that stand for nothing.
        general: whether it is marked as general knowledge of the model.
    """

    text: str
    offset: int
    length: int
    selections: tuple[Selection, ...] = ()
    invalid: tuple[int, ...] = ()
    general: bool = False


def read_answer(state: State, known: AbstractSet[int], answer: str | None = None) -> None:
    """Take over what the model wrote, with its citations in one form; it may say that it does not know.

    Args:
        known: the numbers that it was given.
        answer: the part of what it wrote that answers; None for all of it.
    """
    completion = state.completion
    assert completion is not None  # noqa: S101
    if completion.truncated:
        state.warn("answer_truncated", tr("the model's answer was cut off at its limit of tokens"))
    text, refused = in_one_form(completion.text if answer is None else answer, state.language, known)
    state.answer = text
    if refused or not text:
        state.answered = False
        state.answer = state.answer or not_answered(state.language, state.question)
        told = tr("the model says that it does not know") if refused else tr("the model wrote no answer")
        state.warn("answer_refused", told)


def in_one_form(answer: str, language: str | None, known: AbstractSet[int]) -> tuple[str, bool]:
    """An answer with its citations in one form and without the sentinel, and whether it says that the model
    does not know.

    Args:
        answer: as the model wrote it.
        known: the numbers that it was given.
    """
    text = with_markers(answer.strip(), known)
    if is_sentinel(text):
        return "", True
    text = without_sentinel(text).strip()
    sentences = [text[at : at + length] for at, length in sentence_spans(text, language)]
    return text, refuses(sentences, known)


def is_reliable(state: State) -> bool:
    """Whether the answer has no warning for which it should not be given again."""
    return not any(warning["type"] in UNRELIABLE for warning in state.warnings)


def compose(state: State, style: Style = "number") -> list[CitedSentence]:
    """Write the markers of the answer in a style, resolve them, warn of what is wrong with them, and fill
    `state.final`.
    """
    by_marker: dict[int, list[Selection]] = {}
    for selection in state.selections:
        if selection.marker:
            by_marker.setdefault(selection.marker, []).append(selection)
    quoted = state.completion is None  # then other numbers in brackets may be the documents'
    state.answer = in_style(state.answer, style, by_marker.keys() if quoted else None)
    sentences = cite(state.answer, state.language, by_marker)
    wrong = (number for sentence in sentences for number in sentence.invalid)
    invalid = dict.fromkeys(marker(number, "number" if quoted else style) for number in wrong)
    if invalid:
        state.warn(
            "invalid_citation", tr("no statement has the number {invalid}").format(invalid=", ".join(invalid))
        )
    if state.completion is not None and state.answered:  # what is quoted needs no check
        own = [sentence for sentence in sentences if sentence.general]
        if own and not state.general_knowledge:
            detail = tr("{count} sentence(s) are the model's own knowledge, which was not asked for").format(
                count=len(own)
            )
            state.warn("general_knowledge", detail)
        for kind, detail in check_answer(state.question, claims_of(state, sentences), state.language):
            state.warn(kind, detail)
    _fill(state, sentences, style)
    return sentences


def cite(
    answer: str, language: str | None, by_marker: Mapping[int, Sequence[Selection]]
) -> list[CitedSentence]:
    """The sentences of an answer, with what each cites.

    Args:
        by_marker: what the numbers stand for.
    """
    sentences = []
    for offset, length in sentence_spans(answer, language):
        text = answer[offset : offset + length]
        if any(mark in text for mark in GENERAL):  # it rests on nothing of ours, whatever it claims to cite
            sentences.append(CitedSentence(text, offset, length, general=True))
            continue
        numbers = cited_numbers(text)
        selections = tuple(s for number in numbers for s in by_marker.get(number, ()))
        invalid = tuple(number for number in numbers if number not in by_marker)
        sentences.append(CitedSentence(text, offset, length, selections, invalid))
    return sentences


def claims_of(state: State, sentences: Sequence[CitedSentence]) -> list[Claim]:
    """Sentences of an answer as they are checked."""
    return [Claim(each.text, _cited_texts(each.selections), _beside(state, each)) for each in sentences]


def _beside(state: State, sentence: CitedSentence) -> str:
    """The titles of the documents that a sentence cites, and what else of them the prompt shows."""
    cited = {source.document: source.title for cited in sentence.selections for source in cited.sources}
    return "\n".join([*cited.values(), state.evidence.text_of(cited) if state.evidence else ""])


def _cited_texts(selections: Sequence[Selection]) -> tuple[str, ...]:
    """What each number of a sentence stands for: lines of text, each once."""
    told: dict[int | None, dict[str, None]] = {}
    for selection in selections:
        lines = told.setdefault(selection.marker, {})
        lines.update(dict.fromkeys(selection.shown.splitlines()))
        quotes = (" ".join(source.quote.split()) for source in selection.sources)
        lines.update(dict.fromkeys(quote for quote in quotes if quote not in selection.shown))
        if selection.edge:
            lines[selection.edge.text] = None
    return tuple("\n".join(lines) for lines in told.values())


def _fill(state: State, sentences: Sequence[CitedSentence], style: Style) -> None:
    sources: dict[tuple[int, str], dict[str, Any]] = {}
    citations: list[dict[str, Any]] = []
    references: list[dict[str, str]] = []
    used: set[int] = set()
    for sentence in sentences:
        for selection in sentence.selections:
            used.add(id(selection))
            number = selection.marker or 0
            label = marker(number, style)
            citations.append(_citation(state, selection, label, sentence.text))
            for source in selection.sources:
                text = _told(selection) if source.chunk is None else source.quote
                of = number if style == "source" else 0  # a source is listed once, or once for each marker
                known = sources.setdefault(
                    (of, source.chunk or f"{source.document} {text}"),
                    {
                        "id": _source_id(sources, of),
                        "document": source.document,
                        "title": source.title,
                        "name": state.document_names.get(source.document, source.title),
                        "uri": source.uri,
                        "authority": source.authority,
                        "chunk": source.chunk,
                        "text": text,
                    },
                )
                reference = {"label": label, "source_id": str(known["id"])}
                if reference not in references:
                    references.append(reference)
    offered = [s for s in state.selections if s.marker and s.reasoning]
    found_later = {chunk.passage.chunk.value for chunk in state.chunks if chunk.look_up and chunk.passage}
    by_look_up = any(source["chunk"] in found_later for source in sources.values())  # nobody was asked again
    if used and offered and not by_look_up and used.isdisjoint(map(id, offered)):
        state.warn(
            "unused_sources",
            tr("the answer cites none of the {count} chosen statements").format(count=len(offered)),
        )
    state.final = {
        "answer": state.answer,
        "answered": state.answered,
        "closest": [_source(state, source) for source in state.closest],
        "missing_words": [*state.missing],
        "passages": [_passage(state, rank, one) for rank, one in enumerate(state.shown, start=1)],
        "citations": citations,
        "sources": list(sources.values()),
        "references": references,
        "entities": _entities(state) if state.answered else [],
        "warnings": state.warnings,
        "suggestions": [],
        "look_ups": state.looked_up,
        **({} if state.result is None else {"result": state.result}),
    }


def _source_id(sources: Iterable[tuple[int, str]], number: int) -> str:
    """The id of one more source: by its order or, in the style `source`, by the marker that cites it, whose
    further sources have a second number.
    """
    before = sum(other == number for other, _ in sources)
    if not number:
        return f"S{before + 1}"
    return f"S{number}.{before + 1}" if before else f"S{number}"


def _citation(state: State, selection: Selection, marker: str, sentence: str) -> dict[str, Any]:
    out: dict[str, Any] = {"marker": marker, "sentence": sentence, "score": round(selection.score, 6)}
    if selection.edge:
        out["edge"] = edge_json(selection.edge)
    else:
        out["chunk"] = selection.sources[0].chunk
    if selection.inferences:
        out["inferences"] = [
            {
                "fact": fact_json(one.fact),
                "rule": one.rule,
                "premises": [fact_json(premise) for premise in one.premise_facts],
            }
            for one in selection.inferences
            if one.fact
        ]
    out["reasoning"] = selection.reasoning
    out["sources"] = [_source(state, source) for source in selection.sources]
    return out


def _source(state: State, source: Source) -> dict[str, Any]:
    return {
        **source.cited(),
        "name": state.document_names.get(source.document, source.title),
        "authority": source.authority,
    }


def _passage(state: State, rank: int, passage: Passage) -> dict[str, Any]:
    source = passage.source
    return {
        "rank": rank,
        "label": tr(passage.label),
        "title": source.title,
        "name": state.document_names.get(source.document, source.title),
        "headings": passage.headings,
        "page_number": source.page_number,
        "document": source.document,
        "uri": source.uri,
        "authority": source.authority,
        "chunk": source.chunk,
        "char_offset": passage.char_offset,
        "char_length": None if passage.char_offset is None else len(passage.text),
        "text": passage.text,
        "marked": {"start": passage.marked[0], "end": passage.marked[1]},
    }


def _told(selection: Selection) -> str:
    """A fact that was read from no text, in words."""
    return selection.edge.text if selection.edge else ""


def edge_json(edge: Edge) -> dict[str, Any]:
    """The keys of `citations[].edge`: terms in N-Triples' values and labels; `inferred` if it was; `also`,
    the facts that say the same, if there are any.
    """
    found: dict[str, Any] = fact_json(Fact(*edge.triple, edge.s_label, edge.p_label, edge.o_label))
    found |= {"inferred": True} if edge.inferred else {}
    found |= {"description": edge.description} if edge.description else {}
    return found | ({"also": [fact_json(fact) for fact in edge.also_facts]} if edge.also_facts else {})


def fact_json(fact: Fact) -> dict[str, str]:
    """A fact as in `edge_json`."""
    return {
        "s": fact.s.value,
        "p": fact.p.value,
        "o": text_of(fact.o),
        "s_label": fact.s_label,
        "p_label": fact.p_label,
        "o_label": fact.o_label,
    }


def _entities(state: State) -> list[dict[str, Any]]:
    """The entities of the selected facts and sentences, most frequent first."""
    counts: Counter[str] = Counter()
    names = {seed.entity.value: seed.label for seed in state.seeds}
    names |= state.entity_names
    for selection in state.selections:
        if selection.hit is not None:
            counts.update({entity.value for entity in selection.hit.entities})
        if selection.edge is None:
            continue
        s, _, o = selection.edge.triple
        for term, label in ((s, selection.edge.s_label), (o, selection.edge.o_label)):
            if isinstance(term, NamedNode):
                counts[term.value] += 1
                names[term.value] = label
    ranked = sorted(counts, key=lambda iri: (-counts[iri], iri))
    return [{"iri": iri, "name": names.get(iri, local_name(iri)), "freq": counts[iri]} for iri in ranked]


def name_entities(context: Context, state: State, step: Step) -> None:
    """Look up what selected sentences mention, and how the entities are called that only these mention."""
    hits = [one.hit for one in state.selections if one.hit]
    unasked = [hit for hit in hits if not hit.entities]  # nobody asked so far
    known = mentions_of(context, state, step, [hit.sentence.value for hit in unasked])
    for hit in unasked:
        hit.entities = known[hit.sentence.value]
    called: set[Term] = {seed.entity for seed in state.seeds}
    called |= {term for s in state.selections if s.edge for term in (s.edge.triple[0], s.edge.triple[2])}
    mentioned = {entity for hit in hits for entity in hit.entities}
    unknown = sorted(mentioned - called, key=str)
    if unknown:
        rows = context.select(step, "retrieval/labels", things=unknown)
        state.entity_names = {
            row["thing"].value: row["label"].value for row in one_label(rows, state.language)
        }


def name_documents(context: Context, state: State, step: Step) -> None:
    """Look up which of the sources share their title with other documents, so that they are told apart."""
    documents = sorted({source.document for s in state.selections for source in s.sources})
    if documents:
        nodes = [NamedNode(iri) for iri in documents]
        state.document_names = names_of(context.select(step, "documents/named-alike", documents=nodes))


def give_again(context: Context, state: State, kept: KeptAnswer) -> Iterator[GraphRagResponse]:
    """Give an answer that was given before; the step says which, and on which chunks it rests."""
    recorder = context.recorder
    state.final = {"passages": [], **kept.answer}  # older programs kept none
    state.answer = str(kept.answer["answer"])
    state.answered = bool(kept.answer.get("answered", True))
    step = recorder.step(SYNTHESIS)
    recorder.say(step, RAG.mode, Literal("cached"))
    recorder.say(step, RAG.reusesAnswer, kept.step)
    recorder.say(step, TG.document, recorder.answer_document)
    recorder.text(step, state.answer)
    for chunk in sorted({source["chunk"] for source in kept.answer["sources"] if source["chunk"]}):
        recorder.say(step, RAG.usedChunk, NamedNode(chunk))
    yield recorder.text_chunk(state.answer)
    yield recorder.finish(step)


def settle(context: Context, state: State, step: Step) -> list[CitedSentence]:
    """Resolve and check what the answer cites. An unreliable answer of the model leaves the cache.

    Asked again, the model may do better.
    """
    name_entities(context, state, step)
    name_documents(context, state, step)
    cited = compose(state, context.recorder.citation_style)
    if context.gateway and state.completion and not is_reliable(state):
        context.gateway.discard(state.completion)
    return cited


def finish_answer(
    context: Context, state: State, step: Step, suggestions: Sequence[Suggestion] = ()
) -> GraphRagResponse:
    """Record an answer as it stands, and of the state's selections those that it cites.

    Args:
        suggestions: questions to ask next.
    """
    cited = {*cited_numbers(state.answer)} if state.answered else set()
    chosen = [one for one in state.selections if one.marker in cited]
    state.selections = sorted(chosen, key=lambda one: one.marker or 0)
    record_selections(context, step, state.selections)
    context.recorder.say(step, TG.document, context.recorder.answer_document)
    sentences = settle(context, state, step)
    context.recorder.items(step, SUGGESTION, suggestions)
    state.final["suggestions"] = [{"question": one.question or "", "by": one.by} for one in suggestions]
    record_answer(context, state, step, sentences)
    return context.recorder.finish(step)


def record_answer(context: Context, state: State, step: Step, sentences: Sequence[CitedSentence]) -> None:
    """Write the answer's text, its sentences with what each cites, and the warnings."""
    recorder = context.recorder
    recorder.text(step, state.answer)
    for index, sentence in enumerate(sentences):
        cites = tuple(one.iri for one in sentence.selections if one.iri is not None)
        place = sentence.offset, sentence.length
        one = AnswerSentence(sentence.text, *place, cites, index, sentence.general or None)
        recorder.item(step, ANSWER_SENTENCE, one)
    for selection in state.selections:
        if selection.marker and selection.iri is not None:
            step.quads.append(recorder.quad(selection.iri, RAG.marker, integer(selection.marker)))
    recorder.items(step, WARNING, [Warned(one["type"], one["detail"]) for one in state.warnings])
    if context.reuse is not None:
        keep_answer(context.store, recorder, step, context.reuse, state.final)
