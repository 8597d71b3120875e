"""Routing: which of several pipelines goes on with the question.

The options are those of the flow `choice`. Each says in its pipeline.yaml what it is good for (`good_for`)
and what it needs (`needs`); those that lack something are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import Field
from pyoxigraph import Literal

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.steps.kinds import StepKind, StepParameters, Way, register
from graphrag_rdf.steps.prompts import ask_model
from graphrag_rdf.steps.state import Context, Option, Parameters, State
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.trace.kinds import NodeKind, StepField
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wing import load, wings

DECISION = NodeKind(
    "pattern-decision",
    TG.PatternDecision,
    "How the question is worked on.",
    fields=(
        StepField("pattern", TG.pattern, compared=True),
        StepField("task", TG.taskType, words=True),
        StepField("reason", RAG.reason, words=True),
    ),
)


class RouteParameters(StepParameters):
    """Of the step that chooses."""

    pattern: str = Field("auto", description="auto, or the option to choose")


class RulesParameters(RouteParameters):
    """Of the rules."""

    counts: str = Field("", description="option for counts, lists and comparisons that a template answers")
    overview: str = Field("", description="option for questions about the documents as a whole")


def route(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Have the model choose; where there is one option only, that is taken."""
    step = context.recorder.step(DECISION)
    options, reason = _options(context, state, step, parameters)
    chosen, task = options[0].name, ""
    if len(options) > 1:
        text = ask_model(
            context,
            step,
            "route",
            prompt="route",
            question=state.question,
            history=state.conversation,
            options=[{"name": one.name, "good_for": one.good_for} for one in options],
        )
        chosen, task, reason = _read(text, options)
    yield from _decided(context, state, step, chosen, reason, task)


def by_rules(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Choose the option for overviews if the question is about the documents as a whole, the one for counts
    if a template of the cookbook counts what is asked; else the first.
    """
    step = context.recorder.step(DECISION)
    options, reason = _options(context, state, step, parameters)
    chosen = options[0].name
    others = {one.name for one in options[1:]}
    words = QuestionWords.of(state.question, state.language, context.text_index)
    if parameters["overview"] in others and words.asks_for_overview():
        chosen, reason = parameters["overview"], tr("the question is about the documents as a whole")
    elif parameters["counts"] in others:
        for wing in wings():
            template = load(wing.counts)(context, state, step) if wing.counts else None
            if template:
                chosen = parameters["counts"]
                reason = tr("the template {template} answers the question").format(template=template)
    yield from _decided(context, state, step, chosen, reason)


def _options(context: Context, state: State, step: Step, parameters: Parameters) -> tuple[list[Option], str]:
    """The options that can be taken, and why the first one is if no model chooses."""
    wanted, all_ = parameters["pattern"], list(state.work.options)
    if wanted != "auto":
        chosen = [option for option in all_ if option.name == wanted]
        if not chosen:
            names = ", ".join(option.name for option in all_)
            raise UsageError(
                tr("there is no option {wanted!r} (parameter pattern)").format(wanted=wanted),
                hint=tr("auto, {names}").format(names=names),
            )
        return chosen, tr("it was asked for")
    given: set[str] = set()
    if any(option.needs for option in all_):
        given = {row["input"] for row in context.select(step, "system/inputs")}
        given |= {"model"} if context.gateway is not None else set()
    lacking = {option.name: sorted({*option.needs} - given) for option in all_}
    possible = [option for option in all_ if not lacking[option.name]]
    if not possible:
        told = "; ".join(_lack(name, needs) for name, needs in lacking.items())
        no_model = any("model" in needs for needs in lacking.values())
        raise UsageError(
            tr("no pipeline can answer from this store: {told}").format(told=told),
            hint=tr("name a model with --model") if no_model else tr("ingest documents first"),
        )
    lack = [_lack(name, needs) for name, needs in lacking.items() if needs]
    reason = tr("the first pipeline that can answer here")
    return possible, f"{reason} ({'; '.join(lack)})" if lack else reason


def _lack(name: str, needs: list[str]) -> str:
    return tr("{name} needs {needs}").format(name=name, needs=", ".join(needs))


def _read(text: str, options: list[Option]) -> tuple[str, str, str]:
    """The option that the model named, the kind of task, and the reason. None named means the first."""
    named, _, task = text.strip().partition("\n")
    found = [one.name for one in options if re.search(rf"\b{re.escape(one.name)}\b", named, re.IGNORECASE)]
    reason = tr("the model chose it") if found else tr("the model named no option, so it is the first")
    return (found or [options[0].name])[0], " ".join(task.split())[:200], reason


def _decided(
    context: Context, state: State, step: Step, chosen: str, reason: str, task: str = ""
) -> Iterator[GraphRagResponse]:
    say = context.recorder.say
    say(step, TG.pattern, Literal(chosen))
    say(step, RAG.reason, Literal(reason))
    if task:
        say(step, TG.taskType, Literal(task))
    state.work.choice = chosen
    yield context.recorder.finish(step)
    yield context.recorder.text_chunk(
        tr("pipeline {chosen}: {reason}").format(chosen=chosen, reason=task or reason), "thought"
    )


ROUTE = register(
    StepKind(
        "route",
        DECISION,
        "Chooses which pipeline goes on.",
        {
            "rules": Way(by_rules, RulesParameters, templates=("system/inputs",)),
            "llm": Way(
                route,
                RouteParameters,
                needs_model=True,
                prompts={"route": "route.j2"},
                templates=("system/inputs",),
            ),
        },
        auto=("rules", "llm"),
    )
)
