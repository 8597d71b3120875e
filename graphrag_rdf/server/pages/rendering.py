"""Templates → HTML, the static files of the pages, and problems as pages."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Match, Route

from graphrag_rdf import i18n
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.server.http.negotiation import Format, negotiate
from graphrag_rdf.server.http.problems import MEDIA_TYPE, Problem, problem_from
from graphrag_rdf.server.representations import HTML
from graphrag_rdf.trace.lines import human_size
from graphrag_rdf.trace.page import PAGE_FILTERS, page_loader, visible

if TYPE_CHECKING:
    from jinja2 import Environment


NAVIGATION = (
    ("/", later("Ask")),
    ("/traces", later("Questions")),
    ("/documents", later("Documents")),
    ("/entities", later("Entities")),
    ("/facts", later("Facts")),
    ("/graph", later("Graph")),
    ("/sparql-editor", later("SPARQL")),
    ("/ontology", later("Ontology")),
)

FURTHER = (
    ("/facts/decisions", later("Decisions about facts")),
    ("/dataset", later("What the store holds")),
    ("/queries", later("Queries of the program")),
)


def render(template: str, here: str = "", /, **values: Any) -> str:
    """A page.

    Args:
        template: name of a file in `templates/`, without its extension.
        here: its address in `NAVIGATION` or `FURTHER`.
    """
    return _environment().get_template(f"{template}.html.j2").render(here=here, **values)


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader("graphrag_rdf.server.pages"), page_loader()]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    environment.filters.update(PAGE_FILTERS)
    i18n.install(environment)
    environment.globals.update(navigation=NAVIGATION, further=FURTHER, size=human_size)
    return environment


_PAGES = Path(__file__).resolve().parent
_FILES = {
    path.name: path for path in (_PAGES.parents[1] / "trace" / "style.css", *(_PAGES / "static").iterdir())
}
"""Name → file. No path comes from a client."""


async def static_file(request: Request) -> Response:
    """One of the files."""
    name: str = request.path_params["name"]
    if name not in _FILES:
        raise Problem(404, tr("there is no such file"))
    return FileResponse(_FILES[name], headers={"Cache-Control": "max-age=300"})


# --- problems ------------------------------------------------------------------------------------------

PROBLEMS = (Format((MEDIA_TYPE, "application/json"), None, ""), HTML)
"""The formats of problems."""


def _methods(connection: HTTPConnection) -> list[str]:
    """The methods of a path (RFC 9110 §15.5.6): each has a route, and Starlette reports only one."""
    routes = (route for route in connection.app.routes if isinstance(route, Route))
    methods_of_routes = (
        route.methods or () for route in routes if route.matches(connection.scope)[0] is not Match.NONE
    )
    return sorted({method for methods in methods_of_routes for method in methods})


async def on_error(connection: HTTPConnection, error: Exception) -> Response:
    """Called by Starlette with the exception of a route."""
    problem = problem_from(error)
    if problem.status == 405:
        problem.headers["Allow"] = ", ".join(_methods(connection))
    choice = negotiate(connection.headers.get("accept"), PROBLEMS)
    if choice is None or choice.format is not HTML:
        response = problem.response_to(connection.scope)
    else:
        page = render("problem", problem=problem.document())
        response = Response(page, problem.status, {**problem.headers, "Content-Type": HTML.content_type})
    response.headers.add_vary_header("Accept")
    return response
