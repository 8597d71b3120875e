"""The text of a client's query or update: what it may call, what it ranges over, and how it is rewritten.

Calls to other servers are refused as `sparql/tokens.py` says.

Rewriting:

- The engine takes no dataset for updates. So `using-graph-uri` and `using-named-graph-uri` (SPARQL 1.1
  Protocol §2.2.3) become USING clauses of each operation.
- `GRAPH ?g` does not range over the store's bookkeeping where the request names no dataset.
- `CLEAR GRAPH` of a missing graph succeeds (the protocol's test suite expects it; the engine, which knows
  empty graphs, fails), and a refused `LOAD SILENT` loads nothing (SPARQL 1.1 Update §3.1.4, §3.1.5).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.iris import STATEMENT
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.server.execution.nesting import check_nesting
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.sparql.tokens import (
    CallsOtherServerError,
    Token,
    clearing_silently,
    is_word,
    masked_calls,
    operations,
    outermost,
    tokens,
)

_VOLATILE = re.compile(r"\b(?:NOW|RAND|UUID|STRUUID|BNODE)\s*\(", re.IGNORECASE)
_GRAPH = re.compile(r"\bGRAPH\b", re.IGNORECASE)
_SHORT = 2048
"""Characters of a query whose analysis is cached."""

_NOTHING = "INSERT DATA {}"
_SILENT_LOADS = (("LOAD", "SILENT", ""), ("LOAD", "SILENT", "", "INTO", "GRAPH", ""))
"""The words of a LOAD; empty in place of an IRI."""

Change = tuple[int, int, str]
"""From, to, and the text that replaces what stands between."""


# --- analysis -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is known of a query.

    Attributes:
        volatile: two runs on the same data may differ.
        masked: the text with possible calls misspelt; None without any.
        roams: it has GRAPH with a variable, and no dataset of its own that limits the variable.
    """

    volatile: bool
    roams: bool
    masked: str | None


