"""The header of a query template: data about the query, written as comments in YAML above it.

    # name: retrieval/expand
    # kind: select
    # summary: Edges one hop from the given entities.
    # params:
    #   entities: {type: "iri[]", sample: ["http://example.org/e/ada"]}
    #   limit: {type: int, sample: 30}
    # returns: [s, p, o]

It feeds `queries list`, the reference page and the tests, in the manner of aiosql.
"""

from __future__ import annotations

from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from graphrag_rdf.errors import TemplateError, short_cause

Kind = Literal["select", "ask", "construct", "update"]


class Parameter(BaseModel):
    """One typed parameter: `type` is a name of `sparql.parameters.TYPES`, `[]` after it makes a list.

    The sample of an optional one is its default.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str
    sample: Any
    about: str = ""
    optional: bool = False


class Header(BaseModel):
    """What a template says of itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    kind: Kind
    summary: str
    params: dict[str, Parameter] = {}
    returns: tuple[str, ...] = ()


def split(text: str, origin: str) -> tuple[Header, str]:
    """Header and body of a template file.

    Args:
        text: the file's content.
        origin: its path, for messages.

    Raises:
        TemplateError: when the header is missing or malformed.
    """
    lines = text.splitlines()
    end = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    source = "\n".join(line[1:].removeprefix(" ") for line in lines[:end])
    try:
        header = Header.model_validate(yaml.safe_load(source) or {})
    except (yaml.YAMLError, ValidationError) as error:
        raise TemplateError(f"{origin}: the header is not valid: {short_cause(error)}") from error
    return header, "\n".join(lines[end:]).strip() + "\n"
