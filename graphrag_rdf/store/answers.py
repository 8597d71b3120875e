"""Reading of the results that endpoints send; incomplete ones are queried again or reported.

Deviations with a clear meaning are accepted: unknown members, `typed-literal`, and ASK as a row with one
value. Literals are converted to canonical form, as in an embedded store.

Virtuoso 7 prints six digits of doubles, in every format but Turtle. Results of such an engine with doubles
are queried in Turtle too, in the vocabulary of the W3C for results. Types come from the first answer,
because Turtle writes doubles as decimals. The order of the rows may differ, so a row is found by what it
prints.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

from pyoxigraph import (
    Literal,
    Quad,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    RdfFormat,
    Triple,
    parse,
    parse_query_results,
)

from graphrag_rdf.errors import EndpointError, MalformedError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import XSD, Namespace
from graphrag_rdf.rdf.terms import Term, from_sparql_json, text_of, to_python, typed
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.store.base import Answer, Solution
from graphrag_rdf.store.endpoint import GRAPH, Endpoint
from graphrag_rdf.store.updates import canonical_term

if TYPE_CHECKING:
    from graphrag_rdf.store.wrapper import Reply, Stream

_FORMATS = {
    "application/n-triples": RdfFormat.N_TRIPLES,
    "text/plain": RdfFormat.N_TRIPLES,
    "text/turtle": RdfFormat.TURTLE,
    "application/x-turtle": RdfFormat.TURTLE,
}
_TRUTH = "__ASK_RETVAL"
"""The variable of Virtuoso's answer to an ASK."""
_PIECE = 1 << 16
_STAR = re.compile(r'"(?:[^"\\]|\\.)*"|<<|>>|<[^<>\s]*>', re.DOTALL)
_BRACKETS = {"<<": "<<( ", ">>": " )>>"}


def read_results(reply: Reply) -> Answer:
    """The result of a SELECT or ASK, from SPARQL 1.1 or 1.2 Query Results JSON.

    Raises:
        EndpointError: when it is in another format, or incomplete.
    """
    try:
        answer = read_json(reply.body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(reply, "SPARQL results in JSON", error) from error
    if answer.variables == (_TRUTH,):
        return Answer(boolean=any(bool(to_python(row[_TRUTH])) for row in answer.rows or ()))
    return answer


def read_json(data: bytes) -> Answer:
    """The result of a SELECT or ASK, from SPARQL Query Results JSON.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: when it is something else.
    """
    reply: dict[str, Any] = json.loads(data)
    if isinstance(reply.get("boolean"), bool):
        return Answer(boolean=reply["boolean"])
    memory: dict[str, Term] = {}
    rows = [_row(binding, memory) for binding in reply["results"]["bindings"]]
    return Answer(variables=tuple(reply["head"].get("vars", ())), rows=rows)


def stream_results(answer: Stream) -> QuerySolutions | QueryBoolean:
    """The result of a SELECT or ASK as a stream, with literals as the endpoint writes them.

    Raises:
        SyntaxError, ValueError: when it is not SPARQL results in JSON.
        OSError, http.client.HTTPException: when the connection breaks.
    """
    results = parse_query_results(answer, QueryResultsFormat.JSON)  # type: ignore[arg-type]
    if isinstance(results, QueryBoolean) or [variable.value for variable in results.variables] != [_TRUTH]:
        return results
    truth = any(bool(to_python(row[0])) for row in results if row[0] is not None)
    reply = json.dumps({"head": {}, "boolean": truth}).encode()
    return parse_query_results(reply, QueryResultsFormat.JSON)


def _row(binding: dict[str, Any], memory: dict[str, Term]) -> Solution:
    """A row. IRIs repeat often, so each is created once."""
    row: dict[str, Term] = {}
    for name, value in binding.items():
        if value["type"] != "uri":
            row[name] = canonical_term(from_sparql_json(value))
            continue
        key = value["value"]
        term = memory.get(key)
        if term is None:
            term = memory[key] = from_sparql_json(value)
        row[name] = term
    return row


def read_graph(reply: Reply, dialect: Dialect) -> Iterator[Triple]:
    """The triples of a CONSTRUCT or DESCRIBE, as a stream.

    Raises:
        EndpointError: when they are in an unexpected format, or incomplete.
    """
    form = _FORMATS.get(reply.media_type)
    if form is None:
        raise _unreadable(reply, "N-Triples or Turtle", None)
    try:
        for triple in _triples(reply, form, dialect):
            yield Triple(triple.subject, triple.predicate, canonical_term(triple.object))
    except (SyntaxError, ValueError) as error:
        raise _unreadable(reply, "RDF", error) from error


def _triples(reply: Reply, form: RdfFormat, dialect: Dialect) -> Iterator[Triple]:
    reply.file.seek(0)
    if form == RdfFormat.N_TRIPLES:
        yield from graph_lines(reply.file, dialect)
        return
    whole: IO[bytes] | bytes = reply.file
    if dialect == "rdf-star":
        whole = _STAR.sub(lambda match: _BRACKETS.get(match[0], match[0]), reply.body.decode()).encode()
    for quad in parse(whole, format=form):
        yield quad.triple


def graph_lines(answer: Stream | IO[bytes], dialect: Dialect) -> Iterator[Triple]:
    """The triples of N-Triples, as a stream.

    Raises:
        SyntaxError: when it is not N-Triples.
        OSError, http.client.HTTPException: when the connection breaks.
    """
    if dialect != "rdf-star":
        for quad in parse(answer, format=RdfFormat.N_TRIPLES):  # type: ignore[arg-type]
            yield quad.triple
        return
    held = b""
    while piece := answer.read(_PIECE):
        *lines, held = (held + piece).split(b"\n")
        yield from _star_lines(lines)
    yield from _star_lines([held])


def _star_lines(lines: list[bytes]) -> Iterator[Triple]:
    text = b"\n".join(lines).decode()
    brackets = _STAR.sub(lambda match: _BRACKETS.get(match[0], match[0]), text)
    for quad in parse(brackets, format=RdfFormat.N_TRIPLES):
        yield quad.triple


def _unreadable(reply: Reply, wanted: str, error: Exception | None) -> EndpointError:
    kind = reply.media_type or "unknown type"
    message = f"{reply.url} sent {kind} instead of {wanted}"
    return EndpointError(
        message if error is None else f"{message}: {error}",
        "refused",
        hint=tr(
            "check that the address is that of a SPARQL endpoint; its time limit may also have cut off the "
            "result"
        ),
        address=reply.url,
    )


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

    def __init__(self, rows: Iterable[Solution]) -> None:
        self._rows: dict[Hashable, deque[Solution]] = {}
        for row in rows:
            self._rows.setdefault(_printed(row), deque()).append(row)

    def of(self, row: Solution) -> Solution | None:
        """A row with all digits of its doubles; None if there is no such row. Each is given once."""
        same = self._rows.get(_printed(row))
        if not same:
            return None
        digits = same.popleft()
        return {name: _exact(term, digits[name]) for name, term in row.items()}


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
            tr("{url} gives {media_type} where Turtle was asked for").format(
                url=reply.url, media_type=reply.media_type
            ),
            "refused",
            address=reply.url,
        )
    reply.file.seek(0)
    try:
        yield from parse(reply.file, format=RdfFormat.TURTLE)
    except (SyntaxError, ValueError) as error:
        raise EndpointError(
            tr("the Turtle that {url} gives cannot be read ({error})").format(url=reply.url, error=error),
            "refused",
            address=reply.url,
        ) from error


