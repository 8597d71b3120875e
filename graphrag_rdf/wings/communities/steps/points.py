"""Global search: points from batches of reports, and the answer that is made from the best of them.

With a model each batch is a call that returns points, with scores and the findings that say them. Without one
each finding that is like the question is a point. The answer cites points by number; a number leads to the
facts and sentences that the point's findings rest on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.errors import GraphRagError, LlmError
from graphrag_rdf.i18n import ERASED, tr
from graphrag_rdf.llm.jsonl import Section, parse_sections
from graphrag_rdf.llm.model import encodable
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.steps.answer import SYNTHESIS, finish_answer, read_answer
from graphrag_rdf.steps.checking import SENTINEL, not_answered
from graphrag_rdf.steps.findings import TEMPLATES as FINDING_TEMPLATES
from graphrag_rdf.steps.findings import cite_findings, evidence_of, record_sources
from graphrag_rdf.steps.kinds import Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.prompts import ask_for, stream_model
from graphrag_rdf.steps.scores import fitting
from graphrag_rdf.steps.state import Context, Parameters, Selection, State
from graphrag_rdf.steps.synthesise import give_out
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.trace.citations import cited_numbers
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, StepField, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.communities.steps.reports import Batch, ReportText

Score = Annotated[float, Field(ge=0, le=100)]

# --- in traces ------------------------------------------------------------------------------------------


@item
class Point:
    """What a batch of reports says about the question.

    Attributes:
        text: None once it was erased.
        score: how much it helps, 0 to 100.
        cites: the findings that say it.
        marker: its number in the answer's prompt; None if it was not shown.
    """

    JSON: ClassVar = ("iri", "text", "score", "cites", "marker")

    text: str | None = said(TG.content, words=True)
    score: float = said(RAG.pointScore)
    cites: tuple[NamedNode, ...] = said(RAG.restsOn, default=())
    marker: int | None = said(RAG.marker, default=None)
    index: int | None = said(RAG.index, default=None)
    iri: NamedNode | None = None

    @property
    def tokens(self) -> int:
        """It takes in a prompt."""
        return count_tokens(self.text or "") + 6


POINT = ItemKind(
    "point",
    "points",
    RAG.point,
    RAG.Point,
    Point,
    compared=lambda point: f"{point.text or tr(ERASED)} ({point.score:g})",
)


def _points_text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    if step.values["error"]:
        page.paragraph(step.values["error"], "    ", tr("Failed: "))
    if step.values["dropped"]:
        page.line(
            tr("    Left out {dropped} point(s) or numbers that lead to no finding").format(
                dropped=step.values["dropped"]
            )
        )
    for point in step.items["points"]:
        number = f" [{point.marker}]" if point.marker is not None else ""
        page.paragraph(f"{point.text or tr(ERASED)}{number}", "      ", f"{point.score:3.0f}  ")


POINTS = NodeKind(
    "points",
    RAG.PointExtraction,
    "What a batch of reports says about the question.",
    fields=(
        StepField("batch", RAG.batch),
        StepField("read", RAG.readReport, read=list),
        StepField("candidates", RAG.candidateCount),
        StepField("dropped", RAG.droppedCount),
        StepField("error", RAG.reason, words=True, compared=True),
    ),
    items=(POINT,),
    text=_points_text,
    page=Path(__file__).with_name("points.html.j2"),
)


@dataclass(slots=True)
class Mapped:
    """What came of a batch.

    Attributes:
        error: why there are no points; "" if there was no failure.
    """

    points: list[Point] = field(default_factory=list)
    error: str = ""


# --- points by a model ----------------------------------------------------------------------------------


def _numbers(value: object) -> object:
    listed = value if isinstance(value, list) else [value]
    return [int(number) for number in re.findall(r"\d{1,6}", " ".join(map(str, listed)))]


def _text(value: object) -> object:
    return " ".join(encodable(value).split()) if isinstance(value, str) else value


class AnsweredPoint(BaseModel):
    """A point as models write it."""

    description: Annotated[str, BeforeValidator(_text), Field(min_length=1)] = Field(
        validation_alias=AliasChoices("description", "point", "text", "answer", "summary")
    )
    score: float = Field(ge=0, le=100, allow_inf_nan=False)
    findings: Annotated[list[int], BeforeValidator(_numbers)] = Field(
        [], validation_alias=AliasChoices("findings", "finding", "cites", "citations", "ids", "data")
    )


_POINTS = {"points": Section(("points", "key_points"), ("description", "point"))}


def read_points(text: str, numbered: Mapping[int, Sequence[NamedNode]]) -> tuple[list[Point], int]:
    """The points in an answer, the best first, and how many points and numbers were left out.

    Args:
        numbered: what the numbers that the model was given stand for.

    Raises:
        ValueError: there is no list of points, or none of them can be used.
    """
    try:
        sections, _ = parse_sections(text, _POINTS)
    except LlmError:
        raise ValueError("there is no list of points") from None
    points: list[Point] = []
    faults: Counter[str] = Counter()
    for entry in sections["points"]:
        try:
            answered = AnsweredPoint.model_validate(entry)
        except ValidationError:
            faults["a point lacks a description, or a score from 0 to 100"] += 1
            continue
        if answered.score == 0:
            continue
        numbers = [number for number in dict.fromkeys(answered.findings) if number in numbered]
        unknown = len({*answered.findings}) - len(numbers)
        if unknown:
            faults["the number of a finding is unknown"] += unknown
        if numbers:
            cites = dict.fromkeys(finding for number in numbers for finding in numbered[number])
            points.append(Point(answered.description, answered.score, tuple(cites)))
        else:
            faults["a point cites no finding"] += 1
    if faults and not points:
        raise ValueError(faults.most_common(1)[0][0])
    return sorted(points, key=lambda point: -point.score), faults.total()


def map_by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The points that the model finds in a batch. A call that fails costs its batch, not the answer."""
    del parameters
    batch, step = _begin(context, state)
    _read(context, step, (rated.considered.report for rated in batch.reports))
    numbered = {
        number: [finding.node for finding in findings] for number, findings in batch.numbered().items()
    }
    points, dropped, error = list[Point](), 0, ""
    try:
        points, dropped = ask_for(
            *(context, step, "map", lambda text: read_points(text, numbered)),
            prompt="map",
            question=state.question,
            history=state.conversation,
            reports=batch.shown(),
        )
    except LlmError as failed:
        if failed.kind == "deadline":
            raise
        error = failed.message
        state.warn(
            "map_failed",
            tr("batch {number} of reports gave no points: {error}").format(number=batch.number, error=error),
        )
    yield _record(context, state, step, Mapped(points, error), dropped)


