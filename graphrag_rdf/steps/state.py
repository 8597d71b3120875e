"""What a run knows while it runs, and what its steps work with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.conversation import Turn
from graphrag_rdf.trace.recorder import TraceRecorder
from graphrag_rdf.trace.reuse import Reuse

if TYPE_CHECKING:
    from graphrag_rdf.index.embedders import Embedder
    from graphrag_rdf.index.rerankers import Reranker
    from graphrag_rdf.index.text import TextIndex
    from graphrag_rdf.index.vectors import VectorIndex
    from graphrag_rdf.llm.gateway import LlmGateway
    from graphrag_rdf.llm.model import Completion
    from graphrag_rdf.steps.evidence import Evidence

Triple: TypeAlias = tuple[NamedNode, NamedNode, NamedNode | Literal]
Parameters: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """What steps work with.

    Attributes:
        text_index: None when it is missing; steps then say so in a warning.
        vectors, embedder: None without an embedding model.
        gateway: None without a model.
        reranker: None without one.
        prompt_folders: where the pipeline's prompts are; the first that has one counts.
        prompts: of the step: what each is for → its file.
        reuse: under what the answer may be kept, to be given again; None where none is kept.
    """

    store: Store
    blobs: BlobStore
    recorder: TraceRecorder
    prompt_folders: tuple[Path, ...]
    text_index: TextIndex | None = None
    vectors: VectorIndex | None = None
    embedder: Embedder | None = None
    gateway: LlmGateway | None = None
    reranker: Reranker | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    reuse: Reuse | None = None


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity from which exploration starts.

    Attributes:
        matched_by: exact, text (words) or vector (meaning).
        matched_text: the concept that it was found by.
        score: 0 to 1.
    """

    entity: NamedNode
    label: str
    score: float
    matched_by: Choice["exact", "text", "vector"]
    matched_text: str


@dataclass(slots=True)
class Edge:
    """A fact that exploration met.

    Attributes:
        hop: 1 for edges of seeds.
        origin: the canonical entity it was reached from.
        lexical, vector, graph: parts of the score, 0 to 1; vector is None without embeddings.
        reranked: what the reranker gave it; None where it was not asked.
        asked: words by which the question may ask for it, beside its own.
        sentences: the sentences it was quoted from.
        unverified: a model gave a quote for it that its chunk does not say.
    """

    triple: Triple
    s_label: str
    p_label: str
    o_label: str
    hop: int
    direction: str
    origin: NamedNode
    ends: tuple[NamedNode, ...] = ()
    asked: str = ""
    sentences: tuple[NamedNode, ...] = ()
    lexical: float = 0.0
    vector: float | None = None
    graph: float = 0.0
    score: float = 0.0
    reranked: float | None = None
    unverified: bool = False

    @property
    def text(self) -> str:
        """The fact in words."""
        return f"{self.s_label} {self.p_label} {self.o_label}"


@dataclass(slots=True)
class SentenceHit:
    """A sentence that speaks of the question and of entities met on the way."""

    sentence: NamedNode
    entities: tuple[NamedNode, ...] = ()
    lexical: float = 0.0
    vector: float | None = None
    graph: float = 0.0
    score: float = 0.0
    reranked: float | None = None


@dataclass(slots=True)
class Activated:
    """An entity that was reached.

    Attributes:
        value: its activation, 0 to 1.
        round: 0 for seeds.
        carrier: the sentence that it was reached by; None for seeds.
        origin: the entity that passed it on; its value × `similarity` is this value. None for seeds, and
            where the question itself found the carrier.
        similarity: of the carrier to the question, 0 to 1; None for seeds.
        passages: how many passages mention it or are about it, at most one more than a hub may have.
        topics: how many passages are about it, at most as many.
    """

    entity: NamedNode
    value: float
    round: int = 0
    carrier: NamedNode | None = None
    origin: NamedNode | None = None
    similarity: float | None = None
    passages: int = 1
    topics: int = 1


@dataclass(frozen=True, slots=True)
class Carrier:
    """A sentence that passed activation on: the best of an entity in a round, counted from 1.

    Attributes:
        origin: the entity; None where the question itself found the sentence.
    """

    sentence: NamedNode
    origin: NamedNode | None
    similarity: float
    round: int


