"""Templates → HTML, and the static files of the pages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from graphrag_rdf.trace.lines import human_size
from graphrag_rdf.trace.page import PAGE_FILTERS, page_loader, visible

if TYPE_CHECKING:
    from jinja2 import Environment
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.server.http.problems import Problem

NAVIGATION = (
    ("/", "Home"),
    ("/ask", "Ask"),
    ("/traces", "Questions"),
    ("/documents", "Documents"),
    ("/entities", "Entities"),
    ("/facts", "Facts"),
    ("/sparql-editor", "SPARQL"),
    ("/ontology", "Ontology"),
)

FURTHER = (
    ("/facts/decisions", "Decisions about facts"),
    ("/dataset", "What the store holds"),
    ("/queries", "Queries of the program"),
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
    environment.globals.update(navigation=NAVIGATION, further=FURTHER, size=human_size)
    return environment


_HERE = Path(__file__).resolve().parent
_FILES = {
    "style.css": (_HERE.parent.parent / "trace" / "style.css", "text/css; charset=utf-8"),
    "site.css": (_HERE / "static" / "site.css", "text/css; charset=utf-8"),
    "icon.svg": (_HERE / "static" / "icon.svg", "image/svg+xml"),
    "ask.js": (_HERE / "static" / "ask.js", "text/javascript; charset=utf-8"),
    "upload.js": (_HERE / "static" / "upload.js", "text/javascript; charset=utf-8"),
    "graph.js": (_HERE / "static" / "graph.js", "text/javascript; charset=utf-8"),
    "cytoscape.min.js": (_HERE / "static" / "cytoscape.min.js", "text/javascript; charset=utf-8"),
}
"""Name → file, media type. No path comes from a client."""


async def static_file(request: Request) -> Response:
    """One of the files."""
    name: str = request.path_params["name"]
    if name not in _FILES:
        raise Problem(404, "there is no such file")
    headers = {"Content-Type": _FILES[name][1], "Cache-Control": "max-age=300"}
    return Response(_content(name), headers=headers)


@cache
def _content(name: str) -> bytes:
    return _FILES[name][0].read_bytes()
