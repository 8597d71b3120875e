"""The pages of lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from graphrag_rdf.server.pages.links import Links
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.catalogue import TraceSummary


def traces_page(service: Service, traces: Sequence[TraceSummary], limit: int, kind: str | None) -> str:
    """The newest traces."""
    tops = sum(trace.parent is None for trace in traces)
    more = {"limit": min(limit * 2, 1000), **({"kind": kind} if kind else {})}
    return render(
        "traces",
        "/traces",
        traces=traces,
        href=links_of(service),
        more=f"/traces?{urlencode(more)}" if tops >= limit < 1000 else None,
    )


def entities_page(
    service: Service, items: Sequence[Mapping[str, Any]], limit: int, offset: int, match: str
) -> str:
    """Entities, a page of them, with a box to look for more."""
    more = {"match": match} if match else {}
    return render(
        "entities",
        "/entities",
        entities=items,
        match=match,
        links=links_of(service),
        **turns("/entities", limit, offset, len(items), **more),
    )


def turns(path: str, limit: int, offset: int, found: int, **more: Any) -> dict[str, str | None]:
    """The addresses of the pages before and after.

    Args:
        found: items on this page; a full one is taken to have another after it.
    """

    def at(place: int) -> str:
        size = {} if limit == 50 else {"limit": limit}
        return f"{path}?{urlencode({**more, **size, 'offset': place})}"

    return {
        "before": at(max(0, offset - limit)) if offset > 0 else None,
        "after": at(offset + limit) if 0 < limit <= found else None,
    }


def links_of(service: Service) -> Links:
    """The addresses of this store's things."""
    return Links(service.engine.settings.extract.namespace)
