"""Agents that divide a question: into parts that are answered at once, or into a plan of steps.

The parts are answered by another pipeline, each in a run of its own. The answer cites what theirs cite.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import ConfigError, GraphRagError
from graphrag_rdf.i18n import ERASED, tr
from graphrag_rdf.rdf.namespaces import RAG, RDFS, TG
from graphrag_rdf.steps.answer import RESULT, SYNTHESIS, finish_answer, read_answer
from graphrag_rdf.steps.checking import SENTINEL
from graphrag_rdf.steps.kinds import Few, Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.prompts import ask_model, complete
from graphrag_rdf.steps.selection import adopted
from graphrag_rdf.steps.state import Called, Context, Known, Parameters, State
from graphrag_rdf.trace.citations import cited_numbers
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, StepField, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.agents.agent import LIMITS

_ARRAY = re.compile(r"\[.*\]", re.DOTALL)

# --- in traces ------------------------------------------------------------------------------------------


@item
class Part:
    """A part of the work, in words.

    Attributes:
        needs: the numbers (`index`) of the parts whose results it needs.
    """

    JSON: ClassVar = ("iri", "text", "needs")

    text: str | None = said(RDFS.label, words=True)
    needs: tuple[int, ...] = said(RAG.needsPart, default=())
    index: int | None = said(RAG.index, default=None)
    iri: NamedNode | None = None


PART = ItemKind("part", "parts", RAG.part, RAG.WorkPart, Part)


def _parts_text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    for goal in () if step.items["parts"] else step.values["goals"]:  # TrustGraph's have no order
        page.paragraph(goal, "      ", "- ")
    for part in step.items["parts"]:
        needs = ", ".join(str(number + 1) for number in part.needs)
        after = tr(" (after {steps})").format(steps=needs) if needs else ""
        page.paragraph(f"{part.text or tr(ERASED)}{after}", "      ", f"{(part.index or 0) + 1}. ")


def _result_text(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    page.paragraph(step.values["goal"] or tr(ERASED), "    ", tr("Goal: "))
    page.prose(step.answer or tr("(no answer)"), "    ")


def _divided(name: str, rdf_type: NamedNode, about: str, goal: NamedNode) -> NodeKind:
    """A step that divides the work. TrustGraph's have each part as a text (`goal`), ours have items, too."""
    return NodeKind(
        name,
        rdf_type,
        about,
        fields=(StepField("goals", goal, words=True, read=list, compared=True),),
        items=(PART,),
        text=_parts_text,
    )


def _result(name: str, rdf_type: NamedNode, about: str, goal: NamedNode) -> NodeKind:
    """A step that has the answer to a part."""
    return NodeKind(
        name,
        rdf_type,
        about,
        types=(TG.Answer,),
        fields=(*RESULT, StepField("goal", goal, words=True), StepField("error", RAG.reason, words=True)),
        text=_result_text,
    )


_GOAL, _STEP = TG.subagentGoal, TG.planStep
DECOMPOSITION = _divided(
    "decomposition", TG.Decomposition, "The parts of the question, which are answered at once.", _GOAL
)
FINDING = _result("finding", TG.Finding, "The answer to a part of the question.", _GOAL)
PLAN = _divided("plan", TG.Plan, "The steps by which the question is answered.", _STEP)
STEP_RESULT = _result("step-result", TG.StepResult, "What a step of the plan found.", _STEP)


# --- what models write ----------------------------------------------------------------------------------


class PlanStep(BaseModel):
    """A step of a plan, as a model writes it: what to find out, and the steps (from 1) that it needs."""

    goal: str = Field(min_length=1)
    depends_on: tuple[int, ...] = ()


_GOALS = TypeAdapter(list[str])
_STEPS = TypeAdapter(list[PlanStep])


def read_goals(text: str, most: int) -> list[str]:
    """The questions that a model listed as a JSON array; empty if it wrote none."""
    goals = _read(_GOALS, text)
    return list(dict.fromkeys(goal.strip() for goal in goals if goal.strip()))[:most]


def read_plan(text: str, most: int) -> list[PlanStep]:
    """The steps that a model listed as a JSON array; a step can only need earlier ones."""
    steps: list[PlanStep] = _read(_STEPS, text)[:most]
    return [
        PlanStep(goal=step.goal, depends_on=tuple(sorted({n for n in step.depends_on if 0 < n <= number})))
        for number, step in enumerate(steps)
    ]


def _read(form: TypeAdapter[Any], text: str) -> Any:
    match = _ARRAY.search(text)
    try:
        return form.validate_python(json.loads(match[0])) if match else []
    except (ValueError, ValidationError):
        return []


# --- parts at once --------------------------------------------------------------------------------------


