"""What clients see of the gate of SHACL shapes (`ingest.gate`): headers, and 422 with the report."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pyoxigraph as ox
from starlette.requests import HTTPConnection
from starlette.responses import Response

from graphrag_rdf.ingest.gate import BrokenShapesError, Passed
from graphrag_rdf.rdf.namespaces import PREFIXES, PROV
from graphrag_rdf.reader_process.evaluate import serialize_graph
from graphrag_rdf.server.http.negotiation import GRAPHS, negotiate, wanted
from graphrag_rdf.server.http.problems import REPORT, problem_of
from graphrag_rdf.server.pages.rendering import PROBLEMS, on_error
from graphrag_rdf.server.service import service_of

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
    version = service_of(connection).settings.rdf_version
    choice = negotiate(connection.headers.get("accept"), forms, version=version)
    if choice is None or not isinstance(choice.format.engine, ox.RdfFormat):
        return await on_error(connection, error)
    triples = [quad.triple for quad in error.report if quad.predicate != PROV.used]
    body = io.BytesIO()
    serialize_graph(triples, body, wanted(choice), _REPORTED)
    problem = problem_of(error)
    return Response(body.getvalue(), problem.status, {**problem.headers, "Content-Type": choice.content_type})
