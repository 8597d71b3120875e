"""What clients see of the gate of SHACL shapes (`ingest.gate`): headers, and 422 with the report."""

from __future__ import annotations

from collections.abc import Mapping

import pyoxigraph as ox
from starlette.requests import HTTPConnection
from starlette.responses import Response

from graphrag_rdf.ingest.gate import BrokenShapesError, Passed
from graphrag_rdf.rdf.namespaces import PREFIXES, PROV
from graphrag_rdf.server.http.negotiation import GRAPHS, negotiate
from graphrag_rdf.server.http.problems import REPORT, problem_of
from graphrag_rdf.server.pages.rendering import PROBLEMS, on_error

_REPORTED = {name: PREFIXES[name] for name in ("sh", "prov", "rag", "xsd")}


def headers_of(passed: Passed) -> Mapping[str, str]:
    """The headers of the response to a change that was written."""
    if passed.unvalidated:
        return {REPORT: "not validated"}
    return {REPORT: passed.report.value} if passed.report else {}


async def on_broken_shapes(connection: HTTPConnection, error: Exception) -> Response:
    """Called by Starlette: 422 with the sh:ValidationReport in the format that Accept names.

    Clients that accept no RDF get a problem document or a page. The report has no paths of files.
    """
    assert isinstance(error, BrokenShapesError)  # noqa: S101 - it is registered for these
    forms = (GRAPHS[0], *PROBLEMS, *GRAPHS[1:])  # plain JSON is a problem document, not JSON-LD
    choice = negotiate(connection.headers.get("accept"), forms)
    if choice is None or not isinstance(choice.format.engine, ox.RdfFormat):
        return await on_error(connection, error)
    triples = [quad.triple for quad in error.report if quad.predicate != PROV.used]
    body = ox.serialize(triples, format=choice.format.engine, prefixes=_REPORTED)
    problem = problem_of(error)
    return Response(body, problem.status, {**problem.headers, "Content-Type": choice.content_type})
