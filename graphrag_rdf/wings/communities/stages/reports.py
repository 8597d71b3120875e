"""Communities, and reports of those with two members at least.

Reports are written from the highest level down to 0, so that a report can use those of the community's
parts. The store is the journal: the IRI of a report has the hash of everything that it depends on, and a
report with this IRI is not written again. So the next run continues where one was stopped. A report replaces
the community's former one, in one transaction.

A failed call, or an answer that is no report, is a recorded failure of the community; the former report
stays. What removes a document, chunk, fact or entity removes the reports that were written from it at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import later, listed, ngettext, tr
from graphrag_rdf.ingest.model_stage import (
    ModelStage,
    Option,
    Plan,
    StageReport,
    Task,
    activity_of,
)
from graphrag_rdf.ingest.stages import Stage
from graphrag_rdf.rdf import community_reports as build
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.store import records
from graphrag_rdf.store.base import Changes
from graphrag_rdf.wings.communities.build import REPORTS, CommunitySettings, build_communities, built
from graphrag_rdf.wings.communities.settings import CommunitySection

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.wings.communities.context import Context
    from graphrag_rdf.wings.communities.report import Report, ReportWriter


class Communities(ModelStage["ReportWriter", "Context", "Report"]):
    """Group entities, and write a report of each group."""

    stage = Stage(
        "communities",
        "end",
        optional=True,
        needs=("names",),
        chooses="communities.reports",
        settings=(
            *("communities.auto", "communities.resolution", "communities.max_size", "communities.seed"),
            *("communities.statement_weight", "communities.sentence_weight", "communities.topic_weight"),
            "communities.report_tokens",
        ),
    )
    command = ("communities", "build")
    help = """Group all entities, replace the communities of the store, and write their reports.

    Two entities belong together by facts between them, by sentences that name both, and by chunks about one
    that name the other; the settings communities.*_weight weigh these. The same store and settings give the
    same communities. With the setting communities.auto, each ingest that changes something builds them.

    Each community with two entities at least gets a report. A report whose sources have not changed is not
    written again, and a stopped run continues where it stopped.
    """
    examples = (
        "graphrag-rdf communities build",
        "graphrag-rdf communities build --model openai/gpt-4.1-mini",
    )
    options = (
        Option("communities.resolution", "Above 1: more and smaller communities (default: 1).", "X"),
        Option("communities.max_size", "Divide larger communities (default: 10).", "N"),
        Option("communities.seed", "Seed of the clustering (default: 0).", "N"),
        Option(
            "communities.reports",
            "How to write the reports: by a model, or by quoting (default: by a model, if one is set).",
        ),
    )
    of_documents = can_estimate = False
    again_help = "Build also if nothing has changed since the last build."
    unit = "reports"
    done = "written"
    tasks = later("reports")
    failed_at = "community report"
    warning = "report_failed"
    budget_spent = later("the budget was used up before all reports of communities were written")
    unfinished = later("some reports were not written: run the same command again to continue")
    uncounted = later("reports of communities")
    record = records.REPORTS
    made = REPORTS

    @classmethod
    def is_wanted(cls, settings: Settings) -> bool:
        return settings.of(CommunitySection).auto

    @classmethod
    def failed(cls, count: int, reason: str) -> str:
        return ngettext(
            "{count:,} report could not be written: {reason}",
            "{count:,} reports could not be written: {reason}",
            count,
        ).format(count=count, reason=reason)

    @classmethod
    def rows(cls, report: StageReport) -> Iterator[tuple[str, str]]:
        results, origins = report.results, report.results["origins"]
        levels = listed(
            tr("{number:,} of level {level}").format(number=number, level=level)
            for level, number in results["communities"].items()
        )
        yield tr("communities"), levels or tr("none")
        changed = tr("{added:,} added, {kept:,} kept, {removed:,} removed").format(**results)
        yield tr("changed"), tr("nothing since the last build") if results["unchanged"] else changed
        yield tr("entities"), tr("{entities:,}, of these {alone:,} alone").format(**origins)
        pairs = tr(
            "{edges:,}: {by_facts:,} by facts, {by_sentences:,} by sentences, {by_topics:,} by topics of "
            "chunks"
        )
        yield tr("pairs"), pairs.format(**origins)

    @classmethod
    def json(cls, report: StageReport) -> dict[str, Any]:
        work = report.work_json()
        reports = {**report.counts.named(cls.done), **work, "dropped": work["rejected"]}
        return {**report.results, "reports": reports}

    @classmethod
    def result(cls, report: StageReport) -> int:
        return sum(report.results["communities"].values())

    @classmethod
    def row(cls, result: Any) -> tuple[str, str]:
        return tr("communities"), f"{result:,}"

    def choose(self) -> ReportWriter | None:
        settings, model = self.settings, self.settings.llm.model
        use = settings.of(CommunitySection).reports
        if use == "llm" and model is None:
            raise ConfigError(
                tr("communities.reports is llm, but no model is set"), hint=tr("name one with --model")
            )
        if use == "none":
            return None
        from graphrag_rdf.ingest.extractors import prompt_data, prompt_folder, require_use
        from graphrag_rdf.wings.communities.report import PROMPT, ExtractiveReports, ModelReports

        if use == "extractive" or model is None:
            return ExtractiveReports()
        data = prompt_data(settings)
        prompts = prompt_folder(settings, "ingest", PROMPT)
        require_use(prompts / PROMPT, "importance", given=data.importance is not None)
        return ModelReports(prompts, self.engine.gateway, model, data)

    def agent(self) -> Iterable[Quad]:
        from graphrag_rdf.wings.communities.report import REPORTS_VERSION

        return prov.agent(self.reader.component, REPORTS_VERSION)

    def begin(self) -> None:
        """Build the communities; without reports, remove those of before."""
        writer, settings = self.chosen, CommunitySettings.of(self.settings.of(CommunitySection))
        self.report.results = asdict(build_communities(self.store, settings, again=self.again is True))
        rows = self.store.select("communities/reports", communities=[])
        self._have = {row["community"]: row["report"] for row in rows}
        if writer is None:
            changes = Changes(content=False)
            REPORTS.drop_made(self.store, changes, communities=sorted(self._have, key=str))
            if changes.updates:
                changes.updates.append(("communities/reports-begin", {}))
            self.store.commit(changes)

    def plan(self) -> Plan[Context]:
        record = self._record()
        if self.is_recorded(record):
            return Plan(kept=len(self._have))
        rows = self.store.select("communities/to-report")
        levels = groupby(rows, key=lambda row: row["level"])  # none is a part of one of its level
        groups = (self._tasks([row["community"] for row in level]) for _, level in levels)
        return Plan(groups, len(rows), record=record)

    def _record(self) -> str:
        """Everything that a complete run depends on."""
        last = built(self.store)
        known = {
            "build": asdict(last) if last is not None else None,
            "key": self.reader.key,
            "tokens": self.settings.of(CommunitySection).report_tokens,
        }
        return json.dumps(known, sort_keys=True)

    def _tasks(self, communities: Sequence[NamedNode]) -> Iterator[Task[Context]]:
        from graphrag_rdf.wings.communities.context import read_contexts

        for context in read_contexts(
            self.store, communities, self.settings.of(CommunitySection).report_tokens
        ):
            community = context.community
            task = Task(
                context,
                (community,),
                iris.failure(community, self.failed_at),
                {"community": community.value},
                ", ".join(context.central),
            )
            if self._have.get(community) == iris.community_report(community, context.hash(self.reader.key)):
                self.report.counts.kept += 1
                self.pass_over(task)
            else:
                yield task

    def prepare(self, plan: Plan[Context]) -> None:
        if plan.record is not None:
            self.store.commit(Changes(updates=[("communities/reports-begin", {})], content=False))

    def ask(self, task: Task[Context]) -> Report:
        return self.reader.write(task.item)

    def replace(self, tasks: Sequence[Task[Context]], changes: Changes) -> None:
        former = [task.item.community for task in tasks if task.item.community in self._have]
        gone = {*REPORTS.drop_made(self.store, changes, communities=former)}
        self._have = {community: report for community, report in self._have.items() if report not in gone}

    def quads(self, task: Task[Context], answer: Report) -> Iterator[Quad]:
        facts = self._facts(task, answer)
        self._have[task.item.community] = facts.iri
        self.report.rejected += answer.dropped
        return build.report(facts)

    def _facts(self, task: Task[Context], report: Report) -> build.ReportFacts:
        from graphrag_rdf.wings.communities.report import SCALE

        writer, context = self.reader, task.item
        rating = None if report.rating is None else (report.rating, SCALE, report.rating_explanation)
        sources = sorted(context.sources, key=str)
        return build.ReportFacts(
            context.community,
            context.hash(writer.key),
            report.title,
            report.summary,
            rating,
            [(finding.summary, finding.explanation, finding.cites) for finding in report.findings],
            activity_of(writer.component, writer.model, sources, task.started, report.completions),
            context.parts,
        )

    def end(self) -> None:
        indexer = self.engine.indexer
        indexer.refresh_reports()
        if indexer.error is not None:
            self.report.warn("embedding_failed", indexer.error)


STAGE = Communities
