"""A trace as plain data: its steps, and what their items are made of (facts, selections, calls).

`trace show --format json` prints it. All keys of a kind of object are always there; what is unknown is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from pyoxigraph import Literal as RdfLiteral
from pyoxigraph import NamedNode

from graphrag_rdf.i18n import ERASED, own_label, tr
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, TG
from graphrag_rdf.rdf.terms import edge_id, local_name, text_of
from graphrag_rdf.rdf.wording import between
from graphrag_rdf.trace.citations import marker, style_of
from graphrag_rdf.trace.documents import Source, of_endpoint
from graphrag_rdf.trace.kinds import ItemKind, Node, NodeKind, Statement, Warned, item, said, value_of

if TYPE_CHECKING:
    from graphrag_rdf.trace.reader import Reading


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with its labels.

    Attributes:
        o_written: the object as the documents write it, where somebody looked it up (`trace.values`).
    """

    JSON: ClassVar = ("s", "p", "o", "s_label", "p_label", "o_label")

    s: NamedNode
    p: NamedNode
    o: NamedNode | RdfLiteral
    s_label: str
    p_label: str
    o_label: str
    o_written: str = field(default="", compare=False)

    @property
    def o_words(self) -> str:
        """The object for people."""
        return self.o_written or self.o_label

    @property
    def text(self) -> str:
        """The fact in words."""
        return f"{self.s_label} {between(self.p.value, self.p_label)} {self.o_label}"


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


@dataclass(slots=True)
class Described:
    """An item of a kind that this program does not know: its values by the local names of predicates."""

    iri: NamedNode
    values: dict[str, list[Any]]

    @classmethod
    def of(cls, iri: NamedNode, node: Node) -> Described:
        """What is said of a node."""
        entries = sorted(node.items(), key=lambda item: str(item[0]))
        return cls(
            iri,
            {local_name(key.value): [value_of(value_term) for value_term in terms] for key, terms in entries},
        )


@item
class ScoreShare:
    """What a signal adds to a score: its weight times its value."""

    signal: str = said(RAG.signal)
    weight: float = said(RAG.weight)
    share: float = said(RAG.share)
    iri: NamedNode | None = None


@item
class Inference:
    """A step of the proof of a selected fact that was inferred (see `schema.proofs`).

    Attributes:
        triple: what is inferred; None once it was erased.
        premises: facts, axioms, or what other steps infer.
        fact, premise_facts: these with labels.
    """

    JSON: ClassVar = ("fact", "rule", "premises=premise_facts")

    triple: Statement | None = said(TG.edge, words=True, fact=True, default=None)
    rule: str | None = said(RAG.rule, default=None)
    premises: tuple[Statement, ...] = said(RAG.premise, words=True, fact=True, default=())
    index: int | None = said(RAG.index, default=None)
    fact: Fact | None = None
    premise_facts: tuple[Fact, ...] = ()
    iri: NamedNode | None = None


def _name_premises(reading: Reading, inferences: Sequence[Inference]) -> None:
    facts = reading.facts(
        fact for inference in inferences for fact in (inference.triple, *inference.premises)
    )
    for inference in inferences:
        inference.fact = facts[inference.triple] if inference.triple else None
        inference.premise_facts = tuple(facts[premise] for premise in inference.premises)


INFERENCE = ItemKind(
    "inference", "inferences", RAG.inference, RAG.Inference, Inference, complete=_name_premises
)


