"""Typed relations between neighbouring chunks of a document, read by a model pair by pair.

The store is the journal: a pair is done when there is a call (an activity) of the same key that used the
two chunks. Each pair is one transaction, so a run that is stopped leaves whole pairs and the next one goes on
from there; a run that finds nothing to do writes nothing. What an earlier key found stays until replaced.

A call that failed, or whose answer cannot be read, is a recorded failure of the pair, and no relation is made
up for it: that the second stands after the first is known from the document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.extract.chunk_relations import RELATION_TYPES, RELATIONS_VERSION, PairAnswer
from graphrag_rdf.extract.evidence import locate
from graphrag_rdf.ingest.schedule import BudgetSpentError, Failure, Schedule
from graphrag_rdf.rdf import chunk_relations as build
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import node_of, now, text_of, to_python
from graphrag_rdf.store.base import Changes, Store, in_batches, updates_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.extract.chunk_relations import RelationReader
    from graphrag_rdf.llm.gateway import LlmGateway

COMPONENT = "graphrag-rdf-relations"
PER_PAIR = 120
"""Tokens that models write for a pair of chunks, as a rule of thumb: a relation with two quotes."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two chunks, in the order of their document."""

    first: NamedNode
    second: NamedNode
    document: NamedNode

    @property
    def failure(self) -> NamedNode:
        """The node of what went wrong with it."""
        return iris.pair_failure(self.first, self.second)


@dataclass(frozen=True, slots=True)
class PairFailure:
    """A pair whose call failed, or whose answer cannot be read."""

    document: str
    first: str
    second: str
    reason: str


@dataclass(slots=True)
class PairCounts:
    """How pairs fared.

    Attributes:
        asked: read by the model in this run.
        kept: done before.
        removed: stood near each other when they were read, and no longer do.
    """

    asked: int = 0
    kept: int = 0
    removed: int = 0
    failed: int = 0


@dataclass(slots=True)
class PairReport:
    """What a run did.

    Attributes:
        found: relations found in the pairs that were read.
        rejected: numbers of rejected candidates, by reason.
        stopped: why the run ended early (`budget`, `interrupted`), None if it did not.
    """

    pairs: PairCounts = field(default_factory=PairCounts)
    found: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    failures: list[PairFailure] = field(default_factory=list)
    stopped: str | None = None


@dataclass(frozen=True, slots=True)
class PairSettings:
    """How pairs are read.

    Attributes:
        window: a chunk and each of so many that follow it are a pair.
        jobs: calls at once.
        again: read also what was read before, and take no answer from the cache; of all documents, or these.
    """

    window: int = 2
    jobs: int = 4
    again: bool | frozenset[NamedNode] = False

    def reads_again(self, pair: Pair) -> bool:
        """Whether a pair is read even if it was read before."""
        return pair.document in self.again if isinstance(self.again, frozenset) else self.again


@dataclass(frozen=True, slots=True)
class PairPlan:
    """What there is to do.

    Attributes:
        todo: pair → the calls that a new one replaces, in the order of documents.
        kept: pairs that are done.
        gone: calls whose chunks are no longer neighbours.
    """

    todo: dict[Pair, list[NamedNode]]
    kept: int
    gone: list[NamedNode]


@dataclass(slots=True)
class _Task:
    """A pair that waits for its answer."""

    pair: Pair
    texts: tuple[str, str]
    replaces: list[NamedNode]
    started: datetime = field(default_factory=now)