@dataclass(slots=True)
class PassagePath:
    """A way by which a passage got a part of its score.

    Attributes:
        entity: the entity that the passage, or the sentence, mentions; None where only words lead to it.
        activation: of the entity, 0 to 1.
        weight: what the activation is multiplied by, beside the similarity.
        mentions: in how many sentences the passage mentions the entity; None of a path through a sentence.
        sentence: the carrier, None of a path by mentions.
        similarity: of the carrier to the question, 0 to 1.
        share: how much of the passage's score comes by this path.
    """

    entity: NamedNode | None
    activation: float
    weight: float
    mentions: int | None = None
    sentence: NamedNode | None = None
    similarity: float | None = None
    share: float = 0.0

    @property
    def value(self) -> float:
        """What comes by this path, before the signal's own weight."""
        return self.activation * (1.0 if self.similarity is None else self.similarity) * self.weight

    def as_json(self, label: str | None = None, text: str | None = None) -> dict[str, Any]:
        """The keys of `retrieve`'s `results[].paths[]`.

        Args:
            label: of the entity.
            text: of the sentence.
        """
        return {
            "entity": None if self.entity is None else self.entity.value,
            "entity_label": label,
            "sentence": None if self.sentence is None else self.sentence.value,
            "sentence_text": text,
            "mentions": self.mentions,
            "activation": self.activation,
            "similarity": self.similarity,
            "weight": self.weight,
            "share": self.share,
        }


@dataclass(slots=True)
class RelationPath:
    """A relation by which a passage got a part of its composite score.

    Attributes:
        signal: relates, cooccurs, or the local name of a typed relation.
        origin: the passage found before, or the entity of the question, that it starts from.
        near: of `cooccurs` the entity named near that one, which the passage mentions.
        base: how good the origin is, 0 to 1; 1 for an entity of the question.
        strength: of the relation, 0 to 1.
        share: how much of the passage's score comes by it.
    """

    signal: str
    origin: NamedNode
    near: NamedNode | None
    base: float
    strength: float
    share: float = 0.0

    @property
    def value(self) -> float:
        """What comes by it, before sums saturate and are weighed."""
        return self.base * self.strength

    def as_json(self, origin_label: str | None = None, near_label: str | None = None) -> dict[str, Any]:
        """The keys of `retrieve`'s `results[].relations[]`.

        Args:
            origin_label: title of the passage's document, or label of the entity.
            near_label: label of the entity.
        """
        return {
            "signal": self.signal,
            "origin": self.origin.value,
            "origin_label": origin_label,
            "near": None if self.near is None else self.near.value,
            "near_label": near_label,
            "base": self.base,
            "strength": self.strength,
            "share": self.share,
        }


@dataclass(slots=True)
class PassageHit:
    """A chunk with its score, 0 to 1, and what that is made of.

    Attributes:
        signals: the parts of the score, by name, before their weights.
        weights: of the signals as shares of 1; those of the graph count as far as the question is sure.
        paths: what the signals of the graph are sums of, the largest share first; only of the best passages.
        relations: what the signals of a composite score are sums of; only of the best passages.
        reranked: what the reranker gave it; None where it was not asked.
        before: rank and score before reranking; None without it.
    """

    chunk: NamedNode
    score: float = 0.0
    signals: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    paths: list[PassagePath] = field(default_factory=list)
    relations: list[RelationPath] = field(default_factory=list)
    reranked: float | None = None
    before: tuple[int, float] | None = None


@dataclass(frozen=True, slots=True)
class SourceQuote:
    """Where a selection is supported: the exact characters, or for facts that were not read from a text
    (imported, by hand) what they came from.

    Attributes:
        document, title, uri: the document; of such a fact the imported file.
        chunk: None of such a fact, which then has neither page, offset nor quote.
        char_offset: code points into the document's text; None when the quote was not located.
        quote: empty where a whole chunk, or no text at all, is the source.
        verified: whether the quote stands at that place.
    """

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

    def as_json(self) -> dict[str, Any]:
        """The keys of `citations[].sources[]`."""
        return {
            "document": self.document,
            "title": self.title,
            "uri": self.uri,
            "page_number": self.page_number,
            "chunk": self.chunk,
            "char_offset": self.char_offset,
            "char_length": self.char_length,
            "quote": None if self.chunk is None else self.quote,
            "verified": self.verified,
        }