class DecomposeParameters(StepParameters):
    """Of the step that divides a question."""

    parts: Some = Field(5, description="parts of the question, at most")


def decompose(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Divide the question into questions that are answered independently; it may be a single one."""
    step = context.recorder.step(DECOMPOSITION)
    text = ask_model(
        context,
        step,
        "decompose",
        prompt="decompose",
        question=state.question,
        history=state.conversation,
        most=parameters["parts"],
    )
    goals = read_goals(text, parameters["parts"]) or [state.question]
    for goal in goals:
        context.recorder.say(step, TG.subagentGoal, Literal(goal))
    context.recorder.items(step, PART, [Part(goal) for goal in goals])
    state.work.items = list(goals)
    yield context.recorder.finish(step)


class FindParameters(StepParameters):
    """Of the step that answers a part."""

    pipeline: str = Field("agent_react", description="the pipeline that answers it, one of calls:")


def find(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Have a part answered. That it has no answer, or failed, is found too."""
    goal = str(state.work.item)
    called, error = yield from answer_of(context, state, parameters["pipeline"], goal)
    step = context.recorder.step(FINDING, number=state.work.number)
    context.recorder.say(step, TG.subagentGoal, Literal(goal))
    text = str(called.answer["answer"]) if called else ""
    _record_text(context, step, text, error)
    state.work.results.append((goal, called, error))
    yield context.recorder.finish(step)
    yield context.recorder.text_chunk(f"{goal}\n{text or error}", "observation")


def answer_of(
    context: Context, state: State, pipeline: str, question: str, findings: Sequence[Known] = ()
) -> Generator[GraphRagResponse, None, tuple[Called | None, str]]:
    """What a pipeline answered, and why there is no answer; "" if there is one. Yields its messages."""
    assert context.call is not None  # noqa: S101
    try:
        called = yield from context.call(pipeline, question, context, state, findings)
    except ConfigError:
        raise
    except GraphRagError as failed:
        return None, str(failed)
    return called, "" if called.answer["answered"] else tr("it has no answer")


class MergeParameters(StepParameters):
    """Of the step that puts results together."""

    response_type: str = Field(
        "a short answer of a few sentences", description="what the answer should be like"
    )


def merge_findings(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The answer, from the answers to the parts."""
    answers: list[tuple[str, Called | None, str]] = state.work.results
    results = [(goal, adopted(state, called) if called else error) for goal, called, error in answers]
    yield from _merge(context, state, parameters, results, "subagents-complete")


def _merge(
    context: Context,
    state: State,
    parameters: Parameters,
    results: Sequence[tuple[str, str]],
    reason: str,
) -> Iterator[GraphRagResponse]:
    step = context.recorder.step(SYNTHESIS)
    state.completion = complete(
        context,
        step,
        "merge",
        prompt="merge",
        question=state.question,
        history=state.conversation,
        results=[{"goal": goal, "result": result} for goal, result in results],
        response_type=parameters["response_type"],
        unknown=SENTINEL,
    )
    read_answer(state, state.markers)
    context.recorder.say(step, TG.terminationReason, Literal(reason))
    yield context.recorder.text_chunk(state.answer)
    yield finish_answer(context, state, step)


def _record_text(context: Context, step: Step, text: str, error: str) -> None:
    """Write a result, and why there is none."""
    if error:
        context.recorder.say(step, RAG.reason, Literal(error))
    context.recorder.text(step, text)
    context.recorder.say(step, TG.document, step.iri)


# --- a plan ---------------------------------------------------------------------------------------------


@dataclass
class Task:
    """A step of a plan at work.

    Attributes:
        number: in its plan, from 0.
        node: of the plan in the trace.
        result: None until it is done.
    """

    goal: str
    number: int
    node: NamedNode
    needs: tuple[Task, ...] = ()
    queued: bool = False
    result: str | None = None
    at: NamedNode | None = None


@dataclass
class Plan:
    """The tasks of a plan, and how often it was made anew."""

    tasks: list[Task] = field(default_factory=list)
    made: int = 0


class PlanParameters(StepParameters):
    """Of the step that plans."""

    steps: Some = Field(6, description="steps of the plan, at most")


def make_plan(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Divide the question into steps that build on one another; it may be a single one."""
    plan = Plan()
    state.work.results = [plan]
    yield _plan(context, state, plan, parameters["steps"], "")


def _plan(context: Context, state: State, plan: Plan, most: int, failed: str) -> GraphRagResponse:
    """Make the plan, or its rest after a step that failed."""
    done = [task for task in plan.tasks if task.result is not None]
    step = context.recorder.step(PLAN)
    text = ask_model(
        context,
        step,
        "plan",
        prompt="plan",
        question=state.question,
        history=state.conversation,
        results=[{"goal": task.goal, "result": task.result} for task in done],
        failed=failed,
        most=most,
    )
    steps = read_plan(text, most) or ([] if failed else [PlanStep(goal=state.question)])
    parts = [Part(planned.goal, tuple(number - 1 for number in planned.depends_on)) for planned in steps]
    for part in parts:
        context.recorder.say(step, TG.planStep, Literal(part.text or ""))
    context.recorder.items(step, PART, parts)
    tasks: list[Task] = []
    for part in parts:
        needs = (*(done if failed else ()), *(tasks[number] for number in part.needs))
        tasks.append(Task(part.text or "", len(tasks), step.iri, needs))
    plan.tasks, plan.made = [*done, *tasks], plan.made + 1
    _queue_ready(state, plan)
    return context.recorder.finish(step)


def _queue_ready(state: State, plan: Plan) -> None:
    """Queue the tasks whose needs are met, in the order of the plan."""
    for task in plan.tasks:
        if not task.queued and all(needed.result is not None for needed in task.needs):
            task.queued = True
            state.work.found.append((-float(task.number), task))


class ExecuteParameters(PlanParameters):
    """Of the step that carries out a step of a plan."""

    pipeline: str = Field("agent_react", description="the pipeline that answers it, one of calls:")
    replans: Few = Field(1, description="how often the rest is planned anew after a step without an answer")


def execute(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Have a step of the plan answered. If it has no answer, the rest is planned anew."""
    plan: Plan = state.work.results[0]
    task: Task = state.work.item
    if task not in plan.tasks:
        return  # of a plan that was given up
    recorder = context.recorder
    recorder.last = (task.node, *(needed.at for needed in task.needs if needed.at is not None))
    findings = [_known(state, needed) for needed in task.needs]
    called, error = yield from answer_of(context, state, parameters["pipeline"], task.goal, findings)
    result = adopted(state, called) if called else ""
    step = recorder.step(STEP_RESULT)
    recorder.say(step, TG.planStep, Literal(task.goal))
    _record_text(context, step, result, error)
    task.result, task.at = result or error, step.iri
    yield recorder.finish(step)
    yield recorder.text_chunk(f"{task.goal}\n{task.result}", "observation")
    if error and plan.made <= parameters["replans"]:
        yield _plan(context, state, plan, parameters["steps"], f"{task.goal}: {error}")
    else:
        _queue_ready(state, plan)


def _known(state: State, task: Task) -> Known:
    """The result of a step that is done, with what it cites."""
    result = task.result or ""
    cited = {*cited_numbers(result)}
    return Known(
        task.goal, result, [selection for selection in state.selections if selection.marker in cited]
    )


def merge_results(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The answer, from the results of all steps. Those without a result were not reached."""
    plan: Plan = state.work.results[0]
    done = [task for task in plan.tasks if task.result is not None]
    ends = [task.at for task in done if task.at is not None]
    ends += [node for node in context.recorder.last if node not in ends]  # a plan without further steps
    context.recorder.last = tuple(ends)
    stopped = state.work.stopped_by or "empty"
    if stopped not in ("empty", "done"):
        state.warn(
            "limit_reached",
            tr("the plan was stopped before its end: limit of {stopped}").format(stopped=stopped),
        )
    results = [(task.goal, task.result or "") for task in done]
    yield from _merge(context, state, parameters, results, LIMITS.get(stopped, "plan-complete"))


_ANSWERED = ("retrieval/labels", "documents/named-alike")

DECOMPOSE = register(
    StepKind(
        "decompose",
        DECOMPOSITION,
        "Divides the question into parts that are answered independently.",
        {"llm": Way(decompose, DecomposeParameters, needs_model=True, prompts={"decompose": "decompose.j2"})},
    )
)
FIND = register(
    StepKind(
        "find", FINDING, "Has a part answered by another pipeline.", {"pipeline": Way(find, FindParameters)}
    )
)
MAKE_PLAN = register(
    StepKind(
        "make_plan",
        PLAN,
        "Divides the question into steps that build on one another.",
        {"llm": Way(make_plan, PlanParameters, needs_model=True, prompts={"plan": "plan.j2"})},
    )
)
EXECUTE = register(
    StepKind(
        "execute",
        STEP_RESULT,
        "Has a step of the plan answered by another pipeline.",
        {"llm": Way(execute, ExecuteParameters, needs_model=True, prompts={"plan": "plan.j2"})},
    )
)
_MERGE = {"merge": "merge.j2"}
MERGE = register(
    StepKind(
        "merge",
        SYNTHESIS,
        "Puts the results of parts, or of the steps of a plan, together.",
        {
            "findings": Way(merge_findings, MergeParameters, True, _MERGE, _ANSWERED),
            "results": Way(merge_results, MergeParameters, True, _MERGE, _ANSWERED),
        },
    )
)
