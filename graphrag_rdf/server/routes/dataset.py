"""`/dataset` and `/.well-known/void`, the store in VoID and DCAT 3; the service description of `/sparql`.

The former names the commit of its numbers (see `statistics`). The latter
(https://www.w3.org/TR/sparql11-service-description/) lists the supported languages and formats, the existing
named graphs, and updates unless the server is read-only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Triple
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from graphrag_rdf.config import ServerSection
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import DCTERMS, OWL, PREFIXES, RDF, RDFS, Graphs, Namespace
from graphrag_rdf.rdf.terms import datetime_, integer
from graphrag_rdf.server.caching import standard
from graphrag_rdf.server.http.negotiation import DATASETS, GRAPHS, RESULTS, negotiate
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import HTML, Forms, represent
from graphrag_rdf.server.routes.resource import SD, view_term
from graphrag_rdf.server.service import Service, address_of, service_of, site_of
from graphrag_rdf.server.statistics import Counts, GraphCounts, Partition

VOID = Namespace("http://rdfs.org/ns/void#")
VOID_EXT = Namespace("http://ldf.fi/void-ext#")
DCAT = Namespace("http://www.w3.org/ns/dcat#")
FOAF = Namespace("http://xmlns.com/foaf/0.1/")
_IANA = "https://www.iana.org/assignments/media-types/"
_LANGUAGE = "http://id.loc.gov/vocabulary/iso639-{}/{}"
"""IRIs of media types and languages that DCAT recommends."""
_PROTOCOL = NamedNode("https://www.w3.org/TR/sparql11-protocol/")
_DOWNLOADS = {"application/trig": "trig", "application/n-quads": "nq"}
"""Media type of a dump → value of the parameter `format`."""
_PREFIXES = {
    **PREFIXES,
    "void": str(VOID),
    "void-ext": str(VOID_EXT),
    "dcat": str(DCAT),
    "sd": str(SD),
    "foaf": str(FOAF),
}


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
    yield Triple(data, DCTERMS.description, Literal(_about(counts), language="en"))
    yield Triple(data, DCTERMS.identifier, Literal(data.value))
    yield Triple(data, DCAT.landingPage, NamedNode(f"{site}/"))
    yield from _licensed(data, settings)
    for language in dict.fromkeys(tag.partition("-")[0].lower() for tag in counts.languages):
        yield Triple(data, DCTERMS.language, NamedNode(_LANGUAGE.format(max(len(language) - 1, 1), language)))
    if settings.publisher is not None:
        publisher = BlankNode()
        yield Triple(data, DCTERMS.publisher, publisher)
        yield Triple(publisher, RDF.type, FOAF.Agent)
        yield Triple(publisher, FOAF.name, Literal(settings.publisher))
    yield Triple(data, DCTERMS.modified, datetime_(counts.when))
    yield Triple(data, OWL.versionInfo, Literal(f"commit {counts.commit}"))
    yield Triple(data, DCAT.version, Literal(f"commit {counts.commit}"))
    yield Triple(data, VOID.triples, integer(sum(graph.triples for graph in counts.graphs)))
    yield Triple(data, VOID.documents, integer(counts.things["documents"]))
    yield Triple(data, VOID.entities, integer(counts.things["entities"]))
    yield Triple(data, VOID.uriSpace, Literal(namespace))
    yield Triple(data, VOID.sparqlEndpoint, NamedNode(f"{site}/sparql"))
    yield Triple(data, VOID.uriLookupEndpoint, NamedNode(f"{site}/resource?iri="))
    yield Triple(data, VOID.dataDump, NamedNode(f"{site}/store"))
    for vocabulary in dict.fromkeys((*_namespaces(counts, namespace), *counts.ontologies)):
        yield Triple(data, VOID.vocabulary, vocabulary)
    yield from _distributions(data, settings, site)
    for graph in counts.graphs:
        yield from _graph(data, graph, site)


def _about(counts: Counts) -> str:
    things = [f"{number:,} {name}" for name, number in counts.things.items() if name != "traces"]
    return f"{', '.join(things)}; where in the documents each fact stands, and how questions were answered."


def _licensed(node: NamedNode, settings: ServerSection) -> Iterator[Triple]:
    if settings.licence is not None:
        yield Triple(node, DCTERMS.license, NamedNode(settings.licence))


def _namespaces(counts: Counts, own: str) -> Iterator[NamedNode]:
    """The namespaces of the properties and classes that are counted, but for the store's own."""
    for graph in counts.graphs:
        for term, _ in (*graph.property_parts, *graph.class_parts):
            end = max(term.value.rfind("#"), term.value.rfind("/"))
            if end > 0 and not term.value.startswith(own):
                yield NamedNode(term.value[: end + 1])


