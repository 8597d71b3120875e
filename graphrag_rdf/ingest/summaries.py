"""Merged descriptions of entities and facts, where texts describe one more than once.

An entity is described by the definitions that were extracted, each with its evidence, or if there is none by
the sentences that name it; a fact between entities by its quotes. These stay as they are. The merged
description derives from them and is made again only if they, the model, the prompt or a setting change
(`rag:inputHash`): the store is the journal.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.extract.summaries import (
    PROMPT,
    SUMMARIES_VERSION,
    ExtractiveSummaries,
    ModelSummaries,
    Summary,
    SummaryWriter,
)
from graphrag_rdf.i18n import ngettext, tr
from graphrag_rdf.index.analyse import analyse, spoken_by
from graphrag_rdf.ingest.drop_made import drop_summaries
from graphrag_rdf.ingest.extractors import prompt_data, prompt_folder
from graphrag_rdf.ingest.model_run import ModelRun, ModelTask, activity_of
from graphrag_rdf.ingest.report import StageReport, since
from graphrag_rdf.llm.budget import LlmUsage
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf import summaries as build
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.summaries import Element
from graphrag_rdf.rdf.terms import Term, local_name, node_of, now, one_label, text_of
from graphrag_rdf.store.base import (
    Changes,
    Row,
    Store,
    in_batches,
    select_in_batches,
)
from graphrag_rdf.store.records import SUMMARIES, parameters_of

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents

STAGE = "summary"
"""The stage of failures of merged descriptions."""
_TOGETHER = 100
"""Elements that are read, and quoted descriptions that are written, at once."""

_SHORT = 12
"""Words of a text below which it says little, whatever they are."""

Fact = tuple[NamedNode, NamedNode, Term]


@dataclass(slots=True)
class Said:
    """A text about an element, with the nodes that have it, and the chunks and documents of these.

    Attributes:
        place: of a sentence: title and IRI of its first document, and the offset there.
    """

    text: str
    place: tuple[str, str, int] = ("", "", 0)
    nodes: dict[NamedNode, None] = field(default_factory=dict)
    sources: dict[NamedNode, None] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """The text as models see it: a sentence with the title of its document."""
        return f"{self.text} ({self.place[0]})" if self.place[0] else self.text


@dataclass(slots=True)
class Described:
    """An element with several texts: those of most sources first, sentences in the order of their documents.

    Attributes:
        name: of an entity; the words of a fact.
        sources: number of chunks and documents that say something of it.
        weight: see `derived/weights`; None of an entity.
    """

    element: Element
    name: str
    texts: list[Said]
    sources: int
    weight: float | None = None

    def hash(self, key: str) -> str:
        """SHA-256 of everything that the merged description depends on.

        Args:
            key: of what writes it.
        """
        said = [[one.told, *(node.value for node in one.nodes)] for one in self.texts]
        whole = json.dumps([key, self.name, self.sources, self.weight, said])
        return hashlib.sha256(whole.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SummaryFailure:
    """An element whose descriptions could not be merged."""

    element: str
    reason: str


@dataclass(slots=True)
class SummaryCounts:
    """How elements fared.

    Attributes:
        written, kept: in this run.
        removed: of elements that no longer have several texts.
    """

    written: int = 0
    kept: int = 0
    removed: int = 0
    failed: int = 0


@dataclass(slots=True)
class SummaryReport(StageReport):
    """The outcome of merging descriptions.

    Attributes:
        by: who writes them: a model's name, or `extractive`.
        stopped: why the run ended early (`budget`, `interrupted`), None if it did not.
    """

    by: str = "extractive"
    summaries: SummaryCounts = field(default_factory=SummaryCounts)
    failures: list[SummaryFailure] = field(default_factory=list)
    stopped: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The keys of `refresh summaries --format json`."""
        return {
            "by": self.by,
            "summaries": asdict(self.summaries),
            "failures": [asdict(failure) for failure in self.failures],
            "stopped": self.stopped,
            **self.shared_json(),
        }


# --- what there is to merge ------------------------------------------------------------------------------


def described(store: Store) -> Iterator[Described]:
    """The entities and facts that texts describe more than once, of which some are in memory at a time."""
    rows = store.select("summaries/definitions")
    defined: dict[NamedNode, list[Row]] = defaultdict(list)
    for row in rows:
        defined[node_of(row["entity"])].append(row)
    for some in in_batches(sorted(defined, key=str), _TOGETHER):
        yield from _defined(store, {entity: defined[entity] for entity in some})
    named = [node_of(row["entity"]) for row in store.select("derived/entities", chunks=[])]
    for some in in_batches([one for one in named if one not in defined], _TOGETHER):
        yield from _named(store, some)
    facts = [_edge(row) for row in store.select("summaries/facts")]
    for edges in in_batches(facts, _TOGETHER):
        yield from _stated(store, edges)