def plan_pairs(
    store: Store, key: str, settings: PairSettings, documents: Sequence[NamedNode] = ()
) -> PairPlan:
    """What a run would do.

    Args:
        key: of the reader.
        documents: only pairs of these; empty: all.
    """
    known: dict[NamedNode, tuple[str, set[str]]] = {}
    agent = iris.agent(COMPONENT)
    for row in store.select("relations/journal", agent=agent, documents=documents):
        _, used = known.setdefault(node_of(row["activity"]), (text_of(row["key"]), set()))
        used.add(node_of(row["chunk"]).value)
    calls: dict[frozenset[str], list[NamedNode]] = {}
    for activity, (_, used) in known.items():
        calls.setdefault(frozenset(used), []).append(activity)
    todo: dict[Pair, list[NamedNode]] = {}
    kept = 0
    for pair in _pairs(store, settings.window, documents):
        before = sorted(calls.pop(frozenset((pair.first.value, pair.second.value)), []), key=str)
        if not settings.reads_again(pair) and any(known[activity][0] == key for activity in before):
            kept += 1
        else:
            todo[pair] = before
    return PairPlan(todo, kept, sorted((call for left in calls.values() for call in left), key=str))


def texts_of_pairs(store: Store, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, tuple[str, str]]]:
    """Pairs with the texts of their chunks, of which a few hundred at a time are in memory."""
    for batch in in_batches(pairs):
        chunks = sorted({chunk for pair in batch for chunk in (pair.first, pair.second)}, key=str)
        rows = store.select("relations/passages", chunks=chunks)
        texts = {node_of(row["chunk"]): text_of(row["text"]) for row in rows}
        for pair in batch:
            yield pair, (texts[pair.first], texts[pair.second])


