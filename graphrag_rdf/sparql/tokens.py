"""The structure of SPARQL texts: tokens, relative IRIs, and calls of other servers.

The tokenizer is enough to look at a query without being fooled by strings, IRIs and comments. Grammar:
SPARQL 1.2 Query Language §19.8 (terminals). A string that nothing closes is one token (`open`) as far as it
could go: a search from each quote in it again would take the square of its length.

Whether a text calls other servers, by `SERVICE` or `LOAD`, is a matter of safety, and lexers can differ on
`<`: what one takes for a string, the other may take for code. So every `SERVICE` or `LOAD` that the tokens
do not show as an allowed call is misspelt in a second text (`masked_calls`). The engine's own parser must
accept that text too, or it was a keyword.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import pyoxigraph as ox

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|\#[^\n\r]*)
  | (?P<string>\"{3}(?:[^\"\\]++|\\.|\"(?!\"\"))*+\"{3}|'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3}
              |\"(?:[^\"\\\n\r]++|\\.)*+\"|'(?:[^'\\\n\r]++|\\.)*+')
  | (?P<open>\"{3}(?:[^\"\\]++|\\.|\"(?!\"\"))*+|'{3}(?:[^'\\]++|\\.|'(?!''))*+
            |\"(?:[^\"\\\n\r]++|\\.)*+|'(?:[^'\\\n\r]++|\\.)*+)
  | (?P<iri><(?:[^<>\"{}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>)
  | (?P<variable>[?$]\w+)
  | (?P<triple><<\(|\)>>|<<|>>)
  | (?P<punctuation>\{\||\|\}|[{}()\[\];,.~])
  | (?P<word>@?[^\W\d][\w-]*(?::[\w.%\\-]*[\w%\\-])?:?|:[\w.%-]*)
  | (?P<number>[+-]?\d[\d.eE]*)
  | (?P<operator>\^\^|&&|\|\||[<>!]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token: its kind (a group name of the grammar above), text and offset."""

    kind: str
    text: str
    offset: int


def tokens(query: str) -> Iterator[Token]:
    """The tokens of a query without white space and comments."""
    for match in _TOKEN.finditer(query):
        kind = match.lastgroup or "operator"
        if kind != "space":
            yield Token(kind, match[0], match.start())


_PROLOGUE = {"BASE": 1, "PREFIX": 2, "VERSION": 1}
"""Words of a prologue → tokens that follow."""


class Head(NamedTuple):
    """The beginning of a query: the version that its prologue names, and the first token after it."""

    version: str | None
    first: Token | None


def head(query: str) -> Head:
    """The prologue of a query (SPARQL 1.2 Query Language §4.1)."""
    version, words = None, tokens(query)
    for token in words:
        word = token.text.upper()
        if token.kind != "word" or word not in _PROLOGUE:
            return Head(version, token)
        followed = [each.text for each in islice(words, _PROLOGUE[word])]
        if word == "VERSION" and followed:
            version = followed[0].strip("\"'")
    return Head(version, None)


def names_dataset(query: str) -> bool:
    """Whether a query names its dataset (FROM, SPARQL 1.2 Query Language §13.2)."""
    return next(outermost(tokens(query), "FROM"), None) is not None


def without_star(query: str, variables: Collection[str]) -> str | None:
    """A query `SELECT *` with its variables in its place, in the order in which the query names them.

    Args:
        variables: those of its result, without `?`.

    Returns:
        None for other queries.
    """
    if not variables or not _STAR.search(query):
        return None
    query_tokens = list(tokens(query))
    at = (
        next((i for i, token in enumerate(query_tokens) if token.text.upper() == "SELECT"), len(query_tokens))
        + 1
    )
    at += at < len(query_tokens) and query_tokens[at].text.upper() in ("DISTINCT", "REDUCED")
    if at >= len(query_tokens) or query_tokens[at].text != "*":
        return None
    star = query_tokens[at].offset
    used = dict.fromkeys(token.text[1:] for token in query_tokens if token.kind == "variable")
    named = " ".join(f"?{name}" for name in used if name in variables)
    return f"{query[:star]} {named} {query[star + 1 :]}"


def is_word(token: Token, word: str) -> bool:
    """Whether a token is a keyword."""
    return token.kind == "word" and token.text.upper() == word


def outermost(sequence: Iterable[Token], word: str) -> Iterator[int]:
    """Positions of a keyword outside of braces."""
    depth = 0
    for index, token in enumerate(sequence):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth == 0 and is_word(token, word):
            yield index


