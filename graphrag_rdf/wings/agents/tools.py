"""Tools of agents: declared in `tools.yaml` of a pipeline, each of a type of this module.

A tool is visible in a run if one of its groups is asked for and its states include the run's state; after it
has worked, the run has the state that the tool names. Nothing that a model writes is run as a command.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self, TypeAlias
from typing import Literal as Choice

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from graphrag_rdf.errors import ConfigError, GraphRagError, UsageError, short_cause
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import TG
from graphrag_rdf.steps.answer import RESULT
from graphrag_rdf.steps.prompts import ask_model
from graphrag_rdf.steps.selection import adopted
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.trace.kinds import NodeKind, StepField
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.agents.lookups import look_up_entity, source_of_fact
from graphrag_rdf.wings.agents.mcp_client import Served, Server, call_tool, served_tools

Arguments: TypeAlias = type[BaseModel]
"""What the arguments of a tool must be."""

_LONGEST_SHOWN = 1000


def _observation(page: Lines, step: TraceStep, full: bool) -> None:
    if step.values["error"]:
        page.paragraph(step.values["error"], "    ", tr("Error: "))
        return
    text = step.values["answer"]
    if text and not full and len(text) > _LONGEST_SHOWN:
        text = tr("{text} … ({number:,} characters)").format(text=text[:_LONGEST_SHOWN], number=len(text))
    page.prose(text or tr("(no text)"), "    ")


OBSERVATION = NodeKind(
    "observation",
    TG.Observation,
    "What a tool returned.",
    fields=(
        *RESULT,
        StepField("error", TG.toolError, words=True, compared=True),
        StepField("tool_ms", TG.toolDurationMs),
    ),
    text=_observation,
)

ANY = "*"
"""A group or state that stands for all."""


_VALUES: Mapping[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}


class Argument(BaseModel):
    """An argument of a tool whose type takes any.

    Attributes:
        enum: the texts that it can be; empty for any.
        required: whether the model must give it; one that it leaves out is None.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str
    type: Choice["string", "integer", "number", "boolean"] = "string"
    enum: tuple[str, ...] = ()
    required: bool = True

    def field(self) -> tuple[Any, Any]:
        """As a field of the model that checks it."""
        kind = Choice[self.enum] if self.enum else _VALUES[self.type]
        about = Field(description=self.description)
        return (kind, about) if self.required else (kind | None, Field(None, description=self.description))


