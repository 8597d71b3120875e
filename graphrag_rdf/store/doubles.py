"""Doubles of an engine that prints six digits of them: Virtuoso 7, in every format but Turtle.

Answers of such an engine that hold doubles are asked for in Turtle too, which has all digits. Rows stand
there in the vocabulary of the W3C for results. Types come from the first answer, because Turtle writes
doubles as decimals. The order of the rows may differ, so a row is found by what it prints.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Iterator

from pyoxigraph import Literal, Quad, RdfFormat, parse

from graphrag_rdf.errors import EndpointError
from graphrag_rdf.rdf.namespaces import XSD, Namespace
from graphrag_rdf.rdf.terms import Term, text_of, typed
from graphrag_rdf.store.base import Row
from graphrag_rdf.store.updates import canonical_term
from graphrag_rdf.store.wrapper import Reply

TURTLE = "text/turtle"
_RESULTS = Namespace("http://www.w3.org/2005/sparql-results#")
_NUMBERS = (XSD.double, XSD.decimal, XSD.integer)


def is_double(term: Term) -> bool:
    """Whether a term is a double that has digits, unlike NaN and INF."""
    if not isinstance(term, Literal) or term.datatype != XSD.double:
        return False
    number = _number(term)
    return number is not None and math.isfinite(number)


class ExactRows:
    """Rows with all digits of their numbers.

    Args:
        rows: as Turtle has them.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[Hashable, deque[Row]] = {}
        for row in rows:
            self._rows.setdefault(_printed(row), deque()).append(row)

    def of(self, row: Row) -> Row | None:
        """A row with all digits of its doubles; None if there is no such row. Each is given once."""
        same = self._rows.get(_printed(row))
        if not same:
            return None
        found = same.popleft()
        return {name: _exact(term, found[name]) for name, term in row.items()}


def exact_results(reply: Reply) -> ExactRows:
    """The rows of results in Turtle.

    Raises:
        EndpointError: when the reply is no Turtle.
    """
    rows: dict[Term, list[Term]] = {}
    names: dict[Term, str] = {}
    values: dict[Term, Term] = {}
    for quad in _quads(reply):
        match quad.predicate:
            case _RESULTS.solution:
                rows.setdefault(quad.object, [])
            case _RESULTS.binding:
                rows.setdefault(quad.subject, []).append(quad.object)
            case _RESULTS.variable:
                names[quad.subject] = text_of(quad.object)
            case _RESULTS.value:
                values[quad.subject] = quad.object
    return ExactRows({names[binding]: values[binding] for binding in row} for row in rows.values())


def exact_triples(reply: Reply) -> ExactRows:
    """The triples of a graph in Turtle whose numbers have more than six digits, as rows of `s`, `p` and `o`.

    Raises:
        EndpointError: when the reply is no Turtle.
    """
    return ExactRows(
        {"s": quad.subject, "p": quad.predicate, "o": quad.object}
        for quad in _quads(reply)
        if (number := _number(quad.object)) is not None and number != float(f"{number:.6g}")
    )


def _quads(reply: Reply) -> Iterator[Quad]:
    if reply.media_type != TURTLE:
        raise EndpointError(
            f"{reply.url} gives {reply.media_type} where Turtle was asked for", "refused", address=reply.url
        )
    reply.file.seek(0)
    try:
        yield from parse(reply.file, format=RdfFormat.TURTLE)
    except (SyntaxError, ValueError) as error:
        raise EndpointError(
            f"the Turtle that {reply.url} gives cannot be read ({error})", "refused", address=reply.url
        ) from error


def _printed(row: Row) -> Hashable:
    """A row as it is printed with six digits."""
    return frozenset(
        (name, text_of(canonical_term(term)) if (number := _number(term)) is None else f"{number:.6g}")
        for name, term in row.items()
    )


def _exact(term: Term, in_turtle: Term) -> Term:
    number = _number(in_turtle)
    if number is None or not is_double(term):
        return term
    return canonical_term(typed(repr(number), XSD.double.value))


def _number(term: Term) -> float | None:
    if not isinstance(term, Literal) or term.datatype not in _NUMBERS:
        return None
    try:
        return float(term.value)
    except ValueError:
        return None
