"""`/health`, `/metrics` and `/diagnostics`: how the server does."""

from __future__ import annotations

import asyncio
import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_rdf import __version__
from graphrag_rdf.server.access import require
from graphrag_rdf.server.metrics import CONTENT_TYPE, Metrics
from graphrag_rdf.server.service import service_of


async def health(request: Request) -> Response:
    """Whether the store answers."""
    service = service_of(request)
    commit, _ = service.last_change()
    return JSONResponse(
        {
            "status": "ok",
            "version": __version__,
            "commit": commit,
            "read_only": service.read_only,
            "queries": "isolated" if service.isolated else "in-process",
            "seconds": round(time.time() - service.started, 1),
        },
        headers={"Cache-Control": "no-store"},
    )


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