class ToolDefinition(BaseModel):
    """A tool of a `tools.yaml`.

    Attributes:
        type: what it is made of, see `TYPES`.
        description: tells the model when to use it; of an MCP tool that of its server by default.
        pipeline, prompt, tool: what it runs, by its type.
        command, url, env, token_env, seconds: of the server of an MCP tool, see `mcp_client.Server`.
        arguments: of a type that has none of its own.
        group: the groups that it belongs to.
        states: those of a run in which it can be used.
        state: the state of the run once it was used; None for the one before.
        chars: characters of a result that are kept.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    type: str
    description: str = ""
    pipeline: str = ""
    prompt: str = ""
    tool: str = ""
    command: tuple[str, ...] = ()
    url: str = ""
    env: tuple[str, ...] = ()
    token_env: str = ""
    seconds: float = Field(60.0, gt=0, le=3600)
    arguments: tuple[Argument, ...] = ()
    group: tuple[str, ...] = ("default",)
    states: tuple[str, ...] = (ANY,)
    state: str | None = None
    chars: int = Field(20_000, ge=100, le=1_000_000)

    @property
    def server(self) -> Server:
        """Of an MCP tool."""
        return Server(self.command, self.url, self.env, self.token_env, self.seconds)

    def check(self) -> None:
        """Refuse an unknown type, and a definition that lacks what its type needs.

        Raises:
            ConfigError: naming it.
        """
        if self.type not in TYPES:
            raise ConfigError(
                tr("tool {name} has the unknown type {type!r}").format(name=self.name, type=self.type),
                hint=tr("types: {types}").format(types=", ".join(TYPES)),
            )
        for key in TYPES[self.type].needs:
            if not getattr(self, key):
                raise ConfigError(
                    tr("tool {name} of type {type} needs {key}:").format(
                        name=self.name, type=self.type, key=key
                    )
                )
        if self.type == "mcp" and bool(self.command) == bool(self.url):
            raise ConfigError(
                tr("tool {name} of type mcp needs either command: or url:").format(name=self.name)
            )

    @cached_property
    def takes(self) -> Arguments:
        """What its arguments must be, unless a server says so."""
        own = TYPES[self.type].arguments
        if own is not None:
            return own
        fields: dict[str, Any] = {argument.name: argument.field() for argument in self.arguments}
        return create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)

    @cached_property
    def schema_of_arguments(self) -> Mapping[str, Any]:
        """The JSON schema of `takes`."""
        return self.takes.model_json_schema()


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a run may use.

    Attributes:
        served: how its server describes it; None of one without a server.
    """

    defined: ToolDefinition
    served: Served | None = None

    @property
    def name(self) -> str:
        """As the model calls it."""
        return self.defined.name

    @property
    def description(self) -> str:
        """When to use it."""
        return self.defined.description or (self.served.description if self.served else "")

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments."""
        return self.defined.schema_of_arguments if self.served is None else self.served.schema

    def visible(self, groups: Sequence[str], state: str) -> bool:
        """Whether a run of these groups may use it in a state."""
        return in_groups(self.defined, groups) and bool({ANY, state} & {*self.defined.states})

    def read(self, arguments: Mapping[str, Any]) -> Any:
        """The arguments as its type takes them.

        Raises:
            ValueError: saying what is wrong with them.
        """
        if self.served is None:
            return self.defined.takes.model_validate(arguments)
        from jsonschema.validators import validator_for

        wrong = next(validator_for(self.schema)(self.schema).iter_errors(dict(arguments)), None)
        if wrong is not None:
            raise ValueError(f"{wrong.json_path.removeprefix('$.')}: {wrong.message}")
        return arguments

    def as_function(self) -> dict[str, Any]:
        """What a model that can call tools is told of it."""
        schema = {key: value for key, value in self.schema.items() if key != "title"}
        about = {"name": self.name, "description": self.description, "parameters": schema}
        return {"type": "function", "function": about}


def in_groups(tool: ToolDefinition, groups: Sequence[str]) -> bool:
    """Whether a tool belongs to one of some groups."""
    return ANY in groups or bool({*tool.group} & {*groups})


def read_tools(folders: Sequence[Path]) -> list[ToolDefinition]:
    """The tools of a pipeline.

    Args:
        folders: of the pipeline; the first that has a `tools.yaml` counts.

    Raises:
        ConfigError: naming the file and what is wrong in it.
    """
    path = next((at for folder in folders if (at := folder / "tools.yaml").is_file()), None)
    if path is None:
        raise ConfigError(
            tr("{folders} has no tools.yaml").format(folders=folders[0]),
            hint=tr("copy the one of pipelines/agent_react"),
        )
    try:
        return list(_tools(path.read_text("utf-8")))
    except (OSError, yaml.YAMLError, ValidationError, TypeError) as error:
        raise ConfigError(f"{path}: {short_cause(error)}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}", hint=error.hint) from error


@lru_cache(maxsize=64)
def _tools(text: str) -> tuple[ToolDefinition, ...]:
    """The tools in a tools.yaml. Each text is read once: that takes longer than a step of an agent."""
    definitions = tuple(
        ToolDefinition.model_validate(definition) for definition in yaml.safe_load(text) or ()
    )
    for tool in definitions:
        tool.check()
    return definitions


def open_tools(definitions: Sequence[ToolDefinition], warn: Callable[[str, str], None]) -> list[Tool]:
    """The tools, those of servers as these describe them. Each server is asked once; a tool whose server does
    not answer, or does not have it, is left out.

    Args:
        warn: takes the type of a warning, and its detail.

    Raises:
        ConfigError: when something is missing on this computer.
    """
    tools: list[Tool] = []
    served_by: dict[Server, Mapping[str, Served]] = {}
    for definition in definitions:
        if definition.type != "mcp":
            tools.append(Tool(definition))
            continue
        if definition.server not in served_by:
            try:
                served_by[definition.server] = served_tools(definition.server)
            except ConfigError:
                raise
            except GraphRagError as failed:
                served_by[definition.server] = {}
                warn(
                    "tool_unavailable",
                    tr("the tools of a server are left out: {failed}").format(failed=failed),
                )
        served = served_by[definition.server].get(definition.tool)
        if served is not None:
            tools.append(Tool(definition, served))
        elif served_by[definition.server]:
            warn(
                "tool_unavailable",
                tr("{server} has no tool {tool!r}, so {one} is left out").format(
                    server=definition.server.name, tool=definition.tool, one=definition.name
                ),
            )
    return tools


@dataclass
class Use:
    """A tool at work.

    Attributes:
        tool: None where the model chose none that there is.
        state: of the agent's run.
    """

    tool: Tool | None
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
        needs: keys that a definition must have.
    """

    run: Run
    arguments: Arguments | None = None
    needs: tuple[str, ...] = ("description",)


