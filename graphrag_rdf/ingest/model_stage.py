"""Stages after the documents that mostly ask a model: claims, relations of chunks, descriptions, reports.

Each is a class in a wing, whose declaration is all that names it. The class declares, as data, its place in
the pipeline, its command, and what people are told; and in a few methods what it reads, whom it asks, how an
answer becomes quads, and what an answer replaces. Everything else is here, once: the run, its report,
failures, estimate and JSON. What the module of a stage needs only when it runs is imported then: the commands
import all of these modules for their help.

Each answer is one transaction with the call that gave it, so a run that is stopped leaves whole tasks. It
replaces what an earlier call gave. A failed call, or an unreadable answer, is a recorded failure of the task;
what earlier calls found stays.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.schedule import BudgetSpentError, Failure, Progress, Schedule, Stop
from graphrag_rdf.ingest.stages import Stage
from graphrag_rdf.llm.budget import LlmUsage, since
from graphrag_rdf.rdf import model_calls, prov
from graphrag_rdf.rdf.model_calls import Activity, ModelCall, Quote, sum_known
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.store.base import Changes, Store, in_batches, updates_in_batches
from graphrag_rdf.store.records import graph_of, parameters_of

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.extract.model import Rejected
    from graphrag_rdf.ingest import NeededComponents
    from graphrag_rdf.llm.model import Completion
    from graphrag_rdf.store.derivations import Made

_TOGETHER = 100
"""Answers without a model in a transaction."""

Again: TypeAlias = bool | frozenset[NamedNode]
"""Whether what is done is done again: all, nothing, or what belongs to these documents."""


# --- what a stage declares -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Option:
    """A setting that is also an option of the stage's command; its type is that of the setting.

    Attributes:
        key: of the setting; the option has the name of its last part.
    """

    key: str
    help: str
    metavar: str | None = None


class Reader(Protocol):
    """Whom a stage asks.

    Attributes:
        key: everything that an answer depends on but what is read.
        model: litellm's name; None without one.
    """

    @property
    def key(self) -> str: ...
    @property
    def model(self) -> str | None: ...


class Cost(NamedTuple):
    """Calls, and tokens that a model reads and writes at most."""

    calls: int = 0
    read: int = 0
    written: int = 0

    @classmethod
    def sum(cls, costs: Iterable[Cost]) -> Cost:
        """The sum of costs."""
        listed = [*costs]
        return cls(*(sum(column) for column in zip(*listed, strict=True))) if listed else cls()


# --- what a run works through, and reports ---------------------------------------------------------------

R = TypeVar("R", bound=Reader)
T = TypeVar("T")
A = TypeVar("A")


@dataclass(slots=True)
class Task(Generic[T]):
    """What is asked once.

    Attributes:
        item: what is read.
        about: the chunks, element or community, of which a failure is recorded.
        failure: the node of that failure.
        names: how the JSON of a failure names the task; the document first, if it has one.
        label: for those who watch the run.
        replaces: earlier calls, which a new one replaces with all that they found.
    """

    item: T
    about: tuple[NamedNode, ...]
    failure: NamedNode
    names: Mapping[str, str]
    label: str
    replaces: Sequence[NamedNode] = ()
    use_cache: bool = True
    started: datetime = field(default_factory=now)


@dataclass(slots=True)
class Plan(Generic[T]):
    """What a run would do.

    Attributes:
        groups: the tasks. Those of a group may run at once; a group begins when the one before is done.
        total: number of all tasks.
        kept: number of those that are done already.
        gone: results whose input no longer exists.
        record: everything that a complete run depends on, recorded when all is done.
    """

    groups: Iterable[Iterator[Task[T]]] = ()
    total: int = 0
    kept: int = 0
    gone: Sequence[NamedNode] = ()
    record: str | None = None


@dataclass(slots=True)
class Counts:
    """How tasks fared.

    Attributes:
        done: answered in this run.
        kept: done before.
        removed: results whose input no longer exists.
    """

    done: int = 0
    kept: int = 0
    removed: int = 0
    failed: int = 0

    def named(self, done: str) -> dict[str, int]:
        """The counts by name; `done` is what the stage calls its tasks when they are."""
        return {done: self.done, "kept": self.kept, "removed": self.removed, "failed": self.failed}


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """A task whose call failed, or whose answer cannot be read."""

    names: Mapping[str, str]
    reason: str

    def json_object(self) -> dict[str, str]:
        """The keys of a failure in `--format json`."""
        return {**self.names, "reason": self.reason}


@dataclass(slots=True)
class StageReport:
    """The outcome of a run.

    Attributes:
        by: who answers: a model's name, `extractive`, or `none`.
        results: what only this stage counts, by the keys of its JSON.
        rejected: what of the answers was left out, by reason.
        stopped: why the run ended early (`budget`, `interrupted`), None if it did not.
    """

    stage: type[ModelStage[Any, Any, Any]]
    by: str = "none"
    counts: Counts = field(default_factory=Counts)
    results: dict[str, Any] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    failures: list[TaskFailure] = field(default_factory=list)
    stopped: str | None = None
    warnings: list[dict[str, str]] = field(default_factory=list)
    llm: LlmUsage = field(default_factory=LlmUsage)
    seconds: float = 0.0

    def warn(self, type: str, detail: str) -> None:  # noqa: A002 - the key of the JSON
        """Add a warning."""
        self.warnings.append({"type": type, "detail": detail})

    def work_json(self) -> dict[str, Any]:
        """What was done, by whom, and what failed."""
        return {
            "by": self.by,
            "rejected": dict(self.rejected),
            "failures": [failure.json_object() for failure in self.failures],
            "stopped": self.stopped,
        }

    def as_json(self) -> dict[str, Any]:
        """The keys of the command's `--format json`."""
        shared = {"warnings": self.warnings, "llm": asdict(self.llm), "seconds": self.seconds}
        return {**self.stage.json(self), **shared}


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """What a run would do: tasks; calls and tokens at most, as answers in the cache cost nothing."""

    stage: type[ModelStage[Any, Any, Any]]
    counts: Counts
    llm: LlmUsage

    def as_json(self) -> dict[str, Any]:
        """The keys of the command's `--dry-run --format json`."""
        counts = self.counts.named(self.stage.done)
        return {"dry_run": True, self.stage.unit: counts, "llm": asdict(self.llm)}


