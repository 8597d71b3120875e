"""Doubles that an engine prints with fewer digits than it keeps.

Virtuoso 7 writes six significant digits in every format but Turtle. So where an answer of such an engine
holds doubles, it is asked for in Turtle too (results in the vocabulary that the W3C has for them), and their
digits are taken from there; their type is that of the first answer, since in Turtle they look like decimals.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple, parse

from graphrag_rdf.errors import EndpointError
from graphrag_rdf.rdf.namespaces import XSD, Namespace
from graphrag_rdf.rdf.terms import Term, text_of, typed
from graphrag_rdf.store.base import Row
from graphrag_rdf.store.updates import canonical_term
from graphrag_rdf.store.wrapper import Reply

TURTLE = "text/turtle"
_RESULTS = Namespace("http://www.w3.org/2005/sparql-results#")
_NUMBERS = (XSD.double, XSD.decimal, XSD.integer)


def holds_doubles(rows: Iterable[Row]) -> bool:
    """Whether there are any among the terms."""
    return any(is_double(term) for row in rows for term in row.values())


def is_double(term: Term) -> bool:
    """Whether a term is one that has digits, unlike NaN and INF."""
    if not isinstance(term, Literal) or term.datatype != XSD.double:
        return False
    try:
        return math.isfinite(float(term.value))
    except ValueError:
        return False


def with_digits(rows: list[Row], reply: Reply) -> list[Row] | None:
    """Rows with the digits that the same results have in Turtle, whose order may be another; None when they
    are not the same.

    Raises:
        EndpointError: when the answer is no Turtle.
    """
    solutions: dict[Hashable, list[dict[str, Term]]] = {}
    for solution in reversed(_solutions(_quads(reply))):
        solutions.setdefault(_alike(solution), []).append(solution)
    found: list[Row] = []
    for row in rows:
        same = solutions.get(_alike(row))
        if not same:
            return None
        solution = same.pop()
        found.append({name: _exact(term, solution[name]) for name, term in row.items()})
    return found


def _exact(term: Term, in_turtle: Term) -> Term:
    number = _number(in_turtle)
    return term if number is None or not is_double(term) else _double(number)


def _alike(row: Row) -> Hashable:
    """What rows with the same terms have in common, however their numbers are written."""
    return frozenset((name, _printed_as(term)) for name, term in row.items())


def _printed_as(term: Term) -> str:
    number = _number(term)
    return text_of(canonical_term(term)) if number is None else f"{number:.6g}"


def _solutions(quads: Iterable[Quad]) -> list[dict[str, Term]]:
    """The rows of results as RDF."""
    rows: dict[Term, list[Term]] = {}
    names: dict[Term, str] = {}
    values: dict[Term, Term] = {}
    for quad in quads:
        match quad.predicate:
            case _RESULTS.solution:
                rows.setdefault(quad.object, [])
            case _RESULTS.binding:
                rows.setdefault(quad.subject, []).append(quad.object)
            case _RESULTS.variable:
                names[quad.subject] = text_of(quad.object)
            case _RESULTS.value:
                values[quad.subject] = quad.object
    return [{names[binding]: values[binding] for binding in row} for row in rows.values()]


class Digits:
    """The digits that doubles of a graph have in its Turtle, as far as others do not print them.

    Args:
        reply: the graph in Turtle.

    Raises:
        EndpointError: when it is no Turtle.
    """

    def __init__(self, reply: Reply) -> None:
        self._found: dict[tuple[Term, NamedNode], list[float]] = {}
        for quad in _quads(reply):
            number = _number(quad.object)
            if number is not None and number != _printed(number):
                self._found.setdefault((quad.subject, quad.predicate), []).append(number)

    def of(self, triple: Triple) -> Triple:
        """A triple with them; each is given once."""
        numbers = self._found.get((triple.subject, triple.predicate))
        if not numbers or not is_double(triple.object):
            return triple
        number = next((number for number in numbers if _same(number, triple.object)), None)
        if number is None:
            return triple
        numbers.remove(number)
        return Triple(triple.subject, triple.predicate, _double(number))


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


def _number(term: Term | None) -> float | None:
    if not isinstance(term, Literal) or term.datatype not in _NUMBERS:
        return None
    try:
        return float(term.value)
    except ValueError:
        return None


def _printed(number: float) -> float:
    """What is left of a number in six digits."""
    return float(f"{number:.6g}")


def _same(number: float, printed: Term) -> bool:
    """Whether a number is what was printed."""
    return _printed(number) == float(text_of(printed))


def _double(number: float) -> Term:
    return canonical_term(typed(repr(number), XSD.double.value))
