"""Templates for others: the pages about queries, and templates as RDF.

The templates in `queries/` are the source of `docs/reference/queries.md` and of the queries in
`docs/cookbook.md`; `docs/generate.py` writes them. In a page that is filled, what stands between `<!--
query: NAME -->` and `<!-- end -->` is the query, rendered with the sample values of its header for a store
with RDF 1.2, and the command that runs it.

As RDF a template is a `sh:SPARQLExecutable` (https://www.w3.org/TR/shacl-af/#SPARQLExecutable). Its text is
the query for the sample values, so that it runs as it stands; each parameter says which value that is
(`sh:defaultValue`). `schema:target` names the endpoint, as collections of examples do.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from graphrag_rdf.rdf.namespaces import PREFIXES, RAG, RDF, RDFS, SCHEMA, XSD, Namespace
from graphrag_rdf.sparql.library import QueryTemplate, TemplateLibrary
from graphrag_rdf.sparql.parameters import Parameter
from graphrag_rdf.sparql.render import Renderer

_INTRODUCTION = """\
# Query templates

Every query that the program asks the store is a file in `queries/`, and so are the recipes of the
[cookbook](../cookbook.md). This page is made from their headers by `python docs/generate.py`; change those,
not this. `graphrag-rdf queries show NAME` prints a template, and `graphrag-rdf queries run NAME
-p parameter=value` runs one that reads. Your own folder, named by the setting `queries`, overrides files of
the same name.

A parameter `iri` is given bare, a `term` as in N-Triples (`"text"`, `<http://…>`, `"1"^^<…>`); `[]` marks a
list: repeat `-p`. A row like `(iri, iri, term)` is given with spaces between its parts. *Gives* names the
variables of the answer.
"""

_PURPOSES: Mapping[str, str] = {
    "audit": "What `trace verify` and `ask-without` read; the wing `audit`.",
    "checks": "Checks of `check`: each row of a result is a violation.",
    "cookbook": "Recipes for people: explained, with results, in the [cookbook](../cookbook.md).",
    "entities": "Entities, for the command `entities`.",
    "exchange": "Export and import.",
    "forget": "Erasing of forgotten documents.",
    "gateway": "Triples, traces and texts as TrustGraph's clients read them.",
    "index": "Sources of the search indexes.",
    "ingest": "Questions of an ingest before it writes, and its removals.",
    "labels": "Election of a label among the names of a thing.",
    "migrations": "Changes of a store from one version of the program to the next.",
    "provenance": "From facts and sentences to documents.",
    "retrieval": "The graph around a question, and the ranking of chunks.",
    "schema": "What the graph of facts has: classes, relations and terms, for queries that a model writes.",
    "selection": "Selection of the evidence for an answer.",
    "system": "The store as a whole.",
    "trace": "Traces: listing and reading them.",
}
"""Folder of `queries/` → what its templates are for."""

_REGION = re.compile(r"(<!-- query: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page(library: TemplateLibrary) -> str:
    """The reference page, in Markdown."""
    parts = [_INTRODUCTION]
    templates = sorted(library.values(), key=lambda template: template.name)
    for purpose, group in groupby(templates, key=lambda template: template.name.partition("/")[0]):
        about = _PURPOSES.get(purpose, "")
        parts.append("\n".join([f"## {purpose}", *(["", about] if about else []), ""]))
        parts += ["\n".join([*_entry(template), ""]) for template in group]
    return "\n".join(parts)


def _entry(template: QueryTemplate) -> Iterator[str]:
    header = template.header
    yield f"### `{header.name}`"
    yield ""
    yield f"{header.summary} *({header.kind})*"
    if not (header.params or header.returns):
        return
    yield ""
    for name, parameter in header.params.items():
        about = f": {parameter.about}" if parameter.about else ""
        yield f"- `{name}` *{parameter.type}*{about}"
    if header.returns:
        yield f"- gives {', '.join(f'`{name}`' for name in header.returns)}"


def fill(text: str, library: TemplateLibrary) -> str:
    """A page with the queries that it shows brought up to date.

    Args:
        text: Markdown with marked regions.

    Raises:
        TemplateError: when a region names a query that does not exist.
    """
    renderer = Renderer()

    def region(match: re.Match[str]) -> str:
        template = library[match[2]]
        query = template.render(renderer, **template.samples())
        return f"{match[1]}```sparql\n{query}\n```\n\n```sh\n{command(template)}\n```\n{match[3]}"

    return _REGION.sub(region, text)


def command(template: QueryTemplate) -> str:
    """The command that runs a template with the sample values of its header."""
    parameters = (
        f"-p {shlex.quote(f'{name}={value}')}"
        for name, p in template.params.items()
        if not p.optional
        for value in (p.sample if isinstance(p.sample, list) else [p.sample])
    )
    return " ".join(["graphrag-rdf queries run", template.name, *parameters])


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
