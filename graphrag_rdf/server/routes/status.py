"""`/health`, `/metrics`, `/diagnostics` and `/cache`: the state of the server."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_rdf import __version__
from graphrag_rdf.caches import CACHES, cache_stats, clear_caches
from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import tr
from graphrag_rdf.loopback import is_loopback
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.body import Parameters
from graphrag_rdf.server.http.envelope import CONTENT_TYPE, Metrics
from graphrag_rdf.server.http.problems import Problem, problem_of
from graphrag_rdf.server.http.questions import read_json
from graphrag_rdf.server.service import COMMIT, service_of

_NOT_IN_FRONT_OF_A_REMOTE_STORE = ["snapshots", "reader-processes", "etags", "union-default-graph"]
_KEY_BYTES = 1024
_OF_A_PROXY = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


class FrozenRequest(BaseModel):
    """The body of `/frozen`."""

    key: str


async def health(request: Request) -> Response:
    """Whether the store works: 503 when the last write failed, or the endpoint of a remote store does not
    answer."""
    service = service_of(request)
    problem: GraphRagError | None = service.writes.trouble
    if service.remote is not None:
        problem = await asyncio.to_thread(service.remote.trouble)
    body: dict[str, Any] = {
        "status": "ok" if problem is None else "unavailable",
        "version": __version__,
        "commit": service.engine.store.commit_number(),
        "read_only": service.read_only,
        "queries": service.how,
        "seconds": round(time.time() - service.started, 1),
    }
    if service.remote is not None:
        body |= {"dialect": service.remote.dialect, "not_available": _NOT_IN_FRONT_OF_A_REMOTE_STORE}
    if problem is not None:
        body |= {"detail": problem_of(problem).detail}
    return JSONResponse(body, 200 if problem is None else 503, headers={"Cache-Control": "no-store"})


async def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    require(request, "read")
    registry: Metrics = request.app.state.metrics
    return Response(registry.text(), headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})


async def diagnostics(request: Request) -> Response:
    """The report of `doctor`: paths and settings, but never a secret. Only for administrators, unless the
    server is as `serve` starts it and only this computer reaches it.
    """
    require(request, "read" if _is_private(request) else "admin")
    from graphrag_rdf.checks import diagnosis

    service = service_of(request)
    report = await asyncio.to_thread(diagnosis.diagnostics, service.engine)
    return JSONResponse(report, headers={"Cache-Control": "no-store"})


def _is_private(request: Request) -> bool:
    """Whether the server has no tokens, and a request cannot come from another computer."""
    settings, access = service_of(request).settings, request.app.state.access
    if access.takes("read") or settings.allow_hosts or settings.trusted_proxies:
        return False
    return is_loopback(settings.host) and not any(name in request.headers for name in _OF_A_PROXY)


async def frozen(request: Request) -> Response:
    """A frozen copy of the store for another process on this computer, which shows the key in its folder."""
    copies = service_of(request).frozen
    if copies is None:
        raise Problem(
            404, tr("this server makes no copies of its store"), hint=tr("open the store without it")
        )
    asked = await read_json(request, FrozenRequest, _KEY_BYTES)
    name, commit = await copies.make(asked.key)
    headers = {COMMIT: str(commit), "Cache-Control": "no-store"}
    return JSONResponse({"copy": name, "commit": commit}, headers=headers)


async def cache(request: Request) -> Response:
    """Statistics, as `cache stats --format json`."""
    require(request, "read")
    stats = await asyncio.to_thread(cache_stats, service_of(request).engine)
    return JSONResponse(stats, headers={"Cache-Control": "no-store"})


async def empty_cache(request: Request) -> Response:
    """Erase what is cached, or of it what `only` names (may be repeated), as `cache clear --format json`."""
    require(request, "write")
    service = service_of(request)
    service.require_writable()
    names = Parameters.of_query_string(request.scope["query_string"]).all("only")
    for name in names:
        if name not in CACHES:
            raise Problem(
                400,
                tr("there is no cache {name!r}").format(name=name[:100]),
                hint=tr("only: {caches}").format(caches=", ".join(CACHES)),
            )
    gone: dict[str, int] = {}

    def write() -> int:
        gone.update(clear_caches(service.engine, names))
        return service.engine.store.commit_number()

    commit = await service.writes.run(write)
    service.wrote(request, commit)
    return JSONResponse(gone, headers={COMMIT: str(commit), "Cache-Control": "no-store"})