def _distributions(data: NamedNode, settings: ServerSection, site: str) -> Iterator[Triple]:
    """The endpoint, and the dumps. A dump without `format` is in the form that the client accepts."""
    endpoint, service = NamedNode(f"{site}/sparql"), NamedNode(f"{site}/dataset#service")
    yield Triple(service, RDF.type, DCAT.DataService)
    yield Triple(service, DCTERMS.title, Literal(f"SPARQL endpoint: {settings.title}", language="en"))
    yield Triple(service, DCAT.endpointURL, endpoint)
    yield Triple(service, DCAT.endpointDescription, endpoint)
    yield Triple(service, DCAT.servesDataset, data)
    yield Triple(service, DCTERMS.conformsTo, _PROTOCOL)
    yield from _licensed(service, settings)
    for form in (each for each in DATASETS if each.rdf12):
        dump = NamedNode(f"{site}/dataset#dump-{_DOWNLOADS[form.media_type]}")
        yield Triple(data, DCAT.distribution, dump)
        yield Triple(dump, RDF.type, DCAT.Distribution)
        yield Triple(dump, DCTERMS.title, Literal(f"All graphs, {form.media_type}", language="en"))
        yield Triple(dump, DCAT.accessURL, NamedNode(f"{site}/store"))
        yield Triple(dump, DCAT.downloadURL, NamedNode(f"{site}/store?format={_DOWNLOADS[form.media_type]}"))
        yield Triple(dump, DCAT.mediaType, NamedNode(_IANA + form.media_type))
        yield Triple(dump, DCAT.accessService, service)
        yield from _licensed(dump, settings)
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
    yield Triple(node, VOID.properties, integer(counts.properties))
    yield Triple(node, VOID.classes, integer(counts.classes))
    for class_, things in counts.class_parts:
        part = BlankNode()
        yield Triple(node, VOID.classPartition, part)
        yield Triple(part, VOID["class"], class_)
        yield Triple(part, VOID.entities, integer(things))
        yield from _properties(
            part, [partition for partition in counts.partitions if partition.class_ == class_]
        )
    for property_, triples in counts.property_parts:
        part = BlankNode()
        yield Triple(node, VOID.propertyPartition, part)
        yield Triple(part, VOID.property, property_)
        yield Triple(part, VOID.triples, integer(triples))


def _properties(class_part: BlankNode, partitions: Sequence[Partition]) -> Iterator[Triple]:
    """The properties of the things of a class, with the classes and datatypes of their objects."""
    nodes: dict[NamedNode, BlankNode] = {}
    for partition in partitions:
        if partition.property_ not in nodes:
            nodes[partition.property_] = part = BlankNode()
            yield Triple(class_part, VOID.propertyPartition, part)
            yield Triple(part, VOID.property, partition.property_)
        part = nodes[partition.property_]
        if partition.target is None and partition.datatype is None:
            yield Triple(part, VOID.triples, integer(partition.triples))
            continue
        inner = BlankNode()
        if partition.target is not None:
            yield Triple(part, VOID.classPartition, inner)
            yield Triple(inner, VOID["class"], partition.target)
        elif partition.datatype is not None:
            yield Triple(part, VOID_EXT.datatypePartition, inner)
            yield Triple(inner, VOID_EXT.datatype, partition.datatype)
        yield Triple(inner, VOID.triples, integer(partition.triples))


def _as_json(counts: Counts) -> dict[str, Any]:
    return {
        "commit": counts.commit,
        "counted": counts.when.isoformat(),
        **counts.things,
        "languages": list(counts.languages),
        "graphs": [
            {
                "graph": graph.name,
                "triples": graph.triples,
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


# --- the service description ---------------------------------------------------------------------------

_SERVICE_PREFIXES = {"sd": str(SD), "rdf": PREFIXES["rdf"], "rdfs": PREFIXES["rdfs"]}
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
        raise Problem(406, tr("the service description is available as RDF or HTML"))
    if choice.format is HTML:
        return RedirectResponse("/sparql-editor", 303, {"Vary": "Accept"})
    endpoint, dataset = NamedNode(address_of(request)), dataset_iri(site_of(request))
    data = ox.serialize(
        _service(service, endpoint, dataset),
        format=choice.format.engine,  # type: ignore[arg-type]
        prefixes=_SERVICE_PREFIXES,
    )
    headers = {**standard(service.engine.store.commit_number()), "Content-Type": choice.content_type}
    return Response(data, headers=headers)


def dataset_iri(site: str) -> NamedNode:
    """The dataset that a site serves; its address gives its description."""
    return NamedNode(f"{site}/dataset#data")


def _languages(service: Service) -> tuple[NamedNode, ...]:
    """The languages of queries and updates; an endpoint has 1.2 if it supports triple terms."""
    versions = 3 if service.remote is None or service.remote.dialect == "rdf12" else 2
    updates = () if service.read_only else _UPDATE[: versions - 1]
    return (*_QUERY[:versions], *updates)


def _service(service: Service, endpoint: NamedNode, dataset: NamedNode) -> Iterator[Triple]:
    node, default = BlankNode(), BlankNode()
    yield Triple(node, RDF.type, SD.Service)
    yield Triple(node, RDFS.label, Literal("graphrag-rdf", language="en"))
    yield Triple(node, SD.endpoint, endpoint)
    for language in _languages(service):
        yield Triple(node, SD.supportedLanguage, language)
    for form in (*RESULTS, *GRAPHS):
        yield Triple(node, SD.resultFormat, NamedNode(form.iri))
    for form in GRAPHS:
        yield Triple(node, SD.inputFormat, NamedNode(form.iri))
    if service.remote is None:
        yield Triple(node, SD.feature, SD.EmptyGraphs)
        if service.settings.union_default_graph:
            yield Triple(node, SD.feature, SD.UnionDefaultGraph)
        for function in service.store.functions:
            yield Triple(node, SD.extensionFunction, function)
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
