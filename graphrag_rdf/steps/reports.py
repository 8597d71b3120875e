"""Which reports of communities are read for a question, and in which batches: the beginning of global search.

Static: the smallest communities that cover every entity once, or all of one level. Dynamic: a model rates
reports from the largest communities down, and looks into what is relevant. Queries decide which reports count
and in which order; each report that was looked at is in the trace, with the reason if it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar
from typing import Literal as Choice

from pydantic import Field
from pyoxigraph import NamedNode

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.errors import LlmError, UsageError
from graphrag_rdf.llm.jsonl import Section, parse_sections
from graphrag_rdf.rdf.namespaces import RAG, RDFS
from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.steps.findings import Finding, findings_of, record_sources, require_reports
from graphrag_rdf.steps.kinds import Limit, Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.prompts import ask_for
from graphrag_rdf.steps.search import number_of
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.store.base import Row, in_batches
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.recorder import Step

Rating = Annotated[float, Field(ge=0, le=10)]
Level = Annotated[int, Field(ge=-1, le=1000)]

# --- in traces ------------------------------------------------------------------------------------------


@item
class ConsideredReport:
    """A report that may be read.

    Attributes:
        title: None once it was erased.
        weight: of its community, as a share of the greatest; None of one that was only rated.
        rating: its own, 0 to 10; None without one.
        relevance: to the question, as the model rated it, 0 to 10; None if it did not.
        batch: in which it is read, from 1; None if it is left out.
        reason: why it is.
    """

    JSON: ClassVar = ("iri", "report", "title", "weight", "rating", "relevance", "batch", "reason")

    report: NamedNode = said(RAG.report)
    title: str | None = said(RDFS.label, words=True)
    weight: float | None = said(RAG.weight, default=None)
    rating: float | None = said(RAG.rating, default=None)
    relevance: float | None = said(RAG.relevance, default=None)
    batch: int | None = said(RAG.batch, default=None)
    reason: str | None = said(RAG.reason, default=None)
    index: int | None = said(RAG.index, default=None)
    iri: NamedNode | None = None


CONSIDERED_REPORT = ItemKind(
    "considered-report",
    "reports",
    RAG.consideredReport,
    RAG.ConsideredReport,
    ConsideredReport,
    compared=lambda one: one.title or one.report.value,
)
_TOO_MANY = "the number of batches is limited"
_SHOWN = 10  # reports that `trace show` lists without --full


def _text(page: Lines, step: TraceStep, full: bool) -> None:
    reports: list[ConsideredReport] = step.items["reports"]
    read = [one for one in reports if one.batch is not None]
    batches = max((one.batch or 0 for one in read), default=0)
    page.line(f"    Read {len(read)} of {len(reports)} report(s), in {batches} batch(es)")
    for one in reports if full else reports[:_SHOWN]:
        known = {"weight": one.weight, "rating": one.rating, "relevance": one.relevance}
        told = [f"{name} {value:.3g}" for name, value in known.items() if value is not None]
        where = f"batch {one.batch}" if one.batch is not None else f"left out: {one.reason}"
        page.paragraph(f"{one.title or '(erased)'} ({', '.join([where, *told])})", "      ", "- ")
    if not full and len(reports) > _SHOWN:
        page.line(f"      … and {len(reports) - _SHOWN} more")


REPORT_SELECTION = NodeKind(
    "report-selection",
    RAG.ReportSelection,
    "Which reports of communities are read.",
    items=(CONSIDERED_REPORT,),
    text=_text,
    page=Path(__file__).with_name("reports.html.j2"),
)

# --- batches --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ReportText:
    """A report as it is read.

    Attributes:
        place: where a seed puts it among others.
    """

    community: NamedNode
    considered: ConsideredReport
    summary: str
    place: str
    findings: list[Finding] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """It takes in a prompt."""
        texts = (self.considered.title or "", self.summary, *(one.text for one in self.findings))
        return sum(count_tokens(text) + 6 for text in texts)


@dataclass(slots=True)
class Batch:
    """Reports that are read together.

    Attributes:
        number: from 1.
        summaries: whether their summaries are read instead of their findings.
    """

    number: int
    reports: list[ReportText]
    summaries: bool = False

    def numbered(self) -> dict[int, list[Finding]]:
        """What the numbers in the prompt stand for: a finding, or all those of a summary."""
        if self.summaries:
            return {number: one.findings for number, one in enumerate(self.reports, start=1)}
        found = (finding for one in self.reports for finding in one.findings)
        return {number: [one] for number, one in enumerate(found, start=1)}

    def shown(self) -> list[dict[str, Any]]:
        """The reports as prompts have them."""
        told = []
        number = 0
        for place, one in enumerate(self.reports, start=1):
            findings = []
            for finding in () if self.summaries else one.findings:
                number += 1
                findings.append({"number": number, "text": finding.text})
            title, own = one.considered.title, place if self.summaries else None
            told.append({"title": title, "summary": one.summary, "number": own, "findings": findings})
        return told


class ReportParameters(StepParameters):
    """Of the step that chooses reports."""

    batch_tokens: Some = Field(12000, description="tokens of the reports that are read at once")
    batches: Some = Field(50, description="batches at most; further reports are left out, with a warning")
    content: Choice["full", "summary"] = Field(
        "full", description="full: findings are read; summary: only summaries of reports"
    )
    min_rating: Rating = Field(0.0, description="least rating of a report that has one, 0 to 10")
    seed: Limit = Field(
        86, description="of the order in which reports are dealt to batches; 0: by weight, the greatest first"
    )


class StaticParameters(ReportParameters):
    """Of the reports that do not depend on the question."""

    level: Level = Field(
        -1, description="level of the communities; -1: the smallest ones that cover every entity once"
    )


class DynamicParameters(ReportParameters):
    """Of the reports that a model finds relevant."""

    threshold: Rating = Field(3.0, description="relevance, 0 to 10, from which a report counts")
    rated_at_once: Some = Field(10, description="reports that the model rates in a call")
    rating_calls: Some = Field(50, description="calls that rate reports, at most")


def static(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The reports of a level, or those that cover every entity once."""
    step = context.recorder.step(REPORT_SELECTION)
    require_reports(context)
    level = parameters["level"]
    rows = (
        context.decide(step, "selection/report-frontier")
        if level < 0
        else context.decide(step, "selection/reports-at", level=level)
    )
    if not rows:
        raise UsageError(
            f"no community of level {level} has a report",
            hint="leave out reports.level, or see: graphrag-rdf communities list",
        )
    yield _finish(context, state, parameters, step, [node_of(row["community"]) for row in rows])