@item
class Selected:
    """What the answer may rest on: a fact (`triple`), a sentence of a chunk, or a chunk.

    Attributes:
        triple: the fact; None once it was erased, and of sentences and chunks.
        also: facts that say the same by merged relations or entities; their sources are among these.
        chunk: of a sentence or chunk.
        char_offset, char_length: of a chunk that was too long: what of it was selected.
        description: what an import says of the fact.
        marker: its number in the answer; None when it is not cited.
        authority: the highest authority of its documents, if it was a factor of the score.
        look_up: of a chunk the look-up that found it.
        used_chunks, used_origins, evidence: what supports it: chunks, imported files, quotes.
        endpoint: of what no document states: the address of the server that returned it.
        taken_from: the selection of another run that it repeats.
        fact, removed: with labels, and what a person decided since, by which the fact holds no more.
        closest: whether it comes nearest to an answer where there is none.
        label: its number as the answer cites it.
        inferences: of a fact that was inferred its proof, the last step first; sources are those of the
            facts that it follows from.
    """

    JSON: ClassVar[tuple[str, ...]] = (
        *("iri", "edge=fact", "chunk", "sentence", "score", "score_parts", "rank", "hop", "edge_id"),
        *("authority", "concept", "reasoning", "marker", "closest", "removed", "sources"),
        *("inferences", "also=also_facts", "description"),
    )

    triple: Statement | None = said(TG.edge, words=True, fact=True, default=None)
    also: tuple[Statement, ...] = said(RAG.alsoStatedAs, words=True, fact=True, default=())
    chunk: NamedNode | None = said(TG.document, default=None)
    sentence: NamedNode | None = said(RAG.selectedSentence, default=None)
    char_offset: int | None = said(TG.charOffset, default=None)
    char_length: int | None = said(TG.charLength, default=None)
    score: float | None = said(TG.score, default=None)
    lexical: float | None = said(RAG.lexicalScore, default=None)
    vector: float | None = said(RAG.vectorScore, default=None)
    graph: float | None = said(RAG.graphScore, default=None)
    reranked: float | None = said(RAG.rerankScore, default=None)
    authority: float | None = said(RAG.sourceAuthority, default=None)
    rank: int | None = said(RAG.rank, default=None)
    hop: int | None = said(RAG.hop, default=None)
    edge_id: str | None = None
    concept: str | None = said(TG.concept, words=True, default=None)
    reasoning: str | None = said(TG.reasoning, words=True, default=None)
    description: str | None = said(DCTERMS.description, words=True, default=None)
    marker: int | None = said(RAG.marker, default=None)
    look_up: NamedNode | None = said(RAG.foundByLookUp, default=None)
    used_chunks: tuple[NamedNode, ...] = said(RAG.usedChunk, default=())
    used_origins: tuple[NamedNode, ...] = said(RAG.usedOrigin, default=())
    evidence: tuple[NamedNode, ...] = said(RAG.supportedBy, default=())
    endpoint: NamedNode | None = said(RAG.endpoint, default=None)
    taken_from: NamedNode | None = said(PROV.wasDerivedFrom, default=None)
    fact: Fact | None = None
    also_facts: tuple[Fact, ...] = ()
    removed: DecisionNote | None = None
    closest: bool = False
    label: str | None = None
    inferences: list[Inference] = field(default_factory=list)
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


def complete_selections(reading: Reading, selections: Sequence[Selected]) -> None:
    """Give selections their facts, sources, and whether they hold no more or are closest to an answer."""
    facts = reading.facts(fact for selection in selections for fact in (selection.triple, *selection.also))
    removed = reading.removed(facts)
    for selection in selections:
        assert selection.iri is not None  # noqa: S101 - it was read
        if selection.triple is not None:
            selection.fact, selection.removed = facts[selection.triple], removed.get(selection.triple)
            selection.edge_id = edge_id(
                selection.fact.s_label, selection.fact.p_label, selection.fact.o_label
            )
            selection.also_facts = tuple(facts[fact] for fact in selection.also)
        selection.sources = tuple(reading.sources[selection.iri.value])
        if selection.endpoint is not None:
            selection.sources = (of_endpoint(selection.endpoint),)
            if selection.fact is not None:
                selection.fact = replace(selection.fact, s_label=selection.endpoint.value)
        selection.closest = bool(reading.subjects(RAG.closest, selection.iri))


def _in_words(selection: Selected) -> str:
    """A fact in words; a sentence by its quotation, or its IRI if the words were erased."""
    if selection.fact is not None and selection.chunk is None:
        return selection.fact.text
    if selection.whole and selection.sources:
        return tr("{chunk} of {document}").format(
            chunk=own_label(selection.sources[0].chunk_label), document=selection.sources[0].name
        )
    quote = next((source.quote for source in selection.sources if source.quote), None)
    named = selection.sentence or selection.chunk
    return f"“{quote}”" if quote else named.value if named else tr(ERASED)


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


