"""Builds communities, and writes the reports of those with two members at least.

Reports are written from the highest level down to 0, so that a report can use those of the community's
parts. The store is the journal: the IRI of a report has the hash of everything that it depends on, and a
report with this IRI is not written again. So the next run continues where one was stopped. A report replaces
the community's former one, in one transaction.

A failed call, or an answer that is no report, is a recorded failure of the community; the former report
stays. What removes a document, chunk, fact or entity removes the reports that were written from it at once.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.communities.build import (
    BuildReport,
    CommunitySettings,
    build_communities,
    built,
    drop_reports,
)
from graphrag_rdf.communities.context import Context, read_contexts
from graphrag_rdf.communities.report import (
    PROMPT,
    REPORTS_VERSION,
    SCALE,
    ExtractiveReports,
    ModelReports,
    Report,
    ReportWriter,
)
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import ngettext, tr
from graphrag_rdf.ingest.extractors import prompt_data, prompt_folder, require_use
from graphrag_rdf.ingest.model_run import ModelRun, ModelTask, activity_of
from graphrag_rdf.ingest.report import StageReport, since
from graphrag_rdf.rdf import community_reports as build
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import node_of, now, text_of
from graphrag_rdf.store.base import Changes, Store

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents

STAGE = "community report"
"""The stage of failures of reports."""
_RECORD = NamedNode("urn:graphrag-rdf:community-reports")
_WRITTEN = 100
"""Extractive reports in a transaction."""


@dataclass(frozen=True, slots=True)
class ReportFailure:
    """A community whose report could not be written."""

    community: str
    reason: str


@dataclass(slots=True)
class ReportCounts:
    """How reports fared.

    Attributes:
        by: who writes them: a model's name, `extractive`, or `none`.
        written, kept: in this run.
        dropped: citations and findings that were left out, by reason.
        stopped: why the run ended early (`budget`, `interrupted`), None if it did not.
    """

    by: str = "none"
    written: int = 0
    kept: int = 0
    failed: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    failures: list[ReportFailure] = field(default_factory=list)
    stopped: str | None = None


@dataclass(slots=True)
class CommunitiesReport(StageReport):
    """What a build of communities and their reports did."""

    build: BuildReport
    reports: ReportCounts

    def as_json(self) -> dict[str, Any]:
        """The keys of `communities build --format json`."""
        return {
            **asdict(self.build),
            "reports": asdict(self.reports) | {"dropped": dict(self.reports.dropped)},
            **self.shared_json(),
        }


def refresh_communities(
    engine: NeededComponents,
    *,
    again: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> CommunitiesReport:
    """See `Engine.build_communities`."""
    begun, spent = time.perf_counter(), engine.budget.usage
    settings = engine.settings.communities
    writer = choose_writer(engine)
    found = build_communities(engine.store, CommunitySettings.of(settings), again=again)
    run = _Run(engine.store, writer, settings.report_tokens, progress, stop)
    report = CommunitiesReport(found, run.run(engine.settings.extract.jobs))
    counts = report.reports
    engine.indexer.refresh_reports()
    if engine.indexer.error is not None:
        report.warn("embedding_failed", engine.indexer.error)
    if counts.failures:
        detail = ngettext(
            "{count:,} report could not be written: {reason}",
            "{count:,} reports could not be written: {reason}",
            counts.failed,
        ).format(count=counts.failed, reason=counts.failures[0].reason)
        report.warn("report_failed", detail)
    if counts.stopped == "budget":
        detail = tr("the budget was used up before all reports of communities were written")
        report.warn("budget_spent", detail)
    report.llm = since(spent, engine.budget.usage)
    report.seconds = round(time.perf_counter() - begun, 3)
    return report


def choose_writer(engine: NeededComponents) -> ReportWriter | None:
    """What the settings want to write reports; None for no reports.

    Raises:
        ConfigError: when a model is asked for and none is set, or the prompt does not read what was tuned.
        TemplateError: the prompt is missing or malformed.
    """
    settings, model = engine.settings, engine.settings.llm.model
    use = settings.communities.reports
    if use == "llm" and model is None:
        raise ConfigError(
            tr("communities.reports is llm, but no model is set"), hint=tr("name one with --model")
        )
    if use == "none":
        return None
    if use == "extractive" or model is None:
        return ExtractiveReports()
    data = prompt_data(settings)
    prompts = prompt_folder(settings, "ingest", PROMPT)
    require_use(prompts / PROMPT, "importance", given=data.importance is not None)
    return ModelReports(prompts, engine.gateway, model, data)


@dataclass(slots=True)
class _Task(ModelTask):
    """A community whose report is to be written."""

    context: Context
    hash: str

    @property
    def name(self) -> str:
        return ", ".join(self.context.central)


class _Run(ModelRun[_Task, Report]):
    def __init__(
        self,
        store: Store,
        writer: ReportWriter | None,
        tokens: int,
        progress: Callable[[int, int, str], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        agent = prov.agent(writer.component, REPORTS_VERSION) if writer is not None else ()
        super().__init__(store, agent=agent, progress=progress, stop=stop)
        self._writer, self._tokens = writer, tokens
        self.counts = ReportCounts()

    def run(self, jobs: int) -> ReportCounts:
        """Write the reports that the store does not have."""
        store, writer, counts = self._store, self._writer, self.counts
        record = self._record()
        rows = store.select("communities/reported")
        complete = bool(rows) and text_of(rows[0]["parameters"]) == record
        before = store.select("communities/reports", communities=[])
        self._have = {node_of(row["community"]): node_of(row["report"]) for row in before}
        if writer is None:
            self._remove_all()
            return counts
        counts.by = writer.model or "extractive"
        if complete:
            counts.kept = len(self._have)
            return counts
        store.commit(Changes(updates=[("communities/reports-begin", {})], content=False))
        listed = [
            (text_of(row["level"]), node_of(row["community"]))
            for row in store.select("communities/to-report")
        ]
        for _, level in groupby(
            listed, key=lambda one: one[0]
        ):  # those of a level are no parts of each other
            tasks = self._tasks(writer, [community for _, community in level])
            if writer.model is not None:
                counts.stopped = self.work(tasks, len(listed), jobs)
            else:
                counts.stopped = self.work_here(tasks, len(listed), _WRITTEN)
            if counts.stopped is not None:
                break
        if counts.stopped is None and not counts.failures:
            quads = [
                Quad(_RECORD, RDF.type, PROV.Activity, Graphs.COMMUNITY),
                Quad(_RECORD, RAG.parameters, Literal(record), Graphs.COMMUNITY),
            ]
            store.commit(Changes(add=quads, content=False))
        return counts

    def _record(self) -> str:
        """Everything that a complete run depends on."""
        build_ = built(self._store)
        said = {
            "build": asdict(build_) if build_ is not None else None,
            "key": self._writer.key if self._writer is not None else None,
            "tokens": self._tokens,
        }
        return json.dumps(said, sort_keys=True)

    def _remove_all(self) -> None:
        changes = Changes(content=False)
        drop_reports(self._store, changes, communities=sorted(self._have, key=str))
        if changes.updates:
            changes.updates.append(("communities/reports-begin", {}))
        self._store.commit(changes)

    def _tasks(self, writer: ReportWriter, communities: Sequence[NamedNode]) -> Iterator[_Task]:
        for context in read_contexts(self._store, communities, self._tokens):
            community, hash_ = context.community, context.hash(writer.key)
            task = _Task(community, iris.failure(community, STAGE), context=context, hash=hash_)
            if self._have.get(community) == iris.community_report(community, hash_):
                self.counts.kept += 1
                self.passed(task)
            else:
                yield task

    def ask(self, task: _Task) -> Report:
        assert self._writer is not None  # noqa: S101 - there are no tasks without one
        return self._writer.write(task.context)

    def replace(self, tasks: Sequence[_Task], changes: Changes) -> None:
        former = [task.about for task in tasks if task.about in self._have]
        gone = {*drop_reports(self._store, changes, communities=former)}
        self._have = {community: report for community, report in self._have.items() if report not in gone}

    def found(self, task: _Task, answer: Report) -> Iterator[Quad]:
        facts = self._facts(task, answer)
        self._have[task.about] = facts.iri
        self.counts.written += 1
        self.counts.dropped += answer.dropped
        return build.report(facts)

    def failure(self, task: _Task, reason: str) -> Iterator[Quad]:
        self.counts.failed += 1
        self.counts.failures.append(ReportFailure(task.about.value, reason))
        return prov.failure(task.about, STAGE, reason, now())

    def _facts(self, task: _Task, report: Report) -> build.ReportFacts:
        writer, calls = self._writer, report.completions
        assert writer is not None  # noqa: S101 - there are no tasks without one
        rating = None if report.rating is None else (report.rating, SCALE, report.rating_explanation)
        return build.ReportFacts(
            task.about,
            task.hash,
            report.title,
            report.summary,
            rating,
            [(found.summary, found.explanation, found.cites) for found in report.findings],
            activity_of(
                writer.component, writer.model, sorted(task.context.sources, key=str), task.started, calls
            ),
            task.context.parts,
        )
