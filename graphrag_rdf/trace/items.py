"""What items of several kinds are made of: facts, sources, scores, calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from pyoxigraph import Literal as RdfLiteral
from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import local_name, text_of
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.kinds import ItemKind, Node, Statement, item, said, value_of

if TYPE_CHECKING:
    from graphrag_rdf.trace.reader import Reading

SourceState: TypeAlias = Literal["current", "retired", "forgotten"]
"""Retired: the document was edited and no longer holds the chunk, whose text is kept for the trace."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with its labels."""

    s: NamedNode
    p: NamedNode
    o: NamedNode | RdfLiteral
    s_label: str
    p_label: str
    o_label: str

    @property
    def text(self) -> str:
        """The fact in words."""
        return f"{self.s_label} {self.p_label} {self.o_label}"


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

    def __str__(self) -> str:
        when = f"{self.when:%Y-%m-%d %H:%M}" if self.when else ""
        what = f"{self.label}, taken back" if self.taken_back else f"{self.label},"
        return f"{what} {when}".rstrip(" ,") + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Source:
    """A place that supports a fact or sentence: the exact characters, or of facts that were read from no text
    (imported, by hand) what they came from.

    Attributes:
        document, title, uri: the document; of such a fact the imported file, list of synonyms or edit. Empty
            when it is not known any more.
        chunk: None of such a fact, which then has neither page, offset nor quote.
        page_number: 1-based; None in documents without pages.
        char_offset: code points into the document's text; None when the quote was never located, or is gone.
        quote: the words; empty where a whole chunk, or no text at all, is the source.
        verified: whether the quote was located in its chunk.
        name: what to call the document: its title, with its path where others have that title too.
        chunk_number: 1-based position in the document.
        retired: since when the document no longer holds the chunk.
    """

    JSON: ClassVar = (
        *("chunk", "document=known_document", "title=known_title", "name", "uri=known_uri", "page"),
        *("page_number", "page_label", "chunk_number", "chunk_label", "char_offset", "char_length"),
        *("quote=words", "verified", "evidence", "subgraph", "activity", "state", "retired"),
    )

    document: str
    title: str
    uri: str
    chunk: str | None
    page_number: int | None = None
    char_offset: int | None = None
    char_length: int | None = None
    quote: str = ""
    verified: bool = False
    evidence: str | None = None
    sentence: str | None = None
    name: str | None = None
    page: str | None = None
    page_label: str | None = None
    chunk_number: int | None = None
    chunk_label: str | None = None
    subgraph: str | None = None
    activity: str | None = None
    state: SourceState = "current"
    retired: datetime | None = None

    @property
    def words(self) -> str | None:
        """The quote; None of what was read from no text."""
        return None if self.chunk is None else self.quote

    @property
    def known_document(self) -> str | None:
        """The document; None when it is not known any more."""
        return self.document or None

    @property
    def known_title(self) -> str | None:
        """Its title, likewise."""
        return self.title or None

    @property
    def known_uri(self) -> str | None:
        """Where it was read from, likewise."""
        return self.uri or None

    def cited(self) -> dict[str, Any]:
        """The keys of `citations[].sources[]`."""
        keys = ("document", "title", "uri", "page_number", "chunk", "char_offset", "char_length")
        return {key: getattr(self, key) for key in keys} | {"quote": self.words, "verified": self.verified}


def read_source(row: Row) -> Source:
    """A source from a row of a template that leads to places in documents, as `trace/evidence` does."""
    quote = rows.text(row, "quote")
    base, offset = rows.whole(row, "chunk_offset"), rows.whole(row, "offset")
    chunk = rows.text(row, "chunk")
    located = quote is not None and offset is not None
    whole_chunk = quote is None and chunk is not None
    retired = rows.moment(row, "retired")
    return Source(
        chunk=chunk,
        document=rows.text(row, "document") or "",
        title=rows.text(row, "title") or "",
        uri=rows.text(row, "location") or "",
        page=rows.text(row, "page"),
        page_number=rows.whole(row, "page_number"),
        page_label=rows.text(row, "page_label"),
        chunk_number=rows.whole(row, "chunk_number"),
        chunk_label=rows.text(row, "chunk_label"),
        char_offset=(base or 0) + (offset or 0) if located or whole_chunk else None,
        char_length=rows.whole(row, "length") if located or whole_chunk else None,
        quote=quote or "",
        verified=located,
        evidence=rows.text(row, "evidence"),
        sentence=rows.text(row, "sentence"),
        subgraph=rows.text(row, "subgraph"),
        activity=rows.text(row, "activity"),
        state="retired" if retired else "current",
        retired=retired,
    )


