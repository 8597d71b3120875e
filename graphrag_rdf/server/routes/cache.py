"""`/cache`: how much is in the caches, and emptying them."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_rdf.caches import CACHES, cache_stats, clear_caches
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.parameters import Parameters
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.service import COMMIT, service_of


async def cache(request: Request) -> Response:
    """Statistics, as `cache stats --format json`."""
    require(request, "read")
    found = await asyncio.to_thread(cache_stats, service_of(request).engine)
    return JSONResponse(found, headers={"Cache-Control": "no-store"})


async def clear(request: Request) -> Response:
    """Erase what is cached, or of it what `only` names (may be repeated), as `cache clear --format json`."""
    require(request, "write")
    service = service_of(request)
    service.require_writable()
    names = Parameters.of_query_string(request.scope["query_string"]).all("only")
    for name in names:
        if name not in CACHES:
            raise Problem(400, f"there is no cache {name[:100]!r}", hint=f"only: {', '.join(CACHES)}")
    gone: dict[str, int] = {}

    def write() -> int:
        gone.update(clear_caches(service.engine, names))
        return service.engine.store.commit_number()

    commit = await service.writes.run(write)
    service.wrote(request, commit)
    return JSONResponse(gone, headers={COMMIT: str(commit), "Cache-Control": "no-store"})