def _begin(context: Context, state: State) -> tuple[Batch, Step]:
    batch: Batch = state.work.item
    step = context.recorder.step(POINTS, number=state.work.number)
    context.recorder.say(step, RAG.batch, integer(batch.number))
    return batch, step


def _read(context: Context, step: Step, reports: Iterable[NamedNode]) -> None:
    """Record whose words the step, or its prompt, holds."""
    read = [*dict.fromkeys(reports)]
    for report in read:
        context.recorder.say(step, RAG.readReport, report)
    record_sources(context, step, read)


def _record(context: Context, state: State, step: Step, mapped: Mapped, dropped: int = 0) -> GraphRagResponse:
    if mapped.error:
        context.recorder.say(step, RAG.reason, Literal(mapped.error))
    if dropped:
        context.recorder.say(step, RAG.droppedCount, integer(dropped))
        detail = tr("{dropped} point(s) or numbers of batch {number} lead to no finding").format(
            dropped=dropped, number=state.work.item.number
        )
        state.warn("points_dropped", detail)
    context.recorder.items(step, POINT, mapped.points)
    state.work.results.append(mapped)
    return context.recorder.finish(step)


# --- points without a model -----------------------------------------------------------------------------


class ExtractiveMapParameters(StepParameters):
    """Of points without a model."""

    embedded: Some = Field(
        100, description="findings of a batch that are compared by meaning, those nearest by words first"
    )
    points: Some = Field(30, description="points of a batch, the best ones")


