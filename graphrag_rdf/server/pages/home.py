"""`/`: what is in the store, what was asked last, and a box to ask."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.server.pages.ask import needs_token
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import Forms, represent
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.catalogue import count_outcomes, list_traces

_RECENT = 10


async def home(request: Request) -> Response:
    """The page; as JSON, the counts."""

    def forms(service: Service) -> Forms:
        store = service.engine.store
        counts, outcomes = service.counter.things(), count_outcomes(store)
        return Forms(
            json=lambda: {"counts": counts, "outcomes": outcomes},
            html=lambda: render(
                "home",
                "/",
                counts=counts,
                unanswered=outcomes.get("unanswered", 0),
                traces=list_traces(store, _RECENT),
                href=links_of(service),
                token=needs_token(request),
            ),
        )

    return await represent(request, forms)
