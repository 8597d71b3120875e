"""Reads complete results from an endpoint; incomplete ones are queried again or reported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace

from pyoxigraph import Triple

from graphrag_rdf.errors import EndpointError, MalformedError
from graphrag_rdf.sparql.dialect import Dialect
from graphrag_rdf.store.answers import read_graph, read_results
from graphrag_rdf.store.base import Answer
from graphrag_rdf.store.doubles import TURTLE, ExactRows, exact_results, exact_triples, is_double
from graphrag_rdf.store.endpoint import GRAPH, Endpoint

log = logging.getLogger(__name__)

_READS = 3
"""Number of tries for a query whose results are read in two formats, until both agree."""


class Reader:
    """Reads from an endpoint.

    Args:
        endpoint: where it is.
        dialect: the syntax of triple terms.
        digits: whether it prints all digits of a double (see `doubles`).
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
            rows = [found for row in answer.rows if (found := exact.of(row)) is not None]
            if len(rows) == len(answer.rows):
                return replace(answer, rows=rows)
        url = self._endpoint.addresses.query
        raise EndpointError(
            f"{url} returns different results each time",
            "conflict",
            hint="wait until other programs have finished writing",
            address=url,
        )

    def triples(self, sparql: str) -> Iterator[Triple]:
        """The triples of a CONSTRUCT or DESCRIBE, as a stream.

        Raises:
            UsageError: when the endpoint reports a malformed query.
            EndpointError: when there is no response, or a visibly incomplete one.
        """
        found = read_graph(self._endpoint.query(sparql, GRAPH), self._dialect)
        if self._digits:
            return found
        try:
            exact = exact_triples(self._endpoint.query(sparql, TURTLE))
        except (MalformedError, EndpointError) as error:
            _tell(error)
            return found
        return (_with_digits(triple, exact) for triple in found)

    def graph(self, sparql: str) -> list[Triple]:
        """All triples of a CONSTRUCT or DESCRIBE.

        Virtuoso reports when it limits rows, but not when it limits a graph. So it must return as many rows
        as triples.

        Raises:
            UsageError, EndpointError: as `triples`, or when it does not.
        """
        found = list(self.triples(sparql))
        if len(found) > self._rows_given:
            self.results(self._rows(len(found) + 1))
        return found


def _with_digits(triple: Triple, exact: ExactRows) -> Triple:
    if not is_double(triple.object):
        return triple
    found = exact.of({"s": triple.subject, "p": triple.predicate, "o": triple.object})
    return triple if found is None else Triple(triple.subject, triple.predicate, found["o"])


def _tell(error: MalformedError | EndpointError) -> None:
    """Warn that a result has few digits: Virtuoso 7 cannot return some results as Turtle."""
    if isinstance(error, EndpointError) and error.kind != "refused":
        raise error
    log.warning("numbers in a result have only six digits: %s", error.message[:200])
