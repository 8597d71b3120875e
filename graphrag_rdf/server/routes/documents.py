"""`/documents` and `/documents/{id}`: what was read, down to chunks and their facts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pyoxigraph import NamedNode, Triple
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.duplicates import find_duplicates
from graphrag_rdf.rdf.iris import PROVENANCE_BASE
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.pages.document import document_page
from graphrag_rdf.server.pages.documents import ListRequest, documents_page, duplicates_page
from graphrag_rdf.server.representations import (
    Forms,
    iri_of,
    listed,
    parameter,
    represent,
    truth,
    whole_number,
)
from graphrag_rdf.server.routes.resource import of_list, statements
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.documents import SORTS, DocumentSummary, list_documents
from graphrag_rdf.trace.sources import source_tree

_LONGEST = 1000


async def document_list(request: Request) -> Response:
    """Documents, as `documents --format json` (`match`, `failed`, `sort`, `reverse`, `limit`, `offset`); with
    `duplicates`, pairs of duplicates.
    """
    limit, offset = whole_number(request, "limit", 50, 1000), whole_number(request, "offset", 0, 10**9)
    asked = ListRequest(
        match=(parameter(request, "match") or "")[:_LONGEST],
        failed=truth(request, "failed"),
        sort=parameter(request, "sort") or None,
        reverse=truth(request, "reverse"),
        limit=limit,
        offset=offset,
    )
    if asked.sort is not None and asked.sort not in SORTS:
        raise Problem(400, f"sort is one of {', '.join(SORTS)}")
    if truth(request, "duplicates"):
        return await represent(request, _duplicates)

    def forms(service: Service) -> Forms:
        store = service.engine.store
        found = list_documents(store, **asdict(asked))
        return Forms(
            json=lambda: listed([_item(document) for document in found], limit=limit, offset=offset),
            rdf=lambda: _described(store, [document.iri for document in found]),
            html=lambda: documents_page(request, service, found, asked),
        )

    return await represent(request, forms)


def _duplicates(service: Service) -> Forms:
    found = find_duplicates(service.engine.store, service.engine.blobs)
    return Forms(
        json=lambda: listed([pair.as_json() for pair in found]),
        html=lambda: duplicates_page(service, found),
    )


def _described(store: Store, documents: list[str]) -> list[Triple]:
    """Documents with their current versions and failures."""
    nodes = [NamedNode(iri) for iri in documents]
    known = [] if not nodes else store.construct("documents/described", documents=nodes)
    return [*of_list(store, documents), *known]


def _item(document: DocumentSummary) -> dict[str, Any]:
    """With the former names of path and type too."""
    return {**to_json(document), "identity": document.path, "media_type": document.mime}


async def document(request: Request) -> Response:
    """One document, as `source tree --format json` or as RDF; `id` is an IRI or the local part of ours.

    Its page shows some of its chunks, from `offset` on, or around a `chunk` or a `page`. With `start` and
    `length` it marks these characters of the document's text in the `chunk`.
    """
    name: str = request.path_params["id"]
    offset, page = whole_number(request, "offset", 0, 10**9), whole_number(request, "page", 0, 10**8)
    chunk = parameter(request, "chunk")
    start, length = (whole_number(request, name, 0, 10**9) for name in ("start", "length"))
    iri = iri_of(name if ":" in name else f"{PROVENANCE_BASE}doc/{name}")

    def forms(service: Service) -> Forms:
        store = service.engine.store
        if not store.select("provenance/find-document", name=iri.value):
            raise Problem(404, f"there is no document {iri}")
        return Forms(
            json=lambda: _tree(store, iri),
            rdf=lambda: statements(store, iri),
            html=lambda: document_page(
                service,
                iri,
                offset,
                chunk=chunk,
                page=page or None,
                cited=(start, length) if length else None,
            ),
        )

    return await represent(request, forms)


def _tree(store: Store, iri: NamedNode) -> Any:
    try:
        return to_json(source_tree(store, iri.value))
    except UsageError as error:
        raise Problem(404, error.message) from None
