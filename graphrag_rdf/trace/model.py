"""A trace as it is read back: plain data, with the JSON that `trace show --format json` prints.

All keys of a kind of object are always there; what is unknown is null.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from pyoxigraph import Literal as RdfLiteral
from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.trace.passages import Passage

SourceState: TypeAlias = Literal["current", "retired", "forgotten"]
"""Retired: the document was edited and no longer holds the chunk, whose text is kept for the trace."""


def iso(moment: datetime | None) -> str | None:
    """A moment as JSON has it."""
    return None if moment is None else moment.isoformat()


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with its labels; terms are None when it was erased with its document."""

    s: NamedNode
    p: NamedNode
    o: NamedNode | RdfLiteral
    s_label: str
    p_label: str
    o_label: str

    def as_json(self) -> dict[str, str]:
        """`s` `p` `o` `s_label` `p_label` `o_label`, as in `citations[].edge`."""
        return {
            "s": self.s.value,
            "p": self.p.value,
            "o": text_of(self.o),
            "s_label": self.s_label,
            "p_label": self.p_label,
            "o_label": self.o_label,
        }


@dataclass(frozen=True, slots=True)
class Source:
    """A place that supports a fact or sentence.

    Attributes:
        chunk: None of a fact that was read from no text; `document` is then what it came from: an imported
            file, a list of synonyms, an edit by hand.
        uri: where the document was read from.
        page_number: 1-based; None in documents without pages.
        chunk_number: 1-based position in the document.
        char_offset: code points into the document's text; None when the quote was never located, or is gone.
        quote: the words; empty where a whole chunk is the source.
        verified: whether the quote was located in its chunk.
        retired: since when the document no longer holds the chunk.
    """

    chunk: str | None
    document: str | None = None
    title: str | None = None
    uri: str | None = None
    page: str | None = None
    page_number: int | None = None
    page_label: str | None = None
    chunk_number: int | None = None
    chunk_label: str | None = None
    char_offset: int | None = None
    char_length: int | None = None
    quote: str = ""
    verified: bool = False
    evidence: str | None = None
    subgraph: str | None = None
    activity: str | None = None
    state: SourceState = "current"
    retired: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """The keys of `citations[].sources[]` and more."""
        out = {name: getattr(self, name) for name in self.__slots__}
        quote = None if self.chunk is None else self.quote
        return {**out, "quote": quote, "retired": iso(self.retired)}


