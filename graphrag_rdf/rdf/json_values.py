"""Objects of the program as JSON: the one serialiser of what it prints and sends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode

from graphrag_rdf.rdf.terms import text_of


def to_json(value: Any) -> Any:
    """A value as `json.dumps` takes it; all keys of an object are always there, and what is unknown is null.

    A dataclass gives an object of its fields, or of what its `JSON` lists: names of attributes,
    `key=attribute` where they differ (`key=part.attribute` of a part), or one `=attribute` whose value is the
    JSON of the whole object. An object whose keys depend on what it holds gives them by `json_object()`. RDF
    terms give their IRI or lexical form, moments ISO 8601.

    Raises:
        TypeError: for a value that has no JSON.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case NamedNode() | BlankNode() | Literal():
            return text_of(value)
        case datetime():
            return value.isoformat()
        case Path():
            return str(value)
        case Mapping():
            return {str(key): to_json(member) for key, member in value.items()}
        case list() | tuple() | Set():
            return [to_json(member) for member in value]
    if hasattr(value, "json_object"):
        return to_json(value.json_object())
    if not is_dataclass(value):
        raise TypeError(f"no JSON for {type(value).__name__}")
    listed = getattr(value, "JSON", None) or tuple(field.name for field in fields(value))
    if len(listed) == 1 and listed[0].startswith("="):
        return to_json(getattr(value, listed[0][1:]))
    return listed_attributes(value, listed)


def listed_attributes(value: object, listed: Iterable[str]) -> dict[str, Any]:
    """Attributes of an object as `to_json` gives them.

    Args:
        listed: as in `JSON`, see `to_json`.
    """
    named = (name.partition("=") for name in listed)
    return {key: to_json(attrgetter(attribute or key)(value)) for key, _, attribute in named}
