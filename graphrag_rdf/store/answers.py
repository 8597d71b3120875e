"""Parsing of the results that endpoints send.

Deviations with a clear meaning are accepted: unknown members, `typed-literal`, and ASK as a row with one
value. Literals are converted to canonical form, as in an embedded store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO, Any

from pyoxigraph import (
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    RdfFormat,
    Triple,
    parse,
    parse_query_results,
)

from graphrag_rdf.errors import EndpointError
from graphrag_rdf.rdf.terms import Term, from_sparql_json, to_python
from graphrag_rdf.sparql.dialect import Dialect
from graphrag_rdf.store.base import Answer, Row
from graphrag_rdf.store.updates import canonical_term
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
        found: dict[str, Any] = json.loads(reply.body)
        if isinstance(found.get("boolean"), bool):
            return Answer(boolean=found["boolean"])
        names = tuple(found["head"].get("vars", ()))
        memory: dict[str, Term] = {}
        rows = [_row(binding, memory) for binding in found["results"]["bindings"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(reply, "SPARQL results in JSON", error) from error
    if names == (_TRUTH,):
        return Answer(boolean=any(bool(to_python(row[_TRUTH])) for row in rows))
    return Answer(variables=names, rows=rows)


def stream_results(answer: Stream) -> QuerySolutions | QueryBoolean:
    """The result of a SELECT or ASK as a stream, with literals as the endpoint writes them.

    Raises:
        SyntaxError, ValueError: when it is not SPARQL results in JSON.
        OSError, http.client.HTTPException: when the connection breaks.
    """
    found = parse_query_results(answer, QueryResultsFormat.JSON)  # type: ignore[arg-type]
    if isinstance(found, QueryBoolean) or [variable.value for variable in found.variables] != [_TRUTH]:
        return found
    truth = any(bool(to_python(row[0])) for row in found if row[0] is not None)
    said = json.dumps({"head": {}, "boolean": truth}).encode()
    return parse_query_results(said, QueryResultsFormat.JSON)


def _row(binding: dict[str, Any], memory: dict[str, Term]) -> Row:
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
        whole = _STAR.sub(lambda found: _BRACKETS.get(found[0], found[0]), reply.body.decode()).encode()
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
    brackets = _STAR.sub(lambda found: _BRACKETS.get(found[0], found[0]), text)
    for quad in parse(brackets, format=RdfFormat.N_TRIPLES):
        yield quad.triple


def _unreadable(reply: Reply, wanted: str, error: Exception | None) -> EndpointError:
    kind = reply.media_type or "unknown type"
    message = f"{reply.url} sent {kind} instead of {wanted}"
    return EndpointError(
        message if error is None else f"{message}: {error}",
        "refused",
        hint="check that the address is that of a SPARQL endpoint; its time limit may also have cut off the "
        "result",
        address=reply.url,
    )
