"""Synthesis in traces: the answer, its sentences with what they cite, and questions to ask next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.trace.items import SELECTIONS, Fact, ScoreShare
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, Statement, StepField, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.reader import Reading
from graphrag_rdf.trace.wording import write_sentences


@item
class AnswerSentence:
    """A sentence of the answer.

    Attributes:
        text: None when it was erased.
        offset, length: in the answer's text, in code points.
        cites: selections, by their numbers in the answer.
        markers: those numbers.
    """

    JSON: ClassVar = ("iri", "text", "offset", "length", "cites", "markers")

    text: str | None = said(TG.content, words=True)
    offset: int = said(TG.charOffset)
    length: int = said(TG.charLength)
    cites: tuple[NamedNode, ...] = said(RAG.cites, default=())
    index: int | None = said(RAG.index, default=None)
    markers: tuple[int, ...] = ()
    iri: NamedNode | None = None


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
    by: str = said(RAG.mode)
    triple: Statement | None = said(TG.edge, words=True, fact=True, default=None)
    index: int | None = said(RAG.index, default=None)
    fact: Fact | None = None
    iri: NamedNode | None = None


def _complete_sentences(reading: Reading, found: Sequence[AnswerSentence]) -> None:
    for sentence in found:
        marked = sorted((reading.number(iri, RAG.marker) or 0, iri.value, iri) for iri in sentence.cites)
        sentence.cites = tuple(iri for _, _, iri in marked)
        sentence.markers = tuple(marker for marker, _, _ in marked if marker)


def _complete_suggestions(reading: Reading, found: Sequence[Suggestion]) -> None:
    facts = reading.facts(one.triple for one in found)
    for one in found:
        one.fact = facts.get(one.triple) if one.triple else None


ANSWER_SENTENCE = ItemKind(
    "sentence", "sentences", RAG.sentence, RAG.AnswerSentence, AnswerSentence, complete=_complete_sentences
)
SUGGESTION = ItemKind(
    "suggestion", "suggestions", RAG.suggestion, RAG.Suggestion, Suggestion, complete=_complete_suggestions
)
MARGIN = ItemKind("signal", "margin", RAG.scoreShare, RAG.ScoreShare, ScoreShare)
"""How far the quotes of an extractive answer stand out."""


def _text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    said = step.values
    if said["evidence_tokens"] is not None:
        left = (
            f"; {said['left_out']} selection(s) left out, in part or as a whole" if said["left_out"] else ""
        )
        page.line(f"    Evidence of about {said['evidence_tokens']} tokens{left}")
    if said["draft"]:
        page.line(f"    Corrected; the first draft is kept as {said['draft'].value}")
    further = [selection for selection in step.selections if selection.sentence is not None]
    if further:
        page.line(f"    Selected {len(further)} more sentence(s)")
        write_sentences(page, further)
    if step.answer:
        page.line()
        page.prose(step.answer, "")
    if step.answer is None:
        stored = said["stored"]
        page.paragraph(f"(the text is kept as {stored.value})" if stored else "(the text was erased)", "    ")
    if said["reuses"]:
        page.line()
        page.paragraph(said["reuses"].value, "    ", "Given before: ")
    if step.items["suggestions"]:
        page.line()
        for suggestion in step.items["suggestions"]:
            how = "from the graph" if suggestion.by == "graph" else "by the model"
            page.paragraph(f"{suggestion.question or '(erased)'} ({how})", "    ", "To ask next: ")
    if step.answer and step.warnings:
        page.line()


SYNTHESIS = NodeKind(
    "synthesis",
    TG.Synthesis,
    "The answer, with its citations.",
    types=(TG.Answer,),
    fields=(
        StepField("answer", TG.content, words=True, stored=RAG.storedText),
        StepField("stored", RAG.storedText),
        StepField("evidence_tokens", RAG.evidenceTokens),
        StepField("left_out", RAG.leftOut, read=len),
        StepField("draft", RAG.supersededDraft),
        StepField("reuses", RAG.reusesAnswer),
    ),
    items=(ANSWER_SENTENCE, SUGGESTION, MARGIN, *SELECTIONS),
    text=_text,
    page=Path(__file__).with_name("synthesis.html.j2"),
)
