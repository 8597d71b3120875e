"""What the tokens of a query or update tell before it runs.

Where it matters for safety (calls to other servers) tokens are
not trusted alone: lexers can differ on `<`, and what one takes for a string the other may take for code. So
every `SERVICE` or `LOAD` that the tokens do not show as an allowed call is misspelt in a second text
(`masked`), which must still parse: the engine's own parser is the judge of whether it was a keyword.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from graphrag_rdf.server.execution.nesting import check_nesting
from graphrag_rdf.server.execution.operations import outermost
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.sparql.tokens import Token, tokens

_CALLS = re.compile(r"SERVICE|LOAD", re.IGNORECASE)
NO_CALLS = "if this calls another server: that is refused"
"""Said beside what is wrong with a text of which it is not known whether it calls another server."""
_VOLATILE = re.compile(r"\b(?:NOW|RAND|UUID|STRUUID|BNODE)\s*\(", re.IGNORECASE)
_GRAPH = re.compile(r"\bGRAPH\b", re.IGNORECASE)

_SHORT = 2048
"""Characters of a query that is remembered with what is known of it; thousands of long ones take too much."""


_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
"""SPARQL 1.1 §19.2: may stand anywhere in a query, and is read before anything else; the embedded engine
reads it in IRIs and strings only, others do as the specification says."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is known of a query.

    Attributes:
        volatile: two runs on the same data may differ.
        masked: the text with possible calls misspelt; None when there is nothing to judge.
        roams: it has GRAPH with a variable, and no dataset of its own over whose graphs that would range.
    """

    volatile: bool
    roams: bool
    masked: str | None


def inspect_query(text: str, allowed: tuple[str, ...] = ()) -> Inspected:
    """Look at a query.

    Args:
        allowed: IRIs that SERVICE may call.

    Raises:
        Problem: 403 when it calls another server, 400 when it is nested too deeply.
    """
    return (_remembered if len(text) <= _SHORT else _inspected)(text, allowed)


def _inspected(text: str, allowed: tuple[str, ...]) -> Inspected:
    check_nesting(text)
    return Inspected(
        volatile=_VOLATILE.search(text) is not None,
        roams=_GRAPH.search(text) is not None and _roams(list(tokens(text))),
        masked=_masked(text, frozenset(allowed)),
    )


_remembered = lru_cache(maxsize=2048)(_inspected)


def _roams(found: Sequence[Token]) -> bool:
    if next(outermost(found, "FROM"), None) is not None:
        return False
    return any(
        word.kind == "word" and word.text.upper() == "GRAPH" and name.kind == "variable"
        for word, name in pairwise(found)
    )


def inspect_update(text: str, allowed: Collection[str] = ()) -> str | None:
    """The masked text of an update, see above; None when there is nothing to judge.

    Raises:
        Problem: 403 when it calls another server, 400 when it is nested too deeply.
    """
    check_nesting(text)
    return _masked(text, frozenset(allowed))


def refusal(keyword: str) -> Problem:
    """What a query or update that calls another server gets."""
    return Problem(
        403,
        f"{keyword} is refused: this server calls no other",
        hint="the setting server.allow_service names the addresses that may be called",
    )


def _hidden(text: str) -> str | None:
    """A call that escapes may spell, or let out of a string. Who needs them writes what is not ASCII."""
    if all(ord(_character(escape)) > 127 for escape in _ESCAPE.finditer(text)):
        return None
    found = _CALLS.search(_ESCAPE.sub(_character, text))
    return found and found[0].upper()


def _character(escape: re.Match[str]) -> str:
    code = int(escape[1] or escape[2], 16)
    return chr(min(code, sys.maxunicode))


def _masked(text: str, allowed: frozenset[str]) -> str | None:
    if "\\" in text and (hidden := _hidden(text)) is not None:
        raise refusal(hidden)
    places = [match.start() for match in _CALLS.finditer(text)]
    if not places:
        return None
    found, free = list(tokens(text)), set()
    for index, token in enumerate(found):
        if token.kind != "word" or token.text.upper() not in ("SERVICE", "LOAD"):
            continue
        called = next((t for t in found[index + 1 : index + 3] if t.text.upper() != "SILENT"), None)
        if called is None or called.kind != "iri" or called.text[1:-1] not in allowed:
            raise refusal(token.text.upper())
        free.add(token.offset)
    judged = [place for place in places if place not in free]
    if not judged:
        return None
    masked = list(text)
    for place in judged:  # SERVICE -> SERVICX, load -> loax: what were two names stay two names
        end = place + (7 if text[place].upper() == "S" else 4) - 1
        masked[end] = "X" if text[end].isupper() else "x"
    return "".join(masked)
