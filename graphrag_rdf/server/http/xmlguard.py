"""XML that clients send: entity declarations are looked at before the parser expands them.

The engine's parser takes no external entities, but expands internal ones without bound ("billion laughs").
"""

from __future__ import annotations

import re

from graphrag_rdf.server.http.problems import Problem

_DECLARED = re.compile(r"<!ENTITY\s+(?:(%)\s+)?([^\s'\"<>&;]+)\s+(?:\"([^\"]*)\"|'([^']*)')?")
_REFERENCE = re.compile(r"&([^#\s;&<>]{1,256});")


def check_entities(text: str, limit: int) -> None:
    """Let a document on if its entities are plain texts that stay small.

    Args:
        limit: characters that all references to them may become.

    Raises:
        Problem: 400 for entities in entities, parameter entities, and for what would grow beyond the limit.
    """
    if "<!ENTITY" not in text:
        return
    values: dict[str, str] = {}
    for parameter, name, double, single in _DECLARED.findall(text):
        value = double or single
        if parameter or _REFERENCE.search(value) or "%" in value:
            raise Problem(400, "the XML declares entities that are made of others")
        values.setdefault(name, value)
    grown = sum(len(values.get(name, "")) for name in _REFERENCE.findall(text))
    if grown > limit:
        raise Problem(400, f"the XML's entities would become more than {limit:,} characters")