class _Own(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Question(_Own):
    question: str = Field(description="a whole question, which names what it is about")


class _Entity(_Own):
    name: str = Field(min_length=1, description="the name of a person, thing or place")


class _Fact(_Own):
    number: int | None = Field(None, description="the number by which an observation cites it, like 3")
    subject: str | None = Field(None, description="or the fact itself: a name or an IRI,")
    relation: str | None = Field(None, description="as entity-lookup names it,")
    object: str | None = Field(None, description="a name, an IRI or a value")

    @property
    def fact(self) -> tuple[str, str, str] | None:
        """The fact, if it is given as such."""
        if self.subject is None or self.relation is None or self.object is None:
            return None
        return self.subject, self.relation, self.object

    @model_validator(mode="after")
    def _is_given(self) -> Self:
        if self.number is None and self.fact is None:
            raise ValueError("give a number, or subject, relation and object")
        return self


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


def _look_up(tool: ToolDefinition, use: Use, arguments: _Entity) -> str:
    """What is known of an entity; its facts can be cited."""
    del tool
    return look_up_entity(use.context, use.state, use.step, arguments.name)


def _source(tool: ToolDefinition, use: Use, arguments: _Fact) -> str:
    """Where a fact stands; it can be cited."""
    del tool
    return source_of_fact(use.context, use.state, use.step, number=arguments.number, fact=arguments.fact)


def _ask_server(tool: ToolDefinition, use: Use, arguments: Mapping[str, Any]) -> str:
    """What a tool of an MCP server returns; it cites nothing."""
    seconds = min(tool.seconds, use.context.seconds_left())
    return call_tool(replace(tool.server, seconds=seconds), tool.tool, arguments)


TYPES: Mapping[str, ToolType] = {
    "pipeline": ToolType(_ask_pipeline, _Question, ("description", "pipeline")),
    "entity-lookup": ToolType(_look_up, _Entity),
    "source-of-fact": ToolType(_source, _Fact),
    "text-completion": ToolType(_complete, _Question),
    "prompt": ToolType(_prompted, None, ("description", "prompt")),
    "mcp": ToolType(_ask_server, None, ("tool",)),
}


@dataclass(frozen=True, slots=True)
class Observed:
    """What came of it.

    Attributes:
        text: for the model.
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
                outcome = _used(tool, use, arguments)
                text = _cut(tool, outcome if isinstance(outcome, str) else (yield from outcome))
            except ConfigError:
                raise  # the model cannot mend what a file says
            except GraphRagError as failed:
                error = _cut(tool, f"{failed} ({failed.hint})" if failed.hint else str(failed))
        return cls(use.step, text, error, round((time.perf_counter() - clock) * 1000))


def _used(tool: Tool, use: Use, arguments: Mapping[str, Any]) -> str | Generator[GraphRagResponse, None, str]:
    try:
        read = tool.read(arguments)
    except ValueError as wrong:
        raise UsageError(tr("wrong arguments: {wrong}").format(wrong=short_cause(wrong))) from wrong
    return TYPES[tool.defined.type].run(tool.defined, use, read)


def _cut(tool: Tool, text: str) -> str:
    most = tool.defined.chars
    return text if len(text) <= most else f"{text[:most]}\n… (cut: {most:,} of {len(text):,} characters)"
