"""`/entities` and `/entities/{id}`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pyoxigraph import NamedNode
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.rdf.terms import text_of, to_python
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.pages.entity import entity_page
from graphrag_rdf.server.pages.lists import entities_page
from graphrag_rdf.server.representations import Forms, iri_of, listed, part_of, represent, whole_number
from graphrag_rdf.server.routes.resource import described, of_list, statements
from graphrag_rdf.server.service import Service

_FURTHEST = 100_000


async def entity_list(request: Request) -> Response:
    """Entities by number of facts, as `entities list` (`match`, `limit`, `offset`)."""
    part = part_of(request, _FURTHEST)

    def forms(service: Service) -> Forms:
        every = service.engine.store.select("entities/list", text=part.match, limit=part.offset + part.limit)
        items: list[dict[str, Any]] = [
            {
                "iri": text_of(row["entity"]),
                "name": text_of(row["name"]),
                "facts": to_python(row["facts"]),
                "members": to_python(row["members"]),
            }
            for row in every[part.offset :]
        ]
        return Forms(
            json=lambda: listed(items, **asdict(part)),
            rdf=lambda: of_list(service.engine.store, [item["iri"] for item in items]),
            html=lambda: entities_page(service, items, part),
        )

    return await represent(request, forms)


async def entity(request: Request) -> Response:
    """One entity: the triples with it as subject or object; `id` is an IRI or the local part of one of ours.

    Its page shows its `facts` and `mentions` from these numbers on.
    """
    facts, mentions = (whole_number(request, name, 0, _FURTHEST) for name in ("facts", "mentions"))
    name: str = request.path_params["id"]

    def forms(service: Service) -> Forms:
        namespace = service.engine.settings.extract.namespace
        iri: NamedNode = iri_of(name if ":" in name else f"{namespace}e/{name}")
        found = statements(service.engine.store, iri)
        if not found:
            raise Problem(404, f"nothing is known of {iri}")
        return Forms(
            json=lambda: described(iri, found),
            rdf=lambda: found,
            html=lambda: entity_page(service, iri, facts_from=facts, mentions_from=mentions),
        )

    return await represent(request, forms)
