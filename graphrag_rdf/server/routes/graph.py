"""`/graph`: a part of the graph as JSON, and as a page with a list of facts, which a script draws."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.i18n import tr
from graphrag_rdf.server.graph_view import AROUND, MOST_ENTITIES, Edge, Start, graph_view
from graphrag_rdf.server.http.body import Parameters
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import (
    Forms,
    iri_of,
    listed,
    parameter,
    represent,
    session_named,
    whole_number,
)
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.sources import find_document

_BEST, _SIZES = 150, (150, 500, 2_000, MOST_ENTITIES)
_STARTS, _MOST_AROUND = 100, 2_000
_LISTED, _FACTS, _SENTENCES = 150, 50, 20
"""Entities in the list of the page, facts of each; sentences that name two entities."""
_STATE = ("best", "entity", "around", "document", "trace", "community", "from", "to")
_FIELDS = ("entity", "document", "from", "to")


async def graph(request: Request) -> Response:
    """The graph around each `entity`, of a `document`, `trace` or `community`, the paths from one entity
    `from` to another `to`, or the `best` entities, which most chunks mention. An `entity` has `around` facts.
    """
    url = Parameters.of_query_string(request.scope["query_string"])
    best = whole_number(request, "best", 0, MOST_ENTITIES)
    around = whole_number(request, "around", AROUND, _MOST_AROUND)

    def forms(service: Service) -> Forms:
        start = _start(service, url, best, around)
        store = service.engine.store
        return Forms(json=lambda: graph_view(store, start).to_json(), html=lambda: _page(service, url, start))

    return await represent(request, forms)


async def sentences(request: Request) -> Response:
    """The sentences that name both `one` and `other`, with their places."""

    def forms(service: Service) -> Forms:
        ends = {name: iri_of(parameter(request, name) or "") for name in ("one", "other")}
        rows = service.engine.store.select("graph/sentences", **ends, limit=_SENTENCES)
        chunk = links_of(service).chunk
        return Forms(
            json=lambda: listed(
                [
                    {**row, "href": chunk(row["document"], row["chunk"], row["start"], row["length"])}
                    for row in rows
                ]
            )
        )

    return await represent(request, forms)


def _start(service: Service, url: Parameters, best: int, around: int) -> Start:
    engine = service.engine
    names = [name for name in url.all("entity") if name][:_STARTS]
    document, trace, community, first, last = (
        url.one(name) or "" for name in ("document", "trace", "community", "from", "to")
    )
    if bool(first) != bool(last):
        raise Problem(400, tr("a path has two ends: from and to"))
    if not (names or document or trace or community or first):
        best = best or _BEST
    return Start(
        best=best,
        entities=[engine.entity(name) for name in names],
        around=around,
        documents=[find_document(engine.store, document)] if document else [],
        session=session_named(service, trace) if trace else None,
        community=iri_of(community) if community else None,
        ends=(engine.entity(first), engine.entity(last)) if first else None,
    )


def _grows(start: Start) -> bool:
    return bool(start.entities) and 4 * start.around <= _MOST_AROUND


def _page(service: Service, url: Parameters, start: Start) -> str:
    """The page with a list; of many entities it has the first."""
    view = graph_view(service.engine.store, replace(start, best=min(start.best, _LISTED)))
    state = [(name, value) for name in _STATE for value in url.all(name) if value]
    if start.best and "best" not in url:
        state.append(("best", str(start.best)))

    def address(name: str, value: object) -> str:
        """The same view with another value."""
        return f"/graph?{urlencode([*(pair for pair in state if pair[0] != name), (name, value)])}"

    values = dict(state)
    labels = {node.term.value: node.label for node in view.nodes if node.is_entity}
    facts: dict[int, list[Edge]] = {place: [] for place in range(len(view.nodes))}
    for edge in view.edges:
        facts[edge.source].append(edge)
    entities = [place for place, node in enumerate(view.nodes) if node.is_entity]
    entities.sort(key=lambda place: (view.nodes[place].term not in start.entities, -view.nodes[place].chunks))
    return render(
        "graph",
        "/graph",
        view=view,
        start=start,
        named={name: labels.get(values.get(name, ""), values.get(name, "")) for name in _FIELDS},
        listed=[(view.nodes[place], facts[place][:_FACTS]) for place in entities[:_LISTED]],
        partial=len(entities) > _LISTED or start.best > _LISTED,
        sizes=[(size, size == start.best, address("best", size)) for size in _SIZES] if start.best else [],
        more=address("around", 4 * start.around) if view.cut and _grows(start) else None,
        href=links_of(service),
    )
