"""Claims: a model reads each chunk once, and says who is claimed to have done or been what.

The store is the journal: a chunk is done when there is an activity of the same key that used it. So the next
run goes on where one was stopped (see `model_run`). What an earlier key found stays until it is replaced.

Claims keep the names of subject and object as the text has them. `link_claims` adds links to the entities
that the names mean. It makes no entities: that is the work of the extraction, which has rules for names.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.communities.build import drop_reports
from graphrag_rdf.extract.claims import CLAIMS_VERSION, Claim, ClaimAnswer, ClaimDate
from graphrag_rdf.i18n import later, ngettext, tr
from graphrag_rdf.ingest.extractors import choose_claim_reader, sum_known
from graphrag_rdf.ingest.joins import called
from graphrag_rdf.ingest.model_run import ModelRun, ModelTask, QuoteFinder
from graphrag_rdf.ingest.names import Minter
from graphrag_rdf.ingest.report import StageReport, since
from graphrag_rdf.llm.budget import LlmUsage
from graphrag_rdf.llm.model import estimate_tokens
from graphrag_rdf.rdf import claims as build
from graphrag_rdf.rdf import iris, model_calls, prov
from graphrag_rdf.rdf.model_calls import ModelCall
from graphrag_rdf.rdf.terms import node_of, now, text_of
from graphrag_rdf.store.base import Changes, Store, in_batches, select_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.extract.claims import ClaimReader
    from graphrag_rdf.ingest import NeededComponents
    from graphrag_rdf.llm.gateway import LlmGateway

COMPONENT = "graphrag-rdf-claims"
PER_CHUNK = 500
"""Tokens that models write for the claims of a chunk, as a rule of thumb: a handful, each with a quote."""
NO_LLM = later("no model is set, so no claims are read: name one with --model, or set claims.build to false")


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk as the model is shown it.

    Attributes:
        title: of its document.
        names: of the entities in it.
    """

    chunk: NamedNode
    document: NamedNode
    text: str
    title: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimFailure:
    """A chunk whose call failed, or whose answer cannot be read."""

    document: str
    chunk: str
    reason: str


@dataclass(slots=True)
class ClaimCounts:
    """How chunks fared.

    Attributes:
        asked: read by the model in this run.
        kept: done before.
    """

    asked: int = 0
    kept: int = 0
    failed: int = 0