def _printed(row: Solution) -> Hashable:
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


log = logging.getLogger(__name__)

_READS = 3
"""Number of tries for a query whose results are read in two formats, until both agree."""


class Reader:
    """Reads from an endpoint.

    Args:
        endpoint: where it is.
        dialect: the syntax of triple terms.
        digits: whether it prints all digits of a double (see the module).
        rows: returns a query for a number of rows of any content.
    """

    def __init__(
        self, endpoint: Endpoint, dialect: Dialect, *, digits: bool, rows: Callable[[int], str]
    ) -> None:
        self._endpoint = endpoint
        self._dialect = dialect
        self._digits = digits
        self._rows = rows
        self._rows_given = 0

    def results(self, sparql: str) -> Answer:
        """The result of a SELECT or ASK.

        Raises:
            UsageError: when the endpoint reports a malformed query.
            EndpointError: when there is no complete response.
        """
        for _ in range(_READS):
            answer = read_results(self._endpoint.query(sparql))
            if answer.rows is None:
                return answer
            self._rows_given = max(self._rows_given, len(answer.rows))
            if self._digits or not any(is_double(term) for row in answer.rows for term in row.values()):
                return answer
            try:
                exact = exact_results(self._endpoint.query(sparql, TURTLE))
            except (MalformedError, EndpointError) as error:
                _tell(error)
                return answer
            rows = [exact_row for row in answer.rows if (exact_row := exact.of(row)) is not None]
            if len(rows) == len(answer.rows):
                return replace(answer, rows=rows)
        url = self._endpoint.addresses.query
        raise EndpointError(
            tr("{url} returns different results each time").format(url=url),
            "conflict",
            hint=tr("wait until other programs have finished writing"),
            address=url,
        )

    def triples(self, sparql: str) -> Iterator[Triple]:
        """The triples of a CONSTRUCT or DESCRIBE, as a stream.

        Raises:
            UsageError: when the endpoint reports a malformed query.
            EndpointError: when there is no response, or a visibly incomplete one.
        """
        triples = read_graph(self._endpoint.query(sparql, GRAPH), self._dialect)
        if self._digits:
            return triples
        try:
            exact = exact_triples(self._endpoint.query(sparql, TURTLE))
        except (MalformedError, EndpointError) as error:
            _tell(error)
            return triples
        return (_with_digits(triple, exact) for triple in triples)

    def graph(self, sparql: str) -> list[Triple]:
        """All triples of a CONSTRUCT or DESCRIBE.

        Virtuoso reports when it limits rows, but not when it limits a graph. So it must return as many rows
        as triples.

        Raises:
            UsageError, EndpointError: as `triples`, or when it does not.
        """
        triples = list(self.triples(sparql))
        if len(triples) > self._rows_given:
            self.results(self._rows(len(triples) + 1))
        return triples


def _with_digits(triple: Triple, exact: ExactRows) -> Triple:
    if not is_double(triple.object):
        return triple
    exact_triple = exact.of({"s": triple.subject, "p": triple.predicate, "o": triple.object})
    return triple if exact_triple is None else Triple(triple.subject, triple.predicate, exact_triple["o"])


def _tell(error: MalformedError | EndpointError) -> None:
    """Warn that a result has few digits: Virtuoso 7 cannot return some results as Turtle."""
    if isinstance(error, EndpointError) and error.kind != "refused":
        raise error
    log.warning("numbers in a result have only six digits: %s", error.message[:200])