def dynamic(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The reports that a model rates as relevant; what is relevant is looked into."""
    step = context.recorder.step(REPORT_SELECTION)
    require_reports(context)
    rater = _Rater(context, state, step, parameters)
    rater.run()
    threshold = parameters["threshold"]
    rated = sorted(
        (rater.rated | dict.fromkeys(rater.unread, threshold)).items(), key=lambda one: str(one[0])
    )
    rows = context.decide(step, "selection/rated-reports", rated=rated, threshold=threshold)
    yield _finish(context, state, parameters, step, [node_of(row["community"]) for row in rows], rater)


def _finish(
    context: Context,
    state: State,
    parameters: Parameters,
    step: Step,
    chosen: Sequence[NamedNode],
    rater: _Rater | None = None,
) -> GraphRagResponse:
    """Deal the reports of communities to batches, and record all that were considered."""
    reports = _read(context, state, step, parameters, chosen)
    kept = [one for one in reports if one.considered.reason is None]
    summaries = parameters["content"] == "summary"
    state.work.items = _deal(state, kept, parameters, summaries=summaries)
    considered = {one.community: one.considered for one in reports}
    for community, found in rater.considered.items() if rater else ():
        mine = considered.setdefault(community, found)
        mine.relevance = found.relevance
        if mine is found and mine.reason is None:
            mine.reason = (
                "reports of its parts are read"
                if found.relevance is None or found.relevance >= parameters["threshold"]
                else "it is not relevant"
            )
    context.recorder.items(step, CONSIDERED_REPORT, considered.values())
    record_sources(context, step, [one.report for one in considered.values()])
    return context.recorder.finish(step)


def _read(
    context: Context, state: State, step: Step, parameters: Parameters, chosen: Sequence[NamedNode]
) -> list[ReportText]:
    """The reports in the order in which they count, those that are left out with the reason."""
    weights: dict[NamedNode, float] = dict.fromkeys(chosen, 0.0)
    for batch in in_batches(chosen):
        for row in context.select(step, "communities/report-weights", communities=batch):
            weights[node_of(row["community"])] = number_of(row["chunks"])
    greatest = max(weights.values(), default=0.0) or 1.0
    if not weights:
        return []
    rows = context.decide(
        step,
        "selection/reports",
        weighed=[(community, weight / greatest) for community, weight in sorted(weights.items(), key=str)],
        min_rating=parameters["min_rating"],
        include=list(state.include),
        exclude=list(state.exclude),
        seed=parameters["seed"],
    )
    kept = [node_of(row["report"]) for row in rows if "reason" not in row]
    findings = findings_of(context, step, kept)
    return [_text_of(row, findings) for row in rows]


def _text_of(row: Row, findings: Mapping[NamedNode, list[Finding]]) -> ReportText:
    report = node_of(row["report"])
    considered = ConsideredReport(
        report,
        text_of(row["title"]),
        number_of(row["weight"]),
        number_of(row["rating"]) if "rating" in row else None,
        reason=text_of(row["reason"]) if "reason" in row else None,
    )
    texts = text_of(row["summary"]), text_of(row["place"])
    return ReportText(node_of(row["community"]), considered, *texts, findings.get(report, []))


def _deal(
    state: State, reports: Sequence[ReportText], parameters: Parameters, *, summaries: bool
) -> list[Batch]:
    """The batches, each as full as it gets; in a batch the greatest weights come first. If there are too many
    reports, those that count least are left out.
    """
    room, most = parameters["batch_tokens"], parameters["batches"]
    total = 0
    sizes: dict[str, int] = {}
    fitting: list[ReportText] = []
    for one in reports:
        summary = f"{one.considered.title} {one.summary}"
        tokens = sizes[one.place] = count_tokens(summary) + 12 if summaries else one.tokens
        if tokens > room:
            one.considered.reason = f"its {tokens:,} tokens are more than a batch may have"
        elif total + tokens <= room * most:
            total += tokens
            fitting.append(one)
        else:
            one.considered.reason = _TOO_MANY
    batches: list[Batch] = []
    left = 0
    for one in sorted(fitting, key=lambda one: one.place) if parameters["seed"] else fitting:
        if sizes[one.place] > left:
            if len(batches) == most:
                one.considered.reason = _TOO_MANY
                continue
            batches.append(Batch(len(batches) + 1, [], summaries))
            left = room
        left -= sizes[one.place]
        batches[-1].reports.append(one)
        one.considered.batch = batches[-1].number
    for batch in batches:
        batch.reports.sort(key=lambda one: (-(one.considered.weight or 0.0), -(one.considered.rating or 0.0)))
    if over := sum(one.considered.reason == _TOO_MANY for one in reports):
        state.warn("limit_reached", f"{over} report(s) were not read: reports.batches is {most}")
    return batches


# --- dynamic selection ----------------------------------------------------------------------------------


_RATINGS = {"ratings": Section(("ratings", "rating_list"), ("report", "rating"))}


def read_ratings(text: str, numbers: Iterable[int]) -> dict[int, float]:
    """The ratings in an answer, by number; what has no fit rating is absent.

    Raises:
        ValueError: none of the numbers has one.
    """
    try:
        sections, _ = parse_sections(text, _RATINGS)
    except LlmError:
        raise ValueError("there is no list of ratings") from None
    known = {*numbers}
    found: dict[int, float] = {}
    for one in sections["ratings"]:
        try:
            number, rating = int(one["report"]), float(one["rating"])
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
        if number in known and 0 <= rating <= 10:
            found.setdefault(number, rating)
    if not found:
        raise ValueError("no report has a rating from 0 to 10")
    return found


class _Rater:
    """Rates reports, level by level.

    Attributes:
        rated: community → relevance.
        considered: all that were to be rated.
        unread: communities whose report could not be rated, which counts as just relevant.
    """

    def __init__(self, context: Context, state: State, step: Step, parameters: Parameters) -> None:
        self._context, self._state, self._step, self._parameters = context, state, step, parameters
        self._calls: int = parameters["rating_calls"]
        self._unrated = 0
        self.rated: dict[NamedNode, float] = {}
        self.considered: dict[NamedNode, ConsideredReport] = {}
        self.unread: list[NamedNode] = []

    def run(self) -> None:
        """Rate the largest communities, then the parts of those that are relevant; of all, if none is."""
        rows = self._context.select(self._step, "selection/topmost-reports")
        level = [node_of(row["community"]) for row in rows]
        while level:
            self._rate(level)
            relevant = [one for one in level if self.rated.get(one, 0.0) >= self._parameters["threshold"]]
            level = self._parts(relevant or [one for one in level if one in self.rated])
        if self._unrated:
            limit = self._parameters["rating_calls"]
            detail = f"{self._unrated} report(s) were not rated: reports.rating_calls is {limit}"
            self._state.warn("limit_reached", detail)

    def _parts(self, communities: Sequence[NamedNode]) -> list[NamedNode]:
        found: list[NamedNode] = []
        for batch in in_batches(communities):
            rows = self._context.select(self._step, "communities/report-parts", communities=batch)
            found += [node_of(row["part"]) for row in rows]
        return found

    def _rate(self, communities: Sequence[NamedNode]) -> None:
        """Rate reports, a few in a call, calls at once."""
        listed: list[tuple[NamedNode, ConsideredReport, str]] = []
        for batch in in_batches(communities):
            for row in self._context.select(self._step, "communities/reports", communities=batch):
                rating = number_of(row["rating"]) if "rating" in row else None
                one = ConsideredReport(node_of(row["report"]), text_of(row["title"]), rating=rating)
                self.considered[node_of(row["community"])] = one
                listed.append((node_of(row["community"]), one, text_of(row["summary"])))
        groups = list(in_batches(listed, self._parameters["rated_at_once"]))
        asked, rest = groups[: self._calls], groups[self._calls :]
        self._calls -= len(asked)
        with ThreadPoolExecutor(max(1, self._context.jobs), "rate") as pool:
            for group, ratings in zip(asked, pool.map(self._ask, asked), strict=True):
                self._take(group, ratings)
        for group in rest:
            self._unrated += len(group)
            for _, one, _ in group:
                one.reason = "it was not rated: the number of calls is limited"

    def _ask(self, group: Sequence[tuple[NamedNode, ConsideredReport, str]]) -> dict[int, float] | str:
        """The ratings by number, or why there are none."""
        reports = [
            {"number": number, "title": one.title, "summary": summary}
            for number, (_, one, summary) in enumerate(group, start=1)
        ]
        try:
            return ask_for(
                *(self._context, self._step, "rate"),
                lambda text: read_ratings(text, range(1, len(group) + 1)),
                prompt="rate",
                question=self._state.question,
                reports=reports,
            )
        except LlmError as error:
            if error.kind == "deadline":
                raise
            return error.message

    def _take(
        self, group: Sequence[tuple[NamedNode, ConsideredReport, str]], ratings: dict[int, float] | str
    ) -> None:
        missing = 0
        for number, (community, one, _) in enumerate(group, start=1):
            found = None if isinstance(ratings, str) else ratings.get(number)
            if found is None:
                missing += 1
                self.unread.append(community)
            else:
                self.rated[community] = one.relevance = found
        if missing:
            why = f": {ratings}" if isinstance(ratings, str) else ""
            self._state.warn("rating_failed", f"{missing} report(s) have no rating and are read{why}")


_STATIC = (
    "index/report-count",
    "selection/report-frontier",
    "selection/reports-at",
    "selection/reports",
    "communities/report-weights",
    "communities/finding-texts",
    "communities/report-sources",
)

CHOOSE_REPORTS = register(
    StepKind(
        "choose_reports",
        REPORT_SELECTION,
        "Chooses the reports of communities that are read, and deals them to batches.",
        {
            "static": Way(static, StaticParameters, templates=_STATIC),
            "dynamic": Way(
                dynamic,
                DynamicParameters,
                needs_model=True,
                prompts={"rate": "rate.j2"},
                templates=(
                    *_STATIC,
                    "selection/topmost-reports",
                    "selection/rated-reports",
                    "communities/report-parts",
                    "communities/reports",
                ),
            ),
        },
    )
)
