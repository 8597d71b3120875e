"""`/documents/{id}/pages/{number}.png`: a page of a PDF as a picture."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.i18n import tr
from graphrag_rdf.server.caching import is_known, standard
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.page_images import WIDTHS
from graphrag_rdf.server.representations import whole_number
from graphrag_rdf.server.routes.documents import document_named
from graphrag_rdf.server.service import client_of, service_of


async def page_image(request: Request) -> Response:
    """A page as PNG, some `width` pixels wide. Its tag is the hash of the PDF with page and width."""
    require(request, "read")
    service = service_of(request)
    width = whole_number(request, "width", WIDTHS[1], 10_000)
    number: int = request.path_params["number"]
    document = document_named(request, request.path_params["id"])

    def make() -> Response:
        store = service.engine.store
        headers = standard(store.commit_number())
        rows = store.select("provenance/kept-pages", document=document, numbers=[number])
        if not rows:
            raise Problem(404, tr("there is no PDF with such a page"))
        headers["ETag"] = tag = f'"{rows[0]["original"].value.rpartition(":")[2]}-{number}-{width}"'
        if is_known(request, tag):
            return Response(status_code=304, headers=headers)
        page = service.page_images.page(rows[0]["original"], number, width)
        if page is None:
            raise Problem(422, tr("this page cannot be drawn"))
        return Response(page.png, headers=headers, media_type="image/png")

    with service.concurrency.slot(client_of(request)):
        return await asyncio.to_thread(make)
