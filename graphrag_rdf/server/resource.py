"""`/resource?iri=`: whatever the store knows of any IRI."""

from __future__ import annotations

from typing import Any

from pyoxigraph import NamedNode, Triple
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.rdf.terms import to_sparql_json
from graphrag_rdf.server.problems import Problem
from graphrag_rdf.server.representations import Forms, iri_of, parameter, represent
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.base import Store

_OUT, _IN = 1000, 200
"""Triples of and to a thing that are given; a hub of the graph has more (ask SPARQL)."""


async def resource(request: Request) -> Response:
    """What is said of a thing, and what points to it, as JSON or RDF."""
    text = parameter(request, "iri")
    if not text:
        raise Problem(400, "say what to look up: ?iri=…")
    iri = iri_of(text)

    def forms(service: Service) -> Forms:
        found = statements(service.engine.store, iri)
        if not found:
            raise Problem(404, f"nothing is known of {iri}")
        return Forms(json=lambda: described(iri, found), rdf=lambda: found)

    return await represent(request, forms)


def statements(store: Store, iri: NamedNode) -> list[Triple]:
    """The triples of a thing, then those that point to it."""
    about = store.construct("server/about", thing=iri, limit=_OUT)
    pointing = store.construct("server/pointing", thing=iri, limit=_IN)
    return list(dict.fromkeys([*about, *pointing]))


def described(iri: NamedNode, found: list[Triple]) -> dict[str, Any]:
    """The JSON of a thing: `facts[{p,o}]` and `mentions[{s,p}]`, terms as in SPARQL results."""
    return {
        "iri": iri.value,
        "facts": [
            {"p": to_sparql_json(t.predicate), "o": to_sparql_json(t.object)}
            for t in found
            if t.subject == iri
        ],
        "mentions": [
            {"s": to_sparql_json(t.subject), "p": to_sparql_json(t.predicate)}
            for t in found
            if t.object == iri and t.subject != iri
        ],
    }
