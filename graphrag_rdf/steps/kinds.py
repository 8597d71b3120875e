"""Kinds of steps, declared as data: what a `pipeline.yaml` can name after `step:`, and its parameters.

The module that implements a kind declares it by `register(StepKind(...))`. Validation of pipelines and of
`--set`, help, settings and reference pages are derived from the declarations. A way of a step declares its
parameters as a model: each field has a default and a description, and its type says which values it takes.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from graphrag_rdf import steps
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import tr
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.kinds import NodeKind
from graphrag_rdf.trace.kinds import register as declare_nodes
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.wing import wings

Value: TypeAlias = bool | int | float | str

Limit: TypeAlias = Annotated[int, Field(ge=0, le=1_000_000)]
Some: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]
Few: TypeAlias = Annotated[int, Field(ge=0, le=10)]
Hops: TypeAlias = Annotated[int, Field(ge=0, le=20)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Weight: TypeAlias = Annotated[float, Field(ge=0, le=1000)]


class StepParameters(BaseModel):
    """The parameters of a way of a step. Values are not converted: 1.0 is no whole number, "3" no number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def takes(parameter: FieldInfo) -> str:
    """The values that a parameter takes, in words: "a whole number from 0 to 10"."""
    if parameter.annotation is bool:
        return tr("true or false")
    if parameter.annotation is str:
        return tr("a date, such as 1911-11-17, 1911-11 or 1911") if parameter.metadata else tr("a text")
    if choices := get_args(parameter.annotation):
        return tr("one of {choices}").format(choices=", ".join(choices))
    bounds = {name: getattr(limit, name) for limit in parameter.metadata for name in limit.__slots__}
    whole = parameter.annotation is int
    message = (
        tr("a whole number from {least:,} to {most:,}")
        if whole
        else tr("a number from {least:,} to {most:,}")
    )
    return message.format(least=bounds["ge"], most=bounds["le"])


def read_value(parameter: FieldInfo, text: str) -> Value:
    """A value written as text, e.g. on the command line. Text that is no value of the type is returned as it
    is, and refused by `check_values`.
    """
    if parameter.annotation is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if parameter.annotation not in (int, float):
        return text
    try:
        return parameter.annotation(text)
    except ValueError:
        return text


def check_values(model: type[StepParameters], step: str, values: dict[str, Value]) -> dict[str, Value]:
    """The values of all parameters of a way: those given, else the defaults.

    Args:
        step: its name, for the message.
        values: no others than those of the way.

    Raises:
        ConfigError: naming the parameter and what it takes.
    """
    try:
        return model.model_validate(values).model_dump()
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        wanted = takes(model.model_fields[name])
        raise ConfigError(
            tr("{step}.{name}: {values!r} is not {wanted}").format(
                step=step, name=name, values=values[name], wanted=wanted
            )
        ) from error


StepFunction: TypeAlias = Callable[[Context, State, Parameters], Iterator[GraphRagResponse]]
"""Runs a step; it gets a value for each parameter that its way declares."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a step of a kind can work; its name is what `use:` takes.

    Attributes:
        parameters: those that it follows.
        needs_model: whether it asks a language model.
        prompts: what a prompt is for → its file.
        templates: the SPARQL templates that it can run.
        continues: whether it goes on with an answer that an earlier step asked for by its parameters and
            prompts.
    """

    run: StepFunction
    parameters: type[StepParameters] = StepParameters
    needs_model: bool = False
    prompts: Mapping[str, str] = field(default_factory=dict)
    templates: tuple[str, ...] = ()
    continues: bool = False


@dataclass(frozen=True, slots=True)
class StepKind:
    """A kind of step.

    Attributes:
        name: as in `step:` of a pipeline.yaml.
        node: what it writes into traces, and how that is shown.
        about: what it does, in a sentence.
        auto: what `use: auto` means: the way without a model, and with one. Without it there is no `auto`,
            and the first way is the default.
        finds: whether `retrieve` runs it: it searches, and does not answer.
    """

    name: str
    node: NodeKind
    about: str
    ways: Mapping[str, Way]
    auto: tuple[str, str] | None = None
    finds: bool = False

    @property
    def default(self) -> str:
        """What `use:` is where a pipeline doesn't name it."""
        return "auto" if self.auto else next(iter(self.ways))

    @property
    def uses(self) -> list[str]:
        """What `use:` takes."""
        return [*(["auto"] if self.auto else []), *self.ways]

    @property
    def parameters(self) -> dict[str, FieldInfo]:
        """The parameters of all ways, by name."""
        fields: dict[str, FieldInfo] = {}
        for way in self.ways.values():
            fields |= way.parameters.model_fields
        return fields

    @property
    def prompts(self) -> dict[str, str]:
        """The prompts of all ways: what each is for → its file."""
        return {role: file for way in self.ways.values() for role, file in way.prompts.items()}

    def choose(self, use: str, *, with_model: bool) -> str:
        """The way that `use:` names.

        Raises:
            ConfigError: if there is none.
        """
        if self.auto and use == "auto":
            return self.auto[with_model]
        if use not in self.ways:
            raise ConfigError(
                tr("{name} cannot use {use!r}").format(name=self.name, use=use),
                hint=tr("it can use: {names}").format(names=", ".join(self.uses)),
            )
        return use


_KINDS: dict[str, StepKind] = {}


def register(kind: StepKind) -> StepKind:
    """Declare a kind of step; pipelines can name it, and readers of traces know its nodes, from now on.

    Raises:
        ValueError: if another kind has its name.
    """
    if _KINDS.setdefault(kind.name, kind) is not kind:
        raise ValueError(f"there are two kinds of step named {kind.name}")
    declare_nodes(kind.node)
    return kind


def kinds() -> Mapping[str, StepKind]:
    """All kinds of steps by name: those of this package and of wings, and those that a program registered."""
    _import_all()
    return _KINDS


@cache
def _import_all() -> None:
    ours = (module.name for module in pkgutil.iter_modules(steps.__path__, f"{steps.__name__}."))
    for name in (*ours, *(module for wing in wings() for module in wing.steps)):
        importlib.import_module(name)
