"""The header of a query template: metadata as YAML, in the comments above the query.

    # name: retrieval/expand
    # kind: select
    # summary: Edges one hop from the given entities.
    # params:
    #   entities: {type: "iri[]", sample: ["http://example.org/e/ada"]}
    #   limit: {type: int, sample: 30}
    # returns: [s, p, o]

`queries list`, the reference page and the tests use it. The format resembles that of aiosql.
"""

from __future__ import annotations

from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from graphrag_rdf.errors import TemplateError, short_cause

Kind = Literal["select", "ask", "construct", "update"]


class Parameter(BaseModel):
    """A typed parameter: `type` is a name in `sparql.parameters.TYPES`, with `[]` for a list.

    The sample of an optional parameter is its default.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str
    sample: Any
    about: str = ""
    optional: bool = False


class Header(BaseModel):
    """The metadata of a template."""

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
        raise TemplateError(f"{origin}: invalid header: {short_cause(error)}") from error
    return header, "\n".join(lines[end:]).strip() + "\n"
