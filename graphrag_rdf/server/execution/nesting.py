"""Limits of nesting in clients' input. The engine's parsers and evaluators are recursive: a stack overflow
of a thread ends the whole process.

So the depth is checked first, and threads that parse input have large stacks (`deep_stacks`), of which these
limits use a small part. Measured with pyoxigraph 0.5: 8 MB hold 500 nested EXISTS, 2,000 braces, 5,000
operators in a row.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.sparql.tokens import tokens

DEEPEST = 500
"""Levels of brackets, of triple terms, of elements."""
LONGEST_CHAIN = 5_000
"""Operators, patterns and modifiers of one query or update: `a || b || c` is as deep as it is long."""

_STACK = 256 << 20
"""Bytes of address space; only the used part takes memory."""

_OPENING = frozenset({"(", "{", "[", "<<", "<<(", "{|"})
_CLOSING = frozenset({")", "}", "]", ">>", ")>>", "|}"})
_CHAINING = frozenset({"+", "-", "*", "/", "|", "||", "&&", "!", "^", "=", "!=", "<", ">", "<=", ">="})
_WORDS = frozenset({"UNION", "OPTIONAL", "MINUS", "BIND", "FILTER", "IN", "LATERAL"})
_SHORT = 1000
_ENDS = re.compile(rf"(?:\)>>(?:\s|#[^\n\r]*+)*+){{{DEEPEST + 1}}}")
"""So many triple terms that end together: they are nested, as only an object can be one."""
_JSON = re.compile(r'"(?:[^"\\]|\\.)*+"?|([{\[])|([}\]])', re.DOTALL)
_XML = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
    r"""|(<[^<>!?/](?:"[^"]*+"|'[^']*+'|[^>"'])*+(?<!/)>)|(</)""",
    re.DOTALL,
)
"""Opening and closing brackets, or tags, after what may hold others that mean nothing."""


def check_nesting(text: str) -> None:
    """Check a query or update.

    Raises:
        Problem: 400 when it is nested too deeply.
    """
    if len(text) <= _SHORT:
        return
    opened, chain, before = ["{"], [0], ""  # each open bracket, and the length of the chain in it
    total = 0
    for kind, word, _ in tokens(text):
        if word in _OPENING:
            opened.append(word)
            chain.append(0)
        elif word in _CLOSING and len(opened) > 1:
            opened.pop()
            total -= chain.pop()
        elif _chains(kind, word, opened[-1], before):
            chain[-1] += 1
            total += 1
        before = kind
        if len(opened) > DEEPEST:
            raise _too_deep("the SPARQL")
        if total > LONGEST_CHAIN:
            raise Problem(
                400,
                tr("the SPARQL has more than {longest_chain:,} operators and patterns in a row").format(
                    longest_chain=LONGEST_CHAIN
                ),
                hint=tr("VALUES takes any number of values"),
            )


def _chains(kind: str, word: str, within: str, before: str) -> bool:
    """Whether a token makes its predecessor an operand; `1 +1` is a sum in an expression."""
    if kind == "number":
        return word[0] in "+-" and within == "(" and before == "number"
    return word in _CHAINING or (kind == "word" and word.upper() in _WORDS)


def check_rdf_nesting(text: str, media_type: str) -> None:
    """Check RDF.

    Args:
        media_type: of its format.

    Raises:
        Problem: 400 otherwise.
    """
    if media_type == "application/rdf+xml":
        deep = text.count("</") > DEEPEST and _is_deep(text, _XML)
    elif "json" in media_type:
        deep = text.count("{") + text.count("[") > DEEPEST and _is_deep(text, _JSON)
    else:
        deep = text.count(")>>") > DEEPEST and _ENDS.search(text) is not None
    if deep:
        raise _too_deep("the RDF")


def _is_deep(text: str, brackets: re.Pattern[str]) -> bool:
    depth = 0
    for match in brackets.finditer(text):
        depth += {1: 1, 2: -1}.get(match.lastindex or 0, 0)
        if depth > DEEPEST:
            return True
    return False


def _too_deep(what: str) -> Problem:
    return Problem(
        400, tr("{what} is nested more than {deepest} levels deep").format(what=what, deepest=DEEPEST)
    )


_starting = threading.Lock()


@contextmanager
def deep_stacks() -> Iterator[None]:
    """Threads that start within have stacks for any input within the limits."""
    with _starting:
        before = threading.stack_size(_STACK)
        try:
            yield
        finally:
            threading.stack_size(before)