EDGE = _selection("edge", TG.selectedEdge, TG.EdgeSelection, parts={"inferences": INFERENCE})
SENTENCE = _selection("chunk", TG.selectedChunk, TG.ChunkSelection, always=("chunk",))
CHUNK = _selection("context", TG.selectedChunk, TG.ChunkSelection, always=("chunk",))
SELECTIONS = (EDGE, SENTENCE, CHUNK)
"""Facts, sentences and chunks that a step selects: one list, by rank."""


@item
class AnswerSentence:
    """A sentence of the answer.

    Attributes:
        text: None when it was erased.
        offset, length: in the answer's text, in code points.
        cites: selections, by their numbers in the answer.
        general: whether it is general knowledge of the model, which cites nothing; None if not.
        markers: those numbers.
    """

    JSON: ClassVar = ("iri", "text", "offset", "length", "cites", "markers", "general")

    text: str | None = said(TG.content, words=True)
    offset: int = said(TG.charOffset)
    length: int = said(TG.charLength)
    cites: tuple[NamedNode, ...] = said(RAG.cites, default=())
    index: int | None = said(RAG.index, default=None)
    general: bool | None = said(RAG.generalKnowledge, default=None)
    markers: tuple[int, ...] = ()
    iri: NamedNode | None = None


def _complete_sentences(reading: Reading, sentences: Sequence[AnswerSentence]) -> None:
    for sentence in sentences:
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
        kind: template, llm, embedding, rerank, tool, service (a query that another server ran) or query (one
            that a model wrote, with the rows of other servers in it); a part of its class.
        endpoint: of a service its address.
    """

    JSON: ClassVar = (
        *("iri", "kind", "template", "rows", "purpose", "model", "in_tokens", "out_tokens", "ms", "cached"),
        *("sparql", "prompt", "completion", "endpoint"),
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
    endpoint: NamedNode | None = said(RAG.endpoint, default=None)
    iri: NamedNode | None = None

    @property
    def type(self) -> NamedNode:
        """Its class."""
        return RAG[f"{self.kind.capitalize()}Call"]


def _name_kinds(reading: Reading, calls: Sequence[Any]) -> None:
    for call in calls:
        (rdf_type,) = reading.nodes[call.iri][RDF.type]
        call.kind = local_name(text_of(rdf_type)).removesuffix("Call").lower()


CALL = ItemKind("call", "calls", RAG.call, None, Call, complete=_name_kinds)


@dataclass(frozen=True, slots=True)
class SubRun:
    """A run that a step started."""

    session: str
    question: str | None


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step of any kind.

    Attributes:
        declared: what its kind declares.
        derived_from: the steps, of this run or of its sub-runs, that it derives from.
        mode: how it worked: rules, llm, rank …
        values: of the fields that its kind declares, by key.
        items: of the kinds of items that its kind declares, of warnings and of calls, by key.
        sub_runs: runs whose question it asked.
    """

    iri: str
    declared: NodeKind
    derived_from: tuple[str, ...]
    started: datetime | None
    ended: datetime | None
    ms: int | None
    mode: str | None
    model: str | None
    in_tokens: int | None
    out_tokens: int | None
    values: dict[str, Any] = field(default_factory=dict)
    items: dict[str, list[Any]] = field(default_factory=dict)
    sub_runs: tuple[SubRun, ...] = ()

    @property
    def kind(self) -> str:
        """question, grounding, exploration, focus, synthesis, error …"""
        return self.declared.name

    @property
    def answer(self) -> str | None:
        """The text of a step that answers; None once it was erased, or when nobody gave the blob store."""
        return self.values.get("answer")

    @property
    def selections(self) -> list[Selected]:
        """What was selected, by rank."""
        return self.items.get("selections", [])

    @property
    def sentences(self) -> list[AnswerSentence]:
        """The sentences of its answer."""
        return self.items.get("sentences", [])

    @property
    def warnings(self) -> list[Warned]:
        """What the reader of the answer ought to know."""
        return self.items.get("warnings", [])

    @property
    def calls(self) -> list[Call]:
        """Queries and calls to models, in order."""
        return self.items.get("calls", [])

    def json_object(self) -> dict[str, Any]:
        """The keys of every step, then those of its kind."""
        own = {key: listed for key, listed in self.items.items() if key not in ("warnings", "calls")}
        return {
            "iri": self.iri,
            "type": self.kind,
            "derived_from": self.derived_from[0] if self.derived_from else None,
            "derived_from_all": self.derived_from,
            "started": self.started,
            "ended": self.ended,
            "ms": self.ms,
            "mode": self.mode,
            "model": self.model,
            "in_tokens": self.in_tokens,
            "out_tokens": self.out_tokens,
            **self.values,
            **own,
            "sub_runs": self.sub_runs,
            "warnings": self.warnings,
            "calls": self.calls,
        }