@dataclass(slots=True)
class Described:
    """An item of a kind that this program does not know: its values by the local names of predicates."""

    iri: NamedNode
    values: dict[str, list[Any]]

    @classmethod
    def of(cls, iri: NamedNode, node: Node) -> Described:
        """What is said of a node."""
        said = sorted(node.items(), key=lambda item: str(item[0]))
        return cls(iri, {local_name(key.value): [value_of(one) for one in found] for key, found in said})


@item
class ScoreShare:
    """What a signal adds to a score: its weight times its value."""

    signal: str = said(RAG.signal)
    weight: float = said(RAG.weight)
    share: float = said(RAG.share)
    iri: NamedNode | None = None


@item
class Selected:
    """What the answer may rest on: a fact (`triple`), a sentence of a chunk, or a chunk.

    Attributes:
        triple: the fact; None once it was erased, and of sentences and chunks.
        chunk: of a sentence or chunk.
        char_offset, char_length: of a chunk that was too long: what of it was selected.
        marker: its number in the answer; None when it is not cited.
        look_up: of a chunk the look-up that found it.
        used_chunks, used_origins, evidence: what supports it: chunks, imported files, quotes.
        fact, removed: with labels, and what a person decided since, by which the fact holds no more.
        closest: whether it comes nearest to an answer where there is none.
    """

    JSON: ClassVar[tuple[str, ...]] = (
        *("iri", "edge=fact", "chunk", "sentence", "score", "score_parts", "rank", "hop", "edge_id"),
        *("concept", "reasoning", "marker", "closest", "removed", "sources"),
    )

    triple: Statement | None = said(TG.edge, words=True, fact=True, default=None)
    chunk: NamedNode | None = said(TG.document, default=None)
    sentence: NamedNode | None = said(RAG.selectedSentence, default=None)
    char_offset: int | None = said(TG.charOffset, default=None)
    char_length: int | None = said(TG.charLength, default=None)
    score: float | None = said(TG.score, default=None)
    lexical: float | None = said(RAG.lexicalScore, default=None)
    vector: float | None = said(RAG.vectorScore, default=None)
    graph: float | None = said(RAG.graphScore, default=None)
    reranked: float | None = said(RAG.rerankScore, default=None)
    rank: int | None = said(RAG.rank, default=None)
    hop: int | None = said(RAG.hop, default=None)
    edge_id: str | None = said(RAG.edgeId, default=None)
    concept: str | None = said(TG.concept, words=True, default=None)
    reasoning: str | None = said(TG.reasoning, words=True, default=None)
    marker: int | None = said(RAG.marker, default=None)
    look_up: NamedNode | None = said(RAG.foundByLookUp, default=None)
    used_chunks: tuple[NamedNode, ...] = said(RAG.usedChunk, default=())
    used_origins: tuple[NamedNode, ...] = said(RAG.usedOrigin, default=())
    evidence: tuple[NamedNode, ...] = said(RAG.supportedBy, default=())
    fact: Fact | None = None
    removed: DecisionNote | None = None
    closest: bool = False
    sources: tuple[Source, ...] = ()
    iri: NamedNode | None = None

    @property
    def whole(self) -> bool:
        """Whether it is a chunk, or a window of one."""
        return self.chunk is not None and self.sentence is None

    @property
    def score_parts(self) -> dict[str, float | None]:
        """The parts of the score, 0 to 1; those that did not count are None. A reranker has its own scale."""
        return score_parts(self)


def score_parts(scored: Any) -> dict[str, float | None]:
    """The parts of a score, by the name that JSON has for them."""
    parts = {"lexical": scored.lexical, "vector": scored.vector, "graph": scored.graph}
    return parts | ({} if scored.reranked is None else {"rerank": scored.reranked})


