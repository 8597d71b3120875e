"""`/queries` and `/queries/{name}`: the query templates of the program."""

from __future__ import annotations

from typing import Any

from pyoxigraph import NamedNode
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.rdf.namespaces import PREFIXES
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import Forms, listed, represent
from graphrag_rdf.server.service import Service, site_of
from graphrag_rdf.sparql.executables import SH, executables
from graphrag_rdf.sparql.library import QueryTemplate

_PREFIXES = {**PREFIXES, "sh": str(SH)}


async def query_list(request: Request) -> Response:
    """All templates; as JSON, their headers; as RDF, `sh:SPARQLExecutable`s."""

    def forms(service: Service) -> Forms:
        found = [template for _, template in sorted(service.engine.store.templates.items())]
        return Forms(
            json=lambda: listed([_described(template) for template in found]),
            rdf=lambda: executables(found, service.engine.store.renderer, *_places(request)),
            html=lambda: render("queries", "/queries", templates=found),
            prefixes=_PREFIXES,
        )

    return await represent(request, forms)


async def query(request: Request) -> Response:
    """One template: summary, parameters, text."""
    name: str = request.path_params["name"]

    def forms(service: Service) -> Forms:
        store = service.engine.store
        if name not in store.templates:
            raise Problem(404, f"there is no query named {name[:200]}")
        template = store.templates[name]
        sample = template.render(store.renderer, **template.samples())
        return Forms(
            json=lambda: {**_described(template), "template": template.body, "sample": sample},
            rdf=lambda: executables([template], store.renderer, *_places(request)),
            html=lambda: render("query", "/queries", template=template, sample=sample),
            prefixes=_PREFIXES,
        )

    return await represent(request, forms)


def _places(request: Request) -> tuple[str, NamedNode]:
    """Base IRI of templates, and the endpoint."""
    site = site_of(request)
    return f"{site}/queries/", NamedNode(f"{site}/sparql")


def _described(template: QueryTemplate) -> dict[str, Any]:
    return template.header.model_dump()
