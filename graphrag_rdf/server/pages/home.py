"""`/`: what is in the store, what was asked last, and a box to ask."""

from __future__ import annotations

from functools import lru_cache

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.server.pages.ask import needs_token
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import Forms, represent
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.catalogue import list_traces

_RECENT = 10


async def home(request: Request) -> Response:
    """The page; as JSON, the counts."""

    def forms(service: Service) -> Forms:
        store = service.store
        counts = _counts(store, store.commit_number())
        return Forms(
            json=lambda: {"counts": counts},
            html=lambda: render(
                "home",
                "/",
                counts=counts,
                traces=list_traces(store, _RECENT),
                href=links_of(service),
                token=needs_token(request),
            ),
        )

    return await represent(request, forms)


@lru_cache(maxsize=4)
def _counts(store: Store, commit: int) -> dict[str, int]:
    """Counted once for each commit."""
    del commit
    found = store.select("server/counts")[0]
    return {name: rows.whole(found, name) or 0 for name in ("documents", "entities", "facts", "traces")}
