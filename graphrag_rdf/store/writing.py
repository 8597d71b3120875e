"""Writes results of queries in the W3C formats."""

from __future__ import annotations

import json
from typing import IO

import pyoxigraph as ox
from pyoxigraph import QueryBoolean, QueryResultsFormat, QuerySolutions, QueryTriples, RdfFormat

from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.csv_results import line_end, write_csv
from graphrag_rdf.rdf.terms import to_sparql_json
from graphrag_rdf.store.base import Answer


def write_found(
    found: QuerySolutions | QueryBoolean | QueryTriples, output: IO[bytes], media_type: str
) -> None:
    """Write the result of a query, in the thread that ran it.

    Raises:
        UsageError: when the result cannot be written in this format.
    """
    if isinstance(found, QueryTriples):
        found.serialize(output, format=_graph_format(media_type))
        return
    form = QueryResultsFormat.from_media_type(media_type)
    if form is None:
        raise UsageError(f"query results cannot be written as {media_type}")
    if isinstance(found, QuerySolutions) and form == QueryResultsFormat.CSV:
        write_csv(found, output)
        return
    found.serialize(output, format=form)
    if isinstance(found, QueryBoolean):
        output.write(line_end(form.media_type))


def write_answer(answer: Answer, output: IO[bytes], media_type: str) -> None:
    """Write a result that is in memory.

    Raises:
        UsageError: see `write_found`.
    """
    if answer.triples is not None:
        ox.serialize(answer.triples, output, format=_graph_format(media_type))
    else:
        write_found(ox.parse_query_results(_json(answer), QueryResultsFormat.JSON), output, media_type)


def _graph_format(media_type: str) -> RdfFormat:
    form = RdfFormat.from_media_type(media_type)
    if form is None:
        raise UsageError(f"a graph cannot be written as {media_type}")
    return form


def _json(answer: Answer) -> bytes:
    """Rows or a truth value as SPARQL results in JSON, from which the other formats are made."""
    if answer.boolean is not None:
        return json.dumps({"head": {}, "boolean": answer.boolean}).encode()
    rows = [{name: to_sparql_json(term) for name, term in row.items()} for row in answer.rows or ()]
    return json.dumps({"head": {"vars": answer.variables}, "results": {"bindings": rows}}).encode()