def inspect_query(text: str, allowed: tuple[str, ...] = ()) -> Inspected:
    """Analyse a query.

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


def inspect_update(text: str, allowed: Collection[str] = ()) -> str | None:
    """The masked text of an update (see the module); None if there is nothing to check.

    Raises:
        Problem: 403 when it calls another server, 400 when it is nested too deeply.
    """
    check_nesting(text)
    return _masked(text, frozenset(allowed))


def refuse_rdf11(update: str) -> None:
    """Refuse an update with the node of a statement, which is a triple term in the store (see `rdf11`).

    Raises:
        Problem: 400.
    """
    node = f"<{STATEMENT}"
    if node in update and any(t.kind == "iri" and t.text.startswith(node) for t in tokens(update)):
        raise Problem(
            400,
            tr("{iri}…> stands for a triple term in answers in RDF 1.1").format(iri=node),
            hint=tr("write <<( s p o )>>, or send the whole graph to /store"),
        )


def _roams(words: Sequence[Token]) -> bool:
    if next(outermost(words, "FROM"), None) is not None:
        return False
    return any(is_word(word, "GRAPH") and name.kind == "variable" for word, name in pairwise(words))


def _masked(text: str, allowed: frozenset[str]) -> str | None:
    try:
        return masked_calls(text, allowed)
    except CallsOtherServerError as error:
        raise _refusal(error.keyword) from None


def _refusal(keyword: str) -> Problem:
    return Problem(
        403,
        tr("{keyword} is refused: this server calls no other").format(keyword=keyword),
        hint=tr("the setting server.allow_service names the addresses that may be called"),
    )


# --- rewriting ----------------------------------------------------------------------------------------


def with_dataset(update: str, default: Sequence[str], named: Sequence[str]) -> str:
    """The update with USING clauses in each operation that has a WHERE.

    Args:
        default, named: IRIs of `using-graph-uri` and `using-named-graph-uri`.

    Raises:
        Problem: 400 when the update names a dataset itself.
    """
    if not default and not named:
        return update
    words = list(tokens(update))
    clauses = "".join([f"USING <{iri}> " for iri in default] + [f"USING NAMED <{iri}> " for iri in named])
    for word in ("USING", "WITH"):
        if next(outermost(words, word), None) is not None:
            raise Problem(
                400, tr("the update has {word}, so the request cannot name a dataset too").format(word=word)
            )
    return _changed(update, [_clauses_before(update, words, at, clauses) for at in outermost(words, "WHERE")])


def outside_bookkeeping(update: str) -> str:
    """The update with `FILTER(?g != <urn:graph:system>)` after each `GRAPH ?g { … }` of its patterns.

    Operations with USING, and graphs that are named by an IRI, stay as they are.
    """
    words = list(tokens(update))
    changes: list[Change] = []
    for start, end in operations(words):
        operation = words[start:end]
        where = next((i for i in outermost(operation, "WHERE")), None)
        if where is None or next(outermost(operation, "USING"), None) is not None:
            continue
        filters = list(_filters(operation, where))
        if filters and where and operation[where - 1].text.upper() == "DELETE":
            changes.append(_inserted(operation[where].offset, f"{_pattern(update, operation, where)} "))
        changes += filters
    return _changed(update, changes)


def query_outside_bookkeeping(query: str) -> str:
    """The same for a query that names no dataset."""
    return _changed(query, list(_filters(list(tokens(query)), -1)))


def nothing_missed(update: str, allowed: Collection[str] = ()) -> str:
    """The update with `CLEAR SILENT GRAPH` for `CLEAR GRAPH`, and nothing for a refused `LOAD SILENT`.

    Args:
        allowed: IRIs that LOAD may call.
    """
    update = clearing_silently(update)
    words = list(tokens(update))
    changes: list[Change] = []
    for start, end in operations(words):
        operation = words[start:end]
        for index in outermost(operation, "LOAD"):
            load = operation[index:]
            if _is_silent_load(load) and _called(words, start + index + 2) not in allowed:
                changes.append((load[0].offset, load[-1].offset + len(load[-1].text), _NOTHING))
    return _changed(update, changes)


def _filters(words: Sequence[Token], where: int) -> Iterator[Change]:
    """The filter after each `GRAPH ?g { … }` that follows a WHERE."""
    for index in range(where + 1, len(words) - 2):
        word, variable, opened = words[index : index + 3]
        if is_word(word, "GRAPH") and variable.kind == "variable" and opened.text == "{":
            end = words[_closing(words, index + 2)]
            yield _inserted(end.offset + 1, f" FILTER({variable.text} != <{Graphs.SYSTEM.value}>)")


def _clauses_before(update: str, words: Sequence[Token], where: int, clauses: str) -> Change:
    """Put the clauses before a WHERE. `DELETE WHERE { p }` is short for `DELETE { p } WHERE { p }`."""
    is_short = where and words[where - 1].text.upper() == "DELETE" and where + 1 < len(words)
    pattern = f"{_pattern(update, words, where)} " if is_short else ""
    return _inserted(words[where].offset, pattern + clauses)


def _pattern(update: str, words: Sequence[Token], where: int) -> str:
    """The braces after a WHERE, with what they hold."""
    return update[words[where + 1].offset : words[_closing(words, where + 1)].offset + 1]


def _closing(words: Sequence[Token], opened: int) -> int:
    """Position of the closing brace; the last token if there is none, which the engine will report."""
    depth = 0
    for index in range(opened, len(words)):
        depth += {"{": 1, "}": -1}.get(words[index].text, 0)
        if depth == 0:
            return index
    return len(words) - 1


def _called(words: Sequence[Token], place: int) -> str | None:
    """The IRI that a token stands for, in full or by the prefix that was declared last before it."""
    token = words[place]
    if token.kind == "iri":
        return token.text[1:-1]
    prefix, colon, local = token.text.partition(":")
    if not colon:
        return None
    for index in range(place - 3, -1, -1):
        word, name, iri = words[index : index + 3]
        if word.text.upper() == "PREFIX" and name.text == f"{prefix}:" and iri.kind == "iri":
            return iri.text[1:-1] + local.replace("\\", "")
    return None


def _is_silent_load(operation: Sequence[Token]) -> bool:
    return any(
        len(shape) == len(operation)
        and all(
            token.text.upper() == word if word else _is_iri(token)
            for word, token in zip(shape, operation, strict=True)
        )
        for shape in _SILENT_LOADS
    )


def _is_iri(token: Token) -> bool:
    return token.kind == "iri" or (token.kind == "word" and ":" in token.text)


def _inserted(place: int, text: str) -> Change:
    return place, place, text


def _changed(text: str, changes: Sequence[Change]) -> str:
    out, done = [], 0
    for start, end, instead in sorted(changes):
        out += [text[done:start], instead]
        done = end
    return "".join([*out, text[done:]])
