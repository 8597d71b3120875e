"""Parameters of steps: the types that declarations are made of, and how values are read and checked.

A way of a step declares its parameters as a model. Each field has a default and a description; its type says
which values it takes.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from graphrag_rdf.errors import ConfigError

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
        return "true or false"
    if parameter.annotation is str:
        return "a text"
    if choices := get_args(parameter.annotation):
        return f"one of {', '.join(choices)}"
    bounds = {name: getattr(limit, name) for limit in parameter.metadata for name in limit.__slots__}
    kind = "a whole number" if parameter.annotation is int else "a number"
    return f"{kind} from {bounds['ge']:,} to {bounds['le']:,}"


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
        raise ConfigError(f"{step}.{name}: {values[name]!r} is not {wanted}") from error
