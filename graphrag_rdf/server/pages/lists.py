"""The page of a list, made from its declaration in `graphrag_rdf.lists`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from graphrag_rdf.i18n import tr
from graphrag_rdf.lists.declaration import Asked, Column, Item, List
from graphrag_rdf.lists.values import NUMBERS
from graphrag_rdf.server.pages.links import Links, fact_page
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.service import Service
from graphrag_rdf.wing import wings


def list_page(
    service: Service,
    listing: List,
    path: str,
    items: Sequence[Item],
    asked: Asked,
    counts: Mapping[str, int],
    **context: Any,
) -> str:
    """The page.

    Args:
        path: its address.
        counts: value of a filter → number of all items.
        context: more for the template.
    """
    values = {name: str(value).lower() if value is True else value for name, value in asked.values.items()}
    shown = {each.name for each in listing.filters if each.label}
    tops = items if values or not listing.parent else [each for each in items if not each[listing.parent]]
    return render(
        "list",
        path,
        list=listing,
        path=path,
        items=zip(items, listing.depths(items), strict=True),
        values=values,
        kept={name: value for name, value in values.items() if name not in shown},
        columns=[each for each in listing.columns if each.heading and each.page and each.below != "both"],
        below=[each for each in listing.columns if each.below == "both"],
        numbers=NUMBERS,
        ordered=partial(_ordered, path, values),
        href=partial(_href, links_of(service)),
        choices=_choices(listing, values, counts) if counts else (),
        run=_query(service, listing, asked),
        empty=listing.empty(asked),
        **turns(path, asked.limit or 0, asked.offset, len(tops), **values),
        **context,
    )


def _ordered(path: str, values: Mapping[str, Any], sort: str) -> str:
    """The address of a list in an order; reversed if it has that order already."""
    kept = {key: value for key, value in values.items() if key not in ("sort", "reverse")}
    turned = {"reverse": "true"} if values.get("sort") == sort and "reverse" not in values else {}
    return f"{path}?{urlencode({**kept, 'sort': sort, **turned})}"


def _choices(
    listing: List, values: Mapping[str, Any], counts: Mapping[str, int]
) -> list[tuple[str, str, bool]]:
    """Name, address, and whether it is chosen, of the parts of a list that are counted."""
    name = listing.counted.removesuffix("s")
    kept = {key: value for key, value in values.items() if key != name}
    parts = [(tr("all"), kept, sum(counts.values()))]
    parts += [(listing.words(code), {**kept, name: code}, number) for code, number in counts.items()]
    return [
        (f"{title} ({number:,})", f"{listing.path}?{urlencode(part)}", values.get(name) == part.get(name))
        for title, part, number in parts
    ]


def _query(service: Service, listing: List, asked: Asked) -> str | None:
    """The address that runs the query of a list."""
    if not listing.template:
        return None
    engine = service.engine
    query = engine.store.render(listing.template, **listing.parameters(engine, asked))
    return f"/sparql-editor?{urlencode({'query': query})}"


_PAGES: Mapping[str, Callable[[Links, str], str]] = {
    "document": Links.document,
    "entity": Links.entity,
    "trace": Links.trace,
    "thing": Links.__call__,
    "term": Links.__call__,
    "fact": lambda _, statement: fact_page(statement),
}
"""Link of a column → the page of what an item names."""


def _href(links: Links, column: Column, item: Item) -> str | None:
    key = column.key if column.link in ("term", "fact") else "iri"
    return _PAGES[column.link](links, item[key]) if column.link and item[key] else None


def turns(path: str, limit: int, offset: int, found: int, **more: Any) -> dict[str, str | None]:
    """The addresses of the previous and next page.

    Args:
        found: items on this page; a full page is assumed to have a next one.
    """

    def at(place: int) -> str:
        size = {} if limit == 50 else {"limit": limit}
        return f"{path}?{urlencode({**more, **size, 'offset': place})}"

    return {
        "before": at(max(0, offset - limit)) if offset > 0 else None,
        "after": at(offset + limit) if 0 < limit <= found else None,
    }


def links_of(service: Service, run: str = "") -> Links:
    """The addresses of this store's things; see `Links`."""
    return Links(service.engine.settings.extract.namespace, run)


def history_page(service: Service, **filters: str) -> str | None:
    """The page of what each change did to the facts of filters; None for a store that keeps no states."""
    if service.remote is not None or not any(wing.past for wing in wings()):
        return None
    return f"/history?{urlencode(filters)}"
