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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
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
from graphrag_rdf.ingest.extractors import prompt_folder, sum_known
from graphrag_rdf.ingest.report import StageReport, since
from graphrag_rdf.ingest.schedule import BudgetSpentError, Failure, Schedule
from graphrag_rdf.rdf import community_reports as build
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import node_of, now, text_of
from graphrag_rdf.store.base import Changes, Store, in_batches

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
    run = _Run(engine.store, writer, settings.report_tokens, engine.settings.extract.jobs, progress, stop)
    report = CommunitiesReport(found, run.run())
    counts = report.reports
    if counts.failures:
        what = "1 report" if counts.failed == 1 else f"{counts.failed:,} reports"
        detail = f"{what} could not be written: {counts.failures[0].reason}"
        report.warn("report_failed", detail)
    if counts.stopped == "budget":
        detail = "the budget was used up before all reports of communities were written"
        report.warn("budget_spent", detail)
    report.llm = since(spent, engine.budget.usage)
    report.seconds = round(time.perf_counter() - begun, 3)
    return report


def choose_writer(engine: NeededComponents) -> ReportWriter | None:
    """What the settings want to write reports; None for no reports.

    Raises:
        ConfigError: when a model is asked for and none is set.
        TemplateError: the prompt is missing or malformed.
    """
    settings, model = engine.settings, engine.settings.llm.model
    use = settings.communities.reports
    if use == "llm" and model is None:
        raise ConfigError("communities.reports is llm, but no model is set", hint="name one with --model")
    if use == "none":
        return None
    if use == "extractive" or model is None:
        return ExtractiveReports()
    return ModelReports(prompt_folder(settings, "ingest", PROMPT), engine.gateway, model)


@dataclass(slots=True)
class _Task:
    """A community whose report is to be written."""

    context: Context
    hash: str
    started: datetime = field(default_factory=now)


class _Run:
    def __init__(
        self,
        store: Store,
        writer: ReportWriter | None,
        tokens: int,
        jobs: int,
        progress: Callable[[int, int, str], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self._store, self._writer, self._tokens, self._jobs = store, writer, tokens, jobs
        self._progress, self._stop = progress, stop or (lambda: False)
        self._done = self._total = 0
        self.counts = ReportCounts()

    def run(self) -> ReportCounts:
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
        begin = Changes(updates=[("communities/reports-begin", {})], content=False)
        begin.add = list(prov.agent(writer.component, REPORTS_VERSION))
        store.commit(begin)
        listed = [
            (text_of(row["level"]), node_of(row["community"]))
            for row in store.select("communities/to-report")
        ]
        self._total = len(listed)
        try:
            for _, level in groupby(listed, key=lambda one: one[0]):
                self._write_level(writer, [community for _, community in level])
                if self._stop():
                    counts.stopped = "interrupted"
                    break
        except BudgetSpentError:
            counts.stopped = "budget"
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

    def _write_level(self, writer: ReportWriter, communities: Sequence[NamedNode]) -> None:
        """Write the reports of communities that are not parts of each other."""
        if writer.model is not None:
            Schedule(lambda task: writer.write(task.context), self._finish, self._stop).run(
                self._tasks(writer, communities), self._jobs
            )
            return
        for batch in in_batches(self._tasks(writer, communities), _WRITTEN):
            self._commit([(task, writer.write(task.context)) for task in batch])
            if self._stop():
                return

    def _tasks(self, writer: ReportWriter, communities: Sequence[NamedNode]) -> Iterator[_Task]:
        for context in read_contexts(self._store, communities, self._tokens):
            hash_ = context.hash(writer.key)
            if self._have.get(context.community) == iris.community_report(context.community, hash_):
                self.counts.kept += 1
                self._count(context.community)
            else:
                yield _Task(context, hash_)

    def _finish(self, task: _Task, outcome: Report | Failure) -> None:
        """Write a report, or why there is none; the former report stays then."""
        community = task.context.community
        if isinstance(outcome, Report):
            self._commit([(task, outcome)])
            return
        self.counts.failed += 1
        self.counts.failures.append(ReportFailure(community.value, outcome.message))
        failure = prov.failure(community, STAGE, outcome.message, now())
        self._store.commit(Changes(add=list(failure), content=False))
        self._count(community)

    def _commit(self, done: Iterable[tuple[_Task, Report]]) -> None:
        """Write reports in place of the former ones of their communities, in one transaction."""
        done = list(done)
        changes = Changes(content=False)
        former = [task.context.community for task, _ in done if task.context.community in self._have]
        gone = {*drop_reports(self._store, changes, communities=former)}
        self._have = {community: report for community, report in self._have.items() if report not in gone}
        for task, report in done:
            facts = self._facts(task, report)
            changes.add += build.report(facts)
            self._have[task.context.community] = facts.iri
            self.counts.written += 1
            self.counts.dropped += report.dropped
        self._store.commit(changes)
        for task, _ in done:
            self._count(task.context.community)

    def _facts(self, task: _Task, report: Report) -> build.ReportFacts:
        writer, calls = self._writer, report.completions
        assert writer is not None  # noqa: S101 - the run ends earlier without one
        rating = None if report.rating is None else (report.rating, SCALE, report.rating_explanation)
        return build.ReportFacts(
            task.context.community,
            task.hash,
            report.title,
            report.summary,
            rating,
            [(found.summary, found.explanation, found.cites) for found in report.findings],
            component=writer.component,
            parts=task.context.parts,
            sources=sorted(task.context.sources, key=str),
            started=task.started if calls else None,
            model=writer.model,
            prompt_hash=calls[-1].prompt_hash if calls else None,
            in_tokens=sum_known(call.in_tokens for call in calls),
            out_tokens=sum_known(call.out_tokens for call in calls),
        )

    def _count(self, community: NamedNode) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total, community.value)
