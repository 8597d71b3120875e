"""DRIFT search: a first answer from reports, then follow-up questions, the most promising first.

After Whiting and others, Introducing DRIFT Search (Microsoft Research, 2024). The primer answers from the
reports of communities that are most like the question, and proposes follow-up questions. Another pipeline
answers each of these in a run of its own. Its answer is rated, and may raise further questions, down to a
depth. The last step puts the best answers together. Without a model, the primer quotes findings, follow-ups
come from facts beside what was found, and the last step quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Annotated, Any, ClassVar, TypeVar
from typing import Literal as Choice

from pydantic import Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.errors import LlmError
from graphrag_rdf.i18n import ERASED, tr
from graphrag_rdf.rdf.namespaces import RAG, RDFS, TG
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.steps.answer import RESULT, SYNTHESIS, Suggestion, finish_answer, read_answer
from graphrag_rdf.steps.checking import (
    SENTINEL,
    not_answered,
    sentence_spans,
    with_markers,
)
from graphrag_rdf.steps.dates import warn_of_undated_reports
from graphrag_rdf.steps.findings import TEMPLATES as FINDING_TEMPLATES
from graphrag_rdf.steps.findings import (
    Finding,
    cite_findings,
    evidence_of,
    findings_of,
    record_sources,
    require_reports,
)
from graphrag_rdf.steps.follow_ups import (
    ANSWERED,
    FAILED,
    FOLLOW_UP,
    FOLLOW_UP_ANSWER,
    REPORTS,
    SCORED,
    UNANSWERED,
    Action,
    AnsweredFollowUp,
    Primed,
    Proposal,
    Rated,
    Result,
    exploration,
    propose,
    read_rated,
    record_follow_up,
    record_marked,
    record_score,
    write_rated,
)
from graphrag_rdf.steps.kinds import Few, Limit, Some, StepKind, StepParameters, Way, Weight, register
from graphrag_rdf.steps.prompts import ask_for, ask_model, stream_model
from graphrag_rdf.steps.resume import take_over
from graphrag_rdf.steps.scores import best, fitting
from graphrag_rdf.steps.search import QuestionSearch, as_shares
from graphrag_rdf.steps.selection import adopted
from graphrag_rdf.steps.state import Called, Context, Parameters, State
from graphrag_rdf.steps.suggest import questions_beside
from graphrag_rdf.steps.synthesise import give_out
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.trace.citations import MARKER, cited_numbers
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, StepField, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import SELECTIONS, TraceStep
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.agents.team import answer_of

Rating = Annotated[float, Field(ge=0, le=10)]
_Found = TypeVar("_Found")
_CONSTANT = 60  # of reciprocal rank fusion

# --- in traces ------------------------------------------------------------------------------------------


@item
class FoundReport:
    """A report that a search for reports found, and a model read.

    Attributes:
        score: how much it is like the question, 0 to 1.
        title: None once it was erased.
    """

    JSON: ClassVar = ("iri", "report", "title", "score", "rank")

    report: NamedNode = said(RAG.report)
    title: str | None = said(RDFS.label, words=True)
    score: float = said(TG.score)
    rank: int | None = said(RAG.rank, default=None)
    iri: NamedNode | None = None


FOUND_REPORT = ItemKind(
    "found-report",
    "reports",
    RAG.foundReport,
    RAG.FoundReport,
    FoundReport,
    compared=lambda one: one.title or one.report.value,
)


def _primer_text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    values = step.values
    if values["resumes"]:
        page.paragraph(values["resumes"].value, "    ", tr("Goes on with the search of: "))
    if values["expansion"]:
        page.paragraph(values["expansion"], "    ", tr("Searched for: "))
    for one in step.items["reports"]:
        page.paragraph(f"{one.title or tr(ERASED)} [{one.score:.2f}]", "      ", tr("Report: "))
    write_rated(page, step)


PRIMER = NodeKind(
    "primer",
    RAG.Primer,
    "A first answer from reports of communities, and what to look up next.",
    types=(TG.Answer,),
    fields=(
        *RESULT,
        *SCORED,
        StepField("expansion", RAG.expandedQuestion, words=True),
        StepField("read", RAG.readSource, read=list),
        StepField("resumes", RAG.resumes),
    ),
    items=(FOUND_REPORT, FOLLOW_UP, *SELECTIONS),
    quotes=("extractive",),
    text=_primer_text,
)


# --- the primer -----------------------------------------------------------------------------------------


class PrimerParameters(StepParameters):
    """Of the step that begins."""

    reports: Some = Field(20, description="reports that are read, those most like the question")
    min_rating: Rating = Field(0.0, description="least rating of a report that has one, 0 to 10")
    follow_ups: Some = Field(5, description="follow-up questions that a step may propose, at most")
    words_weight: Weight = Field(1.0, description="weight of a report's rank by words (BM25)")
    meaning_weight: Weight = Field(1.0, description="weight of its rank by meaning, with an embedding model")
    resume: str = Field("", description="IRI of a trace whose search goes on: what it has is taken over")


class ModelPrimerParameters(PrimerParameters):
    """Of the primer by a model."""

    report_tokens: Some = Field(12000, description="tokens of reports that the model reads at once")
    expand: bool = Field(
        False,
        description="also search for reports that are like one which the model makes up for the question",
    )


class QuotingPrimerParameters(PrimerParameters):
    """Of the primer that quotes."""

    findings: Some = Field(
        3, description="findings that are quoted, those that have most of the question's words"
    )


@dataclass
class _Report:
    """A report while the primer reads it."""

    found: FoundReport
    summary: str
    findings: list[Finding]

    def shown(self, number: int) -> dict[str, Any]:
        """As the prompt has it; its findings are numbered from this number on."""
        told = [{"number": n, "text": one.text} for n, one in enumerate(self.findings, start=number)]
        return {"title": self.found.title, "summary": self.summary, "findings": told}

    @property
    def tokens(self) -> int:
        """It takes in a prompt."""
        texts = (self.found.title or "", self.summary, *(one.text for one in self.findings))
        return sum(count_tokens(text) + 4 for text in texts)


def primed(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Have the model answer from the best reports, in as many calls as they need, and propose follow-ups."""
    if parameters["resume"]:
        yield from take_over(context, state, parameters["resume"], PRIMER)
        return
    before = context.recorder.last
    step = context.recorder.step(PRIMER)
    warn_of_undated_reports(state)
    expansion = ""
    if parameters["expand"]:
        expansion = ask_model(
            context, step, "expand", prompt="expand", question=state.question, history=state.conversation
        )
        context.recorder.say(step, RAG.expandedQuestion, Literal(expansion))
    reports = _find(context, state, step, parameters, expansion)
    for number, fold in enumerate(_folds(reports, parameters["report_tokens"])):
        step = step if number == 0 else context.recorder.step(PRIMER, after=before)
        _record_reports(context, step, fold)
        error = _prime(context, state, step, fold, parameters)
        yield context.recorder.finish(step)
        told = exploration(state).results[-1].text or error
        yield context.recorder.text_chunk(
            tr("first answer from {count} report(s): {told}").format(count=len(fold), told=told), "thought"
        )


