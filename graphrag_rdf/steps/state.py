"""What a run knows while it runs, and what its steps work with."""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from pyoxigraph import NamedNode

from graphrag_rdf.llm.failures import left
from graphrag_rdf.rdf.namespaces import TG
from graphrag_rdf.section import Section
from graphrag_rdf.steps.exploration import Edge, PassageHit, Seed
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.trace.kinds import Statement, said
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import Selected
from graphrag_rdf.trace.recorder import Step, TraceRecorder
from graphrag_rdf.trace.reuse import Reuse, Turn

if TYPE_CHECKING:
    from graphrag_rdf.index.embedders import Embedder
    from graphrag_rdf.index.rerankers import Reranker
    from graphrag_rdf.index.text import TextIndex
    from graphrag_rdf.index.vectors import VectorIndex
    from graphrag_rdf.llm.gateway import LlmGateway
    from graphrag_rdf.llm.model import Completion
    from graphrag_rdf.steps.asking import Asked
    from graphrag_rdf.steps.evidence import Evidence, Point
    from graphrag_rdf.steps.hits import Hits
    from graphrag_rdf.steps.passage_answer import Passage
    from graphrag_rdf.steps.sources import Place

Triple: TypeAlias = Statement
Parameters: TypeAlias = Mapping[str, Any]
S = TypeVar("S", bound=Section)


class SectionOf(Protocol):
    """Looks up a section of the settings."""

    def __call__(self, kind: type[S], /) -> S:
        """The section of this model."""


def default_section(kind: type[S], /) -> S:
    """A section as it is without settings."""
    return kind()


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
        jobs: items that a flow works on at once.
        reuse: under what the answer may be kept, to be given again; None where none is kept.
        call: runs another pipeline on a question, as a run of its own.
        callees: the pipelines that it can run, with what the store must have for them (`needs`).
        deadline: when calls to models and tools give up, by `time.monotonic`: a limit of the flow.
        section: the settings in force of a wing, by its model of them.
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
    jobs: int = 4
    reuse: Reuse | None = None
    call: Call | None = None
    callees: Mapping[str, Collection[str]] = field(default_factory=dict)
    deadline: float = math.inf
    section: SectionOf = default_section

    def seconds_left(self) -> float:
        """Until the deadline. Raises LlmError when it is over."""
        return left(self.deadline)

    def select(self, step: Step, template: str, /, **values: Any) -> list[Row]:
        """Run a template; the trace keeps the query with the step."""
        run = self.store.run(template, **values)
        self.recorder.queried(step, run)
        return run.rows

    def decide(self, step: Step, template: str, /, **values: Any) -> list[Row]:
        """Run a template whose rows, in their order, are what is taken (see `TraceRecorder.decided`)."""
        run = self.store.run(template, **values)
        self.recorder.decided(step, run)
        return run.rows


class Call(Protocol):
    """Runs a pipeline that the running one names under `call:` or `calls:`, on a question."""

    def __call__(
        self, name: str, question: str, context: Context, state: State, findings: Sequence[Known] = ()
    ) -> Generator[GraphRagResponse, None, Called]:
        """Yields the explain messages of its run, and returns what it answered. The next step of
        `context.recorder` derives from its last step.

        Args:
            state: of the run that asks: language, and entities that must be followed, or not.
            findings: what was found out before; only agents read it.

        Raises:
            ConfigError: when the running pipeline does not name it.
            GraphRagError: when it failed.
        """


@dataclass(frozen=True, slots=True)
class Known:
    """What was found out before a run.

    Attributes:
        goal: what was asked.
        result: the answer, with citations.
        selections: what it cites, by their markers.
    """

    goal: str
    result: str
    selections: Sequence[Selection] = ()


@dataclass(frozen=True, slots=True)
class Called:
    """What a called pipeline answered.

    Attributes:
        answer: as `ask --format json` prints it.
        state: how its run ended, e.g. with its selections.
    """

    answer: dict[str, Any]
    state: State


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
    authority: float | None = None


@dataclass(slots=True, kw_only=True)
class Selection(Selected):
    """A selection while the run lasts.

    Attributes:
        edge, hit, passage: what was selected: a fact, a sentence, or a chunk.
        passed_over: of a chunk, whether a model chose nothing of it, and no look-up led to it again.
        shown: of what is cited what the prompt says of its document, and on the next line its words there.
    """

    score: float = said(TG.score, default=0.0)
    edge: Edge | None = None
    hit: SentenceHit | None = None
    passage: PassageHit | None = None
    passed_over: bool = False
    shown: str = ""

    @property
    def window(self) -> tuple[int, int] | None:
        """Of a chunk that is too long, what was selected: offset and length in it."""
        if self.char_offset is None or self.char_length is None:
            return None
        return self.char_offset, self.char_length

    @property
    def asked(self) -> str:
        """Words by which the question may ask for its fact, beside its own; "" of a sentence."""
        return self.edge.asked if self.edge else ""


@dataclass(frozen=True, slots=True)
class Option:
    """A pipeline that the flow `choice` can go on with.

    Attributes:
        name: of its step.
        good_for: what kind of question it suits.
        needs: see `PipelineDefinition.needs`; and `model` if it does nothing without one.
    """

    name: str
    good_for: str = ""
    needs: tuple[str, ...] = ()


