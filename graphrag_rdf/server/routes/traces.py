"""`/traces` and `/traces/{id}`: how answers were made."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.pages.lists import traces_page
from graphrag_rdf.server.pages.trace import trace_page
from graphrag_rdf.server.representations import Forms, listed, parameter, part_of, represent, session_named
from graphrag_rdf.server.routes.resource import of_list
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.catalogue import OUTCOMES, count_outcomes, list_traces
from graphrag_rdf.trace.reader import read_trace, trace_quads
from graphrag_rdf.trace.text import render_trace

_COLUMNS = 80


async def trace_list(request: Request) -> Response:
    """The newest traces, as `trace list --format json` (`limit`, `offset`, `kind`, `outcome`, `match`), and
    their number by outcome.
    """
    part, kind, outcome = part_of(request), parameter(request, "kind"), parameter(request, "outcome")
    if outcome and outcome not in OUTCOMES:
        raise Problem(400, f"outcome is one of {', '.join(OUTCOMES)}")

    def forms(service: Service) -> Forms:
        store = service.engine.store
        found = list_traces(store, part.limit, kind, outcome=outcome, match=part.match, offset=part.offset)
        counts = count_outcomes(store)
        return Forms(
            json=lambda: listed(to_json(found), **asdict(part), outcomes=counts),
            rdf=lambda: of_list(service.engine.store, [trace.iri for trace in found]),
            html=lambda: traces_page(service, found, part, counts, kind, outcome),
        )

    return await represent(request, forms)


async def trace(request: Request) -> Response:
    """One trace, as `trace show` has it, a page, or RDF with its sources; `id` is an IRI or a UUID."""
    name = request.path_params["id"]

    def forms(service: Service) -> Forms:
        engine = service.engine
        session = session_named(service, name)
        return Forms(
            json=lambda: to_json(read_trace(engine.store, session, engine.blobs)),
            rdf=lambda: trace_quads(engine.store, session),
            html=lambda: trace_page(service, session, request),
            text=lambda: render_trace(
                read_trace(engine.store, session, engine.blobs), width=_COLUMNS, colour=False
            ),
        )

    return await represent(request, forms)