def _prime(
    context: Context, state: State, step: Step, reports: Sequence[_Report], parameters: Parameters
) -> str:
    """Answer from some reports; why there is no answer. Then the question itself is the follow-up."""
    numbered: dict[int, Finding] = {}
    shown = []
    for report in reports:
        shown.append(report.shown(len(numbered) + 1))
        numbered |= dict(enumerate(report.findings, start=len(numbered) + 1))
    most = parameters["follow_ups"]
    error = ""
    primed: Primed | None = None
    try:
        primed = ask_for(
            *(context, step, "primer", partial(read_rated, Primed)),
            prompt="primer",
            question=state.question,
            history=state.conversation,
            reports=shown,
            most=most,
        )
    except LlmError as failure:
        error = failure.message
        state.warn("primer_failed", tr("there is no first answer from reports: {error}").format(error=error))
    text = _cited(context, state, step, primed.answer, numbered) if primed and primed.score else ""
    proposed = primed.proposed() if primed else []
    _add_primer(context, state, step, text, primed.helps if primed else 0.0, error)
    _propose_first(context, state, step, proposed, most)
    return error


def _add_primer(context: Context, state: State, step: Step, text: str, score: float, error: str) -> None:
    context.recorder.text(step, text)
    record_score(
        context, step, score if text else None, error or ("" if text else tr("the reports say nothing"))
    )
    exploration(state).results.append(Result(state.question, text, score, step.iri, REPORTS))


def _propose_first(
    context: Context, state: State, step: Step, proposed: Sequence[Proposal], most: int
) -> None:
    """Propose follow-ups, or the question itself if there are none and nothing else is asked."""
    if not proposed and not exploration(state).open:
        exploration(state).asked.clear()
        proposed = [(state.question, 1.0)]
    propose(context, state, step, proposed, 1, most)


