"""`/queries` and `/ontology`: the query templates of the program, and the vocabularies of its graphs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from pyoxigraph import NamedNode
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.errors import TemplateError
from graphrag_rdf.exchange.ontologies import ontology_versions
from graphrag_rdf.i18n import language, later, tr
from graphrag_rdf.rdf.namespaces import PREFIXES, Graphs
from graphrag_rdf.rdf.vocabulary_page import TermRow, vocabularies
from graphrag_rdf.schema.observed import file_declarations
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.body import Parameters
from graphrag_rdf.server.http.negotiation import GRAPHS, RESULTS, accepted, negotiate
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import HTML, JSON, Forms, listed, represent
from graphrag_rdf.server.routes.sparql import answer_query
from graphrag_rdf.server.service import Service, service_of, site_of
from graphrag_rdf.sparql.documentation import SH, executables
from graphrag_rdf.sparql.library import QueryTemplate
from graphrag_rdf.sparql.parameters import read_texts
from graphrag_rdf.store.vocabularies import vocabulary_context, vocabulary_triples

_PREFIXES = {**PREFIXES, "sh": str(SH)}


async def query_list(request: Request) -> Response:
    """All templates; as JSON, their headers; as RDF, `sh:SPARQLExecutable`s."""

    def forms(service: Service) -> Forms:
        templates = [template for _, template in sorted(service.engine.store.templates.items())]
        return Forms(
            json=lambda: listed([_described(template) for template in templates]),
            rdf=lambda: executables(templates, service.engine.store.renderer, *_places(request)),
            html=lambda: render("queries", "/queries", templates=templates),
            prefixes=_PREFIXES,
        )

    return await represent(request, forms)


async def query(request: Request) -> Response:
    """One template: summary, parameters, text. With its parameters in the URL, or in a format of results, its
    result, as from `/sparql`.
    """
    name: str = request.path_params["name"]
    url = Parameters.of_query_string(request.scope["query_string"])
    templates = service_of(request).engine.store.templates
    if name in templates and _is_to_run(templates[name], request, url):
        require(request, "read")
        return await answer_query(request, _filled(templates[name], service_of(request), url), url)

    def forms(service: Service) -> Forms:
        store = service.engine.store
        if name not in store.templates:
            raise Problem(404, tr("there is no query named {name}").format(name=name[:200]))
        template = store.templates[name]
        sample = template.render(store.renderer, **template.samples())
        return Forms(
            json=lambda: {**_described(template), "template": template.body, "sample": sample},
            rdf=lambda: executables([template], store.renderer, *_places(request)),
            html=lambda: render("query", "/queries", template=template, sample=sample),
            prefixes=_PREFIXES,
        )

    return await represent(request, forms)


def _is_to_run(template: QueryTemplate, request: Request, url: Parameters) -> bool:
    """Whether the client gives parameters, or takes results and no description of the template."""
    if any(name in url for name in template.params):
        return True
    accept = accepted(request.headers.get("accept"), url.all("format"))
    return negotiate(accept, (JSON, HTML, *GRAPHS)) is None and negotiate(accept, RESULTS) is not None


def _filled(template: QueryTemplate, service: Service, url: Parameters) -> str:
    """The query of a template with the parameters of a URL; lists repeat theirs.

    Raises:
        Problem: 400 for an update, or a missing value.
        UsageError: a value is not of its type.
    """
    if template.header.kind == "update":
        raise Problem(400, tr("{name} is an update, which only the program runs").format(name=template.name))
    values = {
        key: read_texts(key, parameter, url.all(key))
        for key, parameter in template.params.items()
        if key in url
    }
    try:
        return template.render(service.engine.store.renderer, **values)
    except TemplateError as error:
        raise Problem(400, error.message) from None


def _places(request: Request) -> tuple[str, NamedNode]:
    """Base IRI of templates, and the endpoint."""
    site = site_of(request)
    return f"{site}/queries/", NamedNode(f"{site}/sparql")


def _described(template: QueryTemplate) -> dict[str, Any]:
    return template.header.model_dump()


# --- vocabularies --------------------------------------------------------------------------------------

_NAME = re.compile(r"([a-z][a-z-]*:[\w-]+)")
_KINDS = {
    "class": later("Classes"),
    "object": later("Properties of things"),
    "data": later("Properties with texts and numbers"),
    "annotation": later("Annotations"),
}


@dataclass(frozen=True, slots=True)
class Section:
    """The terms of one kind in one vocabulary; each with its signature cut into names and what is between."""

    heading: str
    rows: tuple[tuple[TermRow, tuple[str, ...]], ...]


async def ontology(request: Request) -> Response:
    """The vocabularies of the program: a page for people, one OWL ontology without imports for tools."""

    def forms(service: Service) -> Forms:
        del service
        return Forms(json=_terms, rdf=vocabulary_triples, html=lambda: _page(language()), prefixes=PREFIXES)

    return await represent(request, forms)


async def schema(request: Request) -> Response:
    """`/ontology/schema`: what the facts use, and the ontologies that are loaded."""

    def forms(service: Service) -> Forms:
        store = service.engine.store
        return Forms(
            json=lambda: listed([asdict(each) for each in ontology_versions(store)]),
            rdf=lambda: [*file_declarations(), *(quad.triple for quad in store.quads(Graphs.ONTOLOGY))],
            prefixes=PREFIXES,
        )

    return await represent(request, forms)


async def context(request: Request) -> Response:
    """`/context.jsonld`: the JSON-LD context of the vocabularies."""
    del request
    document = json.dumps(vocabulary_context(), indent=1)
    return Response(document, media_type="application/ld+json", headers={"Cache-Control": "max-age=3600"})


def _terms() -> dict[str, Any]:
    """The terms, for JSON."""
    return listed(
        [
            {"term": row.term, "kind": row.kind, "signature": row.signature, "vocabulary": each.namespace}
            for each in vocabularies()
            for row in each.terms
        ]
    )


@cache
def _page(_: str) -> str:
    """Made once for each language: the files belong to the program."""
    vocabularies_here = vocabularies()
    shown = [
        (
            vocabulary.title.replace("`", ""),
            vocabulary.namespace,
            vocabulary.introduction,
            [_section(tr(heading), kind, vocabulary.terms) for kind, heading in _KINDS.items()],
        )
        for vocabulary in vocabularies_here
    ]
    terms = {row.term for vocabulary in vocabularies_here for row in vocabulary.terms}
    return render("ontology", "/ontology", vocabularies=shown, known=terms)


def _section(heading: str, kind: str, rows: Iterable[TermRow]) -> Section:
    return Section(heading, tuple((r, tuple(_NAME.split(r.signature))) for r in rows if r.kind == kind))
