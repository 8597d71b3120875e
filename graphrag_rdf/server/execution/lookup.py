"""Queries that can only be quick, so that they need no process of their own.

Two shapes, both with at most `MOST` rows, are answered by the server itself:

- one triple pattern: the engine walks one range of one index and stops at the limit;
- a hop: a pattern with a constant subject or object, and one that goes on from its variable by an index. The
  first is counted before (`FAN_OUT`), so that the second is looked up no more often than that.

Anything else (paths, blank nodes, comments, escapes, FILTER, GRAPH …) goes to a reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import pyoxigraph as ox
from pyoxigraph import DefaultGraph, NamedNode

from graphrag_rdf.rdf.namespaces import RDF

MOST = 1000
"""Rows of an answer."""

FAN_OUT = 200
"""Edges of the constant that a hop may go on from."""

_IRI = r"<[^<>\"{}|^`\\\x00-\x20]*>"
_NAME = r"[A-Za-z][\w-]*:[A-Za-z_][\w-]*"
_TERM = rf"(?:{_IRI}|{_NAME}|[?$]\w+)"
_TEXT = r"\"[^\"\\\n\r]*\"(?:@[A-Za-z-]+)?|'[^'\\\n\r]*'(?:@[A-Za-z-]+)?|[0-9]+"
_PATTERN = rf"({_TERM})\s++(a|{_TERM})\s++({_TERM}|{_TEXT})"
# white space is never given back (`*+`), or spaces where no query has an end would take for ever
_SHAPE = re.compile(
    rf"""\s*+((?:PREFIX\s+(?:[A-Za-z][\w-]*)?:\s*+{_IRI}\s*+)*)
    (?:SELECT\s+(?:\*|[?$]\w+(?:\s+[?$]\w+)*)|(ASK))\s*+(?:WHERE\s*+)?
    \{{\s*+{_PATTERN}\s*+(?:\.\s*+(?:{_PATTERN}\s*+\.?\s*+)?)?\}}\s*+
    (?:LIMIT\s+([0-9]{{1,9}})\s*+)?""",
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)
_PREFIX = re.compile(rf"PREFIX\s+([\w-]*):\s*<({_IRI[1:-1]})>", re.IGNORECASE | re.ASCII)

Probe = tuple[NamedNode | None, NamedNode | None, NamedNode | None]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A query of one of the shapes.

    Attributes:
        limit: its LIMIT; 1 of an ASK; None when it does not say.
        probe: the constants of the pattern that a hop starts from.
    """

    limit: int | None
    probe: Probe | None = None

    def is_small(self, store: ox.Store) -> bool:
        """Whether a hop starts from few enough edges."""
        if self.probe is None:
            return True
        found = store.quads_for_pattern(*self.probe, DefaultGraph())
        return sum(1 for _ in islice(found, FAN_OUT + 1)) <= FAN_OUT


def lookup_of(query: str) -> Lookup | None:
    """What a query looks up; None when it is of another shape, or asks for too many rows."""
    match = _SHAPE.fullmatch(query)
    if match is None:
        return None
    prologue, ask, *terms, limit = match.groups()
    if limit is not None and int(limit) > MOST:
        return None
    rows = 1 if ask else None if limit is None else int(limit)
    first, second = terms[:3], terms[3:]
    if second[0] is None:
        return Lookup(rows) if _distinct(first) else None
    prefixes = dict(_PREFIX.findall(prologue))
    for start, onward in ((first, second), (second, first)):
        if _goes_on(start, onward):
            probe = tuple(_constant(term, prefixes) for term in start)
            return Lookup(rows, probe)  # type: ignore[arg-type]
    return None


def _goes_on(start: list[str], onward: list[str]) -> bool:
    """Whether a hop leads from a constant of one pattern, over one variable, into the other."""
    ends, further = (start[0], start[2]), (onward[0], onward[2])
    if any(term[0] in "\"'0123456789" for term in (*ends, *further)):
        return False
    constants = sum(not _is_variable(term) for term in ends)
    shared = {name for name in _variables(start) if name in _variables(onward)}
    return (
        constants == 1
        and all(map(_is_variable, further))
        and len(shared) == 1
        and shared <= {term[1:] for term in ends}
        and shared <= {term[1:] for term in further}
        and _distinct(start)
        and _distinct(onward)
    )


def _is_variable(term: str) -> bool:
    return term[0] in "?$"


def _variables(pattern: list[str]) -> list[str]:
    return [term[1:] for term in pattern if _is_variable(term)]


def _distinct(pattern: list[str]) -> bool:
    names = _variables(pattern)
    return len(names) == len(set(names))


def _constant(term: str, prefixes: Mapping[str, str]) -> NamedNode | None:
    """A term as a node; None for a variable. What is no IRI the engine says when it parses the query."""
    if _is_variable(term):
        return None
    if term == "a":
        return RDF.type
    if term[0] == "<":
        return NamedNode(term[1:-1])
    prefix, _, local = term.partition(":")
    return NamedNode(prefixes[prefix] + local)