@dataclass(slots=True)
class Work:
    """What steps and the flow that runs them tell one another.

    Attributes:
        done: whether a step says that nothing is left to do: it ends a loop.
        items: what a step splits the work into; each is worked on for itself.
        found: items with their scores, the best of which is worked on next.
        item: the one in hand; None outside of such a step.
        number: of that item among `items`, from 1; None where items have no order.
        options: of the flow `choice`.
        choice: the one of them that goes on.
        results: what steps made of items, and the answers of sub-pipelines, in order.
        tools: those that an agent may use in some state; None before they are known.
        stopped_by: why a loop ended: done, empty, or the limit that was reached.
        usage: of the runs of sub-pipelines: calls, tokens and cost, as answers have them.
    """

    done: bool = False
    items: list[Any] = field(default_factory=list)
    found: list[tuple[float, Any]] = field(default_factory=list)
    item: Any = None
    number: int | None = None
    options: Sequence[Option] = ()
    choice: str | None = None
    results: list[Any] = field(default_factory=list)
    tools: list[Any] | None = None
    stopped_by: str | None = None
    usage: list[dict[str, Any]] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Tokens that sub-pipelines used."""
        return sum((usage["in_tokens"] or 0) + (usage["out_tokens"] or 0) for usage in self.usage)


@dataclass(frozen=True, slots=True)
class Answering:
    """How the step that answers by a model asks it.

    Attributes:
        parameters: see `asking.AnswerParameters`.
        prompts: what a prompt is for → its file.
    """

    parameters: Parameters
    prompts: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class State:
    """The blackboard of a run.

    Attributes:
        history: what was asked and answered before in the session, the oldest first.
        known: what an agent is told that was found out before.
        concepts: names and phrases whose entities exploration starts from.
        also: those of them by which chunks are searched for beside the question's words.
        inputs: the hits that chunks were ranked by; None where no activation ranked them.
        exploring: the parameters of exploration, by which look-ups search too.
        looked_up: what they searched for.
        activated: the entities that exploration by activation started from and reached → activation, 0 to 1.
        well_ranked: chunks that are selected as far as they fit.
        chunks: those selected, best first; those of the last look-up before others.
        selections: facts and sentences: those selected, and further ones that the answer cites.
        points: what reports and claims say of the question; it is shown to a model, too.
        evidence: what is shown to a model.
        answering: how a later step asks a model for the answer; None where none does.
        asked: the model's answer, as far as it has come.
        completion: the answer as a model wrote it; None of one that was quoted.
        result: of a query that answers the question: `template`, `query`, `columns` and `rows`, as in JSON.
        answered: false where the answer is that the program doesn't know.
        closest: what comes nearest to an answer then, best first.
        period: words of the question that name a period, and the chunks of that period.
        day: the day, month or year that the question names, and its words; empty for none, or several.
        only: the chunks of a period that was given, beside which none counts; None without one.
        missing: words of the question that the quote lacks which answers, or comes nearest to an answer.
        shown: the passages that answer, or come nearest to an answer, best first.
        vouched: whether a model said of what was found, and is left, that it helps.
        general_knowledge: whether the answer may have what the model knows itself, in marked sentences.
        set_aside: sentences that are left out: somebody decided that what they say is wrong.
        held: what the store has that few stores have, once it was asked (`kept.held`).
        document_names: what to call documents that share their title with others, by IRI.
        mentioned, topics: what sentences mention and what chunks are about, as far as it was asked
            (`sources.mentions_of`).
        sources: where sentences stand, likewise (`sources.sentence_sources`).
        texts: what chunks say, and where they begin, likewise (`sources.chunk_texts`).
        alike: of chunks that say nearly the same as another one that one, likewise.
        places: where chunks are, likewise (`sources.chunk_places`).
        sentences: of chunks their sentences, likewise (`sources.chunk_sentences`).
    """

    question: str
    language: str | None = None
    history: Sequence[Turn] = ()
    known: Sequence[Known] = ()
    concepts: list[str] = field(default_factory=list)
    also: tuple[str, ...] = ()
    seeds: list[Seed] = field(default_factory=list)
    activated: Mapping[str, float] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    hits: list[SentenceHit] = field(default_factory=list)
    passages: list[PassageHit] = field(default_factory=list)
    inputs: Hits | None = None
    exploring: Parameters = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)
    well_ranked: list[NamedNode] = field(default_factory=list)
    chunks: list[Selection] = field(default_factory=list)
    selections: list[Selection] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    evidence: Evidence | None = None
    answering: Answering | None = None
    asked: Asked | None = None
    answer: str = ""
    completion: Completion | None = None
    result: dict[str, Any] | None = None
    answered: bool = True
    closest: list[Source] = field(default_factory=list)
    period: tuple[str, Collection[str]] = ("", ())
    day: tuple[str, str] = ("", "")
    only: frozenset[str] | None = None
    missing: Sequence[str] = ()
    shown: list[Passage] = field(default_factory=list)
    empty: bool = False
    vouched: bool = False
    general_knowledge: bool = False
    warnings: list[dict[str, str]] = field(default_factory=list)
    include: Sequence[NamedNode] = ()
    exclude: Sequence[NamedNode] = ()
    set_aside: frozenset[str] = frozenset()
    held: frozenset[str] | None = None
    entity_names: dict[str, str] = field(default_factory=dict)
    document_names: dict[str, str] = field(default_factory=dict)
    final: dict[str, Any] = field(default_factory=dict)
    mentioned: dict[str, tuple[NamedNode, ...]] = field(default_factory=dict)
    topics: dict[str, set[NamedNode]] = field(default_factory=dict)
    sources: dict[str, tuple[Source, ...]] = field(default_factory=dict)
    texts: dict[str, tuple[str, int]] = field(default_factory=dict)
    alike: dict[str, str] = field(default_factory=dict)
    places: dict[str, list[Place]] = field(default_factory=dict)
    sentences: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)
    work: Work = field(default_factory=Work)

    @property
    def markers(self) -> set[int]:
        """The numbers that can be cited."""
        return {selection.marker for selection in self.selections if selection.marker is not None}

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