def _defined(store: Store, rows: Mapping[NamedNode, Sequence[Row]]) -> Iterator[Described]:
    several = {entity: found for entity, found in rows.items() if len({row["o"] for row in found}) > 1}
    found = _evidence(store, [_edge(row) for each in several.values() for row in each])
    names = _names(store, several)
    for entity, each in several.items():
        texts: dict[str, Said] = {}
        for row in each:
            said = texts.setdefault(text_of(row["o"]), Said(text_of(row["o"])))
            for one in found[_edge(row)]:
                said.nodes.setdefault(one.node)
                said.sources.setdefault(one.source)
        yield from _several(entity, names[entity], texts.values())


def _named(store: Store, entities: Sequence[NamedNode]) -> Iterator[Described]:
    sentences: dict[NamedNode, list[NamedNode]] = defaultdict(list)
    for row in store.select("summaries/sentences", entities=entities):
        sentences[node_of(row["entity"])].append(node_of(row["sentence"]))
    wanted = sorted({one for each in sentences.values() if len(each) > 1 for one in each}, key=str)
    rows = select_in_batches(store, "retrieval/sentence-texts", "sentences", wanted)
    told = {node_of(row["sentence"]): row for row in rows}
    names = _names(store, sentences)
    for entity, each in sentences.items():
        texts: dict[str, Said] = {}
        for sentence in each if len(each) > 1 else ():
            row = told[sentence]
            text, place = " ".join(text_of(row["text"]).split()), _place(row)
            said = texts.setdefault(text, Said(text, place))
            said.place = min(said.place, place)
            said.nodes.setdefault(sentence)
            said.sources.setdefault(node_of(row["chunk"]))
        yield from _several(entity, names[entity], texts.values())


def _place(row: Row) -> tuple[str, str, int]:
    offset = int(text_of(row["chunk_offset"])) + int(text_of(row["offset"]))
    return text_of(row["title"]), text_of(row["document"]), offset


def _stated(store: Store, edges: Sequence[Fact]) -> Iterator[Described]:
    found = _evidence(store, edges)
    names = _names(store, {node_of(term) for edge in edges for term in edge})
    rows = store.select("derived/weights", edges=edges)
    weights = {_edge(row): float(text_of(row["weight"])) for row in rows}
    for edge in edges:
        texts: dict[str, Said] = {}
        for one in found[edge]:
            if one.quote:
                said = texts.setdefault(one.quote, Said(one.quote))
                said.nodes.setdefault(one.node)
                said.sources.setdefault(one.source)
        words = " ".join(names[node_of(term)] for term in edge)
        yield from _several(edge, words, texts.values(), weights.get(edge))


def _several(
    element: Element, name: str, texts: Iterable[Said], weight: float | None = None
) -> Iterator[Described]:
    """The element, if there are several texts."""
    ordered = sorted(texts, key=lambda said: (-len(said.sources), said.place, said.text))
    if len(ordered) > 1:
        for said in ordered:
            said.nodes = dict.fromkeys(sorted(said.nodes, key=str))
        sources = {source for said in ordered for source in said.sources}
        yield Described(element, name, ordered, len(sources), weight)


@dataclass(frozen=True, slots=True)
class _Evidence:
    node: NamedNode
    source: NamedNode
    quote: str


def _evidence(store: Store, edges: Sequence[Fact]) -> Mapping[Fact, list[_Evidence]]:
    """The evidence of facts; of those without any the subgraphs, which have no quote."""
    rows: dict[Fact, list[Row]] = defaultdict(list)
    for row in select_in_batches(store, "communities/report-evidence", "edges", dict.fromkeys(edges)):
        rows[_edge(row)].append(row)
    found: dict[Fact, list[_Evidence]] = defaultdict(list)
    for edge, each in rows.items():
        sources: dict[Term, list[NamedNode]] = defaultdict(list)
        for row in each:
            if "source" in row:
                sources[row["subgraph"]].append(node_of(row["source"]))
        quoted = [row for row in each if "evidence" in row]
        found[edge] = [
            _Evidence(
                node_of(row["evidence"] if quoted else row["subgraph"]),
                source,
                " ".join(text_of(row["quote"]).split()) if quoted else "",
            )
            for row in quoted or each
            for source in dict.fromkeys(sources[row["subgraph"]])
        ]
    return found


