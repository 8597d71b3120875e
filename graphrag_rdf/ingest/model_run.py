"""A run in which a model reads chunks, task by task: what relations between chunks and claims share.

Each answer is one transaction with the call that gave it, so a run that is stopped leaves whole tasks. A
failed call, or an unreadable answer, is a recorded failure of the task; what earlier calls found stays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.extract.evidence import locate
from graphrag_rdf.ingest.schedule import BudgetSpentError, Failure, Schedule
from graphrag_rdf.rdf.model_calls import Quote
from graphrag_rdf.rdf.terms import node_of, now, text_of
from graphrag_rdf.store.base import Changes, Row, Store


@dataclass(slots=True)
class ModelTask:
    """What a model is asked once.

    Attributes:
        failure: the node of what goes wrong with it.
        replaces: earlier calls, which a new one replaces with all that they found.
    """

    document: NamedNode
    failure: NamedNode
    replaces: list[NamedNode]
    use_cache: bool
    started: datetime = field(default_factory=now, kw_only=True)


T = TypeVar("T", bound=ModelTask)
A = TypeVar("A")


class ModelRun(ABC, Generic[T, A]):
    """Has a model answer tasks, and writes what it finds.

    Args:
        agent: quads of the program that asks, written with the first answer.
        failures: those in the store, as rows of failure and reason.
        retract: template that removes calls with all that they found.
        progress: called with (tasks done, tasks in all, document's IRI).
        stop: see `Stop`.
    """

    def __init__(
        self,
        store: Store,
        *,
        agent: Iterable[Quad],
        failures: Iterable[Row],
        retract: str,
        progress: Callable[[int, int, str], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self._store, self._agent, self._retract = store, list(agent), retract
        self._progress, self._stop = progress, stop or (lambda: False)
        self._failed = {node_of(row["failure"]): text_of(row["reason"]) for row in failures}
        self._done = self._total = 0

    @abstractmethod
    def ask(self, task: T) -> A:
        """Ask the model. Raises LlmError."""

    @abstractmethod
    def found(self, task: T, answer: A) -> Iterator[Quad]:
        """Report an answer; the call and what it found."""

    @abstractmethod
    def failure(self, task: T, reason: str) -> Iterator[Quad]:
        """Report a failure, and describe it for the store."""

    def work(self, tasks: Iterator[T], total: int, jobs: int) -> str | None:
        """Work through the tasks.

        Returns:
            why the run ended early (`budget`, `interrupted`), None if it did not.

        Raises:
            LlmError: the model cannot be used at all.
        """
        self._total = total
        try:
            Schedule(self._ask, self._write, self._stop).run(tasks, jobs)
        except BudgetSpentError:
            return "budget"
        return "interrupted" if self._stop() else None

    def _ask(self, task: T) -> A:
        task.started = now()
        return self.ask(task)

    def _write(self, task: T, answer: A | Failure) -> None:
        changes = Changes(content=False)
        known = self._failed.get(task.failure)
        if isinstance(answer, Failure):
            changes.add += self.failure(task, answer.message)
        else:
            if task.replaces:
                changes.updates.append((self._retract, {"activities": task.replaces}))
            changes.add += [*self._agent, *self.found(task, answer)]
            self._agent = []
        if not isinstance(answer, Failure) or answer.message != known:
            if known is not None:
                changes.updates.append(("relations/clear-failures", {"failures": [task.failure]}))
            self._store.commit(changes)
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total, task.document.value)


class QuoteFinder:
    """Finds quotes in the texts of chunks, and the sentences in which they begin."""

    def __init__(self, store: Store, texts: Mapping[NamedNode, str]) -> None:
        self._store, self._texts = store, texts
        self._sentences: dict[NamedNode, list[tuple[int, int, NamedNode]]] = {}

    def find(self, text: str) -> Quote:
        """The place of a quote; unverified if no chunk has it."""
        for chunk, whole in self._texts.items():
            if place := locate(text, whole):
                words = whole[place.offset : place.offset + place.length]
                return Quote(words, chunk, place.offset, self._sentence(chunk, place.offset))
        return Quote(text)

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
