"""Which reports of communities are read for a question, and in which batches: the beginning of global search.

Static: communities that cover every entity once, the smallest whose reports fit one batch, or all of one
level. Dynamic: a model rates reports from the largest communities down, and looks into what is relevant.
Queries decide which reports count and in which order; each report that was looked at is in the trace, with
the reason if it is left out.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias
from typing import Literal as Choice

from pydantic import Field
from pyoxigraph import NamedNode

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.errors import LlmError, UsageError
from graphrag_rdf.i18n import ERASED, later, tr
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.llm.jsonl import Section, parse_sections
from graphrag_rdf.rdf.namespaces import RAG, RDFS
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.steps.dates import warn_of_undated_reports
from graphrag_rdf.steps.findings import Finding, findings_of, require_reports, sources_of
from graphrag_rdf.steps.kept import keep
from graphrag_rdf.steps.kinds import Limit, Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.prompts import ask_for
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.store.base import Row, in_batches
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, StepField, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.recorder import Step

Rating = Annotated[float, Field(ge=0, le=10)]
_DEEPEST = 1000
Level = Annotated[int, Field(ge=-1, le=_DEEPEST)]
Form: TypeAlias = Choice["full", "short", "summary"]
"""What is read of reports: summary and findings; findings in their first sentences; summaries only."""

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
_TOO_MANY = later("the number of batches is limited")
_SHOWN = 10  # reports that `trace show` lists without --full


def _text(page: Lines, step: TraceStep, full: bool) -> None:
    reports: list[ConsideredReport] = step.items["reports"]
    read = [one for one in reports if one.batch is not None]
    said = step.values  # traces of earlier versions have no counts, and all reports
    taken, candidates = said["taken"] or len(read), said["candidates"] or len(reports)
    batches = said["batches"] or max((one.batch or 0 for one in read), default=0)
    page.line(
        tr("    Read {taken} of {candidates} report(s), in {batches} batch(es)").format(
            taken=taken, candidates=candidates, batches=batches
        )
    )
    for one in reports if full else reports[:_SHOWN]:
        known = {"weight": one.weight, "rating": one.rating, "relevance": one.relevance}
        told = [f"{name} {value:.3g}" for name, value in known.items() if value is not None]
        where = (
            tr("batch {batch}").format(batch=one.batch)
            if one.batch is not None
            else tr("left out: {reason}").format(reason=tr(one.reason) if one.reason else "")
        )
        page.paragraph(f"{one.title or tr(ERASED)} ({', '.join([where, *told])})", "      ", "- ")
    if more := candidates - (len(reports) if full else min(_SHOWN, len(reports))):
        page.line("      " + tr("… and {count:,} more").format(count=more))


REPORT_SELECTION = NodeKind(
    "report-selection",
    RAG.ReportSelection,
    "Which reports of communities are read.",
    fields=(
        StepField("candidates", RAG.candidateCount),
        StepField("taken", RAG.takenCount),
        StepField("batches", RAG.batchCount),
    ),
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

    def tokens(self, form: Form) -> int:
        """It takes in a prompt."""
        texts = [self.considered.title or ""]
        if form != "short":
            texts.append(self.summary)
        if form != "summary":
            texts += [one.text if form == "full" else one.short for one in self.findings]
        return sum(count_tokens(text) + 6 for text in texts)


@dataclass(slots=True)
class Batch:
    """Reports that are read together.

    Attributes:
        number: from 1.
        form: what is read of them.
        parts: batches that it stands for, see `_joined`.
        _places: see `_places_of`, by language.
    """

    number: int
    reports: list[ReportText]
    form: Form = "full"
    parts: int = 1
    _places: dict[str | None, dict[str, list[int]]] = field(default_factory=dict)

    def nearest(self, words: QuestionWords, most: int) -> list[tuple[float, Finding]]:
        """Findings with their share of a question's words, title of the report included: the greatest first,
        then in order; those without any come last. Of findings with the same words only the best.
        """
        findings = [(one.considered.title or "", finding) for one in self.reports for finding in one.findings]
        shared: list[list[str]] = [[] for _ in findings]
        for term in words.weights:
            for place in self._places_of(words.language).get(term, ()):
                shared[place].append(term)
        # no share is greater; pairs of characters may count without being a term, see QuestionWords
        bounds = [1.0 if words.between else words.weight(terms) for terms in shared]
        best: dict[str, tuple[float, int]] = {}  # explanation → share, and place so that earlier is greater
        for places in in_batches(sorted(range(len(findings)), key=lambda place: -bounds[place]), most):
            first = bounds[places[0]], -places[0]
            if len(best) >= most and first < heapq.nlargest(most, best.values())[-1]:
                break
            for place in places:
                title, finding = findings[place]
                share = words.coverage(title, finding.text) if bounds[place] else 0.0
                known = best.get(finding.explanation, (share, -place))
                best[finding.explanation] = max(known, (share, -place))
        return [(share, findings[-place][1]) for share, place in heapq.nlargest(most, best.values())]

    def _places_of(self, language: str | None) -> Mapping[str, Sequence[int]]:
        """Term → findings that have it, in them or in the title of their report."""
        found = self._places.get(language)
        if found is None:
            found = {}
            place = 0
            for one in self.reports:
                title = analyse(one.considered.title or "", language)
                for finding in one.findings:
                    for term in {*title, *analyse(finding.text, language)}:
                        found.setdefault(term, []).append(place)
                    place += 1
            self._places[language] = found
        return found

    def numbered(self) -> dict[int, list[Finding]]:
        """What the numbers in the prompt stand for: a finding, or all those of a summary."""
        if self.form == "summary":
            return {number: one.findings for number, one in enumerate(self.reports, start=1)}
        found = (finding for one in self.reports for finding in one.findings)
        return {number: [one] for number, one in enumerate(found, start=1)}

    def shown(self) -> list[dict[str, Any]]:
        """The reports as prompts have them."""
        told = []
        number = 0
        for place, one in enumerate(self.reports, start=1):
            findings = []
            for finding in () if self.form == "summary" else one.findings:
                number += 1
                text = finding.short if self.form == "short" else finding.text
                findings.append({"number": number, "text": text})
            own = place if self.form == "summary" else None
            summary = "" if self.form == "short" else one.summary  # its findings say it, and can be cited
            told.append(
                {"title": one.considered.title, "summary": summary, "number": own, "findings": findings}
            )
        return told


class ReportParameters(StepParameters):
    """Of the step that chooses reports."""

    batch_tokens: Some = Field(12000, description="tokens of the reports that are read at once")
    batches: Some = Field(50, description="batches at most; further reports are left out, with a warning")
    content: Choice["full", "summary"] = Field(
        "full",
        description="full: findings are read, in their first sentences if only so they fit one batch; "
        "summary: only summaries of reports",
    )
    min_rating: Rating = Field(0.0, description="least rating of a report that has one, 0 to 10")
    considered_limit: Limit = Field(
        30, description="reports that the trace keeps, of those that are read and of those that are left out"
    )
    seed: Limit = Field(
        86, description="of the order in which reports are dealt to batches; 0: by weight, the greatest first"
    )


class StaticParameters(ReportParameters):
    """Of the reports that do not depend on the question."""

    level: Level = Field(
        -1,
        description="level of the communities; -1: those that cover every entity once, the smallest whose "
        "reports fit one batch, else the largest; without a model the smallest",
    )


class DynamicParameters(ReportParameters):
    """Of the reports that a model finds relevant."""

    threshold: Rating = Field(3.0, description="relevance, 0 to 10, from which a report counts")
    rated_at_once: Some = Field(10, description="reports that the model rates in a call")
    rating_calls: Some = Field(50, description="calls that rate reports, at most")


@dataclass(slots=True)
class Chosen:
    """The reports that are read. Runs share them while the store stays the same, so nobody changes them.

    Attributes:
        shown: what traces keep of those that were considered.
        candidates, taken: how many were considered, and are read.
        over: how many are not, because the number of batches is limited.
        sources: what those that are shown were written from.
    """

    batches: list[Batch]
    shown: list[ConsideredReport]
    candidates: int
    taken: int
    over: int
    sources: list[NamedNode]


def static(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The reports of a level, or those that cover every entity once (`_covering`). They are read from the
    store again only after something other than a trace was written to it.
    """
    step = context.recorder.step(REPORT_SELECTION)
    require_reports(context)
    depends_on = (
        context.store.knowledge_commit(),
        context.gateway is None,
        dict(parameters),
        tuple(state.include),
        tuple(state.exclude),
    )

    def choose() -> Chosen:
        level = parameters["level"]
        reports = (
            _covering(context, state, step, parameters)
            if level < 0
            else _read(context, state, step, parameters, _at(context, level, step))
        )
        return _choose(context, step, parameters, reports)

    yield _finish(context, state, parameters, step, keep(context, step, "reports", depends_on, choose))


