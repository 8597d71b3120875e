"""Lists, made from their declarations in `graphrag_rdf.lists`: JSON, RDF, and pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.lists.declaration import Asked, Item, List
from graphrag_rdf.server.pages.lists import list_page
from graphrag_rdf.server.representations import Forms, parameter, represent, whole_number
from graphrag_rdf.server.routes.resource import of_list
from graphrag_rdf.server.service import Service

_LONGEST = 1000
"""Characters of a text to look for."""
_MOST = 1000
"""Items of a page, at most."""
_UNUSED = {"flag": False, "number": None}
"""Kind of a filter → its value in JSON if it is not used; the others have an empty text."""


async def list_response(request: Request, declared: List, **context: Any) -> Response:
    """A list, as `--format json` of its command has it, for `limit`, `offset` and its filters.

    Args:
        context: for the template of the page.
    """
    asked = _asked(request, declared)
    listing = declared.shown_for(asked)

    def forms(service: Service) -> Forms:
        engine = service.engine
        items = listing.items(engine, asked)
        counts = {listing.counted: listing.count(engine)} if listing.count else {}

        def answer() -> dict[str, Any]:
            unused = {each.name: _UNUSED.get(each.kind, "") for each in listing.filters}
            asked_for = {"limit": asked.limit, "offset": asked.offset, **unused, **asked.values}
            return {"items": [{**item, **_former(listing, item)} for item in items], **asked_for, **counts}

        return Forms(
            json=answer,
            rdf=partial(listing.rdf or _described, engine.store, items),
            html=lambda: list_page(
                service, listing, declared.path, items, asked, counts.get(listing.counted, {}), **context
            ),
        )

    return await represent(request, forms)


def _former(listing: List, item: Item) -> Item:
    return {name: item[key] for name, key in listing.former.items()}


def _described(store: Any, items: Any) -> Any:
    return of_list(store, [item["iri"] for item in items if "iri" in item])


def _asked(request: Request, listing: List) -> Asked:
    texts = {each.name: (parameter(request, each.name) or "")[:_LONGEST] for each in listing.filters}
    values = listing.values(texts)
    page = listing.shown_for(Asked(None, 0, values)).page
    limit = None if page is None and parameter(request, "limit") is None else page or _MOST
    if limit is not None:
        limit = whole_number(request, "limit", limit, _MOST)
    return Asked(limit, whole_number(request, "offset", 0, 10**9), values)


def endpoint(listing: List) -> Callable[[Request], Awaitable[Response]]:
    """What answers requests for a list."""

    async def answer(request: Request) -> Response:
        return await list_response(request, listing)

    return answer
