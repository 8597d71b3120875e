"""Aggregates of a query: variables that are not grouped, and aggregates over no solutions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.reader_process.limited import LimitedQueries
from graphrag_rdf.sparql.render import with_prefixes
from graphrag_rdf.sparql.tokens import Token, is_word, names_dataset, tokens
from graphrag_rdf.wings.text2sparql.row_facts import prologue_of, where_of

_FUNCTIONS = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"})
_AFTER_GROUPS = frozenset({"HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES", "}"})


class _Select(NamedTuple):
    """A SELECT: its aggregates, the variables beside them, and those of GROUP BY (None without it)."""

    functions: frozenset[str]
    variables: Sequence[str]
    groups: Sequence[str] | None


def ungrouped(query: str) -> str | None:
    """What GROUP BY lacks, for a model; None if nothing."""
    for functions, variables, groups in _selects(query):
        missing = [name for name in variables if name not in (groups or ())]
        if missing and (functions or groups):
            listed = " ".join(dict.fromkeys([*(groups or ()), *missing]))
            return (
                f"{', '.join(missing)} stands in a SELECT with aggregates, but not in GROUP BY: "
                f"write GROUP BY {listed} after WHERE {{ … }}"
            )
    return None


def empty_aggregates(queries: LimitedQueries, query: str) -> frozenset[str]:
    """The aggregates of a SELECT without GROUP BY whose WHERE has no solutions: their 0 is no result."""
    outer = next(_selects(query), None)
    if outer is None or not outer.functions or outer.groups is not None or names_dataset(query):
        return frozenset()
    try:
        asked = queries.run(with_prefixes(f"{prologue_of(query)}ASK {where_of(query)}"), 1)
    except GraphRagError:  # over the time limit, perhaps
        return frozenset()
    return outer.functions if asked.boolean is False else frozenset()


def _selects(query: str) -> Iterator[_Select]:
    """The SELECTs of a query; the outermost is the first."""
    listed = list(tokens(query))
    for start in (at for at, token in enumerate(listed) if is_word(token, "SELECT")):
        opening = depth = 0
        for at in range(start, len(listed)):
            if listed[at].text == "{":
                opening = opening or at
                depth += 1
            elif listed[at].text == "}" and (depth := depth - 1) == 0:
                names = listed[start + 1 : opening]
                functions = _FUNCTIONS.intersection(name.text.upper() for name in names)
                yield _Select(functions, [*_bare(names)], _groups(listed[at + 1 :]))
                break


def _groups(after: list[Token]) -> list[str] | None:
    """The variables of GROUP BY, also those that it names by AS."""
    if len(after) < 2 or not is_word(after[0], "GROUP"):
        return None
    end = next((at for at, token in enumerate(after) if token.text.upper() in _AFTER_GROUPS), len(after))
    part = after[2:end]
    return [*_bare(part), *(token.text for before, token in pairwise(part) if is_word(before, "AS"))]


def _bare(part: Iterable[Token]) -> Iterator[str]:
    """The variables outside of parentheses."""
    depth = 0
    for token in part:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.kind == "variable":
            yield token.text