def relate_pairs(
    store: Store,
    reader: RelationReader,
    gateway: LlmGateway,
    settings: PairSettings,
    documents: Sequence[NamedNode] = (),
    progress: Callable[[int, int, str], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> PairReport:
    """Have a model read the pairs that are not done, and remove relations of former neighbours.

    Args:
        documents: only pairs of these; empty: all.
        progress: called with (pairs done, pairs to do, document's IRI).
        stop: asked between calls whether the run should end; running calls are completed.

    Returns:
        what was done. The run ends if the budget is used up; results until then are kept.

    Raises:
        LlmError: when the model cannot be used at all (unknown, out of reach, or the key is refused).
    """
    run = _Run(store, reader, gateway, settings, progress, stop or (lambda: False))
    return run.run(documents)


class _Run:
    def __init__(
        self,
        store: Store,
        reader: RelationReader,
        gateway: LlmGateway,
        settings: PairSettings,
        progress: Callable[[int, int, str], None] | None,
        stop: Callable[[], bool],
    ) -> None:
        self._store, self._reader, self._gateway = store, reader, gateway
        self._settings, self._progress, self._stop = settings, progress, stop
        self._done = self._total = 0
        self.report = PairReport()

    def run(self, documents: Sequence[NamedNode]) -> PairReport:
        store, report = self._store, self.report
        plan = plan_pairs(store, self._reader.key, self._settings, documents)
        rows = store.select("relations/failures", chunks=[])
        self._failed = {node_of(row["failure"]): text_of(row["reason"]) for row in rows}
        self._drop(plan, everything=not documents)
        report.pairs.kept, report.pairs.removed = plan.kept, len(plan.gone)
        self._agent = list(prov.agent(COMPONENT, RELATIONS_VERSION)) if plan.todo else []
        tasks = (
            _Task(pair, texts, plan.todo[pair]) for pair, texts in texts_of_pairs(store, list(plan.todo))
        )
        self._total = len(plan.todo)
        try:
            Schedule(self._ask, self._write, self._stop).run(tasks, self._settings.jobs)
        except BudgetSpentError:
            report.stopped = "budget"
        if report.stopped is None and self._stop():
            report.stopped = "interrupted"
        return report

    def _drop(self, plan: PairPlan, *, everything: bool) -> None:
        """Remove the results of calls for former neighbours, and failures of such pairs."""
        changes = Changes(content=False)
        changes.updates += updates_in_batches("relations/retract", "activities", plan.gone)
        standing = {pair.failure for pair in plan.todo}
        if everything and (past := sorted(self._failed.keys() - standing, key=str)):
            changes.updates.append(("relations/clear-failures", {"failures": past}))
        self._store.commit(changes)

    def _ask(self, task: _Task) -> PairAnswer:
        task.started = now()
        return self._reader.read(
            *task.texts, self._gateway, use_cache=not self._settings.reads_again(task.pair)
        )

    def _write(self, task: _Task, answer: PairAnswer | Failure) -> None:
        """Write what was found of a pair, in one transaction, or why nothing was."""
        if isinstance(answer, Failure):
            self._fail(task, answer)
        else:
            self._state(task, answer)
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total, task.pair.document.value)

    def _state(self, task: _Task, answer: PairAnswer) -> None:
        completion = answer.completion
        facts = build.PairFacts(
            task.pair.first,
            task.pair.second,
            component=COMPONENT,
            key=self._reader.key,
            started=task.started,
            model=self._reader.model,
            prompt_hash=completion.prompt_hash,
            in_tokens=completion.in_tokens,
            out_tokens=completion.out_tokens,
        )
        changes = Changes(content=False)
        if task.replaces:
            changes.updates.append(("relations/retract", {"activities": task.replaces}))
        if task.pair.failure in self._failed:
            changes.updates.append(("relations/clear-failures", {"failures": [task.pair.failure]}))
        changes.add += [*self._agent, *build.call(facts)]
        self._agent = []
        for found in answer.relations.values():
            changes.add += build.relation(
                facts,
                relation_type(found.type),
                forward=found.forward,
                confidence=found.confidence,
                quotes=[self._quote(text, task) for text in found.quotes],
            )
        for index, rejected in enumerate(answer.rejected):
            changes.add += build.rejected(facts, index, rejected.reason, rejected.item)
            self.report.rejected[rejected.reason] = self.report.rejected.get(rejected.reason, 0) + 1
        self._store.commit(changes)
        self.report.pairs.asked += 1
        self.report.found += len(answer.relations)

    def _fail(self, task: _Task, error: Failure) -> None:
        """Report that a pair failed, and record it once. Its earlier relations stay."""
        pair = task.pair
        self.report.pairs.failed += 1
        self.report.failures.append(
            PairFailure(pair.document.value, pair.first.value, pair.second.value, error.message)
        )
        if self._failed.get(pair.failure) == error.message:
            return
        changes = Changes(add=list(build.failure(pair.first, pair.second, error.message, now())))
        changes.content = False
        if pair.failure in self._failed:
            changes.updates.append(("relations/clear-failures", {"failures": [pair.failure]}))
        self._store.commit(changes)

    def _quote(self, text: str, task: _Task) -> build.Quote:
        """The place of a quote in what the model saw of the two chunks; unverified if it is not there."""
        for chunk, whole in zip((task.pair.first, task.pair.second), task.texts, strict=True):
            seen = self._reader.shown(whole)
            place = locate(text, seen)
            if place is not None:
                words = seen[place.offset : place.offset + place.length]
                return build.Quote(words, chunk, place.offset, self._sentence(chunk, place.offset))
        return build.Quote(text)

    def _sentence(self, chunk: NamedNode, offset: int) -> NamedNode | None:
        """The sentence of a chunk in which an offset lies."""
        for row in self._store.select("relations/sentences", chunks=[chunk]):
            start, length = to_python(row["offset"]), to_python(row["length"])
            if isinstance(start, int) and isinstance(length, int) and start <= offset < start + length:
                return node_of(row["sentence"])
        return None


def relation_type(name: str) -> NamedNode:
    """The property of a relation type: `substep_of` is `rag:substepOf`."""
    head, *rest = name.split("_")
    return RAG[head + "".join(map(str.capitalize, rest))]


TYPES = tuple(relation_type(name) for name in RELATION_TYPES)
"""The properties of relations that models find."""


def _pairs(store: Store, window: int, documents: Sequence[NamedNode]) -> Iterator[Pair]:
    rows = store.select("derived/chunks", documents=documents)
    for document, group in groupby(rows, key=lambda row: row["document"]):
        chunks = [node_of(row["chunk"]) for row in group]
        for place, first in enumerate(chunks):
            for second in chunks[place + 1 : place + 1 + window]:
                yield Pair(first, second, node_of(document))
