"""`/static/{name}`: style sheets and scripts, from the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.server.http.problems import Problem

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
"""Name → file, media type: a table, so that no path comes from a client."""


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