def _covering(context: Context, state: State, step: Step, parameters: Parameters) -> list[ReportText]:
    """Reports that cover every entity once: of the smallest communities that fit one batch in full, else of
    the largest. Without a model no prompt limits them.
    """

    def down_to(deepest: int) -> list[NamedNode]:
        rows = context.decide(step, "selection/report-frontier", deepest=deepest)
        return [row["community"] for row in rows]

    if context.gateway is None:
        return _read(context, state, step, parameters, down_to(_DEEPEST))
    communities = down_to(0)
    reports = _read(context, state, step, parameters, communities)
    finer = reports
    for deepest in range(1, _DEEPEST):
        if not _fit(finer, "full", parameters):
            break
        reports, before = finer, communities
        communities = down_to(deepest)
        if communities == before:
            break
        finer = _read(context, state, step, parameters, communities)
    return reports


def _fit(reports: Sequence[ReportText], form: Form, parameters: Parameters) -> bool:
    """Whether one batch has room for reports."""
    taken = (one.tokens(form) for one in reports if one.considered.reason is None)
    return sum(taken) <= int(parameters["batch_tokens"])


def _at(context: Context, level: int, step: Step) -> list[NamedNode]:
    rows = context.decide(step, "selection/reports-at", level=level)
    if not rows:
        raise UsageError(
            tr("no community of level {level} has a report").format(level=level),
            hint=tr("leave out reports.level, or see: graphrag-rdf communities list"),
        )
    return [row["community"] for row in rows]


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
    reports = _read(context, state, step, parameters, [row["community"] for row in rows])
    yield _finish(context, state, parameters, step, _choose(context, step, parameters, reports, rater))


