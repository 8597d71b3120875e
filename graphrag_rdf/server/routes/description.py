"""The service description (https://www.w3.org/TR/sparql11-service-description/): what this endpoint can do.

It lists the supported languages and formats, the existing named graphs, and updates unless it is read-only.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Triple
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from graphrag_rdf.rdf.namespaces import PREFIXES, RDF, RDFS, Graphs, Namespace
from graphrag_rdf.server.caching import standard
from graphrag_rdf.server.http.negotiation import GRAPHS, RESULTS, negotiate
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.representations import HTML
from graphrag_rdf.server.service import Service, address_of, service_of, site_of

SD = Namespace("http://www.w3.org/ns/sparql-service-description#")
_PREFIXES = {"sd": str(SD), "rdf": PREFIXES["rdf"], "rdfs": PREFIXES["rdfs"]}
_QUERY = (SD.SPARQL10Query, SD.SPARQL11Query, SD.SPARQL12Query)
_UPDATE = (SD.SPARQL11Update, SD.SPARQL12Update)
_LISTED = 1000
"""Named graphs that are listed at most."""


def describe_service(request: Request) -> Response:
    """The description, in the RDF format that the client prefers.

    Clients that prefer HTML, such as browsers, are redirected to the editor.

    Raises:
        Problem: 406 when it accepts neither.
    """
    service = service_of(request)
    choice = negotiate(request.headers.get("accept"), (*GRAPHS, HTML))
    if choice is None:
        raise Problem(406, "the service description is available as RDF or HTML")
    if choice.format is HTML:
        return RedirectResponse("/sparql-editor", 303, {"Vary": "Accept"})
    endpoint, dataset = NamedNode(address_of(request)), dataset_iri(site_of(request))
    data = ox.serialize(
        _triples(service, endpoint, dataset),
        format=choice.format.engine,  # type: ignore[arg-type]
        prefixes=_PREFIXES,
    )
    headers = {**standard(service.engine.store.commit_number()), "Content-Type": choice.content_type}
    return Response(data, headers=headers)


def dataset_iri(site: str) -> NamedNode:
    """The dataset that a site serves; its address gives its description."""
    return NamedNode(f"{site}/dataset#data")


def _languages(service: Service) -> tuple[NamedNode, ...]:
    """The languages of queries and updates; an endpoint has 1.2 if it supports triple terms."""
    known = 3 if service.remote is None or service.remote.dialect == "rdf12" else 2
    updates = () if service.read_only else _UPDATE[: known - 1]
    return (*_QUERY[:known], *updates)


def _triples(service: Service, endpoint: NamedNode, dataset: NamedNode) -> Iterator[Triple]:
    node, default = BlankNode(), BlankNode()
    yield Triple(node, RDF.type, SD.Service)
    yield Triple(node, RDFS.label, Literal("graphrag-rdf", language="en"))
    yield Triple(node, SD.endpoint, endpoint)
    for language in _languages(service):
        yield Triple(node, SD.supportedLanguage, language)
    for known in (*RESULTS, *GRAPHS):
        yield Triple(node, SD.resultFormat, NamedNode(known.iri))
    for known in GRAPHS:
        yield Triple(node, SD.inputFormat, NamedNode(known.iri))
    if service.remote is None:
        yield Triple(node, SD.feature, SD.EmptyGraphs)
    elif service.remote.unions:
        yield Triple(node, SD.feature, SD.UnionDefaultGraph)
    if service.settings.allow_service:
        yield Triple(node, SD.feature, SD.BasicFederatedQuery)
    yield Triple(node, SD.defaultDataset, dataset)
    yield Triple(dataset, RDF.type, SD.Dataset)
    yield Triple(dataset, SD.defaultGraph, default)
    yield Triple(default, RDF.type, SD.Graph)
    graphs = service.store.graphs() if service.remote is None else service.remote.names()
    for number, name in enumerate(graphs):
        if number == _LISTED:
            return
        if name == Graphs.SYSTEM or not isinstance(name, NamedNode):
            continue
        named, graph = BlankNode(), BlankNode()
        yield Triple(dataset, SD.namedGraph, named)
        yield Triple(named, RDF.type, SD.NamedGraph)
        yield Triple(named, SD.name, name)
        yield Triple(named, SD.graph, graph)
        yield Triple(graph, RDF.type, SD.Graph)