# --- a stage ---------------------------------------------------------------------------------------------


class ModelStage(ABC, Generic[R, T, A]):
    """A stage, and one run of it. R reads an item T and gives an answer A.

    Args:
        documents: only what belongs to these; empty: all.
        again: also do what is done, without the cache.
        lazily: leave what follows from the store's content alone if that has not changed.

    Attributes:
        stage: its place in the pipeline, and its settings.
        command: group and name of its command.
        help, examples, options: of the command.
        of_documents: whether it can be run for some documents only.
        can_estimate: whether it is known before a run what that would ask.
        unit: JSON key of the counts of its tasks; `done`: of those that this run answered.
        tasks: what the tasks are, for people.
        failed_at: name of the stage in failures.
        warning: type of the warning of failures.
        budget_spent, unfinished: what people are told of a run that ended early.
        needs_model: what people are told who have set none, if it does nothing without one.
        read_with: prefix of the keys in its journal, and what was read with them, for `doctor`.
        uncounted: what the model is asked for as often as new facts need it, for the estimate of an ingest.
        retract: template that removes calls (`activities`) with all that they found.
        record: where a complete run is recorded; None if each task has its own record.
        made: what `forget` and edits remove together with its sources, besides what derives from chunks.
        unset: what the report of an ingest has when the stage did not run.
    """

    stage: ClassVar[Stage]
    command: ClassVar[tuple[str, str]]
    help: ClassVar[str]
    examples: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[tuple[Option, ...]] = ()
    of_documents: ClassVar[bool] = True
    can_estimate: ClassVar[bool] = True
    again_help: ClassVar[str]
    unit: ClassVar[str]
    done: ClassVar[str] = "asked"
    tasks: ClassVar[str]
    failed_at: ClassVar[str]
    warning: ClassVar[str]
    budget_spent: ClassVar[str]
    unfinished: ClassVar[str]
    needs_model: ClassVar[str | None] = None
    read_with: ClassVar[tuple[str, str] | None] = None
    uncounted: ClassVar[str | None] = None
    retract: ClassVar[str | None] = None
    record: ClassVar[NamedNode | None] = None
    made: ClassVar[Made | None] = None
    unset: ClassVar[Any] = None

    def __init__(
        self,
        engine: NeededComponents,
        documents: Sequence[NamedNode] = (),
        *,
        again: Again = False,
        lazily: bool = False,
    ) -> None:
        self.engine, self.store, self.settings = engine, engine.store, engine.settings
        self.documents, self.again, self.lazily = documents, again, lazily
        self.report = StageReport(type(self))
        self._failed: dict[NamedNode, str] = {}
        self._agent: list[Quad] = []
        self._progress: Progress | None = None
        self._stop: Stop = lambda: False
        self._passed = self._total = 0

    # what each stage says

    @classmethod
    def is_wanted(cls, settings: Settings) -> bool:
        """Whether each ingest runs it."""
        del settings
        return True

    @classmethod
    @abstractmethod
    def failed(cls, count: int, reason: str) -> str:
        """The text of the warning of failures; `reason` is that of one of them."""

    @classmethod
    def rows(cls, report: StageReport) -> Iterator[tuple[str, str]]:
        """What people are told besides the counts of tasks: name and value."""
        del report
        return iter(())

    @classmethod
    def json(cls, report: StageReport) -> dict[str, Any]:
        """The first keys of its JSON; the last ones are those of all stages."""
        return {**report.results, cls.unit: report.counts.named(cls.done), **report.work_json()}

    @classmethod
    def result(cls, report: StageReport) -> Any:
        """What the report of an ingest has of it, under its name."""
        return report.counts.done

    @classmethod
    def row(cls, result: Any) -> tuple[str, str]:
        """The same, for people: name and value."""
        return cls.stage.name, f"{result:,}"

    @abstractmethod
    def choose(self) -> R | None:
        """Whom the settings want to be asked; None to ask nobody. Raises ConfigError, TemplateError."""

    @abstractmethod
    def agent(self) -> Iterable[Quad]:
        """The quads of the program that asks, written with the first answer."""

    @abstractmethod
    def plan(self) -> Plan[T]:
        """What there is to do. Nothing is written."""

    @abstractmethod
    def ask(self, task: Task[T]) -> A:
        """Answer a task. Raises LlmError."""

    @abstractmethod
    def quads(self, task: Task[T], answer: A) -> Iterator[Quad]:
        """Report an answer; the call and what it found."""

    def cost(self, task: Task[T]) -> Cost:
        """What a task costs at most."""
        del task
        return Cost()

    def cost_of_document(self, title: str, chunks: Sequence[tuple[str, bool]]) -> Cost:
        """What an ingest of a document costs at most.

        Args:
            chunks: each text in order, and whether it is new.
        """
        del title, chunks
        return Cost()

    def known_failures(self) -> Mapping[NamedNode, str]:
        """Failures in the store, with their reasons, unless `begin` removes them."""
        return {}

    def begin(self) -> None:
        """What comes first, whoever is asked."""

    def prepare(self, plan: Plan[T]) -> None:
        """Write what comes before the first answer."""

    def replace(self, tasks: Sequence[Task[T]], changes: Changes) -> None:
        """Add the removal of what earlier answers to tasks gave to a transaction."""
        if self.retract is not None:
            calls = [call for task in tasks for call in task.replaces]
            changes.updates += updates_in_batches(self.retract, "activities", calls)

    def end(self) -> None:
        """What follows from the answers, also if there are none."""

    # what is the same for all

    @cached_property
    def chosen(self) -> R | None:
        """Whom the settings want to be asked."""
        return self.choose()

    @property
    def reader(self) -> R:
        """Who is asked; only for tasks, as there are none if nobody is."""
        assert self.chosen is not None  # noqa: S101 - see above
        return self.chosen

    def reads_again(self, document: NamedNode) -> bool:
        """Whether what belongs to a document is read even if it was read before."""
        return document in self.again if isinstance(self.again, frozenset) else self.again

    def is_recorded(self, record: str) -> bool:
        """Whether the last run did everything, with the same record."""
        return self.record is not None and parameters_of(self.store, self.record) == record

    def run(self, progress: Progress | None = None, stop: Stop | None = None) -> StageReport:
        """Do what there is to do; see `refresh`."""
        self._progress, self._stop = progress, stop or self._stop
        self.begin()
        if self.chosen is not None:
            self._agent = [*self.agent()]
            self._failed = {**self.known_failures()}
            self.report.by = self.chosen.model or "extractive"
            self._work_through(self.plan())
        self.end()
        return self.report

    def _work_through(self, plan: Plan[T]) -> None:
        report, self._total = self.report, plan.total
        report.counts.kept, report.counts.removed = plan.kept, len(plan.gone)
        self.prepare(plan)
        for tasks in plan.groups:
            report.stopped = self._by_model(tasks) if self.reader.model else self._without_model(tasks)
            if report.stopped is not None:
                return
        if self.record is not None and plan.record is not None and not report.failures:
            node, graph = self.record, graph_of(self.record)
            parameters = Quad(node, RAG.parameters, Literal(plan.record), graph)
            self.store.commit(
                Changes(add=[Quad(node, RDF.type, PROV.Activity, graph), parameters], content=False)
            )

    def _by_model(self, tasks: Iterator[Task[T]]) -> str | None:
        """Work through tasks with a model; why that ended early, None if it did not.

        Raises:
            LlmError: the model cannot be used at all.
        """
        try:
            schedule = Schedule(self._ask_group, self._write, self._stop)
            schedule.run(((task,) for task in tasks), self.settings.extract.jobs)
        except BudgetSpentError:
            return "budget"
        return "interrupted" if self._stop() else None

    def _without_model(self, tasks: Iterator[Task[T]]) -> str | None:
        """The same without a model, with many answers in a transaction."""
        for batch in in_batches(tasks, _TOGETHER):
            self._commit([(task, self._ask(task)) for task in batch])
            if self._stop():
                return "interrupted"
        return None

    def pass_over(self, task: Task[T]) -> None:
        """Count a task as finished, for those who watch the run."""
        self._passed += 1
        if self._progress is not None:
            self._progress(self._passed, self._total, task.label)

    def _ask_group(self, tasks: Sequence[Task[T]]) -> list[A]:
        return [self._ask(task) for task in tasks]

    def _ask(self, task: Task[T]) -> A:
        task.started = now()
        return self.ask(task)

    def _write(self, task: Task[T], answer: A | Failure) -> None:
        if not isinstance(answer, Failure):
            self._commit([(task, answer)])
            return
        reason, before = answer.message, self._failed.get(task.failure)
        self.report.counts.failed += 1
        self.report.failures.append(TaskFailure(task.names, reason))
        if reason != before:
            failure = prov.failure_of(task.failure, task.about, self.failed_at, reason, now())
            changes = Changes(add=[*failure], content=False)
            changes.updates += self._cleared([task] if before is not None else [])
            self.store.commit(changes)
        self.pass_over(task)

    def _commit(self, answered: Sequence[tuple[Task[T], A]]) -> None:
        """Write answers in one transaction, in place of what earlier ones gave."""
        tasks = [task for task, _ in answered]
        changes = Changes(content=False)
        self.replace(tasks, changes)
        changes.add += self._agent
        for task, answer in answered:
            changes.add += self.quads(task, answer)
            self.report.counts.done += 1
        changes.updates += self._cleared([task for task in tasks if task.failure in self._failed])
        self._agent = []
        self.store.commit(changes)
        for task in tasks:
            self.pass_over(task)

    def _cleared(self, tasks: Sequence[Task[T]]) -> list[tuple[str, dict[str, Any]]]:
        """The updates that remove the failures of tasks."""
        return updates_in_batches("relations/clear-failures", "failures", [task.failure for task in tasks])


