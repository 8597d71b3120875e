"""An agent (ReAct, Yao et al. 2023): it thinks, uses a tool, sees what that returns, until it can answer.

The flow is a loop of `think` and `use_tool`, which `conclude` ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from typing import Literal as Choice

from pydantic import Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import ERASED, tr
from graphrag_rdf.llm.model import Completion
from graphrag_rdf.rdf.namespaces import PROV, RDF, TG
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.steps.answer import TEXT, finish_answer, read_answer
from graphrag_rdf.steps.checking import SENTINEL, not_answered
from graphrag_rdf.steps.kinds import StepKind, StepParameters, Way, register
from graphrag_rdf.steps.prompts import complete
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, StepField, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import ANSWER_SENTENCE, SELECTIONS, TraceStep
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.agents.lookups import TEMPLATES as LOOKUP_TEMPLATES
from graphrag_rdf.wings.agents.tools import (
    ANY,
    OBSERVATION,
    Observed,
    Tool,
    ToolDefinition,
    Use,
    in_groups,
    open_tools,
    read_tools,
)

LIMITS = {
    "rounds": "max-iterations",
    "visits": "max-iterations",
    "tokens": "max-tokens",
    "seconds": "max-seconds",
}
"""Limit that ended a flow → `tg:terminationReason`."""
_LABELS = re.compile(
    r"^[ \t>*_#-]*(thought|action input|action|args|arguments|final answer|answer|observation)"
    r"[*_ \t]*[:：][*_ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_ARGUMENTS = ("args", "arguments", "action input")
_OBSERVATION = 4000  # characters of each that the model reads
_FENCE = re.compile(r"^```\w*\s*|\s*```$")
_CALL = re.compile(r"^(?P<name>[\w.-]+)\s*\(?\s*(?P<arguments>\{.*\})\s*\)?$", re.DOTALL)


@item
class Thought:
    """What the model wrote before it chose a tool, or answered."""

    JSON: ClassVar = ("iri", "text")

    text: str | None = said(TG.content, words=True)
    derived_from: NamedNode | None = said(PROV.wasDerivedFrom)
    iri: NamedNode | None = None


THOUGHT = ItemKind("thought", "thoughts", TG.thought, TG.Thought, Thought)


def _analysis(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    for thought in step.items["thoughts"]:
        page.paragraph(thought.text or tr(ERASED), "    ", tr("Thought: "))
    if step.values["action"]:
        page.paragraph(
            f"{step.values['action']} {step.values['arguments'] or tr(ERASED)}", "    ", tr("Action: ")
        )


def _conclusion(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    page.line(tr("    Ended by: {reason}").format(reason=step.values["reason"]))
    page.line()
    page.prose(step.answer or tr("(the text was erased)"), "")


ANALYSIS = NodeKind(
    "analysis",
    TG.Analysis,
    "What the agent thinks, and the tool that it chooses.",
    fields=(
        StepField("number", TG.stepNumber),
        StepField("action", TG.action, compared=True),
        StepField("arguments", TG.arguments, words=True, compared=True),
        StepField("tools", TG.toolCandidate, read=sorted),
        StepField("llm_ms", TG.llmDurationMs),
    ),
    items=(THOUGHT,),
    text=_analysis,
)
CONCLUSION = NodeKind(
    "conclusion",
    TG.Conclusion,
    "The agent's answer, with its citations.",
    types=(TG.Answer,),
    fields=(*TEXT, StepField("reason", TG.terminationReason, compared=True)),
    items=(ANSWER_SENTENCE, *SELECTIONS),
    text=_conclusion,
)


@dataclass
class Turn:
    """A round of the agent.

    Attributes:
        action: the tool that it chose; "" if it answered, or wrote something else.
        answer: None before the last round.
        malformed: what was wrong with its reply.
        offered: the tools that it could choose from.
        leaves: the state that the tool leaves the run in; None for the one before.
    """

    thought: str = ""
    action: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    answer: str | None = None
    malformed: str = ""
    offered: Sequence[Tool] = ()
    observation: str = ""
    leaves: str | None = None


def read_reply(text: str) -> Turn:
    """What a model wrote: a thought with a tool to use, or with the answer.

    A reply that has neither is malformed, and so is one with arguments that are no JSON object.
    """
    lead, *labelled = _LABELS.split(text)
    parts: dict[str, str] = {}
    for label, words in zip(labelled[::2], labelled[1::2], strict=True):
        name = label.lower()
        if name == "observation":
            break  # made up, and all that follows
        parts.setdefault("args" if name in _ARGUMENTS else name, words.strip())
    turn = Turn(thought=parts.get("thought", lead.strip()))
    if action := parts.get("action", "").strip(" `*"):
        call = _CALL.match(action)
        turn.action = call["name"] if call else action.splitlines()[0].strip(" `*\"'")
        written = _FENCE.sub("", parts.get("args", call["arguments"] if call else "")).strip()
        try:
            turn.arguments = json.JSONDecoder(strict=False).raw_decode(written)[0] if written else {}
        except ValueError:
            turn.malformed = "the arguments are no JSON object"
        if not isinstance(turn.arguments, dict):
            turn.arguments, turn.malformed = {}, "the arguments are no JSON object"
        return turn
    turn.answer = parts.get("final answer", parts.get("answer"))
    if not turn.answer:
        turn.answer, turn.malformed = None, "the reply has neither an Action nor a Final Answer"
    return turn


class ThinkParameters(StepParameters):
    """Of the step that thinks."""

    tools: str = Field("default", description="groups of tools that may be used, or *")
    tool_calls: Choice["auto", "never"] = Field(
        "auto", description="auto: a model that can call tools does so; never: it writes what to use as text"
    )
    response_type: str = Field(
        "a short answer of a few sentences", description="what the answer should be like"
    )


def think(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Ask the model what to do next, or for the answer."""
    turns = _turns(state)
    tools = _visible(context, state, parameters)
    if not turns:  # what is known can be cited, too
        cited = (one for known in state.known for one in known.selections)
        state.selections = [replace(one, iri=None, taken_from=one.taken_from or one.iri) for one in cited]
    step = context.recorder.step(ANALYSIS)
    completion = complete(
        context,
        step,
        "think",
        prompt="think",
        functions=_functions(context, tools, parameters),
        question=state.question,
        history=state.conversation,
        known=[{"goal": one.goal, "result": one.result} for one in state.known],
        tools=[_told(tool) for tool in tools],
        turns=[_shown(turn, _OBSERVATION) for turn in turns],
        response_type=parameters["response_type"],
        unknown=SENTINEL,
    )
    turn = read_reply(completion.text)
    turn.offered = tools
    state.work.results.append(turn)
    _record_turn(context, step, turn, len(turns) + 1, completion)
    yield context.recorder.finish(step)
    if turn.thought:
        yield context.recorder.text_chunk(turn.thought, "thought")
    if turn.answer is not None:
        state.work.done = True
        state.completion = completion
    else:
        yield context.recorder.text_chunk(f"{turn.action} {_as_json(turn.arguments)}", "action")