def _names(store: Store, things: Iterable[NamedNode]) -> dict[NamedNode, str]:
    things = sorted(things, key=str)
    labels = one_label([*select_in_batches(store, "retrieval/labels", "things", things)])
    known = {node_of(row["thing"]): text_of(row["label"]) for row in labels}
    return {thing: known.get(thing) or local_name(thing.value) for thing in things}


def _edge(row: Row) -> Fact:
    return node_of(row["s"]), node_of(row["p"]), row["o"]


def central(one: Described, most: int) -> list[Said]:
    """The most central texts, in their order: those that share most words, other than the name, with others,
    then those that most sources have.

    A word counts by the logarithm of the number of texts that have it; the mean is damped for short texts.
    After the centroids of Radev and others 2004, Information Processing and Management 40:919.
    """
    texts = one.texts
    if len(texts) <= most:
        return list(texts)
    name = {*_terms(one.name)}
    words = [_terms(said.text) - name for said in texts]
    having = Counter(word for each in words for word in each)
    shared = [sum(math.log(having[word]) for word in sorted(each)) for each in words]
    ranked = sorted(
        range(len(texts)),
        key=lambda n: (-round(shared[n] / (len(words[n]) + _SHORT), 9), -len(texts[n].sources), n),
    )
    return [texts[number] for number in sorted(ranked[:most])]


def _terms(text: str) -> set[str]:
    return {*analyse(text, spoken_by(text))}


# --- a run -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Task(ModelTask):
    """An element whose descriptions are to be merged."""

    described: Described
    texts: list[Said]
    hash: str

    @property
    def name(self) -> str:
        return self.described.name