def _finish(
    context: Context, state: State, parameters: Parameters, step: Step, chosen: Chosen
) -> GraphRagResponse:
    """Hand the batches over, and record which reports were considered."""
    recorder = context.recorder
    state.work.items = chosen.batches
    warn_of_undated_reports(state)
    if chosen.over:
        most = parameters["batches"]
        state.warn(
            "limit_reached",
            tr("{over} report(s) were not read: reports.batches is {most}").format(
                over=chosen.over, most=most
            ),
        )
    for predicate, number in (
        (RAG.candidateCount, chosen.candidates),
        (RAG.takenCount, chosen.taken),
        (RAG.batchCount, len(chosen.batches)),
    ):
        recorder.say(step, predicate, integer(number))
    recorder.items(step, CONSIDERED_REPORT, [copy.copy(one) for one in chosen.shown])
    for source in chosen.sources:
        recorder.say(step, RAG.readSource, source)
    return recorder.finish(step)


def _choose(
    context: Context,
    step: Step,
    parameters: Parameters,
    reports: Sequence[ReportText],
    rater: _Rater | None = None,
) -> Chosen:
    """Deal reports to batches. With a model, findings are shortened if all then fit one batch, or if a
    report alone does not fit.
    """
    kept = [one for one in reports if one.considered.reason is None]
    form: Form = parameters["content"]
    if form == "full" and context.gateway is not None and not _fit(kept, "full", parameters):
        fit = _fit(kept, "short", parameters) or not all(_fit([one], "full", parameters) for one in kept)
        form = "short" if fit else "full"
    batches = _deal(kept, parameters, form)
    if context.gateway is None and batches:  # no prompt limits what is read at once
        batches = [_joined(batches)]
    considered = {one.community: one.considered for one in reports}
    for community, found in rater.considered.items() if rater else ():
        mine = considered.setdefault(community, found)
        mine.relevance = found.relevance
        if mine is found and mine.reason is None:
            mine.reason = (
                later("reports of its parts are read")
                if found.relevance is None or found.relevance >= parameters["threshold"]
                else later("it is not relevant")
            )
    taken = [one for one in considered.values() if one.batch is not None]
    left = [one for one in considered.values() if one.batch is None]
    most = parameters["considered_limit"]
    listed = {id(one) for one in (*taken[:most], *left[:most])}
    shown = [one for one in considered.values() if id(one) in listed]
    return Chosen(
        batches=batches,
        shown=shown,
        candidates=len(considered),
        taken=len(taken),
        over=sum(one.considered.reason == _TOO_MANY for one in kept),
        sources=sources_of(context, step, [one.report for one in shown]),
    )


