"""What endpoints answer, as terms of ours.

Lenient where engines differ from the specification and the meaning is plain: members that it does not know,
`typed-literal`, and ASK as a row with one value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pyoxigraph import RdfFormat, Triple, parse

from graphrag_rdf.errors import StoreError
from graphrag_rdf.rdf.terms import Term, from_sparql_json, to_python
from graphrag_rdf.sparql.dialect import Dialect
from graphrag_rdf.store.base import Answer, Row
from graphrag_rdf.store.wrapper import Reply

_FORMATS = {
    "application/n-triples": RdfFormat.N_TRIPLES,
    "text/plain": RdfFormat.N_TRIPLES,
    "text/turtle": RdfFormat.TURTLE,
    "application/x-turtle": RdfFormat.TURTLE,
}
_STAR = re.compile(r'"(?:[^"\\]|\\.)*"|<<|>>|<[^<>\s]*>', re.DOTALL)
_BRACKETS = {"<<": "<<( ", ">>": " )>>"}


def read_results(reply: Reply) -> Answer:
    """The answer to a SELECT or ASK, from SPARQL 1.1 or 1.2 Query Results JSON.

    Raises:
        StoreError: when it is none, or was cut off.
    """
    try:
        found: dict[str, Any] = json.loads(reply.body)
        if "boolean" in found:
            return Answer(boolean=bool(found["boolean"]))
        names = tuple(found["head"].get("vars", ()))
        memory: dict[tuple[str, ...], Term] = {}
        rows = [_row(binding, memory) for binding in found["results"]["bindings"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(reply, "SPARQL results in JSON", error) from error
    if names == ("__ASK_RETVAL",):
        return Answer(boolean=any(bool(to_python(row["__ASK_RETVAL"])) for row in rows))
    return Answer(variables=names, rows=rows)


def _row(binding: dict[str, Any], memory: dict[tuple[str, ...], Term]) -> Row:
    """A row; IRIs come again and again, so each is made once."""
    row: dict[str, Term] = {}
    for name, value in binding.items():
        if value["type"] != "uri":
            row[name] = from_sparql_json(value)
            continue
        key = (value["value"],)
        term = memory.get(key)
        if term is None:
            term = memory[key] = from_sparql_json(value)
        row[name] = term
    return row


def read_graph(reply: Reply, dialect: Dialect) -> Iterator[Triple]:
    """The triples of a CONSTRUCT or DESCRIBE.

    Raises:
        StoreError: when they are in no format that was asked for, or were cut off.
    """
    form = _FORMATS.get(reply.media_type)
    if form is None:
        raise _unreadable(reply, "N-Triples or Turtle", None)
    body = reply.body
    if dialect == "rdf-star":
        text = body.decode(errors="replace")
        body = _STAR.sub(lambda found: _BRACKETS.get(found[0], found[0]), text).encode()
    try:
        for quad in parse(body, format=form):
            yield quad.triple
    except (SyntaxError, ValueError) as error:
        raise _unreadable(reply, "RDF", error) from error


def _unreadable(reply: Reply, wanted: str, error: Exception | None) -> StoreError:
    why = f" ({error})" if error is not None else ""
    return StoreError(
        f"the endpoint's answer of type {reply.media_type or 'unknown'} is not {wanted}{why}",
        hint="see whether the address is that of a SPARQL endpoint; an answer may also have been cut off by "
        "its time limit",
    )
