"""Typed relations between neighbouring chunks of a document, read by a model pair by pair.

The store is the journal: a pair is done when there is a call (an activity) of the same key that used the
two chunks. So the next run goes on where one was stopped (see `model_run`), and a run that finds nothing to
do writes nothing. What an earlier key found stays until it is replaced. A pair whose call failed gets no
relation: that the second stands after the first is known from the document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.extract.chunk_relations import RELATION_TYPES, RELATIONS_VERSION, PairAnswer
from graphrag_rdf.ingest.model_run import ModelRun, ModelTask, QuoteFinder
from graphrag_rdf.rdf import chunk_relations as build
from graphrag_rdf.rdf import iris, model_calls, prov
from graphrag_rdf.rdf.model_calls import ModelCall
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import node_of, now, text_of
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
class _Task(ModelTask):
    """A pair that waits for its answer."""

    pair: Pair
    texts: tuple[str, str]


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
    run = _Run(store, reader, gateway, settings, progress, stop)
    return run.run(documents)


class _Run(ModelRun[_Task, PairAnswer]):
    def __init__(
        self,
        store: Store,
        reader: RelationReader,
        gateway: LlmGateway,
        settings: PairSettings,
        progress: Callable[[int, int, str], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        super().__init__(
            store,
            agent=prov.agent(COMPONENT, RELATIONS_VERSION),
            failures=store.select("relations/failures", chunks=[]),
            retract="relations/retract",
            progress=progress,
            stop=stop,
        )
        self._reader, self._gateway, self._settings = reader, gateway, settings
        self.report = PairReport()

    def run(self, documents: Sequence[NamedNode]) -> PairReport:
        store, report = self._store, self.report
        plan = plan_pairs(store, self._reader.key, self._settings, documents)
        self._drop(plan, everything=not documents)
        report.pairs.kept, report.pairs.removed = plan.kept, len(plan.gone)
        tasks = (
            _Task(
                pair.document,
                pair.failure,
                replaces=plan.todo[pair],
                use_cache=not self._settings.reads_again(pair),
                pair=pair,
                texts=texts,
            )
            for pair, texts in texts_of_pairs(store, list(plan.todo))
        )
        report.stopped = self.work(tasks, len(plan.todo), self._settings.jobs)
        return report

    def _drop(self, plan: PairPlan, *, everything: bool) -> None:
        """Remove the results of calls for former neighbours, and failures of such pairs."""
        changes = Changes(content=False)
        changes.updates += updates_in_batches("relations/retract", "activities", plan.gone)
        standing = {pair.failure for pair in plan.todo}
        if everything and (past := sorted(self._failed.keys() - standing, key=str)):
            changes.updates.append(("relations/clear-failures", {"failures": past}))
        self._store.commit(changes)

    def ask(self, task: _Task) -> PairAnswer:
        return self._reader.read(*task.texts, self._gateway, use_cache=task.use_cache)

    def found(self, task: _Task, answer: PairAnswer) -> Iterator[Quad]:
        completion, report = answer.completion, self.report
        chunks = (task.pair.first, task.pair.second)
        call = ModelCall(
            iris.pair_activity(*chunks, self._reader.key),
            chunks,
            component=COMPONENT,
            key=self._reader.key,
            started=task.started,
            model=self._reader.model,
            prompt_hash=completion.prompt_hash,
            in_tokens=completion.in_tokens,
            out_tokens=completion.out_tokens,
        )
        yield from model_calls.call(call)
        seen = map(self._reader.shown, task.texts)
        place = QuoteFinder(self._store, dict(zip(chunks, seen, strict=True)))
        for found in answer.relations.values():
            yield from build.relation(
                call,
                relation_type(found.type),
                forward=found.forward,
                confidence=found.confidence,
                quotes=[place.find(text) for text in found.quotes],
            )
        for index, rejected in enumerate(answer.rejected):
            yield from model_calls.rejected(call, index, rejected.reason, rejected.item)
            report.rejected[rejected.reason] = report.rejected.get(rejected.reason, 0) + 1
        report.pairs.asked += 1
        report.found += len(answer.relations)

    def failure(self, task: _Task, reason: str) -> Iterator[Quad]:
        pair, report = task.pair, self.report
        report.pairs.failed += 1
        report.failures.append(PairFailure(pair.document.value, pair.first.value, pair.second.value, reason))
        return build.failure(pair.first, pair.second, reason, now())


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
