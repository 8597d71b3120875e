"""`/resource?iri=`: whatever the store knows of any IRI."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
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
from graphrag_rdf.server.execution.evaluate import Job, Wanted
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.problems import Problem, TransferAborted
from graphrag_rdf.server.pages.thing import thing_page
from graphrag_rdf.server.representations import Forms, iri_of, parameter, represent
from graphrag_rdf.server.routes.description import SD
from graphrag_rdf.server.service import client_of, service_of
from graphrag_rdf.store.base import Store

_OUT, _IN, _USED, _INSIDE = 1000, 200, 100, 100
"""Triples of and to a thing, with it as their relation, and with it inside a statement, that are given; a hub
of the graph has more (ask SPARQL)."""

_BYTES = 1 << 24
_TRIPLES = Wanted("application/n-triples", "application/n-triples")


async def resource(request: Request) -> Response:
    """The triples with a thing as subject or object, as JSON or RDF."""
    require(request, "read")
    text = parameter(request, "iri")
    if not text:
        raise Problem(400, "name what to look up: ?iri=…")
    iri = iri_of(text)
    service = service_of(request)
    found = await asyncio.to_thread(statements, service.engine.store, iri) or await _inside(request, iri)
    if not found:
        raise Problem(404, f"nothing is known of {iri}")
    forms = Forms(
        json=lambda: described(iri, found),
        rdf=lambda: found,
        html=lambda: thing_page(service, iri, found),
    )
    return await represent(request, lambda _: forms)


async def _inside(request: Request, iri: NamedNode) -> list[Triple]:
    """The triples whose objects are statements with a thing of which nothing is said otherwise.

    There is no index into triple terms, so the store is read through, in a process and within the limits that
    the queries of clients have.

    Raises:
        Problem: 404 when that took too long, 429 when the client has too many queries under way.
    """
    service = service_of(request)
    if service.engine.store.renderer.dialect == "classic":
        return []  # statements are nodes there, whose parts `statements` has found
    text = service.engine.store.render("server/inside", thing=iri, limit=_INSIDE)
    job = Job(text=text, graph=_TRIPLES, roams=True, max_rows=_INSIDE, max_bytes=_BYTES)
    with service.concurrency.slot(client_of(request)):
        try:
            answer = await service.queries.run(job, service.min_commit(request), request.is_disconnected)
            data = b"".join([part async for part in answer.parts()])
        except (Problem, TransferAborted) as stopped:
            if isinstance(stopped, Problem) and stopped.status not in (503, 504):
                raise
            raise Problem(
                404, f"nothing is said of {iri}; to look for it inside statements took too long"
            ) from None
    return [quad.triple for quad in ox.parse(data, ox.RdfFormat.N_TRIPLES)]


def statements(store: Store, iri: NamedNode) -> list[Triple]:
    """The triples of a thing, those that point to it, then some in which it is the relation.

    Terms of the vocabularies come with their definitions, graphs as such.
    """
    about = store.construct("server/about", thing=iri, limit=_OUT)
    pointing = store.construct("server/pointing", thing=iri, limit=_IN)
    used = store.construct("server/related", relation=iri, limit=_USED)
    graph = [Triple(iri, RDF.type, SD.NamedGraph)] if store.ask("server/is-graph", graph=iri) else []
    return list(dict.fromkeys([*graph, *_defined(iri), *about, *pointing, *used]))


def of_list(store: Store, things: Sequence[str]) -> list[Triple]:
    """Types, names, origins and dates of listed things, by their IRIs; no facts."""
    return list(store.construct("server/listed", things=[NamedNode(thing) for thing in things]))


def _defined(iri: NamedNode) -> Iterator[Triple]:
    """The description of a term in the vocabularies, with its blank nodes and uses."""
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
    """JSON: `facts[{p,o}]`, `mentions[{s,p}]`, `used[{s,o}]`, `inside[{s,p,o}]`; terms as in SPARQL JSON."""
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
        "inside": [
            {"s": to_sparql_json(t.subject), "p": to_sparql_json(t.predicate), "o": to_sparql_json(t.object)}
            for t in statements_with(iri, found)
        ],
    }


def statements_with(iri: NamedNode, found: Iterable[Triple]) -> Iterator[Triple]:
    """Those whose objects are statements that a thing is a part of."""
    for t in found:
        if isinstance(t.object, Triple) and iri in (t.object.subject, t.object.predicate, t.object.object):
            yield t