@dataclass(frozen=True, slots=True)
class Score:
    """A score and its parts, 0 to 1; parts that did not count are None. A reranker has its own scale."""

    total: float | None
    lexical: float | None
    vector: float | None
    graph: float | None
    rerank: float | None = None

    def as_json(self) -> dict[str, float | None]:
        """`score` and `score_parts`; `rerank` is of the reranker's own scale."""
        parts = {"lexical": self.lexical, "vector": self.vector, "graph": self.graph}
        return parts | ({} if self.rerank is None else {"rerank": self.rerank})


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity from which exploration started."""

    entity: str
    label: str
    score: float | None
    matched_by: str | None
    matched_text: str | None

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Activated:
    """An entity that activation reached: in which round, from where, through which sentence or fact.

    Attributes:
        similarity: of the carrier to the question: what the origin's activation was multiplied by.
    """

    entity: str
    label: str
    activation: float | None
    round: int | None
    carrier: str | None
    similarity: float | None
    origin: str | None

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Considered:
    """An edge that exploration met; `fact` is None when it was erased."""

    iri: str
    fact: Fact | None
    score: Score
    rank: int | None
    hop: int | None
    direction: str | None
    edge_id: str | None
    selected: bool

    def as_json(self) -> dict[str, Any]:
        """The fact, its score and parts, and how it was met."""
        return {
            "iri": self.iri,
            "edge": self.fact.as_json() if self.fact else None,
            "score": self.score.total,
            "score_parts": self.score.as_json(),
            "rank": self.rank,
            "hop": self.hop,
            "direction": self.direction,
            "edge_id": self.edge_id,
            "selected": self.selected,
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """What the answer may rest on: a fact (`fact`) or a sentence of a chunk (`chunk`).

    Attributes:
        marker: its number in the answer; None when it is not cited.
    """

    iri: str
    fact: Fact | None
    chunk: str | None
    sentence: str | None
    score: Score
    rank: int | None
    hop: int | None
    edge_id: str | None
    concept: str | None
    reasoning: str | None
    marker: int | None
    sources: tuple[Source, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """What was selected, why, and all its sources."""
        return {
            "iri": self.iri,
            "edge": self.fact.as_json() if self.fact else None,
            "chunk": self.chunk,
            "sentence": self.sentence,
            "score": self.score.total,
            "score_parts": self.score.as_json(),
            "rank": self.rank,
            "hop": self.hop,
            "edge_id": self.edge_id,
            "concept": self.concept,
            "reasoning": self.reasoning,
            "marker": self.marker,
            "sources": [source.as_json() for source in self.sources],
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """What the filter decided about a candidate: a fact, or a sentence.

    Attributes:
        fact: None of a sentence, and when it was erased.
        sentence, text: None of a fact; the text also when the sentence is gone.
        reasoning: of a model.
        rerank: what a reranker gave.
    """

    iri: str
    filter: str
    kept: bool
    score: float | None
    reasoning: str | None
    rerank: float | None
    fact: Fact | None
    sentence: str | None
    text: str | None

    def as_json(self) -> dict[str, Any]:
        """All fields; the fact as `edge`."""
        out = {name: getattr(self, name) for name in self.__slots__ if name != "fact"}
        return {**out, "edge": self.fact.as_json() if self.fact else None}


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of the answer; offset and length in the answer's text; `cites` are IRIs of selections."""

    iri: str
    text: str | None
    offset: int
    length: int
    cites: tuple[str, ...]
    markers: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {
            "iri": self.iri,
            "text": self.text,
            "offset": self.offset,
            "length": self.length,
            "cites": list(self.cites),
            "markers": list(self.markers),
        }


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question to ask next.

    Attributes:
        by: what made it: `llm`, or `graph` from a fact.
        text: None when it was erased with a document.
        fact: of `graph`.
    """

    iri: str
    by: str
    text: str | None
    fact: Fact | None = None

    def as_json(self) -> dict[str, Any]:
        """`question` and `by`, as in an answer, and the fact."""
        fact = None if self.fact is None else self.fact.as_json()
        return {"iri": self.iri, "question": self.text, "by": self.by, "fact": fact}


@dataclass(frozen=True, slots=True)
class Call:
    """A query or model call of a step; `sparql`, `prompt` and `completion` are objects of the librarian."""

    iri: str
    kind: str
    template: str | None
    rows: int | None
    purpose: str | None
    model: str | None
    in_tokens: int | None
    out_tokens: int | None
    ms: int | None
    cached: bool | None
    sparql: str | None
    prompt: str | None
    completion: str | None

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step; only the fields of its kind are filled.

    Attributes:
        kind: question, grounding, exploration, focus, synthesis, error …
        mode: how it worked: rules, llm, rank …
        query: of a question: its words.
        candidates, edges: of an exploration: edges met, edges kept.
        passages: of an exploration by activation, best first.
        coverage: of a focus: share of the question's words that the selection speaks of.
        decisions: of a focus with a filter: what that decided.
        answer: of a synthesis; None when its text was erased, or is in the librarian and none was given.
        reason, stage: of an error.
        reuses: of an answer that was given again, the step that gave it first.
    """

    iri: str
    kind: str
    before: str | None
    started: datetime | None
    ended: datetime | None
    ms: int | None
    mode: str | None
    model: str | None
    in_tokens: int | None
    out_tokens: int | None
    query: str | None = None
    concepts: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] = ()
    activated: tuple[Activated, ...] = ()
    candidates: int | None = None
    edges: int | None = None
    considered: tuple[Considered, ...] = ()
    passages: tuple[Passage, ...] = ()
    coverage: float | None = None
    decisions: tuple[Decision, ...] = ()
    selections: tuple[Selection, ...] = ()
    answer: str | None = None
    stored: str | None = None
    sentences: tuple[AnswerSentence, ...] = ()
    warnings: tuple[dict[str, str], ...] = ()
    reason: str | None = None
    stage: str | None = None
    reuses: str | None = None
    suggestions: tuple[Suggestion, ...] = ()
    calls: tuple[Call, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The keys of every step, then those of its kind."""
        details: dict[str, dict[str, Any]] = {
            "question": {"query": self.query},
            "grounding": {"concepts": list(self.concepts)},
            "exploration": {
                "seeds": [seed.as_json() for seed in self.seeds],
                "activated": [active.as_json() for active in self.activated],
                "candidates": self.candidates,
                "edges": self.edges,
                "considered": [edge.as_json() for edge in self.considered],
                "passages": [passage.as_json() for passage in self.passages],
            },
            "focus": {
                "coverage": self.coverage,
                "filter": [decision.as_json() for decision in self.decisions],
                "selections": [selection.as_json() for selection in self.selections],
            },
            "synthesis": {
                "answer": self.answer,
                "stored": self.stored,
                "reuses": self.reuses,
                "sentences": [sentence.as_json() for sentence in self.sentences],
                "suggestions": [suggestion.as_json() for suggestion in self.suggestions],
            },
            "error": {"reason": self.reason, "stage": self.stage},
        }
        return {
            "iri": self.iri,
            "type": self.kind,
            "derived_from": self.before,
            "started": iso(self.started),
            "ended": iso(self.ended),
            "ms": self.ms,
            "mode": self.mode,
            "model": self.model,
            "in_tokens": self.in_tokens,
            "out_tokens": self.out_tokens,
            **details.get(self.kind, {}),
            "warnings": list(self.warnings),
            "calls": [call.as_json() for call in self.calls],
        }


@dataclass(frozen=True, slots=True)
class Mark:
    """What somebody thinks of an answer, or of something that it rests on.

    Attributes:
        target: the step that answered, or a selection.
        rating: helpful or wrong.
        marker, rank: of a selection: its number in the answer, and its rank.
    """

    iri: str
    target: str
    rating: str
    note: str | None = None
    by: str | None = None
    time: datetime | None = None
    marker: int | None = None
    rank: int | None = None

    @property
    def about(self) -> str:
        """What was marked, for people."""
        if self.marker is not None:
            return f"what is cited as [{self.marker}]"
        return "the answer" if self.rank is None else f"selection {self.rank}"

    def as_json(self) -> dict[str, Any]:
        """The keys of `feedback --format json`."""
        return {
            "iri": self.iri,
            "target": self.target,
            "rating": self.rating,
            "note": self.note,
            "by": self.by,
            "time": iso(self.time),
            "citation": self.marker,
            "edge": self.rank,
        }


@dataclass(frozen=True, slots=True)
class Trace:
    """A run that answered a question, with all its steps.

    Attributes:
        iri: the session.
        kind: the pipeline.
        commit: number of the newest commit when the run began.
        outcome: completed, failed or cancelled; None while it runs, or if the process was stopped.
        forgotten: whether words of it were erased with a document.
        steps: in order, the question first.
        marks: what people think of it.
        continues: the earlier session that it goes on with.
        pipeline_hash: SHA-256 over the files of the pipeline.
        include, exclude: entities that must be, or must not be, followed.
    """

    iri: str
    kind: str | None
    label: str | None
    question: str
    question_iri: str | None
    started: datetime | None
    ended: datetime | None
    ms: int | None
    outcome: str | None
    model: str | None
    parameters: dict[str, Any] = field(default_factory=dict)
    commit: int | None = None
    forgotten: bool = False
    steps: tuple[TraceStep, ...] = ()
    marks: tuple[Mark, ...] = ()
    continues: str | None = None
    pipeline_hash: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def step(self, iri: str) -> TraceStep | None:
        """The step of an IRI."""
        return next((step for step in self.steps if step.iri == iri), None)

    @property
    def answer(self) -> str | None:
        """The text of the answer."""
        return next((step.answer for step in reversed(self.steps) if step.answer is not None), None)

    @property
    def selections(self) -> tuple[Selection, ...]:
        """What was selected, over all steps."""
        return tuple(selection for step in self.steps for selection in step.selections)

    @property
    def warnings(self) -> tuple[dict[str, str], ...]:
        """What the reader of the answer ought to know."""
        return tuple(warning for step in self.steps for warning in step.warnings)

    def as_json(self) -> dict[str, Any]:
        """The object that `trace show --format json` prints."""
        return {
            "iri": self.iri,
            "kind": self.kind,
            "label": self.label,
            "question": self.question,
            "question_iri": self.question_iri,
            "started": iso(self.started),
            "ended": iso(self.ended),
            "seconds": None if self.ms is None else self.ms / 1000,
            "outcome": self.outcome,
            "model": self.model,
            "parameters": self.parameters,
            "commit": self.commit,
            "source_forgotten": self.forgotten,
            "answer": self.answer,
            "steps": [step.as_json() for step in self.steps],
            "warnings": list(self.warnings),
            "feedback": [mark.as_json() for mark in self.marks],
            "continues": self.continues,
            "pipeline_hash": self.pipeline_hash,
            "include": list(self.include),
            "exclude": list(self.exclude),
        }