def map_by_likeness(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The findings of a batch that are most like the question, as points. For a question about the whole
    collection, such as its themes, the first finding of each report, by the report's weight.
    """
    batch, step = _begin(context, state)
    words = QuestionWords.of(state.question, state.language, context.text_index)
    most = parameters["points"]
    if words.asks_for_overview():
        points = [_overview(rated) for rated in batch.reports if rated.findings]
    else:
        points = _alike(context, state, batch, words, parameters["embedded"] * batch.parts, most)
    unique: dict[str | None, Point] = {}
    for point in sorted(points, key=lambda point: -point.score):
        unique.setdefault(point.text, point)
    points = [*unique.values()][:most]
    reports = {finding.node: finding.report for rated in batch.reports for finding in rated.findings}
    _read(context, step, (reports[finding] for point in points for finding in point.cites))
    context.recorder.say(step, RAG.candidateCount, integer(len(reports)))
    yield _record(context, state, step, Mapped(points))


def _overview(report: ReportText) -> Point:
    first = report.findings[0]
    text = f"{report.considered.title}: {first.explanation}"
    return Point(text, round(100 * (report.considered.weight or 0.0), 1), (first.node,))


def _alike(
    context: Context, state: State, batch: Batch, words: QuestionWords, embedded: int, most: int
) -> list[Point]:
    compared = 0 if context.embedder is None else embedded
    nearest = batch.nearest(words, compared + most)
    meant = _by_meaning(context, state, [finding.text for _, finding in nearest[:compared]])
    points = []
    for place, (likeness, finding) in enumerate(nearest):
        score = (likeness + meant[place]) / 2 if place < len(meant) else likeness
        if score > 0:
            points.append(Point(finding.explanation, round(100 * score, 1), (finding.node,)))
    return points


def _by_meaning(context: Context, state: State, texts: Sequence[str]) -> list[float]:
    """The cosines of texts with the question; none without an embedding model, or if it fails."""
    if context.embedder is None or not texts:
        return []
    try:
        question, *text_vectors = context.embedder.embed([state.question, *texts])
    except GraphRagError as error:
        state.warn("embedding_failed", tr("{error}; findings were compared by words").format(error=error))
        return []
    return [max(0.0, float(question @ vector)) for vector in text_vectors]


# --- the answer -----------------------------------------------------------------------------------------


class ReduceParameters(StepParameters):
    """Of the answer from points."""

    min_score: Score = Field(1.0, description="least score of a point, 0 to 100")


class ModelReduceParameters(ReduceParameters):
    """Of the answer that a model writes."""

    point_tokens: Some = Field(12000, description="tokens of the points in the prompt, the best first")
    response_type: str = Field("several paragraphs", description="what the answer should be like")
    allow_general_knowledge: bool = Field(
        False, description="let the model add what it knows; such sentences are marked and cite nothing"
    )


class ExtractiveReduceParameters(ReduceParameters):
    """Of the answer that quotes findings."""

    max_sentences: Some = Field(6, description="findings that the answer quotes")
    min_margin: Score = Field(
        40.0, description="score, 0 to 100, that the best finding needs to be an answer"
    )


_SHARE = 0.5  # of the best finding's score, which others need
_ALL = 1000  # points that may be in the prompt
_UNBOUNDED = 1_000_000  # tokens


def reduce_by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The answer that the model makes from the best points, streamed."""
    least, tokens = parameters["min_score"], parameters["point_tokens"]
    step, points = _begin_answer(context, state, "llm", least, _ALL, tokens)
    if not points:
        yield from _unanswered(context, state, step)
        return
    state.general_knowledge = parameters["allow_general_knowledge"]
    pieces = stream_model(
        *(context, step, "reduce", partial(setattr, state, "completion")),
        prompt="reduce",
        question=state.question,
        history=state.conversation,
        points=[{"number": point.marker, "text": point.text} for point in points],
        response_type=parameters["response_type"],
        allow_general_knowledge=parameters["allow_general_knowledge"],
        unknown=SENTINEL,
    )
    yield from give_out(context, state, pieces)
    read_answer(state, {point.marker for point in points if point.marker})
    yield _cite_points(context, state, step, points)


def reduce_by_quoting(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The best findings as they are. Of an overview they are those of the greatest reports, however much
    greater the first is than the others.
    """
    best = max((point.score for mapped in state.work.results for point in mapped.points), default=0.0)
    words = QuestionWords.of(state.question, state.language, context.text_index)
    share = 0.0 if words.asks_for_overview() else _SHARE
    least = max(parameters["min_score"], best * share)
    most = parameters["max_sentences"] if best >= parameters["min_margin"] else 0
    step, points = _begin_answer(context, state, "extractive", least, most)
    for warning in state.warnings:
        if warning["type"] == "no_llm":
            warning["detail"] = tr(
                "No language model is configured: this answer quotes reports of communities."
            )
    if not points:
        yield from _unanswered(context, state, step)
        return
    state.answer = "\n".join(f"- {point.text} [{point.marker}]" for point in points)
    yield context.recorder.text_chunk(state.answer)
    yield _cite_points(context, state, step, points)


def _begin_answer(
    context: Context, state: State, mode: str, least: float, limit: int, tokens: int = _UNBOUNDED
) -> tuple[Step, list[Point]]:
    """The step, and the points that the answer may rest on, numbered; the trace keeps which are left out.

    Args:
        least: score of a point.
        limit, tokens: the most points, and tokens of all of them.

    Raises:
        LlmError: every batch failed.
    """
    results: list[Mapped] = state.work.results
    if results and all(mapped.error for mapped in results):
        raise LlmError(
            tr("no batch of reports gave points: {error}").format(error=results[0].error), "unparsable"
        )
    unique: dict[str, Point] = {}
    for point in sorted(
        (point for mapped in results for point in mapped.points), key=lambda point: -point.score
    ):
        unique.setdefault(point.text or "", point)
    points = list(unique.values())
    step = context.recorder.step(SYNTHESIS)
    context.recorder.say(step, RAG.mode, Literal(mode))
    good = [point for point in points if point.score >= least]
    taken = fitting(good, lambda point: point.tokens, tokens, least=1)[:limit]
    for number, mapped in enumerate(taken, start=1):
        mapped.marker = number
        if mapped.iri is not None:
            step.quads.append(context.recorder.quad(mapped.iri, RAG.marker, integer(number)))
    for mapped in points:
        if mapped.marker is None and mapped.iri is not None:
            context.recorder.say(step, RAG.leftOut, mapped.iri)
    context.recorder.say(step, RAG.evidenceTokens, integer(sum(point.tokens for point in taken)))
    return step, taken


def _cite_points(context: Context, state: State, step: Step, points: Sequence[Point]) -> GraphRagResponse:
    """Let the numbers that the answer cites lead to what their points rest on."""
    cited = {*cited_numbers(state.answer)} if state.answered else set()
    shown = {point.marker: point for point in points if point.marker is not None and point.marker in cited}
    evidence = evidence_of(context, state, step, [node for point in shown.values() for node in point.cites])
    batches: Sequence[Batch] = state.work.items
    titles = {
        finding.node: report.considered.title or ""
        for batch in batches
        for report in batch.reports
        for finding in report.findings
    }
    cite_findings(
        state,
        {
            number: (_with_titles(point, titles), _joined(point, evidence), point.score / 100)
            for number, point in shown.items()
        },
    )
    return finish_answer(context, state, step)


def _with_titles(point: Point, titles: Mapping[NamedNode, str]) -> str:
    """The titles of the reports that a point comes from, and on the next line the point."""
    reports = dict.fromkeys(titles[finding] for finding in point.cites)
    return f"{'; '.join(reports)}:\n{point.text or ''}"


def _joined(point: Point, evidence: Mapping[NamedNode, Sequence[Selection]]) -> list[Selection]:
    """What a point rests on: the best of each of its findings, then what comes second, and so on."""
    lists = [evidence[finding] for finding in point.cites]
    longest = max(map(len, lists), default=0)
    return [selections[place] for place in range(longest) for selections in lists if place < len(selections)]


def _unanswered(context: Context, state: State, step: Step) -> Iterator[GraphRagResponse]:
    """Say that the reports do not answer."""
    state.answered, state.answer = False, not_answered(state.language, state.question)
    state.warn("not_answered", tr("No report of a community says enough about the question."))
    yield context.recorder.text_chunk(state.answer)
    yield finish_answer(context, state, step)


_SOURCES = ("communities/report-sources",)
MAP_POINTS = register(
    StepKind(
        "map_points",
        POINTS,
        "Finds what a batch of reports says about the question.",
        {
            "extractive": Way(map_by_likeness, ExtractiveMapParameters, templates=_SOURCES),
            "llm": Way(map_by_model, needs_model=True, prompts={"map": "map.j2"}, templates=_SOURCES),
        },
        auto=("extractive", "llm"),
    )
)
_ANSWERED = (*FINDING_TEMPLATES, "documents/named-alike")
REDUCE_POINTS = register(
    StepKind(
        "reduce_points",
        SYNTHESIS,
        "Answers from the points of all batches, and cites what they rest on.",
        {
            "extractive": Way(reduce_by_quoting, ExtractiveReduceParameters, templates=_ANSWERED),
            "llm": Way(
                reduce_by_model,
                ModelReduceParameters,
                needs_model=True,
                prompts={"reduce": "reduce.j2"},
                templates=_ANSWERED,
            ),
        },
        auto=("extractive", "llm"),
    )
)
