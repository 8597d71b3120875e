"""What the tokens of a query or update tell before it runs.

Its shape says whether it can only be quick. Where it matters for safety (calls to other servers) tokens are
not trusted alone: lexers can differ on `<`, and what one takes for a string the other may take for code. So
every `SERVICE` or `LOAD` that the tokens do not show as an allowed call is misspelt in a second text
(`masked`), which must still parse: the engine's own parser is the judge of whether it was a keyword.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from graphrag_rdf.server.problems import Problem
from graphrag_rdf.sparql.tokens import tokens

_CALLS = re.compile(r"SERVICE|LOAD", re.IGNORECASE)
_VOLATILE = re.compile(r"\b(?:NOW|RAND|UUID|STRUUID|BNODE)\s*\(", re.IGNORECASE)
_ROAMS = re.compile(r"\bGRAPH\s*[?$]", re.IGNORECASE)

_IRI = r"<[^<>\"{}|^`\\\x00-\x20]*>"
_NAME = r"[A-Za-z][\w-]*:[A-Za-z_][\w-]*"
_TERM = rf"(?:{_IRI}|{_NAME}|[?$]\w+)"
_TEXT = r"\"[^\"\\\n\r]*\"(?:@[A-Za-z-]+)?|'[^'\\\n\r]*'(?:@[A-Za-z-]+)?|[0-9]+"
_CHEAP = re.compile(
    rf"""\s*(?:PREFIX\s+(?:[A-Za-z][\w-]*)?:\s*{_IRI}\s*)*
    (?P<form>SELECT\s+(?:\*|[?$]\w+(?:\s+[?$]\w+)*)|ASK)\s*(?:WHERE\s*)?
    \{{\s*(?P<s>{_TERM})\s+(?P<p>a|{_TERM})\s+(?P<o>{_TERM}|{_TEXT})\s*\.?\s*\}}\s*
    (?:LIMIT\s+(?P<limit>[0-9]{{1,9}})\s*)?""",
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)
"""One triple pattern without paths, blank nodes, comments and escapes."""

CHEAP_LIMIT = 1000
"""Rows up to which a look-up of one pattern is answered without a process of its own."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is known of a query.

    Attributes:
        volatile: two runs on the same data may differ.
        cheap: one triple pattern without paths: the engine walks one range of one index up to `limit`.
        limit: rows that a cheap query may yield; None when the query itself does not say.
        truth: it is an ASK.
        masked: the text with possible calls misspelt; None when there is nothing to judge.
        roams: it has GRAPH with a variable, which ranges over all named graphs.
    """

    volatile: bool
    roams: bool
    cheap: bool
    limit: int | None
    truth: bool
    masked: str | None


@lru_cache(maxsize=2048)
def inspect_query(text: str, allowed: tuple[str, ...] = ()) -> Inspected:
    """Look at a query.

    Args:
        allowed: IRIs that SERVICE may call.

    Raises:
        Problem: 403 when it calls another server.
    """
    match = _CHEAP.fullmatch(text)
    cheap = match is not None and _walks_a_range(match)
    limit = match["limit"] if match is not None else None
    return Inspected(
        volatile=_VOLATILE.search(text) is not None,
        roams=_ROAMS.search(text) is not None,
        cheap=cheap,
        limit=int(limit) if limit is not None else None,
        truth=match is not None and match["form"].upper() == "ASK",
        masked=_masked(text, frozenset(allowed)),
    )


def inspect_update(text: str, allowed: Collection[str] = ()) -> str | None:
    """The masked text of an update, see above; None when there is nothing to judge.

    Raises:
        Problem: 403 when it calls another server.
    """
    return _masked(text, frozenset(allowed))


def refusal(keyword: str) -> Problem:
    """What a query or update that calls another server gets."""
    return Problem(
        403,
        f"{keyword} is refused: this server calls no other",
        hint="the setting server.allow_service names the addresses that may be called",
    )


def _masked(text: str, allowed: frozenset[str]) -> str | None:
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


def _walks_a_range(match: re.Match[str]) -> bool:
    """Whether the engine walks one range of one index, and stops early."""
    variables = [term[1:] for term in match.group("s", "p", "o") if term[0] in "?$"]
    limit = match["limit"]
    return len(variables) == len(set(variables)) and (limit is None or int(limit) <= CHEAP_LIMIT)
