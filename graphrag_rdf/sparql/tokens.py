"""A small SPARQL tokenizer: enough to look at a query's structure without being fooled by what stands
in strings, IRIs and comments. Grammar: SPARQL 1.2 Query Language §19.8 (terminals).

A string that nothing closes is one token (`open`) as far as it could go: looked for from each quote in it
again, its end would take the square of its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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
