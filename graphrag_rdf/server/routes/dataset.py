"""`/dataset` and `/.well-known/void`: a description of the store in VoID, DCAT and service description terms.

It names the commit of its numbers (see `statistics`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from pyoxigraph import BlankNode, Literal, NamedNode, Triple
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.config import ServerSection
from graphrag_rdf.rdf.namespaces import DCTERMS, OWL, PREFIXES, RDF, RDFS, Namespace
from graphrag_rdf.rdf.terms import datetime_, integer
from graphrag_rdf.server.http.negotiation import DATASETS, GRAPHS
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.pages.thing import view_term
from graphrag_rdf.server.representations import Forms, represent
from graphrag_rdf.server.routes.description import SD, dataset_iri
from graphrag_rdf.server.routes.statistics import Counts, GraphCounts
from graphrag_rdf.server.service import Service, site_of

VOID = Namespace("http://rdfs.org/ns/void#")
DCAT = Namespace("http://www.w3.org/ns/dcat#")
FOAF = Namespace("http://xmlns.com/foaf/0.1/")
_PREFIXES = {**PREFIXES, "void": str(VOID), "dcat": str(DCAT), "sd": str(SD), "foaf": str(FOAF)}


async def dataset(request: Request) -> Response:
    """The description; as JSON, the numbers."""

    def forms(service: Service) -> Forms:
        counts = service.counter.counts()
        return Forms(
            json=lambda: _as_json(counts),
            rdf=lambda: description(
                service.settings, service.engine.settings.extract.namespace, counts, site
            ),
            html=lambda: _page(service, counts),
            prefixes=_PREFIXES,
        )

    site = site_of(request)
    return await represent(request, forms)


def description(settings: ServerSection, namespace: str, counts: Counts, site: str) -> Iterator[Triple]:
    """The triples of the description.

    Args:
        namespace: of this store's entities.
        site: address of the server, without a path.
    """
    document, data = NamedNode(f"{site}/dataset"), dataset_iri(site)
    yield Triple(document, RDF.type, VOID.DatasetDescription)
    yield Triple(document, FOAF.primaryTopic, data)
    for kind in (VOID.Dataset, DCAT.Dataset, SD.Dataset):
        yield Triple(data, RDF.type, kind)
    yield Triple(data, DCTERMS.title, Literal(settings.title, language="en"))
    if settings.licence is not None:
        yield Triple(data, DCTERMS.license, NamedNode(settings.licence))
    if settings.publisher is not None:
        publisher = BlankNode()
        yield Triple(data, DCTERMS.publisher, publisher)
        yield Triple(publisher, RDF.type, FOAF.Agent)
        yield Triple(publisher, FOAF.name, Literal(settings.publisher))
    yield Triple(data, DCTERMS.modified, datetime_(counts.when))
    yield Triple(data, OWL.versionInfo, Literal(f"commit {counts.commit}"))
    yield Triple(data, VOID.triples, integer(sum(graph.triples for graph in counts.graphs)))
    yield Triple(data, VOID.documents, integer(counts.things["documents"]))
    yield Triple(data, VOID.entities, integer(counts.things["entities"]))
    yield Triple(data, VOID.uriSpace, Literal(namespace))
    yield Triple(data, VOID.sparqlEndpoint, NamedNode(f"{site}/sparql"))
    yield Triple(data, VOID.uriLookupEndpoint, NamedNode(f"{site}/resource?iri="))
    yield Triple(data, VOID.dataDump, NamedNode(f"{site}/store"))
    for name in ("tg", "rag", "prov", "rdfs", "skos", "dcterms"):
        yield Triple(data, VOID.vocabulary, NamedNode(PREFIXES[name]))
    yield from _distributions(data, site)
    for graph in counts.graphs:
        yield from _graph(data, graph, site)


def _distributions(data: NamedNode, site: str) -> Iterator[Triple]:
    endpoint, service = NamedNode(f"{site}/sparql"), NamedNode(f"{site}/dataset#service")
    yield Triple(service, RDF.type, DCAT.DataService)
    yield Triple(service, DCAT.endpointURL, endpoint)
    yield Triple(service, DCAT.endpointDescription, endpoint)
    yield Triple(service, DCAT.servesDataset, data)
    for number, form in enumerate(DATASETS[:2]):
        dump = NamedNode(f"{site}/dataset#dump-{number}")
        yield Triple(data, DCAT.distribution, dump)
        yield Triple(dump, RDF.type, DCAT.Distribution)
        yield Triple(dump, DCAT.accessURL, NamedNode(f"{site}/store"))
        yield Triple(dump, DCAT.mediaType, Literal(form.media_type))
    for form in GRAPHS:
        yield Triple(data, VOID.feature, NamedNode(form.iri))


def _graph(data: NamedNode, counts: GraphCounts, site: str) -> Iterator[Triple]:
    node = NamedNode(f"{site}/dataset#graph-{quote(counts.name, safe='')}")
    yield Triple(data, VOID.subset, node)
    yield Triple(node, RDF.type, VOID.Dataset)
    yield Triple(node, RDF.type, SD.Graph)
    if counts.graph is None:
        yield Triple(data, SD.defaultGraph, node)
    else:
        named = NamedNode(f"{node.value}-name")
        yield Triple(data, SD.namedGraph, named)
        yield Triple(named, RDF.type, SD.NamedGraph)
        yield Triple(named, SD.name, counts.graph)
        yield Triple(named, SD.graph, node)
    if counts.about:
        yield Triple(node, DCTERMS.description, Literal(counts.about, language="en"))
    yield Triple(node, RDFS.label, Literal(counts.name))
    yield Triple(node, VOID.triples, integer(counts.triples))
    yield Triple(node, VOID.distinctSubjects, integer(counts.subjects))
    yield Triple(node, VOID.properties, integer(counts.properties))
    yield Triple(node, VOID.classes, integer(counts.classes))
    for class_, things in counts.class_parts:
        part = BlankNode()
        yield Triple(node, VOID.classPartition, part)
        yield Triple(part, VOID["class"], class_)
        yield Triple(part, VOID.entities, integer(things))
    for property_, triples in counts.property_parts:
        part = BlankNode()
        yield Triple(node, VOID.propertyPartition, part)
        yield Triple(part, VOID.property, property_)
        yield Triple(part, VOID.triples, integer(triples))


def _as_json(counts: Counts) -> dict[str, Any]:
    return {
        "commit": counts.commit,
        "counted": counts.when.isoformat(),
        **counts.things,
        "graphs": [
            {
                "graph": graph.name,
                "triples": graph.triples,
                "subjects": graph.subjects,
                "properties": graph.properties,
                "classes": graph.classes,
            }
            for graph in counts.graphs
        ],
    }


def _page(service: Service, counts: Counts) -> str:
    links = links_of(service)
    return render(
        "dataset",
        "/dataset",
        title=service.settings.title,
        licence=service.settings.licence,
        publisher=service.settings.publisher,
        counts=counts,
        graphs=[
            (
                graph,
                [(view_term(iri, links, {}), number) for iri, number in graph.class_parts],
                [(view_term(iri, links, {}), number) for iri, number in graph.property_parts],
            )
            for graph in counts.graphs
        ],
    )
