"""What the tokens of a query or update tell before it runs.

Tokens tell form, dataset clauses and shape. Where it matters for safety (calls to other servers) they are
not trusted alone: lexers can differ on `<`, and what one takes for a string the other may take for code. So
every `SERVICE` or `LOAD` that the tokens do not show as an allowed call is misspelt in a second text
(`masked`), which must still parse: the engine's own parser is the judge of whether it was a keyword.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from graphrag_rdf.server.problems import Problem
from graphrag_rdf.sparql.tokens import Token, tokens

FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_CALLS = re.compile(r"SERVICE|LOAD", re.IGNORECASE)
_VOLATILE = frozenset({"NOW", "RAND", "UUID", "STRUUID", "BNODE"})
_TERMS = frozenset({"iri", "variable", "string", "number"})
_NOT_TERMS = frozenset(
    {"SELECT", "FILTER", "OPTIONAL", "GRAPH", "BIND", "VALUES", "MINUS", "SERVICE", "UNION"}
)
CHEAP_LIMIT = 1000
"""Rows up to which a look-up of one pattern is answered without a process of its own."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is known of a query.

    Attributes:
        form: SELECT, ASK, CONSTRUCT or DESCRIBE; empty when none is found.
        volatile: two runs on the same data may differ.
        cheap: one triple pattern without paths: the engine walks one range of one index up to `limit`.
        limit: rows that a cheap query may yield; None when the query itself does not say.
        masked: the text with possible calls misspelt; None when there is nothing to judge.
        roams: it has GRAPH with a variable, which ranges over all named graphs.
    """

    form: str
    volatile: bool
    roams: bool
    cheap: bool
    limit: int | None
    masked: str | None


@lru_cache(maxsize=2048)
def inspect_query(text: str, allowed: tuple[str, ...] = ()) -> Inspected:
    """Look at a query.

    Args:
        allowed: IRIs that SERVICE may call.

    Raises:
        Problem: 403 when it calls another server.
    """
    found = list(tokens(text))
    words = [token.text.upper() for token in found if token.kind == "word"]
    form = next((word for word in words if word in FORMS), "")
    cheap, limit = _cheap(found)
    return Inspected(
        form=form,
        volatile=not _VOLATILE.isdisjoint(words),
        roams=any(a.text.upper() == "GRAPH" and b.kind == "variable" for a, b in pairwise(found)),
        cheap=cheap,
        limit=limit,
        masked=_masked(text, found, frozenset(allowed)),
    )


def inspect_update(text: str, allowed: Collection[str] = ()) -> str | None:
    """The masked text of an update, see above; None when there is nothing to judge.

    Raises:
        Problem: 403 when it calls another server.
    """
    return _masked(text, list(tokens(text)), frozenset(allowed))


def refusal(keyword: str) -> Problem:
    """What a query or update that calls another server gets."""
    return Problem(
        403,
        f"{keyword} is refused: this server calls no other",
        hint="the setting server.allow_service names the addresses that may be called",
    )


def _masked(text: str, found: Sequence[Token], allowed: frozenset[str]) -> str | None:
    places = [match.start() for match in _CALLS.finditer(text)]
    if not places:
        return None
    free = set()
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


def _cheap(found: Sequence[Token]) -> tuple[bool, int | None]:
    """Whether a query is `SELECT … { s p o } LIMIT n` or `ASK { s p o }`, and its LIMIT."""
    rest = _after_prologue(found)
    if not rest or rest[0].text.upper() not in ("SELECT", "ASK"):
        return False, None
    try:
        opened = next(i for i, token in enumerate(rest) if token.text == "{")
        closed = next(i for i, token in enumerate(rest) if token.text == "}")
    except StopIteration:
        return False, None
    head, pattern, tail = rest[1:opened], rest[opened + 1 : closed], rest[closed + 1 :]
    if head and head[-1].text.upper() == "WHERE":
        head = head[:-1]
    if not all(token.kind == "variable" or token.text == "*" for token in head):
        return False, None
    if pattern and pattern[-1].text == ".":
        pattern = pattern[:-1]
    variables = [token.text[1:] for token in pattern if token.kind == "variable"]
    plain = (
        len(pattern) == 3
        and all(token.kind in _TERMS and token.text.upper() not in _NOT_TERMS for token in pattern)
        and len(variables) == len(set(variables))
    )
    if not plain:
        return False, None
    if rest[0].text.upper() == "ASK":
        return not tail, 1
    if not tail:
        return True, None
    limited = len(tail) == 2 and tail[0].text.upper() == "LIMIT" and tail[1].text.isdigit()
    limit = int(tail[1].text) if limited else 0
    return limited and limit <= CHEAP_LIMIT, limit


def _is_term(token: Token) -> bool:
    """Whether a token is a term that stands for itself; a blank node in a pattern is a variable."""
    if token.kind == "word":
        return token.text == "a" or (":" in token.text and not token.text.startswith("_:"))
    return token.kind in _TERMS


def _after_prologue(found: Sequence[Token]) -> Sequence[Token]:
    place = 0
    while place < len(found):
        word = found[place].text.upper()
        if word == "PREFIX":
            place += 3
        elif word in ("BASE", "VERSION"):
            place += 2
        else:
            break
    return found[place:]