def _turns(state: State) -> list[Turn]:
    return [one for one in state.work.results if isinstance(one, Turn)]


def _visible(context: Context, state: State, parameters: Parameters) -> list[Tool]:
    """The tools of the run's groups that can be used now."""
    groups = parameters["tools"].split()
    if state.work.tools is None:
        state.work.tools = open_tools(_chosen(context, groups), state.warn)
    leaves = (turn.leaves for turn in reversed(_turns(state)))
    now = next((state for state in leaves if state is not None), "undefined")
    return [tool for tool in state.work.tools if tool.visible(groups, now)]


def _chosen(context: Context, groups: Sequence[str]) -> list[ToolDefinition]:
    tools = read_tools(context.prompt_folders)
    for tool in tools:
        if tool.type == "pipeline" and tool.pipeline not in context.callees:
            raise ConfigError(
                tr("tool {tool} asks the pipeline {pipeline!r}, which the agent cannot call").format(
                    tool=tool.name, pipeline=tool.pipeline
                ),
                hint=tr("add it to calls: in pipeline.yaml, which has {names}").format(
                    names=", ".join(context.callees) or tr("none")
                ),
            )
    known = {group for tool in tools for group in tool.group}
    if unknown := {*groups} - known - {ANY}:
        raise ConfigError(
            tr("no tool is in the group {unknown!r} (parameter tools)").format(unknown=min(unknown)),
            hint=tr("groups: {names}, or {any}").format(names=", ".join(sorted(known)), any=ANY),
        )
    return [tool for tool in _useful(context, tools) if in_groups(tool, groups)]


