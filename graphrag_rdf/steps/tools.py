"""Tools of agents: declared in `tools.yaml` of a pipeline, each of a type of this module.

A tool is visible in a run if one of its groups is asked for and its states include the run's state; after it
has worked, the run has the state that the tool names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from graphrag_rdf.errors import ConfigError, GraphRagError, short_cause
from graphrag_rdf.rdf.namespaces import TG
from graphrag_rdf.steps.answer import TEXT
from graphrag_rdf.steps.prompts import ask_model
from graphrag_rdf.steps.selection import adopted
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.trace.kinds import NodeKind, StepField
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.recorder import Step

Arguments: TypeAlias = type[BaseModel]
"""What the arguments of a tool must be."""

_LONGEST_SHOWN = 1000


def _observation(page: Lines, step: TraceStep, full: bool) -> None:
    if step.values["error"]:
        page.paragraph(step.values["error"], "    ", "Error: ")
        return
    text = step.values["answer"]
    if text and not full and len(text) > _LONGEST_SHOWN:
        text = f"{text[:_LONGEST_SHOWN]} … ({len(text):,} characters)"
    page.prose(text or "(no text)", "    ")


OBSERVATION = NodeKind(
    "observation",
    TG.Observation,
    "What a tool returned.",
    fields=(*TEXT, StepField("error", TG.toolError, words=True), StepField("tool_ms", TG.toolDurationMs)),
    text=_observation,
)

ANY = "*"
"""A group or state that stands for all."""


class Argument(BaseModel):
    """An argument of a tool whose type takes any."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str
    type: str = "string"


class ToolDefinition(BaseModel):
    """A tool of a `tools.yaml`.

    Attributes:
        type: what it is made of, see `TYPES`.
        description: tells the model when to use it.
        pipeline, prompt: what it runs, by its type.
        arguments: of a type that has none of its own.
        group: the groups that it belongs to.
        states: those of a run in which it can be used.
        state: the state of the run once it was used; None for the one before.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    type: str
    description: str
    pipeline: str = ""
    prompt: str = ""
    arguments: tuple[Argument, ...] = ()
    group: tuple[str, ...] = ("default",)
    states: tuple[str, ...] = (ANY,)
    state: str | None = None

    def visible(self, groups: Sequence[str], state: str) -> bool:
        """Whether a run of these groups may use it in a state."""
        in_group = ANY in groups or bool({*self.group} & {*groups})
        return in_group and bool({ANY, state} & {*self.states})

    @cached_property
    def takes(self) -> Arguments:
        """What its arguments must be."""
        own = TYPES[self.type].arguments
        if own is not None:
            return own
        fields: dict[str, Any] = {
            one.name: (_VALUES.get(one.type, str), Field(description=one.description))
            for one in self.arguments
        }
        return create_model("Arguments", **fields)

    def as_function(self) -> dict[str, Any]:
        """What a model that can call tools is told of it."""
        schema = {key: value for key, value in self.takes.model_json_schema().items() if key != "title"}
        about = {"name": self.name, "description": self.description, "parameters": schema}
        return {"type": "function", "function": about}


_VALUES = {"string": str, "integer": int, "number": float, "boolean": bool}


def read_tools(folders: Sequence[Path]) -> dict[str, ToolDefinition]:
    """The tools of a pipeline by name.

    Args:
        folders: of the pipeline; the first that has a `tools.yaml` counts.

    Raises:
        ConfigError: naming the file and what is wrong in it.
    """
    path = next((at for folder in folders if (at := folder / "tools.yaml").is_file()), None)
    if path is None:
        raise ConfigError(f"{folders[0]} has no tools.yaml", hint="copy the one of pipelines/agent_react")
    try:
        tools = _tools(path.read_text("utf-8"))
    except (OSError, yaml.YAMLError, ValidationError, TypeError) as error:
        raise ConfigError(f"{path}: {short_cause(error)}") from error
    for tool in tools:
        if tool.type not in TYPES:
            raise ConfigError(
                f"{path}: tool {tool.name} has the unknown type {tool.type!r}",
                hint=f"types: {', '.join(TYPES)}",
            )
    return {tool.name: tool for tool in tools}


@lru_cache(maxsize=64)
def _tools(text: str) -> tuple[ToolDefinition, ...]:
    """The tools in a tools.yaml. Each text is read once: that takes longer than a step of an agent."""
    return tuple(ToolDefinition.model_validate(one) for one in yaml.safe_load(text) or ())


@dataclass
class Use:
    """A tool at work.

    Attributes:
        tool: None where the model chose none that there is.
        state: of the agent's run.
    """

    tool: ToolDefinition | None
    context: Context
    state: State

    @cached_property
    def step(self) -> Step:
        """Its node in the trace, which derives from the last step before: that of a run that it asked."""
        return self.context.recorder.step(OBSERVATION)


Run: TypeAlias = Callable[[ToolDefinition, Use, Any], str | Generator[GraphRagResponse, None, str]]


@dataclass(frozen=True, slots=True)
class ToolType:
    """What tools can be made of.

    Attributes:
        run: takes valid arguments, returns what the model is told; it may yield messages of runs meanwhile.
        arguments: None where each tool declares its own.
    """

    run: Run
    arguments: Arguments | None = None


class _Question(BaseModel):
    question: str = Field(description="a whole question, which names what it is about")


def _ask_pipeline(
    tool: ToolDefinition, use: Use, arguments: _Question
) -> Generator[GraphRagResponse, None, str]:
    """The answer of another pipeline, with its citations numbered on."""
    assert use.context.call is not None  # noqa: S101
    called = yield from use.context.call(tool.pipeline, arguments.question, use.context, use.state)
    return adopted(use.state, called)


def _complete(tool: ToolDefinition, use: Use, arguments: _Question) -> str:
    """What the model itself says; it cites nothing."""
    del tool
    return ask_model(use.context, use.step, "complete", prompt="complete", question=arguments.question)


def _prompted(tool: ToolDefinition, use: Use, arguments: BaseModel) -> str:
    """The answer of the model to a prompt of the pipeline's folder."""
    context = replace(use.context, prompts={"tool": tool.prompt})
    return ask_model(context, use.step, tool.name, prompt="tool", **arguments.model_dump())


TYPES: Mapping[str, ToolType] = {
    "pipeline": ToolType(_ask_pipeline, _Question),
    "text-completion": ToolType(_complete, _Question),
    "prompt": ToolType(_prompted),
}


@dataclass(frozen=True, slots=True)
class Observed:
    """What came of it.

    Attributes:
        text: for the model, whole.
        error: why there is none.
    """

    step: Step
    text: str
    error: str | None
    ms: int

    @classmethod
    def of(
        cls, use: Use, arguments: Mapping[str, Any], mistake: str = ""
    ) -> Generator[GraphRagResponse, None, Self]:
        """Use a tool, and pass on the messages of runs that it starts.

        What it raises is observed, not raised.

        Args:
            mistake: why it is not used at all.
        """
        clock = time.perf_counter()
        text, error = "", mistake or None
        tool = use.tool
        if tool is not None and not mistake:
            try:
                found = TYPES[tool.type].run(tool, use, tool.takes.model_validate(arguments))
                text = found if isinstance(found, str) else (yield from found)
            except ValidationError as wrong:
                error = f"wrong arguments: {short_cause(wrong)}"
            except ConfigError:
                raise  # the model cannot mend what a file says
            except GraphRagError as failed:
                error = str(failed)
        return cls(use.step, text, error, round((time.perf_counter() - clock) * 1000))
