"""Exploration: what it finds (seeds, entities, facts, ranked chunks), and how that is written into traces.

Shared by the ways of exploring, so that every trace says the same things in the same terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.i18n import counted, later, tr
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.rdf.terms import edge_id, integer, text_of
from graphrag_rdf.rdf.wording import between
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.trace.documents import shown_names
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, Statement, StepField, item, read_item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.model import DecisionNote, Fact, ScoreShare, TraceStep, score_parts
from graphrag_rdf.trace.reader import Reading
from graphrag_rdf.trace.recorder import Step, TraceRecorder
from graphrag_rdf.trace.text import fact_words, number_words, score_words

if TYPE_CHECKING:
    from graphrag_rdf.steps.state import Context, Parameters, State

_CHUNKS = 3  # ranked chunks that `trace show` lists without --full
_CONSIDERED = 30  # facts kept in the trace as considered
EVIDENCE_LIMIT = 50
"""Sentences that are evidence."""
RANKED_LIMIT = 100
"""Chunks that activation ranks."""
WEIGHTS: Mapping[str, str] = {"entities": "graph", "words": "word", "meaning": "meaning"}
"""Signal of activation → the beginning of the property of an exploration that has its weight."""
REACHED = (RAG.reached, RAG.reachedLater)
"""Kinds of the hits that are entities reached in each round."""


@item
class Seed:
    """An entity from which exploration starts.

    Attributes:
        score: 0 to 1.
        matched_by: exact, text (words) or vector (meaning).
        matched_text: the concept that it was found by.
    """

    JSON: ClassVar = ("entity", "label", "score", "matched_by", "matched_text")

    entity: NamedNode = said(TG.entity)
    label: str
    score: float = said(TG.score)
    matched_by: Choice["exact", "text", "vector"] = said(RAG.matchedBy)
    matched_text: str = said(RAG.matchedText, words=True)
    iri: NamedNode | None = None


@item
class Edge:
    """A fact that exploration met.

    Attributes:
        triple: the fact; None in a trace from which it was erased.
        hop: 1 for edges of seeds.
        origin: the canonical entity it was reached from; known while the run lasts.
        lexical, vector, graph: parts of the score, 0 to 1; vector is None without embeddings.
        reranked: what the reranker gave it; None where it was not asked.
        authority: see `Selected`; known while the run lasts.
        asked: words by which the question may ask for it, beside its own.
        description: what an import says of it.
        sentences: the sentences it was quoted from.
        also: facts that say the same by merged relations or entities; their sentences are among these.
        unverified: a model gave a quote for it that its chunk does not hold.
        inferred: it follows from facts and ontologies, and nothing asserts it.
        selected, removed: in a trace, whether it was selected, and why it holds no more.
    """

    JSON: ClassVar = (
        *("iri", "edge=fact", "score", "score_parts", "rank", "hop", "direction", "edge_id", "selected"),
        *("removed", "also=also_facts"),
    )

    triple: Statement = said(TG.edge, words=True, fact=True)
    s_label: str
    p_label: str
    o_label: str
    hop: int = said(RAG.hop)
    direction: str = said(RAG.direction)
    origin: NamedNode
    ends: tuple[NamedNode, ...] = ()
    asked: str = ""
    description: str | None = None
    sentences: tuple[NamedNode, ...] = ()
    also: tuple[Statement, ...] = said(RAG.alsoStatedAs, words=True, fact=True, default=())
    also_facts: tuple[Fact, ...] = ()
    lexical: float = said(RAG.lexicalScore, default=0.0)
    vector: float | None = said(RAG.vectorScore, default=None)
    graph: float = said(RAG.graphScore, default=0.0)
    score: float = said(TG.score, default=0.0)
    reranked: float | None = said(RAG.rerankScore, default=None)
    authority: float | None = None
    rank: int | None = said(RAG.rank, default=None)
    edge_id: str | None = said(RAG.edgeId, default=None)
    unverified: bool = False
    inferred: bool = False
    selected: bool = False
    removed: DecisionNote | None = None
    fact: Fact | None = None
    iri: NamedNode | None = None

    @property
    def text(self) -> str:
        """The fact in words, with its description."""
        says = between(self.triple[1].value, self.p_label) if self.triple else self.p_label
        words = f"{self.s_label} {says} {self.o_label}{' (inferred)' if self.inferred else ''}"
        return f"{words}: {self.description}" if self.description else words

    @property
    def says_more(self) -> bool:
        """Whether no sentence stands for it: it was read from none, or an import describes it."""
        return not self.sentences or self.description is not None

    @property
    def label_hash(self) -> str:
        """What models call it."""
        return edge_id(self.s_label, self.p_label, self.o_label)

    @property
    def score_parts(self) -> dict[str, float | None]:
        """See `model.score_parts`."""
        return score_parts(self)


@dataclass(slots=True)
class Activated:
    """An entity that exploration reached.

    Attributes:
        value: its activation, 0 to 1.
        round: in which it was reached.
    """

    JSON: ClassVar = ("entity", "label", "activation=value", "round")

    entity: NamedNode
    value: float
    round: int
    label: str = ""

    @classmethod
    def of(cls, hit: Statement) -> Activated | None:
        """From a hit of an exploration; None from another one."""
        entity, kind, value = hit
        if kind not in REACHED:
            return None
        return cls(entity, float(text_of(value)), REACHED.index(kind) + 1)


@dataclass(slots=True)
class PassagePath:
    """An entity by which a chunk got a part of its score.

    Attributes:
        activation: of the entity, 0 to 1.
        number: of chunks that mention it, or of those that are about it.
        topic: whether the chunk is about the entity, rather than mentions it.
        part: activation times a factor that is the less the more chunks there are.
        share: how much of the chunk's score comes by this path.
        label: of the entity, where it was looked up.
    """

    JSON: ClassVar = ("share", "entity", "label", "activation", "number", "topic")

    entity: NamedNode
    activation: float
    number: int
    topic: bool
    part: float
    share: float = 0.0
    label: str = ""


@item
class RelationPath:
    """A relation by which a chunk got a part of its composite score.

    Attributes:
        signal: relates, cooccurs, or the local name of a typed relation.
        chunk, entity: what it starts from: a chunk found before, or an entity of the question.
        near_entity: of `cooccurs` the entity named near that one, which the chunk mentions.
        base: how good the origin is, 0 to 1; 1 for an entity of the question.
        strength: of the relation, 0 to 1.
        share: how much of the chunk's score comes by it.
        label, near: in a trace, of the origin and of the near entity.
    """

    JSON: ClassVar = ("share", "signal", "origin", "label", "near", "strength")

    signal: str = said(RAG.signal)
    chunk: NamedNode | None = said(RAG.fromChunk)
    entity: NamedNode | None = said(RAG.fromEntity)
    near_entity: NamedNode | None = said(RAG.toEntity)
    base: float = said(RAG.originScore)
    strength: float = said(RAG.strength)
    share: float = said(RAG.share, default=0.0)
    label: str = ""
    near: str | None = None
    iri: NamedNode | None = None

    @property
    def origin(self) -> NamedNode:
        """What it starts from."""
        found = self.chunk or self.entity
        assert found is not None  # noqa: S101 - a relation has one of the two
        return found

    @property
    def value(self) -> float:
        """What comes by it, before sums saturate and are weighed."""
        return self.base * self.strength


_BY_PATHS = ("entities",)
"""Signals that paths add up to."""


@item
class PassageHit:
    """A chunk with its score, 0 to 1, and what that is made of.

    Attributes:
        signals: the parts of the score, by name, before their weights.
        weights: of the signals as shares of 1; those of the graph count as far as the question is sure.
        paths: what the signal of the entities is a sum of, the largest share first; where it was asked for.
        relations: what the signals of a composite score are sums of; only of the best chunks.
        reranked: what the reranker gave it, on its own scale; None where it was not asked.
        authority: see `Selected`; known while the run lasts.
        total: the sum X of weighted signals, of a score that is X/(1 + X); likewise.
        rank_before, score_before: before reranking; None without it.
        recomputed: in a trace, the score computed again from the hits.
        title, name, document: in a trace; None when the chunk is gone. `name` is as of `documents.Source`.
    """

    JSON: ClassVar = (
        *("rank", "chunk", "score", "recomputed", "title", "name", "document", "shares=paths"),
        *("signals=signal_shares", "relations", "rerank_score=reranked", "rank_before", "score_before"),
        "others",
    )

    chunk: NamedNode = said(TG.document)
    score: float = said(TG.score, default=0.0)
    signals: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    paths: list[PassagePath] = field(default_factory=list)
    relations: list[RelationPath] = field(default_factory=list)
    reranked: float | None = said(RAG.rerankScore, default=None)
    authority: float | None = None
    total: float | None = None
    rank_before: int | None = said(RAG.rankBefore, default=None)
    score_before: float | None = said(RAG.scoreBefore, default=None)
    rank: int | None = said(RAG.rank, default=None)
    shares: list[ScoreShare] = field(default_factory=list)
    recomputed: float | None = None
    title: str | None = None
    name: str | None = None
    document: str | None = None
    iri: NamedNode | None = None

    @property
    def signal_shares(self) -> dict[str, float]:
        """What the score is the sum of, by the name of the signal, the largest share first."""
        ordered = sorted(self.shares, key=lambda one: (-one.share, one.signal))
        return {one.signal: one.share for one in ordered}

    @property
    def others(self) -> float:
        """The score without what comes by paths from entities."""
        return self.score - sum(path.share for path in self.paths)

    @property
    def own(self) -> dict[str, float]:
        """What no path gives, by the name of the signal."""
        shares = self.signal_shares
        return {name: share for name, share in shares.items() if share > 0 and name not in _BY_PATHS}


def label_entities(reading: Reading, found: Sequence[Any]) -> None:
    """Look up what the entities of items are called."""
    called = reading.labels(one.entity for one in found)
    for one in found:
        one.label = called(one.entity)


def _complete_edges(reading: Reading, found: Sequence[Edge]) -> None:
    facts = reading.facts(fact for one in found for fact in (one.triple, *one.also))
    removed = reading.removed(facts)
    for edge in found:
        edge.fact = facts.get(edge.triple)
        edge.also_facts = tuple(facts[fact] for fact in edge.also)
        edge.removed = removed.get(edge.triple)
        edge.selected = reading.selects(edge.triple)


def _considered(reading: Reading, step: NamedNode) -> list[Edge]:
    """The facts that were read from the evidence of an activation, with the score of their best sentence, as
    the store is now.
    """
    if RAG.sureness not in reading.nodes[step]:
        return []
    said = reading.store.select("retrieval/evidence", exploration=step, limit=EVIDENCE_LIMIT)
    scores = {row["sentence"]: row for row in said}
    rows = reading.store.select("retrieval/quoted-facts", sentences=list(scores)) if scores else ()
    found: dict[Statement, Row] = {}
    for row in rows:
        fact: Statement = row["s"], row["p"], row["o"]
        own = scores[row["sentence"]]
        if fact not in found or found[fact]["score"] < own["score"]:
            found[fact] = own
    best = sorted(found.items(), key=lambda one: (-one[1]["score"], str(one[0])))
    edges = []
    for rank, (fact, own) in enumerate(best[:_CONSIDERED], start=1):
        edge: Edge = read_item(Edge, {})
        edge.triple, edge.rank, edge.score = fact, rank, own["score"]
        edge.lexical, edge.graph = own["words"], own["standing"]
        edges.append(edge)
    return edges


def explain(store: Store, passages: Sequence[PassageHit], given: Mapping[str, Any]) -> None:
    """Give chunks that entities have a weight in the paths that led to them, the largest share first.

    Args:
        given: as `Hits.given`.
    """
    by_chunk = {hit.chunk: hit for hit in passages if hit.weights.get("entities")}
    rows = store.select("retrieval/why", chunks=list(by_chunk), **given) if by_chunk else []
    for row in rows:
        path = PassagePath(
            row["entity"],
            row["activation"],
            row["number"],
            row["topic"],
            row["part"],
        )
        by_chunk[row["chunk"]].paths.append(path)
    for hit in by_chunk.values():
        total = sum(path.part for path in hit.paths)
        for path in hit.paths:  # the parts of all entities saturate together: A/(1 + A)
            path.share = hit.weights["entities"] * hit.signals["entities"] * path.part / total


def _complete_passages(reading: Reading, found: Sequence[PassageHit]) -> None:
    for step in reading.steps:
        of_step = set(reading.nodes[step].get(RAG.rankedPassage, ()))
        if RAG.sureness in reading.nodes[step]:
            _compute(reading, step, [hit for hit in found if hit.iri in of_step and not hit.shares])
    paths = [path for hit in found for path in hit.paths]
    relations = [path for hit in found for path in hit.relations]
    things = [*(path.entity for path in paths), *(path.entity for path in relations)]
    things += [path.near_entity for path in relations]
    called = reading.labels(things)
    chunks = reading.chunks([*(hit.chunk for hit in found), *(path.chunk for path in relations)])
    names = shown_names(reading.store, (row["document"] for row in chunks.values()))
    for path in paths:
        path.label = called(path.entity)
    for relation in relations:
        chunk = chunks.get(relation.chunk) if relation.chunk is not None else None
        relation.label = chunk["title"] if chunk is not None else called(relation.origin)
        relation.near = called(relation.near_entity) or None
    for hit in found:
        if hit.chunk in chunks:
            row = chunks[hit.chunk]
            hit.title, hit.document = row["title"], row["document"]
            hit.name = names.get(hit.document, hit.title)


def _compute(reading: Reading, step: NamedNode, found: Sequence[PassageHit]) -> None:
    """What chunks that activation ranked get from what, as the store is now."""
    by_chunk = {hit.chunk: hit for hit in found}
    weights = {name: reading.decimal(step, RAG[f"{weight}Weight"]) for name, weight in WEIGHTS.items()}
    for row in reading.store.select("retrieval/ranked", exploration=step, limit=RANKED_LIMIT):
        if (hit := by_chunk.get(row["chunk"])) is not None:
            hit.recomputed, hit.weights = row["score"], weights
            hit.signals = {name: row[f"by{name.capitalize()}"] for name in weights}
            hit.shares = [
                ScoreShare(name, weight, weight * hit.signals[name]) for name, weight in weights.items()
            ]
    explain(reading.store, found, {"exploration": step})


SEED = ItemKind(
    "seed",
    "seeds",
    RAG.seed,
    RAG.Seed,
    Seed,
    complete=label_entities,
    compared=lambda seed: seed.label,
    centre=True,
)
ACTIVATED = ItemKind(
    "activated", "activated", RAG.hit, None, Activated.of, complete=label_entities, of_terms=True
)
CONSIDERED = ItemKind(
    "considered",
    "considered",
    RAG.consideredEdge,
    RAG.ConsideredEdge,
    Edge,
    complete=_complete_edges,
    computed=_considered,
)
RANKED = ItemKind(
    "passage",
    "passages",
    RAG.rankedPassage,
    RAG.RankedPassage,
    PassageHit,
    parts={
        "shares": ItemKind("share", "shares", RAG.scoreShare, RAG.ScoreShare, ScoreShare),
        "relations": ItemKind("relation", "relations", RAG.relationPath, RAG.RelationPath, RelationPath),
    },
    complete=_complete_passages,
    ranked_by=("retrieval/ranked", "retrieval/composite"),
)


def _text(page: Lines, step: TraceStep, full: bool) -> None:
    candidates, edges, chunks = (step.values[key] for key in ("candidates", "edges", "chunks"))
    if candidates is not None:
        page.line(
            tr("    Met {candidates} edge(s), kept {kept}").format(candidates=candidates, kept=edges or 0)
        )
    seeds = step.items["seeds"]
    if chunks is not None:
        page.line(tr("    Found {chunks} chunk(s) by {mode}").format(chunks=chunks, mode=step.mode))
    else:
        page.line("    " + counted("{count} seed entity", "{count} seed entities", len(seeds)))
    if spans := step.values["period"]:
        count, weight = step.values["period_chunks"], step.values["outside_weight"]
        words = [", ".join(spans).replace("/", " – ") + "."]
        words.append(counted("{count} chunk is of them.", "{count} chunks are of them.", count))
        if weight is None:
            words.append(tr("Chunks of all dates count."))
        elif weight == 0:
            words.append(tr("Others were left out."))
        else:
            words.append(
                tr("The score of others is multiplied by {factor}.").format(factor=number_words(weight))
            )
        page.paragraph(" ".join(words), "      ", tr("Dates: "))
    for seed in seeds:
        way = _MATCHED.get(seed.matched_by, seed.matched_by)
        how = f" ({tr(way)}, {number_words(seed.score)}: {seed.matched_text})" if way else ""
        page.paragraph(f"{seed.label}{how}", "      ", "- ")
    for hit in step.items["passages"][: None if full else _CHUNKS]:
        _ranked(page, hit, full)
    if not full:
        return
    for active in step.items["activated"]:
        strength = tr("round {round}, activation {value}").format(
            round=active.round, value=number_words(active.value)
        )
        page.paragraph(f"{active.label} ({strength})", "      ", tr("Activated: "), dim=True)
    for edge in step.items["considered"]:
        mark = "*" if edge.selected else " "
        hop = "" if edge.hop is None else " · " + tr("hop {number}").format(number=edge.hop)
        about = f"{mark} {edge.rank}. {fact_words(edge.fact)} · {score_words(edge)}{hop}"
        page.paragraph(about, "      ", tr("Considered: "), dim=True)


def _ranked(page: Lines, hit: PassageHit, full: bool) -> None:
    told = [(path.label, path.share) for path in hit.paths]
    told += [(tr(_SIGNALS.get(name, name)), share) for name, share in hit.own.items()]
    told = sorted(told, key=lambda part: -part[1])[: None if full else 3]
    rest = hit.score - sum(share for _, share in told)
    shares = [*told, (tr("others"), rest)] if rest > 5e-4 else told
    made_of = f" = {' + '.join(f'{name} {share:.3f}' for name, share in shares)}" if told else ""
    was = tr(" (was {rank}. · {score:.3f})")
    before = was.format(rank=hit.rank_before, score=hit.score_before) if hit.rank_before else ""
    about = f"{hit.rank}. {hit.name or hit.chunk.value} · {hit.score:.3f}{made_of}{before}"
    page.paragraph(about, "      ", tr("Chunk: "))
    for relation in hit.relations if full else hit.relations[:2]:
        near = tr(", named near {name}").format(name=relation.near) if relation.near else ""
        words = f"{relation.share:.3f} {relation.signal}: {relation.label}{near}"
        page.paragraph(words, "        ", tr("Relation: "), dim=True)


_MATCHED = {"exact": later("exact"), "text": later("text"), "vector": later("vector")}
_SIGNALS = {"words": later("words")}
"""Of the signals those that are words of English too."""

EXPLORATION = NodeKind(
    "exploration",
    TG.Exploration,
    "From concepts to entities, facts, sentences and chunks.",
    fields=(
        StepField("candidates", RAG.candidateCount),
        StepField("edges", TG.edgeCount),
        StepField("chunks", TG.chunkCount),
        StepField("period", RAG.period, read=sorted, compared=True),
        StepField("period_chunks", RAG.periodChunkCount),
        StepField("outside_weight", RAG.outsideWeight),
    ),
    items=(SEED, ACTIVATED, CONSIDERED, RANKED),
    text=_text,
    page=Path(__file__).with_name("exploration.html.j2"),
)


def begin_exploration(context: Context, state: State, parameters: Parameters, mode: str) -> Step:
    """The step of an exploration. Look-ups of later steps search with its parameters."""
    state.exploring = parameters
    step = context.recorder.step(EXPLORATION)
    context.recorder.say(step, RAG.mode, Literal(mode))
    return step


def record_exploration(recorder: TraceRecorder, step: Step, state: State, candidates: int) -> None:
    """What every exploration writes: counts, and seeds with how they matched."""
    recorder.say(step, TG.edgeCount, integer(len(state.edges)))
    recorder.say(step, RAG.candidateCount, integer(candidates))
    for seed in state.seeds:
        recorder.say(step, TG.entity, seed.entity)
    recorder.items(step, SEED, state.seeds)


def record_considered(recorder: TraceRecorder, step: Step, edges: Sequence[Edge]) -> None:
    """Write the best facts, where no query tells them from the hits."""
    for rank, edge in enumerate(edges[:_CONSIDERED], start=1):
        edge.rank, edge.edge_id = rank, edge.label_hash
        recorder.item(step, CONSIDERED, edge)


def record_passages(
    recorder: TraceRecorder, step: Step, passages: Sequence[PassageHit], *, computed: bool = False
) -> None:
    """Write chunks with the signals that make up their scores.

    Args:
        computed: whether `retrieval/ranked` tells these from the hits, so that they are not written.
    """
    for rank, hit in enumerate(passages, start=1):
        hit.rank = rank
        weights = {} if computed else hit.weights
        hit.shares = [
            ScoreShare(name, weight, weight * hit.signals[name]) for name, weight in weights.items()
        ]
        recorder.item(step, RANKED, hit)