def _cited(context: Context, state: State, step: Step, answer: str, numbered: Mapping[int, Finding]) -> str:
    """An answer whose numbers lead to what the findings that it cites rest on, numbered on in the run."""
    text = with_markers(answer, numbered.keys())
    first = max(state.markers, default=0)
    cited = [number for number in cited_numbers(text) if number in numbered]
    numbers = {there: first + place for place, there in enumerate(cited, start=1)}
    evidence = evidence_of(context, state, step, [numbered[number].node for number in cited])
    new = cite_findings(
        state,
        {
            here: (numbered[there].text, evidence[numbered[there].node], 1.0)
            for there, here in numbers.items()
            if evidence[numbered[there].node]
        },
    )
    record_marked(context, step, new)
    known = {one.marker for one in new}

    def written(marker: re.Match[str]) -> str:
        here = numbers.get(int(marker[1]))
        return f"[{here}]" if here in known else ""

    return MARKER.sub(written, text)


def quoted(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Quote the findings that have most words of the question, and ask about what they name."""
    if parameters["resume"]:
        yield from take_over(context, state, parameters["resume"], PRIMER)
        return
    step = context.recorder.step(PRIMER)
    reports = _find(context, state, step, parameters, "")
    _record_reports(context, step, reports)
    words = QuestionWords.of(state.question, state.language, context.text_index)
    listed = [finding for report in reports for finding in report.findings]
    first = _likest(words, [(finding, finding.text) for finding in listed], parameters["findings"])
    answer = " ".join(f"{_ended(finding.explanation)} [{n}]" for n, finding in enumerate(first, start=1))
    text = _cited(context, state, step, answer, dict(enumerate(first, start=1)))
    score = words.coverage(*(finding.text for finding in first)) if first else 0.0
    context.recorder.say(step, RAG.mode, Literal("extractive"))
    _add_primer(context, state, step, text, score, "")
    asked = [
        one.question or "" for one in questions_beside(context, state, step, parameters["follow_ups"] - 1)
    ]
    exploration(state).asked.clear()
    proposed = [(state.question, 1.0)]  # its chunks are better evidence than findings
    proposed += [(question, score) for question in asked]
    propose(context, state, step, proposed, 1, parameters["follow_ups"])
    yield context.recorder.finish(step)
    yield context.recorder.text_chunk(
        tr("quoted from {count} report(s): {text}").format(count=len(reports), text=text), "thought"
    )


def _likest(words: QuestionWords, found: Iterable[tuple[_Found, str]], limit: int) -> list[_Found]:
    """What has most of the question's words, best first; nothing that has none.

    Args:
        found: with the text of each.
    """
    scored = [(one, words.coverage(text)) for one, text in found]
    return [one for one, _ in best([pair for pair in scored if pair[1] > 0], itemgetter(1), limit)]


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "。", "！", "？", "”", '"')) else f"{text}."


def _find(context: Context, state: State, step: Step, parameters: Parameters, also: str) -> list[_Report]:
    """The reports that are most like the question, with their findings.

    Raises:
        UsageError: when the store has no reports.
    """
    require_reports(context)
    asked = replace(state, also=(also,)) if also else state
    search = QuestionSearch(context, asked, parameters, step, searched=1)
    most = parameters["reports"]
    found = {"words": search.with_words(most, "report"), "meaning": search.similar(most, "report")}
    weights = {name: parameters[f"{name}_weight"] for name, hits in found.items() if hits}
    if not any(weights.values()):
        return []
    rows = search.decide(
        "selection/found-reports",
        found=[
            (name, NamedNode(iri), rank)
            for name, hits in found.items()
            for rank, (iri, _) in enumerate(hits, start=1)
        ],
        weights=list(as_shares(**weights).items()),
        constant=_CONSTANT,
        min_rating=parameters["min_rating"],
        include=list(state.include),
        exclude=list(state.exclude),
        limit=most,
    )
    findings = findings_of(context, step, [row["report"] for row in rows])
    return [
        _Report(
            FoundReport(row["report"], row["title"], row["score"], rank),
            row["summary"],
            findings[row["report"]],
        )
        for rank, row in enumerate(rows, start=1)
    ]


def _folds(reports: Sequence[_Report], tokens: int) -> Iterator[list[_Report]]:
    """The reports of each call to the model, as many as begin within so many tokens; one call without
    reports where there are none.
    """
    folds: dict[int, list[_Report]] = {}
    begin = 0
    for one in reports:
        folds.setdefault(begin // tokens, []).append(one)
        begin += one.tokens
    yield from folds.values() or [[]]


def _record_reports(context: Context, step: Step, reports: Sequence[_Report]) -> None:
    for one in reports:
        context.recorder.item(step, FOUND_REPORT, one.found)
    record_sources(context, step, [one.found.report for one in reports])


# --- follow-up questions ----------------------------------------------------------------------------------


class FollowUpParameters(StepParameters):
    """Of the step that answers a follow-up question."""

    pipeline: str = Field("local", description="the pipeline that answers it, one of calls:")
    depth: Some = Field(2, description="how far follow-up questions lead; 1: only those of the primer")
    follow_ups: Limit = Field(3, description="follow-up questions that an answer may raise, at most")


def follow_up(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Have a follow-up question answered, and the answer rated by the model, which may ask further."""
    most = _further(state, parameters)

    def rate(step: Step, called: Called, text: str) -> tuple[Rated | None, str]:
        del called
        try:
            rated = ask_for(
                *(context, step, "rate", partial(read_rated, Rated)),
                prompt="rate",
                question=state.question,
                history=state.conversation,
                follow_up=state.work.item.question,
                answer=text,
                asked=list(exploration(state).asked.values()),
                most=most,
            )
        except LlmError as error:
            return None, tr("it was not rated: {message}").format(message=error.message)
        return rated, ""

    yield from _follow(context, state, parameters, rate)


def follow_up_by_words(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The same without a model: its score is the share of the question's words that it has."""
    most = _further(state, parameters)

    def rate(step: Step, called: Called, text: str) -> tuple[Rated | None, str]:
        words = QuestionWords.of(state.question, state.language, context.text_index)
        asked = questions_beside(context, called.state, step, most) if most else []
        score = words.coverage(text) * 100
        return Rated(
            score=score, follow_ups=[AnsweredFollowUp(question=one.question or "") for one in asked]
        ), ""

    yield from _follow(context, state, parameters, rate)


def _further(state: State, parameters: Parameters) -> int:
    """How many questions the one in hand may raise."""
    action: Action = state.work.item
    return parameters["follow_ups"] if action.depth < parameters["depth"] else 0


def _follow(
    context: Context,
    state: State,
    parameters: Parameters,
    rate: Callable[[Step, Called, str], tuple[Rated | None, str]],
) -> Iterator[GraphRagResponse]:
    action: Action = state.work.item
    recorder = context.recorder
    recorder.last = (action.proposed_by,)
    called, error = yield from answer_of(context, state, parameters["pipeline"], action.question)
    found = called is not None and not error
    text = adopted(state, called) if called and found else ""
    step = recorder.step(FOLLOW_UP_ANSWER)
    rated, why = rate(step, called, text) if called and found else (None, error)
    status = ANSWERED if found else UNANSWERED if called else FAILED
    score = rated.helps if rated else None
    record_follow_up(context, state, step, action, status, text, score, why)
    if rated and rated.score:
        propose(context, state, step, rated.proposed(), action.depth + 1, _further(state, parameters))
    yield recorder.finish(step)
    yield recorder.text_chunk(f"{action.question}\n{text or why}", "observation")


# --- the answer -----------------------------------------------------------------------------------------


class ReduceParameters(StepParameters):
    """Of the step that answers."""

    answer_tokens: Some = Field(12000, description="tokens of answers to follow-up questions that count")
    suggestions: Few = Field(
        0,
        description="questions to ask next: follow-ups that were not asked, else from facts",
    )


class ModelReduceParameters(ReduceParameters):
    """Of the answer by a model."""

    response_type: str = Field("several paragraphs", description="what the answer should be like")
    allow_general_knowledge: bool = Field(
        False, description="let the model add what it knows; such sentences are marked and cite nothing"
    )


_COVERAGE = 0.5
"""Share of the question's words, by weight, that an answer which is quoted must have."""


class QuotingReduceParameters(ReduceParameters):
    """Of the answer that quotes."""

    max_sentences: Some = Field(6, description="sentences of an answer that quotes the documents")


def reduce_by_model(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The answer that the model makes of the best answers, streamed."""
    step, results = _begin_answer(context, state, parameters, "llm")
    if not results:
        yield from _no_answer(context, state, step)
        return
    state.general_knowledge = parameters["allow_general_knowledge"]
    done = partial(setattr, state, "completion")
    pieces = stream_model(
        *(context, step, "reduce", done),
        prompt="answer",
        question=state.question,
        history=state.conversation,
        results=[{"question": one.question, "origin": one.origin, "text": one.text} for one in results],
        response_type=parameters["response_type"],
        allow_general_knowledge=parameters["allow_general_knowledge"],
        unknown=SENTINEL,
    )
    yield from give_out(context, state, pieces)
    read_answer(state, state.markers)
    yield finish_answer(context, state, step, _suggested(context, state, step, parameters, "llm"))


def reduce_by_quoting(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Of the best answers the sentences that have most of the question's words, each once."""
    step, results = _begin_answer(context, state, parameters, "extractive")
    lines: dict[str, str] = {}
    for one in results:
        if one.score >= _COVERAGE:
            for offset, length in sentence_spans(one.text, state.language):
                line = one.text[offset : offset + length]
                lines.setdefault(MARKER.sub("", line).strip(), line)
    words = QuestionWords.of(state.question, state.language, context.text_index)
    first = _likest(words, ((line, line) for line in lines.values()), parameters["max_sentences"])
    if not first:
        yield from _no_answer(context, state, step)
        return
    state.answer = " ".join(first)
    yield context.recorder.text_chunk(state.answer)
    yield finish_answer(context, state, step, _suggested(context, state, step, parameters, "graph"))


def _begin_answer(
    context: Context, state: State, parameters: Parameters, mode: str
) -> tuple[Step, list[Result]]:
    """The step that answers, and the answers that it is made from, the best first; others are recorded."""
    found = exploration(state)
    context.recorder.last = tuple(dict.fromkeys(one.node for one in found.results))
    step = context.recorder.step(SYNTHESIS)
    context.recorder.say(step, RAG.mode, Literal(mode))
    stopped = state.work.stopped_by or "empty"
    if found.open and stopped not in ("empty", "done"):
        left = tr("{count} follow-up question(s) were not asked: limit of {stopped}").format(
            count=len(found.open), stopped=stopped
        )
        state.warn("limit_reached", left)
    given = [one for one in found.results if one.text]
    ranked = best(given, lambda one: one.score)
    taken = fitting(ranked, lambda one: count_tokens(one.text), parameters["answer_tokens"], least=1)
    for one in given:
        if one not in taken:
            context.recorder.say(step, RAG.leftOut, one.node)
    if taken:
        used = sum(count_tokens(one.text) for one in taken)
        context.recorder.say(step, RAG.evidenceTokens, integer(used))
    return step, taken


def _suggested(
    context: Context, state: State, step: Step, parameters: Parameters, by: Choice["llm", "graph"]
) -> list[Suggestion]:
    """Questions to ask next: follow-ups that are open, the most promising first; else from facts."""
    most = parameters["suggestions"]
    waiting = sorted(exploration(state).open.values(), key=lambda one: -one.promise)
    found = [Suggestion(one.question, by) for one in waiting[:most]]
    return found or (questions_beside(context, state, step, most) if most else [])


def _no_answer(context: Context, state: State, step: Step) -> Iterator[GraphRagResponse]:
    state.answered = False
    state.answer = not_answered(state.language, state.question)
    state.warn("not_answered", tr("Neither the reports nor an answer to a follow-up question answer it."))
    yield context.recorder.text_chunk(state.answer)
    yield finish_answer(context, state, step)


_PRIMER_TEMPLATES = (
    "index/report-count",
    "selection/found-reports",
    *FINDING_TEMPLATES,
)
_SUGGESTS = ("retrieval/edges", "retrieval/names")
_ANSWERS = ("retrieval/labels", "documents/named-alike", *_SUGGESTS)

PRIME = register(
    StepKind(
        "prime",
        PRIMER,
        "Answers from reports of communities, and proposes follow-up questions.",
        {
            "extractive": Way(
                quoted,
                QuotingPrimerParameters,
                templates=(*_PRIMER_TEMPLATES, *_SUGGESTS),
            ),
            "llm": Way(
                primed,
                ModelPrimerParameters,
                needs_model=True,
                prompts={"primer": "primer.j2", "expand": "expand.j2"},
                templates=_PRIMER_TEMPLATES,
            ),
        },
        auto=("extractive", "llm"),
    )
)
FOLLOW = register(
    StepKind(
        "follow_up",
        FOLLOW_UP_ANSWER,
        "Has a follow-up question answered by another pipeline, and rates the answer.",
        {
            "words": Way(follow_up_by_words, FollowUpParameters, templates=_SUGGESTS),
            "llm": Way(
                follow_up,
                FollowUpParameters,
                needs_model=True,
                prompts={"rate": "rate.j2"},
            ),
        },
        auto=("words", "llm"),
    )
)
REDUCE = register(
    StepKind(
        "put_together",
        SYNTHESIS,
        "Answers from the best answers to follow-up questions.",
        {
            "extractive": Way(reduce_by_quoting, QuotingReduceParameters, templates=_ANSWERS),
            "llm": Way(
                reduce_by_model,
                ModelReduceParameters,
                needs_model=True,
                prompts={"answer": "answer.j2"},
                templates=_ANSWERS,
            ),
        },
        auto=("extractive", "llm"),
    )
)
