"""Follow-up questions of a search and what answers them: in traces, and as models write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.i18n import ERASED, tr
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.llm.model import encodable
from graphrag_rdf.llm.repair import in_form
from graphrag_rdf.rdf.namespaces import RAG, RDFS, TG
from graphrag_rdf.rdf.terms import double, integer
from graphrag_rdf.steps.answer import RESULT
from graphrag_rdf.steps.scores import best
from graphrag_rdf.steps.selection import record_selections
from graphrag_rdf.steps.state import Context, Selection, State
from graphrag_rdf.trace.citations import cited_numbers
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, StepField, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.model import SELECTIONS, TraceStep
from graphrag_rdf.trace.recorder import Step

Proposal: TypeAlias = tuple[str, float]
"""A follow-up question, and how much its answer promises to help, 0 to 1."""

ANSWERED, UNANSWERED, FAILED = "answered", "unanswered", "failed"
"""What became of a follow-up question that was asked. Others are open, or were dropped."""

REPORTS, DOCUMENTS = "reports about groups of things", "the documents"
"""Where an answer comes from, for a model."""

_NOT_WORD = re.compile(r"[\W_]+")
_LONGEST = 500  # characters of a follow-up question

# --- in traces ------------------------------------------------------------------------------------------


@item
class FollowUp:
    """A follow-up question that a step proposes.

    Attributes:
        promise: how much its answer is expected to help, 0 to 1; the most promising is asked first.
        depth: 1 for those of the primer, and so on.
        dropped: why it is not asked; None if it may be.
    """

    JSON: ClassVar = ("iri", "question", "promise", "depth", "dropped")

    question: str | None = said(RDFS.label, words=True)
    promise: float = said(TG.score)
    depth: int = said(RAG.depth)
    dropped: str | None = said(RAG.reason, default=None)
    index: int | None = said(RAG.index, default=None)
    iri: NamedNode | None = None


FOLLOW_UP = ItemKind(
    "follow-up",
    "follow_ups",
    RAG.followUp,
    RAG.FollowUp,
    FollowUp,
    compared=lambda follow_up: follow_up.question or tr(ERASED),
)
SCORED = (StepField("score", TG.score), StepField("reason", RAG.reason, words=True))
"""Fields of a step whose answer is rated: how much it helps, 0 to 1, and why it has no answer or rating."""


def _points(score: float | None) -> str:
    return tr("not rated") if score is None else tr("{points:.0f} of 100").format(points=score * 100)


def write_rated(page: Lines, step: TraceStep) -> None:
    """The answer of a step, its score, and the follow-up questions that it proposes."""
    if step.answer:
        page.prose(step.answer, "    ")
        page.paragraph(_points(step.values["score"]), "    ", tr("Score: "))
    if step.values["reason"]:
        page.paragraph(step.values["reason"], "    ", tr("Reason: "))
    for follow_up in step.items["follow_ups"]:
        dropped = tr(" (not asked: {dropped})").format(dropped=follow_up.dropped) if follow_up.dropped else ""
        promise = f"[{follow_up.promise * 100:.0f}] "
        page.paragraph(
            f"{follow_up.question or tr(ERASED)}{dropped}",
            "      ",
            tr("Follow-up {promise}").format(promise=promise),
        )


def _answer_text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    values = step.values
    page.paragraph(
        values["question"] or tr(ERASED),
        "    ",
        tr("Follow-up of depth {depth}: ").format(depth=values["depth"]),
    )
    if values["taken_from"]:
        page.paragraph(values["taken_from"].value, "    ", tr("Answered before, by: "))
    if values["status"] != ANSWERED:
        page.paragraph(values["status"], "    ", tr("Status: "))
    write_rated(page, step)


FOLLOW_UP_ANSWER = NodeKind(
    "follow-up-answer",
    RAG.FollowUpAnswer,
    "The answer to a follow-up question, and how much it helps.",
    types=(TG.Answer,),
    fields=(
        *RESULT,
        *SCORED,
        StepField("question", RAG.followUpQuestion, words=True, compared=True),
        StepField("of", RAG.answersFollowUp),
        StepField("depth", RAG.depth),
        StepField("status", RAG.followUpStatus, compared=True),
        StepField("taken_from", RAG.takenFrom),
    ),
    items=(FOLLOW_UP, *SELECTIONS),
    text=_answer_text,
)


# --- while the run lasts --------------------------------------------------------------------------------


@dataclass
class Action:
    """A follow-up question at work.

    Attributes:
        promise: how much its answer is expected to help, 0 to 1.
        item: the question in the trace.
        proposed_by: the step that proposed it.
    """

    question: str
    promise: float
    depth: int
    item: NamedNode
    proposed_by: NamedNode


@dataclass
class Result:
    """An answer that the search has.

    Attributes:
        question: which it answers: that of the run, or a follow-up.
        text: with citations; "" if there is none.
        score: how much it helps, 0 to 1.
        node: the step that has it.
        origin: where it comes from, for a model.
    """

    question: str
    text: str
    score: float
    node: NamedNode
    origin: str


@dataclass
class Exploration:
    """What the search has found, and what it may still ask.

    Attributes:
        results: in the order in which they were found.
        asked: the questions that were asked or are queued, by their words as they are compared.
        open: the questions that are queued, by their node.
    """

    results: list[Result] = field(default_factory=list)
    asked: dict[str, str] = field(default_factory=dict)
    open: dict[NamedNode, Action] = field(default_factory=dict)


def exploration(state: State) -> Exploration:
    """That of the run."""
    if not state.work.results:
        new = Exploration()
        new.asked[words_of(state.question)] = state.question
        state.work.results.append(new)
    held: Exploration = state.work.results[0]
    return held


def words_of(question: str) -> str:
    """A question as it is compared: equal ones differ in case, space and punctuation only."""
    return _NOT_WORD.sub(" ", question.casefold()).strip() or question


def propose(
    context: Context, state: State, step: Step, proposed: Sequence[Proposal], depth: int, most: int
) -> None:
    """Record follow-up questions with the step that proposes them, and queue those that are asked.

    Args:
        depth: theirs.
        most: that are asked.
    """
    if not proposed:
        return
    explored = exploration(state)
    fresh: dict[str, int] = {}
    for number, (question, _) in enumerate(proposed):
        if words_of(question) not in explored.asked:
            fresh.setdefault(words_of(question), number)
    taken = best(fresh.values(), lambda number: proposed[number][1], most)
    items = []
    for number, (question, promise) in enumerate(proposed):
        again = fresh.get(words_of(question)) != number
        why = tr("it was asked before") if again else tr("only {most} are asked").format(most=most)
        items.append(FollowUp(question, promise, depth, None if number in taken else why))
    context.recorder.items(step, FOLLOW_UP, items)
    for follow_up in items:
        if follow_up.dropped is None:
            queue(state, follow_up, step.iri)


def queue(state: State, follow_up: FollowUp, proposed_by: NamedNode) -> None:
    """Queue a follow-up question that is in the trace."""
    assert follow_up.iri is not None and follow_up.question is not None  # noqa: S101, PT018 - it is recorded
    explored = exploration(state)
    action = Action(follow_up.question, follow_up.promise, follow_up.depth, follow_up.iri, proposed_by)
    explored.asked.setdefault(words_of(follow_up.question), follow_up.question)
    explored.open[follow_up.iri] = action
    state.work.found.append((follow_up.promise, action))


def record_score(context: Context, step: Step, score: float | None, reason: str) -> None:
    """Write how much an answer helps, and why there is no answer or no score."""
    if score is not None:
        context.recorder.say(step, TG.score, double(score))
    if reason:
        context.recorder.say(step, RAG.reason, Literal(reason))


def record_follow_up(
    context: Context,
    state: State,
    step: Step,
    action: Action,
    status: str,
    text: str,
    score: float | None,
    why: str,
) -> None:
    """Write what became of a follow-up question, and keep it for the answer."""
    say = context.recorder.say
    say(step, RAG.followUpQuestion, Literal(action.question))
    say(step, RAG.answersFollowUp, action.item)
    say(step, RAG.depth, integer(action.depth))
    say(step, RAG.followUpStatus, Literal(status))
    record_score(context, step, score, why)
    context.recorder.text(step, text)
    cited = {*cited_numbers(text)}
    record_marked(context, step, [selection for selection in state.selections if selection.marker in cited])
    explored = exploration(state)
    explored.open.pop(action.item, None)
    explored.results.append(Result(action.question, text, score or 0.0, step.iri, DOCUMENTS))


def record_marked(context: Context, step: Step, cited: Sequence[Selection]) -> None:
    """Write what the text of a step cites, with the numbers that it has there."""
    copies = [
        replace(selection, taken_from=selection.taken_from or selection.iri, iri=None) for selection in cited
    ]
    record_selections(context, step, copies)
    for copied in copies:
        if copied.iri is not None and copied.marker is not None:
            step.quads.append(context.recorder.quad(copied.iri, RAG.marker, integer(copied.marker)))


# --- what models write ----------------------------------------------------------------------------------


def _text(value: object) -> object:
    return encodable(value).strip() if isinstance(value, str) else value


def _score(value: object) -> object:
    """A score also as "80", "80/100" or "80 %"; one beyond the scale is at its end."""
    if isinstance(value, str) and (number := re.search(r"-?\d+(?:\.\d+)?", value)):
        value = float(number[0])
    return min(max(value, 0.0), 100.0) if isinstance(value, int | float) else value


def _listed(value: object) -> object:
    """Follow-ups also as bare texts; what is none is left out, and so are empty and endless ones."""
    listed = value if isinstance(value, list) else [value] if isinstance(value, dict | str) else []
    proposals = [{"question": entry} if isinstance(entry, str) else entry for entry in listed]
    return [
        proposal
        for proposal in proposals
        if isinstance(proposal, dict) and 0 < len(_asked(proposal)) <= _LONGEST
    ]


def _asked(proposal: dict[str, Any]) -> str:
    question = next((proposal[key] for key in _QUESTION if isinstance(proposal.get(key), str)), "")
    return " ".join(question.split())


_QUESTION = ("question", "query", "follow_up", "text")
_Score = Annotated[float, BeforeValidator(_score), Field(ge=0, le=100, allow_inf_nan=False)]


class AnsweredFollowUp(BaseModel):
    """A follow-up question as models write it; without a score it promises as much as what it follows."""

    question: Annotated[str, BeforeValidator(_text), Field(validation_alias=AliasChoices(*_QUESTION))]
    score: _Score | None = None


class Rated(BaseModel):
    """What a model writes of an answer."""

    score: _Score
    follow_ups: Annotated[list[AnsweredFollowUp], BeforeValidator(_listed)] = Field(
        [],
        validation_alias=AliasChoices("follow_ups", "follow_up_queries", "followups", "follow_up_questions"),
    )

    @property
    def helps(self) -> float:
        """How much the answer helps, 0 to 1."""
        return self.score / 100

    def proposed(self) -> list[Proposal]:
        """The follow-up questions, each with what it promises."""
        return [
            (follow_up.question, (self.score if follow_up.score is None else follow_up.score) / 100)
            for follow_up in self.follow_ups
        ]


class Primed(Rated):
    """A first answer as models write it."""

    answer: Annotated[str, BeforeValidator(_text)] = Field(
        validation_alias=AliasChoices("answer", "intermediate_answer", "response")
    )


R = TypeVar("R", bound=Rated)


def read_rated(form: type[R], text: str) -> R:
    """The object of a form in what a model wrote.

    Raises:
        ValueError: what is wrong with it, without words of it.
    """
    items, _ = parse_items(text)
    objects = [object_ for object_ in items if isinstance(object_, dict)]
    if not objects:
        raise ValueError("there is no JSON object in it")
    return in_form(form, next((rated for rated in objects if "score" in rated), objects[0]))