def complete_selections(reading: Reading, found: Sequence[Selected]) -> None:
    """Give selections their facts, sources, and whether they hold no more or are closest to an answer."""
    facts = reading.facts(one.triple for one in found)
    removed = reading.removed(facts)
    for one in found:
        assert one.iri is not None  # noqa: S101 - it was read
        if one.triple is not None:
            one.fact, one.removed = facts[one.triple], removed.get(one.triple)
        one.sources = tuple(reading.sources[one.iri.value])
        one.closest = bool(reading.subjects(RAG.closest, one.iri))


def _in_words(selection: Selected) -> str:
    """A fact in words; a sentence by its quotation, or its IRI if the words were erased."""
    if selection.fact is not None and selection.chunk is None:
        return selection.fact.text
    if selection.whole and selection.sources:
        return f"{selection.sources[0].chunk_label} of {selection.sources[0].name}"
    quote = next((source.quote for source in selection.sources if source.quote), None)
    named = selection.sentence or selection.chunk
    return f"“{quote}”" if quote else named.value if named else "(erased)"


def _selection(name: str, link: NamedNode, rdf_type: NamedNode, **options: Any) -> ItemKind:
    return ItemKind(
        name,
        "selections",
        link,
        rdf_type,
        Selected,
        complete=complete_selections,
        compared=_in_words,
        **options,
    )


EDGE = _selection("edge", TG.selectedEdge, TG.EdgeSelection)
SENTENCE = _selection("chunk", TG.selectedChunk, TG.ChunkSelection, always=("chunk",))
CHUNK = _selection(
    "context", TG.selectedChunk, TG.ChunkSelection, always=("chunk",), taken_by=("selection/chunks",)
)
SELECTIONS = (EDGE, SENTENCE, CHUNK)
"""Facts, sentences and chunks that a step selects: one list, by rank."""


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


def _complete_sentences(reading: Reading, found: Sequence[AnswerSentence]) -> None:
    for sentence in found:
        marked = sorted((reading.number(iri, RAG.marker) or 0, iri.value, iri) for iri in sentence.cites)
        sentence.cites = tuple(iri for _, _, iri in marked)
        sentence.markers = tuple(marker for marker, _, _ in marked if marker)


ANSWER_SENTENCE = ItemKind(
    "sentence", "sentences", RAG.sentence, RAG.AnswerSentence, AnswerSentence, complete=_complete_sentences
)


@item
class Call:
    """A query or model call of a step; `sparql`, `prompt` and `completion` are objects of the blob store.

    Attributes:
        kind: template, llm, embedding, rerank or tool; a part of its class.
    """

    JSON: ClassVar = (
        *("iri", "kind", "template", "rows", "purpose", "model", "in_tokens", "out_tokens", "ms", "cached"),
        *("sparql", "prompt", "completion"),
    )

    kind: str = ""
    template: str | None = said(RAG.template, default=None)
    rows: int | None = said(RAG.rowCount, default=None)
    purpose: str | None = said(RAG.purpose, default=None)
    model: str | None = said(TG.llmModel, default=None)
    in_tokens: int | None = said(TG.inToken, default=None)
    out_tokens: int | None = said(TG.outToken, default=None)
    cached_in_tokens: int | None = said(RAG.cachedInToken, default=None)
    ms: int | None = said(RAG.durationMs, default=None)
    cached: bool | None = said(RAG.cached, default=None)
    cost_usd: float | None = said(RAG.costUsd, default=None)
    sparql: NamedNode | None = said(RAG.sparql, default=None)
    prompt: NamedNode | None = said(RAG.prompt, default=None)
    completion: NamedNode | None = said(RAG.completion, default=None)
    index: int | None = said(RAG.index, default=None)
    iri: NamedNode | None = None

    @property
    def type(self) -> NamedNode:
        """Its class."""
        return RAG[f"{self.kind.capitalize()}Call"]


def _name_kinds(reading: Reading, calls: Sequence[Any]) -> None:
    for call in calls:
        (found,) = reading.nodes[call.iri][RDF.type]
        call.kind = local_name(text_of(found)).removesuffix("Call").lower()


CALL = ItemKind("call", "calls", RAG.call, None, Call, complete=_name_kinds)
