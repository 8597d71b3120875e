"""A run that works through tasks, mostly with a model: relations between chunks, claims, summaries, reports.

Each answer is one transaction with the call that gave it, so a run that is stopped leaves whole tasks. It
replaces what an earlier call gave. A failed call, or an unreadable answer, is a recorded failure of the task;
what earlier calls found stays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.extract.evidence import locate
from graphrag_rdf.ingest.extractors import sum_known
from graphrag_rdf.ingest.schedule import BudgetSpentError, Failure, Schedule
from graphrag_rdf.rdf.model_calls import Activity, Quote
from graphrag_rdf.rdf.terms import node_of, now, text_of
from graphrag_rdf.store.base import Changes, Row, Store, in_batches, updates_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.llm.model import Completion


@dataclass(slots=True)
class ModelTask:
    """What is asked once.

    Attributes:
        about: the document, community or element.
        failure: the node of what goes wrong with it.
        replaces: earlier calls, which a new one replaces with all that they found.
    """

    about: NamedNode
    failure: NamedNode
    replaces: list[NamedNode] = field(default_factory=list, kw_only=True)
    use_cache: bool = field(default=True, kw_only=True)
    started: datetime = field(default_factory=now, kw_only=True)

    @property
    def name(self) -> str:
        """What it is about, for those who watch the run."""
        return self.about.value


T = TypeVar("T", bound=ModelTask)
A = TypeVar("A")


class ModelRun(ABC, Generic[T, A]):
    """Has tasks answered, and writes the answers.

    Args:
        agent: quads of the program that asks, written with the first answer.
        failures: those in the store, as rows of failure and reason.
        retract: template that removes calls with all that they found; None if `replace` is overridden.
        progress: called with (tasks done, tasks in all, name of the task).
        stop: see `Stop`.
    """

    def __init__(
        self,
        store: Store,
        *,
        agent: Iterable[Quad],
        failures: Iterable[Row] = (),
        retract: str | None = None,
        progress: Callable[[int, int, str], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self._store, self._agent, self._retract = store, list(agent), retract
        self._progress, self._stop = progress, stop or (lambda: False)
        self._failed = {node_of(row["failure"]): text_of(row["reason"]) for row in failures}
        self._done = self._total = 0

    @abstractmethod
    def ask(self, task: T) -> A:
        """Answer a task. Raises LlmError."""

    @abstractmethod
    def found(self, task: T, answer: A) -> Iterator[Quad]:
        """Report an answer; the call and what it found."""

    @abstractmethod
    def failure(self, task: T, reason: str) -> Iterator[Quad]:
        """Report a failure, and describe it for the store."""

    def replace(self, tasks: Sequence[T], changes: Changes) -> None:
        """Add the removal of what earlier answers to tasks gave to a transaction."""
        calls = [call for task in tasks for call in task.replaces]
        if self._retract is not None:
            changes.updates += updates_in_batches(self._retract, "activities", calls)

    def work(self, tasks: Iterator[T], total: int, jobs: int) -> str | None:
        """Work through the tasks with a model.

        Args:
            total: number of tasks in the whole run, for those who watch it.

        Returns:
            why the run ended early (`budget`, `interrupted`), None if it did not.

        Raises:
            LlmError: the model cannot be used at all.
        """
        self._total = total
        try:
            Schedule(self._ask_group, self._write, self._stop).run(((task,) for task in tasks), jobs)
        except BudgetSpentError:
            return "budget"
        return "interrupted" if self._stop() else None

    def work_here(self, tasks: Iterator[T], total: int, together: int) -> str | None:
        """Work through the tasks without a model, with many answers in a transaction; result as of `work`."""
        self._total = total
        for batch in in_batches(tasks, together):
            self._commit([(task, self._ask(task)) for task in batch])
            if self._stop():
                return "interrupted"
        return None

    def passed(self, task: T) -> None:
        """Count a task as done."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total, task.name)

    def _ask_group(self, tasks: Sequence[T]) -> list[A]:
        return [self._ask(task) for task in tasks]

    def _ask(self, task: T) -> A:
        task.started = now()
        return self.ask(task)

    def _write(self, task: T, answer: A | Failure) -> None:
        if not isinstance(answer, Failure):
            self._commit([(task, answer)])
            return
        known = self._failed.get(task.failure)
        changes = Changes(add=list(self.failure(task, answer.message)), content=False)
        if answer.message != known:
            if known is not None:
                changes.updates.append(("relations/clear-failures", {"failures": [task.failure]}))
            self._store.commit(changes)
        self.passed(task)

    def _commit(self, answered: Sequence[tuple[T, A]]) -> None:
        """Write answers in one transaction, in place of what earlier ones gave."""
        tasks = [task for task, _ in answered]
        changes = Changes(content=False)
        self.replace(tasks, changes)
        changes.add += self._agent
        for task, answer in answered:
            changes.add += self.found(task, answer)
        if failed := [task.failure for task in tasks if task.failure in self._failed]:
            changes.updates.append(("relations/clear-failures", {"failures": failed}))
        self._agent = []
        self._store.commit(changes)
        for task in tasks:
            self.passed(task)


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


class QuoteFinder:
    """Finds quotes in the texts of chunks, and the sentences in which they begin."""

    def __init__(self, store: Store, texts: Mapping[NamedNode, str]) -> None:
        self._store, self._texts = store, texts
        self._sentences: dict[NamedNode, list[tuple[int, int, NamedNode]]] = {}
        self._languages: dict[NamedNode, str] | None = None

    def find(self, text: str) -> Quote:
        """The place of a quote; unverified if no chunk has it."""
        for chunk, whole in self._texts.items():
            if place := locate(text, whole):
                words = whole[place.offset : place.offset + place.length]
                sentence = self._sentence(chunk, place.offset)
                return Quote(words, chunk, place.offset, sentence, self._language(chunk))
        return Quote(text)

    def _language(self, chunk: NamedNode) -> str | None:
        """The language of a chunk's document."""
        if self._languages is None:
            found = self._store.select("relations/languages", chunks=list(self._texts))
            self._languages = {node_of(row["chunk"]): text_of(row["language"]) for row in found}
        return self._languages.get(chunk)

    def _sentence(self, chunk: NamedNode, offset: int) -> NamedNode | None:
        """The sentence of a chunk in which an offset lies."""
        if chunk not in self._sentences:
            rows = self._store.select("relations/sentences", chunks=[chunk])
            self._sentences[chunk] = [
                (int(text_of(row["offset"])), int(text_of(row["length"])), node_of(row["sentence"]))
                for row in rows
            ]
        places = self._sentences[chunk]
        return next((node for start, length, node in places if start <= offset < start + length), None)
