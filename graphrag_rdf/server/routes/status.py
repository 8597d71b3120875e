"""`/health`, `/metrics` and `/diagnostics`: how the server does."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_rdf import __version__
from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.metrics import CONTENT_TYPE, Metrics
from graphrag_rdf.server.http.problems import problem_of
from graphrag_rdf.server.service import service_of

_NOT_IN_FRONT_OF_A_REMOTE_STORE = ["snapshots", "reader-processes", "etags", "union-default-graph"]


async def health(request: Request) -> Response:
    """Whether the store answers and takes writes: 503 when the last one could not be written, or when the
    endpoint of a remote store, which is asked, does not answer."""
    service = service_of(request)
    problem: GraphRagError | None = service.writes.trouble
    if service.remote is not None:
        problem = await asyncio.to_thread(service.remote.trouble)
    commit, _ = service.last_change()
    found: dict[str, Any] = {
        "status": "ok" if problem is None else "unavailable",
        "version": __version__,
        "commit": commit,
        "read_only": service.read_only,
        "queries": service.how,
        "seconds": round(time.time() - service.started, 1),
    }
    if service.remote is not None:
        found |= {"dialect": service.remote.dialect, "not_available": _NOT_IN_FRONT_OF_A_REMOTE_STORE}
    if problem is not None:
        found |= {"detail": problem_of(problem).detail}
    return JSONResponse(found, 200 if problem is None else 503, headers={"Cache-Control": "no-store"})


async def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    require(request, "read")
    found: Metrics = request.app.state.metrics
    return Response(found.text(), headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})


async def diagnostics(request: Request) -> Response:
    """What `doctor` tells: paths and settings, so for administrators only. Never a secret."""
    require(request, "admin")
    from graphrag_rdf import diagnosis

    service = service_of(request)
    found = await asyncio.to_thread(diagnosis.diagnostics, service.engine)
    return JSONResponse(found, headers={"Cache-Control": "no-store"})
