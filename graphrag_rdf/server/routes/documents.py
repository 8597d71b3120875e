"""`/documents` and `/documents/{id}`: what was read, down to chunks and their facts."""

from __future__ import annotations

from typing import Any

from pyoxigraph import NamedNode
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.iris import PROVENANCE_BASE
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.pages.document import document_page
from graphrag_rdf.server.pages.lists import documents_page
from graphrag_rdf.server.representations import Forms, iri_of, listed, parameter, represent, whole_number
from graphrag_rdf.server.routes.resource import of_list, statements
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.sources import source_tree


async def document_list(request: Request) -> Response:
    """Documents, in the order of their IRIs (`limit`, `offset`)."""
    limit, offset = whole_number(request, "limit", 50, 1000), whole_number(request, "offset", 0, 10**9)

    def forms(service: Service) -> Forms:
        found = service.engine.store.select("server/documents", limit=limit, offset=offset)
        items = [
            {
                "iri": rows.must(row, "document"),
                **{name: rows.text(row, name) for name in ("title", "identity", "media_type", "language")},
                "pages": rows.whole(row, "pages"),
            }
            for row in found
        ]
        return Forms(
            json=lambda: listed(items, limit=limit, offset=offset),
            rdf=lambda: of_list(service.engine.store, [rows.must(row, "document") for row in found]),
            html=lambda: documents_page(service, items, limit, offset),
        )

    return await represent(request, forms)


async def document(request: Request) -> Response:
    """One document, as `source tree --format json` or as RDF; `id` is an IRI or the end of one of ours.

    Its page has some of its chunks, from `offset` on, or those about a `chunk` or a `page`.
    """
    name: str = request.path_params["id"]
    offset, page = whole_number(request, "offset", 0, 10**9), whole_number(request, "page", 0, 10**8)
    chunk = parameter(request, "chunk")
    iri = iri_of(name if ":" in name else f"{PROVENANCE_BASE}doc/{name}")

    def forms(service: Service) -> Forms:
        store = service.engine.store
        if not store.select("provenance/find-document", name=iri.value):
            raise Problem(404, f"there is no document {iri}")
        return Forms(
            json=lambda: _tree(store, iri),
            rdf=lambda: statements(store, iri),
            html=lambda: document_page(service, iri, offset, chunk=chunk, page=page or None),
        )

    return await represent(request, forms)


def _tree(store: Store, iri: NamedNode) -> dict[str, Any]:
    try:
        return source_tree(store, iri.value).as_json()
    except UsageError as error:
        raise Problem(404, error.message) from None