@dataclass(frozen=True, slots=True)
class Mark:
    """What somebody thinks of an answer, or of something that it rests on.

    Attributes:
        target: the step that answered, or a selection.
        rating: helpful or wrong.
        marker, rank: of a selection: its number in the answer, and its rank.
    """

    JSON: ClassVar = ("iri", "target", "rating", "note", "by", "time", "citation=marker", "edge=rank")

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
            return tr("what is cited as [{marker}]").format(marker=self.marker)
        return tr("the answer") if self.rank is None else tr("selection {rank}").format(rank=self.rank)


@dataclass(frozen=True, slots=True)
class Trace:
    """A run that answered a question, with all its steps.

    Attributes:
        iri: the session.
        kind: the pipeline.
        form: graphrag-rdf, or that of TrustGraph in which another program wrote it (see `foreign.FORMS`).
        commit: number of the newest commit when the run began.
        outcome: completed, unanswered, failed or cancelled; None while it runs, and after a kill.
        stopped_by: what ended the flow: done, empty, or the limit that was reached; None of a sequence.
        source_forgotten: whether words of it were erased with a document.
        erased: when they first were, if that is recorded.
        steps: in order, the question first.
        marks: what people think of it.
        continues: the earlier session that it goes on with.
        pipeline_hash: SHA-256 over the files of the pipeline.
        include, exclude: entities that must be, or must not be, followed.
        runs: those that its steps started, by their sessions, if they were read with it.
    """

    JSON: ClassVar = (
        *("iri", "kind", "form", "label", "question", "question_iri"),
        *("started", "ended", "seconds", "outcome", "stopped_by"),
        *("model", "parameters", "commit", "source_forgotten", "erased", "answer", "steps", "warnings"),
        *("feedback=marks", "continues", "pipeline_hash", "include", "exclude"),
    )

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
    source_forgotten: bool = False
    steps: tuple[TraceStep, ...] = ()
    marks: tuple[Mark, ...] = ()
    continues: str | None = None
    pipeline_hash: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    stopped_by: str | None = None
    form: str = "graphrag-rdf"
    runs: Mapping[str, Trace] = field(default_factory=dict)
    erased: datetime | None = None

    def step(self, iri: str) -> TraceStep | None:
        """The step of an IRI."""
        return next((step for step in self.steps if step.iri == iri), None)

    @property
    def answer(self) -> str | None:
        """The text of the answer."""
        return next((step.answer for step in reversed(self.steps) if step.answer is not None), None)

    def citation(self, number: int) -> str:
        """A number as the answer cites it."""
        return marker(number, style_of(self.answer or ""))

    @property
    def seconds(self) -> float | None:
        """Wall time."""
        return None if self.ms is None else self.ms / 1000

    @property
    def selections(self) -> tuple[Selected, ...]:
        """What was selected, over all steps."""
        return tuple(selection for step in self.steps for selection in step.selections)

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What the reader of the answer ought to know."""
        return tuple(warning for step in self.steps for warning in step.warnings)
