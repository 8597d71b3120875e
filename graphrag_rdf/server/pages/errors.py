"""Problems as pages, for those who asked for a page."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response

from graphrag_rdf.server.formats import Format
from graphrag_rdf.server.negotiation import negotiate
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.problems import MEDIA_TYPE, problem_from
from graphrag_rdf.server.representations import HTML

_FORMS = (Format((MEDIA_TYPE, "application/json"), None, ""), HTML)


async def on_error(connection: HTTPConnection, error: Exception) -> Response:
    """What Starlette calls for what a route raised."""
    problem = problem_from(error)
    choice = negotiate(connection.headers.get("accept"), _FORMS)
    if choice is None or choice.format is not HTML:
        return problem.response()
    page = render("problem", problem=problem.document())
    return Response(page, problem.status, {**problem.headers, "Content-Type": HTML.content_type})