def _useful(context: Context, tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
    """The tools without those whose pipeline finds nothing in this store."""
    if not any(context.callees.get(tool.pipeline) for tool in tools):
        return list(tools)
    given = {row["input"] for row in context.store.select("system/inputs")}
    return [tool for tool in tools if given.issuperset(context.callees.get(tool.pipeline, ()))]


def _functions(context: Context, tools: Sequence[Tool], parameters: Parameters) -> list[dict[str, Any]]:
    native = (
        parameters["tool_calls"] == "auto" and context.gateway is not None and context.gateway.calls_tools()
    )
    return [tool.as_function() for tool in tools] if native else []


def _told(tool: Tool) -> dict[str, Any]:
    """A tool as the prompt lists it."""
    arguments = [
        {
            "name": name,
            "type": _type_words(one),
            "description": one.get("description", ""),
            "needed": name in tool.schema.get("required", ()),
        }
        for name, one in tool.schema.get("properties", {}).items()
    ]
    return {"name": tool.name, "description": tool.description, "arguments": arguments}


def _type_words(schema: Mapping[str, Any]) -> str:
    """The type in a JSON schema, in words."""
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    kinds = [_type_words(one) for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return " or ".join(kinds) or str(schema.get("type", "any"))


def _shown(turn: Turn, longest: int) -> dict[str, Any]:
    seen = turn.observation
    if len(seen) > longest:
        seen = f"{seen[:longest]}\n… (cut: {len(seen):,} characters)"
    return {
        "thought": turn.thought,
        "action": turn.action,
        "arguments": _as_json(turn.arguments),
        "observation": seen,
    }


def _as_json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _record_turn(
    context: Context,
    step: Step,
    turn: Turn,
    number: int,
    completion: Completion,
) -> None:
    say = context.recorder.say
    say(step, TG.stepNumber, integer(number))
    say(step, TG.llmDurationMs, integer(round(completion.seconds * 1000)))
    for tool in turn.offered:
        say(step, TG.toolCandidate, Literal(tool.name))
    if turn.action:
        say(step, RDF.type, TG.ToolUse)
        say(step, TG.action, Literal(turn.action))
        say(step, TG.arguments, Literal(_as_json(turn.arguments)))
    if turn.thought:
        context.recorder.item(step, THOUGHT, Thought(turn.thought, step.iri))


def use_tool(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Use the tool that was chosen, and record what it returned. A mistake of the model is told to it."""
    del parameters
    turn = _turns(state)[-1]
    if turn.answer is not None:
        return
    tool = next((one for one in turn.offered if one.name == turn.action), None)
    names = ", ".join(one.name for one in turn.offered)
    mistake = turn.malformed or ("" if tool else f"there is no tool {turn.action!r}; use {names}")
    analyses = context.recorder.last
    seen = yield from Observed.of(Use(tool, context, state), turn.arguments, mistake)
    turn.leaves = tool.defined.state if tool is not None and seen.error is None else None
    turn.observation = f"Error: {seen.error}" if seen.error is not None else seen.text
    recorder, step = context.recorder, seen.step
    step.quads += [recorder.quad(analysis, TG.observation, step.iri) for analysis in analyses]
    recorder.say(step, TG.toolDurationMs, integer(seen.ms))
    recorder.text(step, turn.observation)
    recorder.say(step, TG.document, step.iri)
    if seen.error is not None:
        recorder.say(step, TG.toolError, Literal(seen.error))
    yield recorder.finish(step)
    yield recorder.text_chunk(turn.observation, "observation")


def conclude(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The answer, with what it cites of the answers of tools; or that a limit was reached before."""
    del parameters
    step = context.recorder.step(CONCLUSION)
    stopped = state.work.stopped_by or "done"
    answer = next((turn.answer for turn in _turns(state)[-1:]), None)
    if answer is None:
        state.answered = False
        state.answer = not_answered(state.language, state.question)
        state.warn(
            "limit_reached",
            tr("the agent was stopped before it had an answer: limit of {stopped}").format(stopped=stopped),
        )
    else:
        read_answer(state, state.markers, answer)
    context.recorder.say(step, TG.terminationReason, Literal(LIMITS.get(stopped, "final-answer")))
    yield context.recorder.text_chunk(state.answer)
    yield finish_answer(context, state, step)


THINK = register(
    StepKind(
        "think",
        ANALYSIS,
        "Has the model choose a tool, or answer.",
        {"llm": Way(think, ThinkParameters, needs_model=True, prompts={"think": "think.j2"})},
    )
)
USE_TOOL = register(
    StepKind(
        "use_tool",
        OBSERVATION,
        "Uses the tool that the model chose.",
        {
            "llm": Way(
                use_tool, needs_model=True, prompts={"complete": "complete.j2"}, templates=LOOKUP_TEMPLATES
            )
        },
    )
)
CONCLUDE = register(
    StepKind(
        "conclude",
        CONCLUSION,
        "Gives the answer, and cites what the answers of tools rest on.",
        {"llm": Way(conclude, templates=("retrieval/labels", "documents/named-alike"))},
    )
)