def only_inserts(update: str) -> bool:
    """Whether all operations are INSERT DATA, so that what they add does not depend on the store."""
    update_tokens = list(tokens(update))
    parts = [update_tokens[start:end] for start, end in operations(update_tokens) if start < end]
    return all(
        next(outermost(operation, "INSERT"), None) is not None
        and next(outermost(operation, "DATA"), None) is not None
        and not any(next(outermost(operation, word), None) for word in ("DELETE", "WHERE"))
        for operation in parts
    )


def operations(sequence: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Beginning and end of each operation: semicolons outside of braces separate them."""
    start = depth = 0
    for index, token in enumerate(sequence):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth == 0 and token.text == ";":
            yield start, index
            start = index + 1
    yield start, len(sequence)


_CLEAR = re.compile(r"CLEAR\b", re.IGNORECASE)


def clearing_silently(update: str) -> str:
    """The update with `CLEAR SILENT GRAPH` for `CLEAR GRAPH`: missing graphs are as good as empty ones.

    The W3C's protocol tests clear missing graphs. By SPARQL 1.1 Update §3.1.5, stores with empty graphs
    should fail there, others never.
    """
    update_tokens = list(tokens(update)) if _CLEAR.search(update) else []
    for index in reversed([*outermost(update_tokens, "CLEAR")]):
        if index + 1 < len(update_tokens) and is_word(update_tokens[index + 1], "GRAPH"):
            end = update_tokens[index].offset + len("CLEAR")
            update = f"{update[:end]} SILENT{update[end:]}"
    return update


_STAR = re.compile(r"SELECT\b[^{?$(]*\*", re.IGNORECASE)
_ABSOLUTE = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:")


def with_base(text: str, base: str | None) -> str:
    """A query or update with a BASE before it (RFC 3986 §5.1.2), if it has relative IRIs; its own BASE wins.

    It stands on the first line, so that line numbers in messages stay the writer's.
    """
    if base is None or all(_ABSOLUTE.match(token.text) for token in tokens(text) if token.kind == "iri"):
        return text
    return f"BASE <{base}> {text}"


_CALLS = re.compile(r"SERVICE|LOAD", re.IGNORECASE)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
"""SPARQL 1.1 §19.2: allowed anywhere in a query and read first. The embedded engine reads it in IRIs and
strings only; other engines follow the specification."""


class CallsOtherServerError(Exception):
    """A text calls another server.

    Args:
        keyword: SERVICE or LOAD.
    """

    def __init__(self, keyword: str) -> None:
        super().__init__(keyword)
        self.keyword = keyword


def may_call(text: str, allowed: Collection[str] = (), *, update: bool = False) -> bool:
    """Whether a query or update calls another server, or nobody can tell that it does not.

    Args:
        allowed: IRIs that SERVICE may call.
    """
    try:
        masked = masked_calls(text, allowed)
        if masked is not None:
            store = ox.Store()
            (store.update if update else store.query)(masked)
    except (CallsOtherServerError, SyntaxError):
        return True
    return False


def masked_calls(text: str, allowed: Collection[str]) -> str | None:
    """The text with possible calls misspelt (see the module); None if there are none.

    Args:
        allowed: IRIs that SERVICE may call.

    Raises:
        CallsOtherServerError: if it calls another address.
    """
    if "\\" in text and (hidden := _hidden(text)) is not None:
        raise CallsOtherServerError(hidden)
    places = [match.start() for match in _CALLS.finditer(text)]
    if not places:
        return None
    text_tokens, free = list(tokens(text)), set()
    for index, token in enumerate(text_tokens):
        if token.kind != "word" or token.text.upper() not in ("SERVICE", "LOAD"):
            continue
        called = next((t for t in text_tokens[index + 1 : index + 3] if t.text.upper() != "SILENT"), None)
        if called is None or called.kind != "iri" or called.text[1:-1] not in allowed:
            raise CallsOtherServerError(token.text.upper())
        free.add(token.offset)
    judged = [place for place in places if place not in free]
    if not judged:
        return None
    masked = list(text)
    for place in judged:  # SERVICE -> SERVICX, load -> loax: different names stay different
        end = place + (7 if text[place].upper() == "S" else 4) - 1
        masked[end] = "X" if text[end].isupper() else "x"
    return "".join(masked)


def _hidden(text: str) -> str | None:
    """A call that escapes may spell or free from a string. Legitimate escapes stand for non-ASCII."""
    if all(ord(_character(escape)) > 127 for escape in _ESCAPE.finditer(text)):
        return None
    match = _CALLS.search(_ESCAPE.sub(_character, text))
    return match and match[0].upper()


def _character(escape: re.Match[str]) -> str:
    code = int(escape[1] or escape[2], 16)
    return chr(min(code, sys.maxunicode))
