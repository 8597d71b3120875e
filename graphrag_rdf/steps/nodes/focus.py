"""Focus in traces: the facts, sentences and chunks that were selected, what a filter decided, look-ups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import RAG, RDFS, TG
from graphrag_rdf.trace.items import SELECTIONS, Fact
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, Statement, StepField, item, place_in_list, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.reader import Reading
from graphrag_rdf.trace.wording import fact_words, number_words, place_words, write_sentences, write_why

_CHUNKS = 3  # chunks, and decisions of a filter, that `trace show` lists without --full
_DECISIONS = 8


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


@item
class LookUp:
    """A search for what the model said is missing from the selected chunks.

    Attributes:
        text: what was searched for; None when it was erased.
        calls: the queries that it ran.
        selections: the selected chunks that it added, by rank.
    """

    JSON: ClassVar = ("iri", "text", "selections", "queries")

    text: str | None = said(RDFS.label, words=True)
    calls: tuple[NamedNode, ...] = said(RAG.call, default=())
    index: int | None = said(RAG.index, default=None)
    selections: tuple[NamedNode, ...] = ()
    iri: NamedNode | None = None

    @property
    def queries(self) -> int:
        """How many queries it ran."""
        return len(self.calls)


def _complete_decisions(reading: Reading, found: Sequence[FilterDecision]) -> None:
    facts = reading.facts(one.triple for one in found)
    words = reading.sentence_texts(one.sentence for one in found)
    for one in found:
        assert one.iri is not None  # noqa: S101 - it was read
        (step,) = reading.subjects(RAG.filterDecision, one.iri)
        one.filter = reading.text(step, RAG.filter) or ""
        one.fact = facts.get(one.triple) if one.triple else None
        one.text = words.get(one.sentence) if one.sentence else None


def _complete_look_ups(reading: Reading, found: Sequence[LookUp]) -> None:
    for one in found:
        assert one.iri is not None  # noqa: S101 - it was read
        chunks = reading.subjects(RAG.foundByLookUp, one.iri)
        one.selections = tuple(sorted(chunks, key=lambda iri: place_in_list(iri, reading.nodes[iri])))


FILTER_DECISION = ItemKind(
    "decision",
    "filter",
    RAG.filterDecision,
    RAG.FilterDecision,
    FilterDecision,
    complete=_complete_decisions,
)
LOOK_UP = ItemKind("look-up", "look_ups", RAG.lookUp, RAG.LookUp, LookUp, complete=_complete_look_ups)


def _text(page: Lines, step: TraceStep, full: bool) -> None:
    _filter(page, step.items["filter"], full)
    edges = [selection for selection in step.selections if selection.chunk is None]
    sentences = [selection for selection in step.selections if selection.sentence is not None]
    chunks = [selection for selection in step.selections if selection.whole]
    page.line(f"    Selected {len(edges)} edge(s)")
    for selection in edges:
        page.paragraph(fact_words(selection.fact), "      ", "Edge: ")
        write_why(page, selection)
    if sentences:
        page.line(f"    Selected {len(sentences)} sentence(s)")
    write_sentences(page, sentences)
    if chunks:
        page.line(f"    Selected {len(chunks)} chunk(s); {step.values['left_out']} more had no room")
    for look_up in step.items["look_ups"]:
        found = f"{len(look_up.selections)} chunk(s) by {look_up.queries} queries"
        page.paragraph(f"{look_up.text or '(erased)'} · {found}", "      ", "Looked up: ")
    for selection in chunks if full else chunks[:_CHUNKS]:
        named = selection.chunk.value if selection.chunk else ""
        places = "; ".join(place_words(source) for source in selection.sources) or named
        page.paragraph(f"{places} · {number_words(selection.score)}", "      ", "Chunk: ")
        if full and selection.reasoning:
            page.paragraph(selection.reasoning, "        ", "Reason: ")
    if not full and len(chunks) > _CHUNKS:
        page.line(f"      … and {len(chunks) - _CHUNKS} more (--full)")


def _filter(page: Lines, decisions: Sequence[FilterDecision], full: bool) -> None:
    """What a filter decided: first what it dropped, which stands nowhere else in the trace."""
    if not decisions:
        return
    kept = sum(decision.kept for decision in decisions)
    page.line(f"    The filter ({decisions[0].filter}) kept {kept} of {len(decisions)} candidate(s)")
    shown = sorted(decisions, key=lambda decision: decision.kept)
    for decision in shown if full else shown[:_DECISIONS]:
        named = decision.sentence.value if decision.sentence else ""
        words = f"“{decision.text}”" if decision.text else named
        score = "" if decision.reranked is None else f" · reranker {number_words(decision.reranked)}"
        reason = f": {decision.reasoning}" if decision.reasoning else ""
        about = f"{fact_words(decision.fact) if decision.sentence is None else words}{score}{reason}"
        page.paragraph(about, "      ", "Kept: " if decision.kept else "Dropped: ", dim=True)
    if not full and len(shown) > _DECISIONS:
        page.line(f"      … and {len(shown) - _DECISIONS} more (--full)")


FOCUS_NODE = NodeKind(
    "focus",
    TG.Focus,
    "What the answer may rest on.",
    fields=(StepField("coverage", RAG.coverage), StepField("left_out", RAG.leftOut, read=len)),
    items=(FILTER_DECISION, LOOK_UP, *SELECTIONS),
    text=_text,
    page=Path(__file__).with_name("focus.html.j2"),
)