@dataclass(slots=True)
class Selection:
    """What the answer may rest on: a fact, a sentence, or a chunk.

    Attributes:
        window: of a chunk that is too long (offset and length in it) what was selected.
        look_up: of a chunk the look-up that found it; None of those that exploration found.
        passed_over: of a chunk, whether a model chose nothing of it, and no look-up led to it again.
        node: its node in the trace.
        marker: its number in the answer, from 1; None until it is cited.
        shown: of what is cited what the prompt says of its document, and on the next line its words there.
    """

    score: float
    edge: Edge | None = None
    hit: SentenceHit | None = None
    chunk: PassageHit | None = None
    window: tuple[int, int] | None = None
    look_up: NamedNode | None = None
    passed_over: bool = False
    concept: str | None = None
    reasoning: str | None = None
    sources: tuple[SourceQuote, ...] = ()
    node: NamedNode | None = None
    marker: int | None = None
    shown: str = ""

    @property
    def asked(self) -> str:
        """Words by which the question may ask for its fact, beside its own; "" of a sentence."""
        return self.edge.asked if self.edge else ""


@dataclass(slots=True)
class State:
    """The blackboard of a run.

    Attributes:
        history: what was asked and answered before in the session, the oldest first.
        concepts: names and phrases whose entities exploration starts from.
        also: those of them by which chunks are searched for beside the question's words.
        exploring: the parameters of exploration, by which look-ups search too.
        looked_up: what they searched for.
        well_ranked: chunks that are selected as far as they fit.
        chunks: those selected, best first; those of the last look-up before others.
        selections: facts and sentences: those selected, and further ones that the answer cites.
        evidence: what is shown to a model.
        completion: the answer as a model wrote it; None of one that was quoted.
        answered: false where the answer is that the program doesn't know.
        closest: what comes nearest to an answer then, best first.
        vouched: whether a model said of what was found, and is left, that it helps.
        set_aside: sentences that are left out: somebody decided that what they say is wrong.
        document_names: what to call documents that share their title with others, by IRI.
        mentioned, topics: what sentences mention and what chunks are about, as far as it was asked
            (`mentions.mentions_of`).
        sources: where sentences stand, likewise (`sources.sentence_sources`).
        texts: what chunks say, and where they begin, likewise (`sources.chunk_texts`).
    """

    question: str
    language: str | None = None
    history: Sequence[Turn] = ()
    concepts: list[str] = field(default_factory=list)
    also: tuple[str, ...] = ()
    seeds: list[Seed] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    hits: list[SentenceHit] = field(default_factory=list)
    passages: list[PassageHit] = field(default_factory=list)
    exploring: Parameters = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)
    well_ranked: list[NamedNode] = field(default_factory=list)
    chunks: list[Selection] = field(default_factory=list)
    selections: list[Selection] = field(default_factory=list)
    evidence: Evidence | None = None
    answer: str = ""
    completion: Completion | None = None
    answered: bool = True
    closest: list[SourceQuote] = field(default_factory=list)
    empty: bool = False
    vouched: bool = False
    warnings: list[dict[str, str]] = field(default_factory=list)
    include: Sequence[NamedNode] = ()
    exclude: Sequence[NamedNode] = ()
    set_aside: frozenset[str] = frozenset()
    entity_names: dict[str, str] = field(default_factory=dict)
    document_names: dict[str, str] = field(default_factory=dict)
    final: dict[str, Any] = field(default_factory=dict)
    mentioned: dict[str, tuple[NamedNode, ...]] = field(default_factory=dict)
    topics: dict[str, set[NamedNode]] = field(default_factory=dict)
    sources: dict[str, tuple[SourceQuote, ...]] = field(default_factory=dict)
    texts: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def selected(self) -> int:
        """How many selections the trace has."""
        return len(self.selections) + len(self.chunks)

    @property
    def conversation(self) -> list[dict[str, str]]:
        """The history as prompts take it."""
        return [{"question": turn.question, "answer": turn.answer} for turn in self.history]

    def warn(self, kind: str, detail: str) -> None:
        """Add a warning to the answer and the trace, once."""
        warning = {"type": kind, "detail": detail}
        if warning not in self.warnings:
            self.warnings.append(warning)