def refresh(
    engine: NeededComponents,
    kind: type[ModelStage[Any, Any, Any]],
    documents: Sequence[NamedNode] = (),
    *,
    again: Again = False,
    lazily: bool = False,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> StageReport:
    """Run a stage; see `Engine.refresh`, and `ModelStage` for the arguments."""
    begun, spent = time.perf_counter(), engine.budget.usage
    report = kind(engine, documents, again=again, lazily=lazily).run(progress, stop)
    if report.failures:
        report.warn(kind.warning, kind.failed(report.counts.failed, report.failures[0].reason))
    if report.stopped == "budget":
        report.warn("budget_spent", tr(kind.budget_spent))
    report.llm = since(spent, engine.budget.usage)
    report.seconds = round(time.perf_counter() - begun, 3)
    return report


def estimate(
    engine: NeededComponents,
    kind: type[ModelStage[Any, Any, Any]],
    documents: Sequence[NamedNode] = (),
    *,
    again: bool = False,
) -> StageEstimate:
    """Find out what `refresh` would do. Nothing is sent or written.

    Raises:
        ConfigError: when a model is needed and none is set.
    """
    stage = kind(engine, documents, again=again)
    if stage.chosen is None:
        return StageEstimate(kind, Counts(), LlmUsage(0, 0, 0, 0, 0.0))
    plan = stage.plan()
    calls, read, written = Cost.sum(stage.cost(task) for tasks in plan.groups for task in tasks)
    price = engine.gateway.price(read, written) if calls else 0.0
    counts = Counts(plan.total, plan.kept, len(plan.gone))
    return StageEstimate(kind, counts, LlmUsage(calls, 0, read, written, price))


# --- what several stages write ---------------------------------------------------------------------------


def activity_of(
    component: str,
    model: str | None,
    used: Sequence[NamedNode],
    started: datetime,
    calls: Sequence[Completion],
) -> Activity:
    """What wrote something, with the answers of a model, if there are any."""
    if not calls:
        return Activity(component, used)
    return Activity(
        component,
        used,
        started,
        model,
        calls[-1].prompt_hash,
        sum_known(call.in_tokens for call in calls),
        sum_known(call.out_tokens for call in calls),
    )


def rejected_quads(call: ModelCall, items: Iterable[Rejected], counts: Counter[str]) -> Iterator[Quad]:
    """What of an answer was left out; each is counted by its reason."""
    for index, item in enumerate(items):
        yield from model_calls.rejected(call, index, item.reason, item.item)
        counts[item.reason] += 1


class QuoteFinder:
    """Finds quotes in the texts of chunks, and the sentences in which they begin."""

    def __init__(self, store: Store, texts: Mapping[NamedNode, str]) -> None:
        self._store, self._texts = store, texts
        self._sentences: dict[NamedNode, list[tuple[int, int, NamedNode]]] = {}
        self._languages: dict[NamedNode, str] | None = None

    def find(self, text: str) -> Quote:
        """The place of a quote; unverified if no chunk has it."""
        from graphrag_rdf.extract.evidence import locate

        for chunk, whole in self._texts.items():
            if place := locate(text, whole):
                words = whole[place.offset : place.offset + place.length]
                sentence = self._sentence(chunk, place.offset)
                return Quote(words, chunk, place.offset, sentence, self._language(chunk))
        return Quote(text)

    def _language(self, chunk: NamedNode) -> str | None:
        """The language of a chunk's document."""
        if self._languages is None:
            rows = self._store.select("relations/languages", chunks=list(self._texts))
            self._languages = {row["chunk"]: row["language"] for row in rows}
        return self._languages.get(chunk)

    def _sentence(self, chunk: NamedNode, offset: int) -> NamedNode | None:
        """The sentence of a chunk in which an offset lies."""
        if chunk not in self._sentences:
            rows = self._store.select("relations/sentences", chunks=[chunk])
            self._sentences[chunk] = [(row["offset"], row["length"], row["sentence"]) for row in rows]
        places = self._sentences[chunk]
        return next((node for start, length, node in places if start <= offset < start + length), None)
