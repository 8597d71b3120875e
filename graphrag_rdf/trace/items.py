"""What the steps of a trace are made of, as it is read back: facts, sources, seeds, selections, calls.

All keys of a kind of object are always there in its JSON; what is unknown is null.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from pyoxigraph import Literal as RdfLiteral
from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import text_of

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
class DecisionNote:
    """Why a fact does not hold any more.

    Attributes:
        label: who decided what, for people.
        when: it was decided that the fact does not hold, or that a correction that asserted it was wrong.
        instead: of a correction, what holds in its place.
    """

    iri: str
    label: str
    reason: str | None
    when: datetime | None
    taken_back: bool = False
    instead: Fact | None = None

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        instead = None if self.instead is None else self.instead.as_json()
        return {
            "iri": self.iri,
            "label": self.label,
            "reason": self.reason,
            "when": iso(self.when),
            "taken_back": self.taken_back,
            "instead": instead,
        }

    def __str__(self) -> str:
        when = f"{self.when:%Y-%m-%d %H:%M}" if self.when else ""
        what = f"{self.label}, taken back" if self.taken_back else f"{self.label},"
        return f"{what} {when}".rstrip(" ,") + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Source:
    """A place that supports a fact or sentence.

    Attributes:
        chunk: None of a fact that was read from no text; `document` is then what it came from: an imported
            file, a list of synonyms, an edit by hand.
        name: what to call the document: its title, with its path where others have that title too.
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
    name: str | None = None
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
    """An edge that exploration met; `fact` is None when it was erased, `removed` while it holds."""

    iri: str
    fact: Fact | None
    score: Score
    rank: int | None
    hop: int | None
    direction: str | None
    edge_id: str | None
    selected: bool
    removed: DecisionNote | None = None

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
            "removed": self.removed.as_json() if self.removed else None,
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """What the answer may rest on: a fact (`fact`), a sentence of a chunk (`chunk`, `sentence`), or a chunk.

    Attributes:
        marker: its number in the answer; None when it is not cited.
        removed: what a person decided since, by which the fact holds no more.
        closest: whether it comes nearest to an answer where there is none.
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
    removed: DecisionNote | None = None
    closest: bool = False

    @property
    def whole(self) -> bool:
        """Whether it is a chunk, or a window of one."""
        return self.chunk is not None and self.sentence is None

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
            "closest": self.closest,
            "removed": self.removed.as_json() if self.removed else None,
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
class LookUp:
    """A search for what the model said is missing from the selected chunks.

    Attributes:
        text: what was searched for; None when it was erased.
        selections: IRIs of the chunk selections that it added, best first.
        queries: how many it ran.
    """

    iri: str
    text: str | None
    selections: tuple[str, ...]
    queries: int

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {
            "iri": self.iri,
            "text": self.text,
            "selections": list(self.selections),
            "queries": self.queries,
        }


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
    """A query or model call of a step; `sparql`, `prompt` and `completion` are objects of the blob store."""

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