@dataclass(slots=True)
class ClaimReport(StageReport):
    """The outcome of reading claims.

    Attributes:
        found: claims in the chunks that were read.
        unverified: of their quotes, those that are not in the chunk.
        linked: names of subjects and objects that were linked to entities.
        rejected: numbers of rejected claims and parts of claims, by reason.
        stopped: why the run ended early (`budget`, `interrupted`), None if it did not.
    """

    chunks: ClaimCounts = field(default_factory=ClaimCounts)
    found: int = 0
    unverified: int = 0
    linked: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    failures: list[ClaimFailure] = field(default_factory=list)
    stopped: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The keys of `refresh claims --format json`."""
        return {
            "chunks": asdict(self.chunks),
            "found": self.found,
            "unverified": self.unverified,
            "linked": self.linked,
            "rejected": dict(self.rejected),
            "failures": [asdict(failure) for failure in self.failures],
            "stopped": self.stopped,
            **self.shared_json(),
        }


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """What there is to do.

    Attributes:
        todo: chunk → the calls that a new one replaces, in the order of documents.
        about: chunk → its document and the title of that.
        kept: chunks that are done.
    """

    todo: dict[NamedNode, list[NamedNode]]
    about: dict[NamedNode, tuple[NamedNode, str]]
    kept: int


Again = bool | frozenset[NamedNode]
"""Whether chunks that are done are read again: all, none, or those of these documents."""


def plan_claims(
    store: Store, key: str, documents: Sequence[NamedNode] = (), *, again: Again = False
) -> ClaimPlan:
    """What a run would do.

    Args:
        key: of the reader.
        documents: only chunks of these; empty: all.
    """
    calls: dict[NamedNode, dict[NamedNode, str]] = {}
    for row in store.select("claims/journal", agent=iris.agent(COMPONENT)):
        calls.setdefault(node_of(row["chunk"]), {})[node_of(row["activity"])] = text_of(row["key"])
    todo: dict[NamedNode, list[NamedNode]] = {}
    about: dict[NamedNode, tuple[NamedNode, str]] = {}
    kept = 0
    for row in store.select("claims/chunks", documents=documents):
        chunk, document = node_of(row["chunk"]), node_of(row["document"])
        before = calls.get(chunk, {})
        if key in before.values() and not _reads_again(document, again):
            kept += 1
        elif chunk not in todo:
            todo[chunk] = sorted(before, key=str)
            about[chunk] = (document, text_of(row["title"]))
    return ClaimPlan(todo, about, kept)


def _reads_again(document: NamedNode, again: Again) -> bool:
    return document in again if isinstance(again, frozenset) else again


def shown_chunks(store: Store, plan: ClaimPlan) -> Iterator[ChunkText]:
    """The chunks to read, of which a few hundred at a time are in memory."""
    for batch in in_batches(list(plan.todo)):
        rows = store.select("relations/passages", chunks=batch)
        texts = {node_of(row["chunk"]): text_of(row["text"]) for row in rows}
        names: dict[NamedNode, list[str]] = {}
        for row in store.select("claims/names", chunks=batch):
            names.setdefault(node_of(row["chunk"]), []).append(text_of(row["name"]))
        for chunk in batch:
            document, title = plan.about[chunk]
            yield ChunkText(chunk, document, texts[chunk], title, tuple(names.get(chunk, ())))


@dataclass(slots=True)
class _Task(ModelTask):
    """A chunk that waits for its answer."""

    shown: ChunkText


class _Run(ModelRun[_Task, ClaimAnswer]):
    def __init__(
        self,
        store: Store,
        reader: ClaimReader,
        gateway: LlmGateway,
        report: ClaimReport,
        progress: Callable[[int, int, str], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        super().__init__(
            store,
            agent=prov.agent(COMPONENT, CLAIMS_VERSION),
            failures=store.select("claims/failures"),
            retract="claims/retract",
            progress=progress,
            stop=stop,
        )
        self._reader, self._gateway, self._report = reader, gateway, report

    def run(self, plan: ClaimPlan, jobs: int, again: Again) -> None:
        """Read the chunks of a plan. Chunks that are read again get no answer from the cache."""
        self._report.chunks.kept = plan.kept
        tasks = (
            _Task(
                shown.document,
                iris.failure(shown.chunk, build.STAGE),
                replaces=plan.todo[shown.chunk],
                use_cache=not _reads_again(shown.document, again),
                shown=shown,
            )
            for shown in shown_chunks(self._store, plan)
        )
        self._report.stopped = self.work(tasks, len(plan.todo), jobs)

    def ask(self, task: _Task) -> ClaimAnswer:
        shown = task.shown
        return self._reader.read(
            shown.text, self._gateway, title=shown.title, names=shown.names, use_cache=task.use_cache
        )

    def replace(self, tasks: Sequence[_Task], changes: Changes) -> None:
        """Reports may have read the claims that go, and have not read those that come."""
        super().replace(tasks, changes)
        again = [task.shown.chunk for task in tasks if task.replaces]
        drop_reports(self._store, changes, sources=again)
        changes.updates.append(("communities/unreported", {}))

    def found(self, task: _Task, answer: ClaimAnswer) -> Iterator[Quad]:
        chunk, completions, report = task.shown.chunk, answer.completions, self._report
        call = ModelCall(
            iris.claims_activity(chunk, self._reader.key),
            (chunk,),
            component=COMPONENT,
            key=self._reader.key,
            started=task.started,
            model=self._reader.model,
            prompt_hash=completions[0].prompt_hash,
            in_tokens=sum_known(one.in_tokens for one in completions),
            out_tokens=sum_known(one.out_tokens for one in completions),
        )
        yield from model_calls.call(call)
        place = QuoteFinder(self._store, {chunk: task.shown.text})
        for found in answer.claims.values():
            quotes = [place.find(text) for text in found.quotes]
            report.unverified += sum(quote.chunk is None for quote in quotes)
            yield from build.claim(call, _facts(found), quotes)
        for index, rejected in enumerate(answer.rejected):
            yield from model_calls.rejected(call, index, rejected.reason, rejected.item)
            report.rejected[rejected.reason] += 1
        report.chunks.asked += 1
        report.found += len(answer.claims)

    def failure(self, task: _Task, reason: str) -> Iterator[Quad]:
        self._report.chunks.failed += 1
        chunk = task.shown.chunk
        self._report.failures.append(ClaimFailure(task.about.value, chunk.value, reason))
        return prov.failure(chunk, build.STAGE, reason, now())


def _facts(found: Claim) -> build.ClaimFacts:
    return build.ClaimFacts(
        key=found.key,
        subject=found.subject,
        object=found.object,
        type=found.type,
        status=found.status,
        start=_literal(found.start),
        end=_literal(found.end),
        description=found.description,
    )


def _literal(date: ClaimDate | None) -> Literal | None:
    return Literal(date.lexical, datatype=NamedNode(date.datatype)) if date else None


def link_claims(store: Store, namespace: str) -> int:
    """Link claims to the entities that the names of their subjects and objects mean.

    A name means the entity whose IRI it makes, else the only one that is called so. Names that mean no
    entity, or several, stay names, also if they meant one before.

    Args:
        namespace: of entities.

    Returns:
        how many names were linked.
    """
    rows = store.select("claims/links")
    names = sorted({text_of(row["name"]) for row in rows})
    minter = Minter(namespace)
    minted = {name: minter.entity(name) for name in names}
    named = select_in_batches(store, "entities/named", "things", sorted(set(minted.values()), key=str))
    known = {node_of(row["thing"]) for row in named}
    others = called(store, (name for name in names if minted[name] not in known))
    new, old = [], []
    for row in rows:
        name, have = text_of(row["name"]), row.get("entity")
        found = {minted[name]} if minted[name] in known else others[name]
        means = next(iter(found)) if len(found) == 1 else None
        claim, link = node_of(row["claim"]), node_of(row["link"])
        if have is not None and have != means:
            old.append(prov.source(claim, link, have))
        if means is not None and have != means:
            new.append(prov.source(claim, link, means))
    for number, batch in enumerate(in_batches([*old, *new])):
        changes = Changes(content=False)
        changes.updates += [] if number else [("communities/unreported", {})]
        gone = {*old}
        changes.remove = [quad for quad in batch if quad in gone]
        changes.add = [quad for quad in batch if quad not in gone]
        store.commit(changes)
    return len(new)


def refresh_claims(
    engine: NeededComponents,
    documents: Sequence[NamedNode] = (),
    *,
    again: Again = False,
    progress: Callable[[int, int, str], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> ClaimReport:
    """See `Engine.refresh_claims`.

    Args:
        again: may also name the documents whose chunks are read again.
    """
    begun = time.perf_counter()
    store, settings = engine.store, engine.settings
    report, spent = ClaimReport(), engine.budget.usage
    reader = choose_claim_reader(settings)
    run = _Run(store, reader, engine.gateway, report, progress, stop)
    run.run(plan_claims(store, reader.key, documents, again=again), settings.extract.jobs, again)
    report.linked = link_claims(store, settings.extract.namespace)
    if report.failures:
        report.warn("claims_failed", failed_claims(report.chunks.failed, report.failures[0].reason))
    if report.stopped == "budget":
        report.warn("budget_spent", tr("the budget was used up before the claims of all chunks were read"))
    report.llm = since(spent, engine.budget.usage)
    report.seconds = round(time.perf_counter() - begun, 3)
    return report


@dataclass(frozen=True, slots=True)
class ClaimEstimate:
    """What a model would be asked: chunks; calls and tokens at most, as answers in the cache cost nothing."""

    chunks: ClaimCounts
    llm: LlmUsage

    def as_json(self) -> dict[str, Any]:
        """The keys of `refresh claims --dry-run --format json`."""
        return {"dry_run": True, "chunks": asdict(self.chunks), "llm": asdict(self.llm)}


def estimate_claims(
    engine: NeededComponents, documents: Sequence[NamedNode] = (), *, again: bool = False
) -> ClaimEstimate:
    """Find out what `refresh_claims` would ask a model. Nothing is sent or written.

    Raises:
        ConfigError: when no model is set.
    """
    reader = choose_claim_reader(engine.settings)
    plan = plan_claims(engine.store, reader.key, documents, again=again)
    calls = read = written = 0
    for shown in shown_chunks(engine.store, plan):
        cost = cost_of_claims(reader, shown.text, shown.title, shown.names)
        calls, read, written = calls + cost[0], read + cost[1], written + cost[2]
    price = engine.gateway.price(read, written) if calls else 0.0
    counts = ClaimCounts(asked=len(plan.todo), kept=plan.kept)
    return ClaimEstimate(counts, LlmUsage(calls, 0, read, written, price))


def cost_of_claims(
    reader: ClaimReader, text: str, title: str, names: Sequence[str] = ()
) -> tuple[int, int, int]:
    """Calls, and tokens that a model reads and writes at most, for the claims of a chunk."""
    prompt = reader.prompt(text, title=title, names=names)
    read = estimate_tokens([{"role": "user", "content": prompt}])
    rounds = 1 + reader.rounds
    return rounds, sum(read + number * PER_CHUNK for number in range(rounds)), rounds * PER_CHUNK


def failed_claims(failed: int, reason: str) -> str:
    """The text of the warning `claims_failed`.

    Args:
        reason: of one of the chunks.
    """
    return ngettext(
        "the claims of {count:,} chunk could not be read: {reason}",
        "the claims of {count:,} chunks could not be read: {reason}",
        failed,
    ).format(count=failed, reason=reason)
