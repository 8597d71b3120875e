"""Problems as pages."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Match, Route

from graphrag_rdf.server.http.negotiation import Format, negotiate
from graphrag_rdf.server.http.problems import MEDIA_TYPE, problem_from
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import HTML

_FORMS = (Format((MEDIA_TYPE, "application/json"), None, ""), HTML)


def _methods(connection: HTTPConnection) -> list[str]:
    """The methods of a path (RFC 9110 §15.5.6): each has a route, and Starlette reports only one."""
    routes = (route for route in connection.app.routes if isinstance(route, Route))
    found = (route.methods or () for route in routes if route.matches(connection.scope)[0] is not Match.NONE)
    return sorted({method for methods in found for method in methods})


async def on_error(connection: HTTPConnection, error: Exception) -> Response:
    """Called by Starlette with the exception of a route."""
    problem = problem_from(error)
    if problem.status == 405:
        problem.headers["Allow"] = ", ".join(_methods(connection))
    choice = negotiate(connection.headers.get("accept"), _FORMS)
    if choice is None or choice.format is not HTML:
        return problem.response()
    page = render("problem", problem=problem.document())
    return Response(page, problem.status, {**problem.headers, "Content-Type": HTML.content_type})
