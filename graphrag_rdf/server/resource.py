"""`/resource?iri=`: whatever the store knows of any IRI."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import pyoxigraph as ox
from pyoxigraph import BlankNode, NamedNode, Triple
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import to_sparql_json
from graphrag_rdf.resources import folder
from graphrag_rdf.server.description import SD
from graphrag_rdf.server.pages.thing import thing_page
from graphrag_rdf.server.problems import Problem
from graphrag_rdf.server.representations import Forms, iri_of, parameter, represent
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.base import Store

_OUT, _IN, _USED = 1000, 200, 100
"""Triples of and to a thing, and with it as their relation, that are given; a hub of the graph has more (ask
SPARQL)."""


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
        return Forms(
            json=lambda: described(iri, found),
            rdf=lambda: found,
            html=lambda: thing_page(service, iri, found),
        )

    return await represent(request, forms)


def statements(store: Store, iri: NamedNode) -> list[Triple]:
    """The triples of a thing, those that point to it, then some in which it is the relation.

    Terms of the vocabularies come with their definitions, graphs as such.
    """
    about = store.construct("server/about", thing=iri, limit=_OUT)
    pointing = store.construct("server/pointing", thing=iri, limit=_IN)
    used = store.construct("server/related", relation=iri, limit=_USED)
    graph = [Triple(iri, RDF.type, SD.NamedGraph)] if store.ask("server/is-graph", graph=iri) else []
    return list(dict.fromkeys([*graph, *_defined(iri), *about, *pointing, *used]))


def _defined(iri: NamedNode) -> Iterator[Triple]:
    """What the vocabularies say of a term, with the blank nodes of that, and where they use it."""
    for pattern in ((None, None, iri), (None, iri, None)):
        for quad in islice(_vocabularies().quads_for_pattern(*pattern), _USED):
            yield quad.triple
    waiting: list[NamedNode | BlankNode] = [iri]
    while waiting:
        for quad in _vocabularies().quads_for_pattern(waiting.pop(), None, None):
            yield quad.triple
            if isinstance(quad.object, BlankNode):
                waiting.append(quad.object)


@cache
def _vocabularies() -> ox.Store:
    """Read once: the files belong to the program."""
    found = ox.Store()
    for name in ("graphrag-rdf", "trustgraph", "prov-o"):
        found.load(path=folder("ontology") / f"{name}.ttl", format=ox.RdfFormat.TURTLE)
    return found


def described(iri: NamedNode, found: list[Triple]) -> dict[str, Any]:
    """JSON: `facts[{p,o}]`, `mentions[{s,p}]`, `used[{s,o}]`; terms as in SPARQL results."""
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
        "used": [
            {"s": to_sparql_json(t.subject), "o": to_sparql_json(t.object)}
            for t in found
            if t.predicate == iri and iri not in (t.subject, t.object)
        ],
    }
