"""Templates as RDF for other tools: `sh:SPARQLExecutable` (https://www.w3.org/TR/shacl-af/#SPARQLExecutable).

The text is the query for the sample values of the header, so that it runs as it stands; each parameter says
which value that is (`sh:defaultValue`). `schema:target` names the endpoint, as collections of examples do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from graphrag_rdf.rdf.namespaces import PREFIXES, RAG, RDF, RDFS, SCHEMA, XSD, Namespace
from graphrag_rdf.sparql.header import Parameter
from graphrag_rdf.sparql.library import QueryTemplate
from graphrag_rdf.sparql.render import Renderer

SH = Namespace("http://www.w3.org/ns/shacl#")

_KINDS = {
    "select": (SH.SPARQLSelectExecutable, SH.select),
    "ask": (SH.SPARQLAskExecutable, SH.ask),
    "construct": (SH.SPARQLConstructExecutable, SH.construct),
    "update": (SH.SPARQLUpdateExecutable, SH.update),
}
_DATATYPES = {
    "string": XSD.string,
    "int": XSD.integer,
    "double": XSD.double,
    "bool": XSD.boolean,
    "datetime": XSD.dateTime,
}


def query_iri(base: str, name: str) -> NamedNode:
    """The IRI of a template, from a base that ends in `/` or `:`."""
    return NamedNode(base + name)


def executables(
    templates: Iterable[QueryTemplate], renderer: Renderer, base: str, target: NamedNode | None = None
) -> Iterator[Triple]:
    """Templates, each with its parameters, and the prefixes that they share.

    Args:
        base: beginning of the IRIs of templates.
        target: the endpoint that runs them.
    """
    prefixes = NamedNode(f"{base}prefixes")
    nodes = {prefix: BlankNode() for prefix in PREFIXES}
    yield from (Triple(prefixes, SH.declare, node) for node in nodes.values())
    for prefix, namespace in PREFIXES.items():
        declared = nodes[prefix]
        yield Triple(declared, SH.prefix, Literal(prefix))
        yield Triple(declared, SH.namespace, Literal(namespace, datatype=XSD.anyURI))
    for template in templates:
        iri, header = query_iri(base, template.name), template.header
        kind, text = _KINDS[header.kind]
        yield Triple(iri, RDF.type, SH.SPARQLExecutable)
        yield Triple(iri, RDF.type, kind)
        yield Triple(iri, RDF.type, RAG.QueryTemplate)
        yield Triple(iri, RDFS.label, Literal(header.name))
        yield Triple(iri, RDFS.comment, Literal(header.summary, language="en"))
        yield Triple(iri, SH.prefixes, prefixes)
        yield Triple(iri, text, Literal(template.render(renderer, **template.samples())))
        if target is not None and header.kind != "update":
            yield Triple(iri, SCHEMA.target, target)
        for order, (name, parameter) in enumerate(template.params.items()):
            yield from _parameter(iri, order, name, parameter)


def _parameter(iri: NamedNode, order: int, name: str, parameter: Parameter) -> Iterator[Triple]:
    node, kind = BlankNode(), parameter.type.removesuffix("[]")
    many = kind != parameter.type
    yield Triple(iri, SH.parameter, node)
    yield Triple(node, RDF.type, SH.Parameter)
    yield Triple(node, SH.path, NamedNode(f"{iri.value}#{name}"))
    yield Triple(node, SH.name, Literal(name))
    yield Triple(node, SH.order, Literal(order))
    if parameter.about:
        yield Triple(node, SH.description, Literal(parameter.about, language="en"))
    if kind in _DATATYPES:
        yield Triple(node, SH.datatype, _DATATYPES[kind])
    elif kind == "iri":
        yield Triple(node, SH.nodeKind, SH.IRI)
    if not many:
        yield Triple(node, SH.minCount, Literal(0 if parameter.optional else 1))
        yield Triple(node, SH.maxCount, Literal(1))
    sample = parameter.sample if isinstance(parameter.sample, str) else json.dumps(parameter.sample)
    if kind == "iri" and not many:
        yield Triple(node, SH.defaultValue, NamedNode(sample.strip("<>")))
    else:
        datatype = XSD.string if many else _DATATYPES.get(kind, XSD.string)
        yield Triple(node, SH.defaultValue, Literal(sample, datatype=datatype))