class _Run(ModelRun[_Task, Summary]):
    def __init__(
        self,
        store: Store,
        writer: SummaryWriter,
        report: SummaryReport,
        progress: Callable[[int, int, str], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        agent = prov.agent(writer.component, SUMMARIES_VERSION)
        super().__init__(store, agent=agent, progress=progress, stop=stop)
        self._writer, self._report = writer, report

    def run(self, jobs: int, *, again: bool) -> None:
        """Merge the descriptions that have changed. With `again` no answer comes from the cache."""
        store, writer, report = self._store, self._writer, self._report
        report.by = writer.model or "extractive"
        record = _record(store, writer)
        if not again and parameters_of(store, SUMMARIES) == record:
            report.summaries.kept = len(store.select("summaries/all"))
            return
        todo, kept, gone = plan(store, writer, again=again)
        report.summaries.kept, report.summaries.removed = kept, len(gone)
        changes = Changes(updates=[("summaries/begin", {})], content=False)
        drop_summaries(store, changes, gone)
        changes.updates += [("communities/unreported", {})] if gone else []
        store.commit(changes)
        self._have = {text_of(row["summary"]) for row in store.select("summaries/all")}
        tasks = (self._task(one, hash_, use_cache=not again) for one, hash_ in todo)
        if writer.model is not None:
            report.stopped = self.work(tasks, len(todo), jobs)
        else:
            report.stopped = self.work_here(tasks, len(todo), _TOGETHER)
        if report.stopped is None and not report.failures:
            quads = [
                Quad(SUMMARIES, RDF.type, PROV.Activity, Graphs.DERIVED),
                Quad(SUMMARIES, RAG.parameters, Literal(record), Graphs.DERIVED),
            ]
            store.commit(Changes(add=quads, content=False))

    def _task(self, one: Described, hash_: str, *, use_cache: bool) -> _Task:
        node = iris.summary(one.element)
        texts = central(one, self._writer.most)
        return _Task(
            node, iris.failure(node, STAGE), use_cache=use_cache, described=one, texts=texts, hash=hash_
        )

    def ask(self, task: _Task) -> Summary:
        texts = [said.told if self._writer.model else said.text for said in task.texts]
        return self._writer.write(task.described.name, texts, use_cache=task.use_cache)

    def replace(self, tasks: Sequence[_Task], changes: Changes) -> None:
        """Reports have not read the new descriptions."""
        drop_summaries(self._store, changes, [task.about for task in tasks if task.about.value in self._have])
        changes.updates.append(("communities/unreported", {}))

    def found(self, task: _Task, answer: Summary) -> Iterator[Quad]:
        self._report.summaries.written += 1
        one, writer = task.described, self._writer
        used = sorted({source for said in task.texts for source in said.sources}, key=str)
        return build.summary(
            build.SummaryFacts(
                one.element,
                task.hash,
                answer.text,
                dict.fromkeys(node for said in task.texts for node in said.nodes),
                one.sources,
                one.weight,
                activity_of(writer.component, writer.model, used, task.started, answer.completions),
            )
        )

    def failure(self, task: _Task, reason: str) -> Iterator[Quad]:
        self._report.summaries.failed += 1
        self._report.failures.append(SummaryFailure(_iri(task.described), reason))
        return prov.failure(task.about, STAGE, reason, now())


def _iri(one: Described) -> str:
    return one.element.value if isinstance(one.element, NamedNode) else one.name


def _record(store: Store, writer: SummaryWriter) -> str:
    """Everything that a complete run depends on."""
    return json.dumps({"key": writer.key, "content_commit": store.content_commit()}, sort_keys=True)


def plan(
    store: Store, writer: SummaryWriter, *, again: bool = False
) -> tuple[list[tuple[Described, str]], int, list[NamedNode]]:
    """What a run would do.

    Returns:
        (elements to describe with the hashes of their inputs, number of those that are done, summaries of
        elements that no longer have several texts).
    """
    have = {node_of(row["summary"]): text_of(row["hash"]) for row in store.select("summaries/all")}
    todo: list[tuple[Described, str]] = []
    kept = 0
    for one in described(store):
        hash_ = one.hash(writer.key)
        if have.pop(iris.summary(one.element), None) == hash_ and not again:
            kept += 1
        else:
            todo.append((one, hash_))
    return todo, kept, sorted(have, key=str)


def choose_summaries(engine: NeededComponents) -> SummaryWriter:
    """What the settings want to merge descriptions.

    Raises:
        ConfigError: when a model is asked for and none is set.
        TemplateError: the prompt is missing or malformed.
    """
    settings, model = engine.settings.summaries, engine.settings.llm.model
    if settings.use == "llm" and model is None:
        raise ConfigError(tr("summaries.use is llm, but no model is set"), hint=tr("name one with --model"))
    if settings.use == "extractive" or model is None:
        return ExtractiveSummaries(settings.sentences)
    return ModelSummaries(
        prompt_folder(engine.settings, "ingest", PROMPT),
        engine.gateway,
        model,
        tokens=settings.input_tokens,
        words=settings.max_words,
        most=settings.max_texts,
        data=prompt_data(engine.settings),
    )


def refresh_summaries(
    engine: NeededComponents,
    *,
    again: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> SummaryReport:
    """See `Engine.refresh_summaries`."""
    begun, spent = time.perf_counter(), engine.budget.usage
    report = SummaryReport()
    run = _Run(engine.store, choose_summaries(engine), report, progress, stop)
    run.run(engine.settings.extract.jobs, again=again)
    if report.failures:
        detail = ngettext(
            "the descriptions of {count:,} element could not be merged: {reason}",
            "the descriptions of {count:,} elements could not be merged: {reason}",
            len(report.failures),
        ).format(count=len(report.failures), reason=report.failures[0].reason)
        report.warn("summary_failed", detail)
    if report.stopped == "budget":
        report.warn("budget_spent", tr("the budget was used up before all descriptions were merged"))
    report.llm = since(spent, engine.budget.usage)
    report.seconds = round(time.perf_counter() - begun, 3)
    return report


@dataclass(frozen=True, slots=True)
class SummaryEstimate:
    """What would be done: elements; calls and tokens at most, as answers in the cache cost nothing."""

    summaries: SummaryCounts
    llm: LlmUsage

    def as_json(self) -> dict[str, Any]:
        """The keys of `refresh summaries --dry-run --format json`."""
        return {"dry_run": True, "summaries": asdict(self.summaries), "llm": asdict(self.llm)}


def estimate_summaries(engine: NeededComponents, *, again: bool = False) -> SummaryEstimate:
    """Find out what `refresh_summaries` would do. Nothing is sent or written.

    Raises:
        ConfigError: see `choose_summaries`.
    """
    store, writer = engine.store, choose_summaries(engine)
    todo, kept, gone = plan(store, writer, again=again)
    counts = SummaryCounts(written=len(todo), kept=kept, removed=len(gone))
    calls = read = written = 0
    if isinstance(writer, ModelSummaries):
        for one, _ in todo:
            cost = writer.cost(one.name, [said.told for said in central(one, writer.most)])
            calls, read, written = calls + cost[0], read + cost[1], written + cost[2]
    price = engine.gateway.price(read, written) if calls else 0.0
    return SummaryEstimate(counts, LlmUsage(calls, 0, read, written, price))