def _read(
    context: Context, state: State, step: Step, parameters: Parameters, chosen: Sequence[NamedNode]
) -> list[ReportText]:
    """The reports in the order in which they count, those that are left out with the reason."""
    weights: dict[NamedNode, tuple[float, float]] = dict.fromkeys(chosen, (0.0, 0.0))
    for batch in in_batches(chosen):
        for row in context.select(step, "communities/report-weights", communities=batch):
            chunks = row["chunks"]
            weights[row["community"]] = chunks, row["boilerplate"] / chunks
    greatest = max((chunks for chunks, _ in weights.values()), default=0.0) or 1.0
    if not weights:
        return []
    rows = context.decide(
        step,
        "selection/reports",
        weighed=[
            (community, chunks / greatest, frame)
            for community, (chunks, frame) in sorted(weights.items(), key=str)
        ],
        min_rating=parameters["min_rating"],
        include=list(state.include),
        exclude=list(state.exclude),
        seed=parameters["seed"],
    )
    kept = [row["report"] for row in rows if row["reason"] is None]
    findings = findings_of(context, step, kept)
    return [_text_of(row, findings) for row in rows]


def _text_of(row: Row, findings: Mapping[NamedNode, list[Finding]]) -> ReportText:
    report = row["report"]
    considered = ConsideredReport(
        report,
        row["title"],
        row["weight"],
        row["rating"],
        reason=row["reason"],
    )
    texts = row["summary"], row["place"]
    return ReportText(row["community"], considered, *texts, findings.get(report, []))


def _deal(reports: Sequence[ReportText], parameters: Parameters, form: Form) -> list[Batch]:
    """The batches, each as full as it gets; in a batch the greatest weights come first. If there are too many
    reports, those that count least are left out.
    """
    room, most = parameters["batch_tokens"], parameters["batches"]
    total = 0
    sizes: dict[str, int] = {}
    fitting: list[ReportText] = []
    for one in reports:
        tokens = sizes[one.place] = one.tokens(form)
        if tokens > room:
            one.considered.reason = tr("its {tokens:,} tokens are more than a batch may have").format(
                tokens=tokens
            )
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
            batches.append(Batch(len(batches) + 1, [], form))
            left = room
        left -= sizes[one.place]
        batches[-1].reports.append(one)
        one.considered.batch = batches[-1].number
    for batch in batches:
        batch.reports.sort(key=lambda one: (-(one.considered.weight or 0.0), -(one.considered.rating or 0.0)))
    return batches


def _joined(batches: Sequence[Batch]) -> Batch:
    """All batches as one."""
    first, reports = batches[0], [one for batch in batches for one in batch.reports]
    for one in reports:
        one.considered.batch = first.number
    return Batch(first.number, reports, first.form, len(batches))


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
        level = [row["community"] for row in rows]
        while level:
            self._rate(level)
            relevant = [one for one in level if self.rated.get(one, 0.0) >= self._parameters["threshold"]]
            level = self._parts(relevant or [one for one in level if one in self.rated])
        if self._unrated:
            limit = self._parameters["rating_calls"]
            detail = tr("{unrated} report(s) were not rated: reports.rating_calls is {limit}").format(
                unrated=self._unrated, limit=limit
            )
            self._state.warn("limit_reached", detail)

    def _parts(self, communities: Sequence[NamedNode]) -> list[NamedNode]:
        found: list[NamedNode] = []
        for batch in in_batches(communities):
            rows = self._context.select(self._step, "communities/report-parts", communities=batch)
            found += [row["part"] for row in rows]
        return found

    def _rate(self, communities: Sequence[NamedNode]) -> None:
        """Rate reports, a few in a call, calls at once."""
        listed: list[tuple[NamedNode, ConsideredReport, str]] = []
        for batch in in_batches(communities):
            for row in self._context.select(self._step, "communities/reports", communities=batch):
                rating = row["rating"]
                one = ConsideredReport(row["report"], row["title"], rating=rating)
                self.considered[row["community"]] = one
                listed.append((row["community"], one, row["summary"]))
        groups = list(in_batches(listed, self._parameters["rated_at_once"]))
        asked, rest = groups[: self._calls], groups[self._calls :]
        self._calls -= len(asked)
        with ThreadPoolExecutor(max(1, self._context.jobs), "rate") as pool:
            for group, ratings in zip(asked, pool.map(self._ask, asked), strict=True):
                self._take(group, ratings)
        for group in rest:
            self._unrated += len(group)
            for _, one, _ in group:
                one.reason = later("it was not rated: the number of calls is limited")

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
            self._state.warn(
                "rating_failed",
                tr("{missing} report(s) have no rating and are read{why}").format(missing=missing, why=why),
            )


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
