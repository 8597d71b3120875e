"""The table of routes, and `/openapi.json`, their description (OpenAPI 3.1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel
from starlette import routing as starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_rdf import __version__
from graphrag_rdf.caches import CACHES
from graphrag_rdf.lists import declaration
from graphrag_rdf.server.http.negotiation import DATASETS, GRAPHS, RESULTS
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.http.questions import AskRequest, PreviewRequest, RetrieveRequest
from graphrag_rdf.server.pages import rendering
from graphrag_rdf.server.routes import (
    ask,
    conversation,
    dataset,
    documents,
    editor,
    entities,
    facts,
    graph,
    graphstore,
    lists,
    page_images,
    reference,
    resource,
    sparql,
    status,
    traces,
    uploads,
)
from graphrag_rdf.server.routes.facts import FactRequest
from graphrag_rdf.server.routes.traces import FeedbackRequest
from graphrag_rdf.server.routing import ANY, Route
from graphrag_rdf.wing import load, wings

_TEXT: dict[str, Any] = {"type": "string"}
_LIMIT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 1000}
_ANY: dict[str, Any] = {}
_ANY_JSON: dict[str, Any] = {"application/json": _ANY}
_JSON = ("application/json",)
_STREAM = (*_JSON, "text/event-stream")
_RDF = tuple(f.media_type for f in GRAPHS)
_HTML = ("text/html",)
_PAGES = (*_JSON, *_HTML)
_FORMS = (*_PAGES, *_RDF)
_DUMPS = (*_RDF, DATASETS[0].media_type)
_ANSWERS = tuple(f.media_type for f in (*RESULTS, *GRAPHS))
_GRAPH = dict.fromkeys(_RDF, _TEXT)


def _form(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {name: _TEXT}, "required": [name]}
    return {"application/x-www-form-urlencoded": schema}


_ANY = {"application/json": {"type": "object"}}
_QUERY = {**_form("query"), "application/sparql-query": _TEXT}
_UPDATE = {**_form("update"), "application/sparql-update": _TEXT}
_DATASET = "default-graph-uri named-graph-uri union-default-graph format"
_USING = "using-graph-uri using-named-graph-uri"
_SHOWN = "offset chunk page start length trace"
_FILE = {"type": "string", "format": "binary"}
_FILES = {
    "multipart/form-data": {
        "type": "object",
        "properties": {"files": {"type": "array", "items": _FILE}},
        "required": ["files"],
    }
}


def _json_of(model: type[BaseModel]) -> dict[str, Any]:
    """A JSON body, with nested models inline: their references would not resolve here."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def whole(node: Any) -> Any:
        if isinstance(node, list):
            return [whole(each) for each in node]
        if not isinstance(node, dict):
            return node
        name = str(node.get("$ref", "")).removeprefix("#/$defs/")
        beside = {key: whole(value) for key, value in node.items() if key != "$ref"}
        return {**whole(parts[name]), **beside} if name in parts else beside

    return {"application/json": whole(schema)}


async def openapi(request: Request) -> Response:
    """The description."""
    del request
    return JSONResponse(description(), headers={"Cache-Control": "no-cache"})


def _protocol(path: str, endpoint: Any) -> tuple[Route, ...]:
    """The routes of a path that takes queries."""
    return (
        Route(
            path,
            "GET",
            endpoint,
            "Run a query, or describe the service.",
            f"query {_DATASET}",
            gives=_ANSWERS,
        ),
        Route(path, "POST", endpoint, "Run a query.", _DATASET, _QUERY, _ANSWERS),
        Route(path, "QUERY", endpoint),
    )


_STORE = graphstore.graph_store_endpoint
_FACT = "subject predicate object"
_ROUTES = (
    *_protocol("/sparql", sparql.sparql_endpoint),
    Route("/sparql/", "GET POST QUERY", sparql.sparql_endpoint),
    *_protocol("/query", sparql.query_endpoint),
    Route("/update", "POST", sparql.update_endpoint, "Run an update.", _USING, _UPDATE, (), guarded=True),
    Route("/store", "GET", _STORE, "A graph, or all of them.", "graph default format dialect", gives=_DUMPS),
    Route("/store", "PUT", _STORE, "Replace a graph.", "graph default", _GRAPH, (), guarded=True),
    Route("/store", "POST", _STORE, "Add to a graph.", "graph default", _GRAPH, (), guarded=True),
    Route("/store", "DELETE", _STORE, "Drop a graph.", "graph default", gives=(), guarded=True),
    Route("/store/{path:path}", "GET PUT POST DELETE", _STORE),
    Route("/ask", "POST", conversation.submit, "Answer a question.", takes=AskRequest, gives=_STREAM),
    Route("/ask", "GET", conversation.ask_page, "To the page to ask on.", gives=_HTML),
    Route("/retrieve", "POST", ask.retrieve, "Rank chunks and facts for a question.", takes=RetrieveRequest),
    Route("/ranking/preview", "POST", ask.preview, "As POST /retrieve, with previews.", takes=PreviewRequest),
    Route("/", "GET", conversation.home, "The page to ask on; as JSON, counts.", gives=_PAGES),
    Route("/sparql-editor", "GET", editor.editor, "Write queries.", "query template call", gives=_HTML),
    Route("/sparql-editor", "POST", editor.editor, "Run a query.", takes=_form("query"), gives=_HTML),
    Route("/sparql-editor/terms", "GET", editor.terms, "What the editor completes."),
    Route(
        "/graph",
        "GET",
        graph.graph,
        "A part of the graph, to explore.",
        "best entity around document trace community from to",
        gives=_PAGES,
    ),
    Route("/graph/sentences", "GET", graph.sentences, "Sentences that name two entities.", "one other"),
    Route("/ontology", "GET", reference.ontology, "Classes and properties: a page, or OWL.", gives=_FORMS),
    Route(
        "/ontology/schema", "GET", reference.schema, "What facts use, and ontologies.", gives=(*_JSON, *_RDF)
    ),
    Route(
        "/context.jsonld", "GET", reference.context, "The JSON-LD context.", gives=("application/ld+json",)
    ),
    Route("/static/{name}", "GET", rendering.static_file, "Files of the pages.", gives=()),
    Route("/traces/{id}/feedback", "GET", traces.marks, "The marks of a trace."),
    Route("/traces/{id}/feedback", "POST", traces.mark, "Mark one.", "", FeedbackRequest, guarded=True),
    Route("/traces/{id:path}", "GET", traces.trace, "One trace.", gives=(*_FORMS, "text/plain")),
    Route("/samples", "POST", uploads.samples, "Ingest the sample documents.", gives=(), guarded=True),
    Route(
        "/documents", "POST", uploads.upload, "Ingest documents.", "refresh", _FILES, _STREAM, guarded=True
    ),
    Route(
        "/documents/{id:path}/pages/{number:int}.png",
        "GET",
        page_images.page_image,
        "A page of a PDF as a picture.",
        "width",
        gives=("image/png",),
    ),
    Route("/documents/{id:path}", "GET", documents.document, "One document.", _SHOWN, gives=_FORMS),
    Route("/documents/{id:path}", "DELETE", uploads.forget, "Forget a document.", guarded=True),
    Route("/facts", "POST", facts.decide, "Remove or correct a fact.", "", FactRequest, guarded=True),
    Route("/facts", "DELETE", facts.undo, "Undo decisions.", f"decision {_FACT} dry_run", guarded=True),
    Route("/entities/{id:path}", "GET", entities.entity, "One entity.", "facts mentions", gives=_FORMS),
    Route(
        "/entities/{id:path}",
        "POST",
        entities.decide,
        "Merge an entity with another, or split it from others.",
        "",
        entities.SameRequest,
        guarded=True,
    ),
    Route(
        "/resource",
        "GET",
        resource.resource,
        "What the store knows of an IRI.",
        "iri",
        gives=(*_FORMS, "text/plain"),
    ),
    *(
        Route(f"/{kind}/{{id:path}}", "GET", resource.own, "Redirect to its description.", gives=())
        for kind in ("doc", "e", "r", "term", "type")
    ),
    Route("/queries", "GET", reference.query_list, "The query templates of the program.", gives=_FORMS),
    Route(
        "/queries/{name:path}",
        "GET",
        reference.query,
        "One template; with its parameters in the URL, its result.",
        "format dialect",
        gives=(*_FORMS, *(each for each in _ANSWERS if each not in _FORMS)),
    ),
    Route("/dataset", "GET", dataset.dataset, "What the store holds (VoID, DCAT).", gives=_FORMS),
    Route("/.well-known/void", "GET", dataset.dataset, "The same.", gives=_FORMS),
    Route("/openapi.json", "GET", openapi),
    Route("/health", "GET", status.health, "The health of the server."),
    Route("/metrics", "GET", status.metrics, "Figures for Prometheus.", gives=("text/plain",)),
    Route("/cache", "GET", status.cache, "How much is in the caches."),
    Route("/cache/stats", "GET", status.cache, "As GET /cache."),
    Route("/cache/clear", "POST", status.empty_cache, "As DELETE /cache.", "only", guarded=True),
    Route("/cache", "DELETE", status.empty_cache, "Empty the caches.", "only", guarded=True),
    Route("/frozen", "POST", status.frozen),  # for commands beside the server, see store/frozen.py
    Route("/diagnostics", "GET", status.diagnostics, "What `doctor` reports.", guarded=True),
)


_ENDPOINTS = {"documents": documents.document_list, "facts": facts.fact_list}
"""Lists whose addresses have more than the list."""
_MORE = {"facts": _FACT}


def _all_routes() -> tuple[Route, ...]:
    """The table, the pages of lists, and the routes of wings."""
    pages = [each for each in declaration.lists().values() if each.path]
    return (
        *_ROUTES,
        *(_route_of(each) for each in pages),
        *(each for each in _of_wings() if isinstance(each, Route)),
    )


def _of_wings() -> list[Route | starlette.BaseRoute]:
    return [each for wing in wings() for place in wing.routes for each in load(place)]


def _route_of(listing: declaration.List) -> Route:
    names = [each.name for each in listing.filters]
    parameters = " ".join([*names, "limit", "offset", _MORE.get(listing.name, "")])
    endpoint = _ENDPOINTS.get(listing.name) or lists.endpoint(listing)
    return Route(listing.path, "GET", endpoint, f"{listing.title}.", parameters, gives=_FORMS)


def routes() -> list[starlette.BaseRoute]:
    """The routes of the app; paths that take any end come last, so that wings can go on from theirs."""
    ordered = sorted(_all_routes(), key=lambda each: each.path.endswith(":path}"))
    http_routes = [
        starlette.Route(each.path, each.endpoint, methods=each.methods.split()) for each in ordered
    ]
    sockets: list[starlette.BaseRoute] = [
        starlette.WebSocketRoute("/ask/ws", ask.ask_socket),
    ]
    sockets += [each for each in _of_wings() if not isinstance(each, Route)]
    return [*sockets, *http_routes]


def error_forms() -> dict[str, Callable[[Problem], Response]]:
    """Path → how its clients get errors, where not as problem documents."""
    return {each.path: each.error_form for each in _all_routes() if each.error_form is not None}


_IN_PATH = re.compile(r"\{(\w+)\}")
_SCHEMAS: dict[str, dict[str, Any]] = {
    "only": {"type": "string", "enum": list(CACHES)},
    "limit": _LIMIT,
    "all": {"type": "boolean"},
    "dry_run": {"type": "boolean"},
    **{
        key: {"type": "integer", "minimum": 0}
        for key in ("offset", "page", "facts", "mentions", "best", "around")
    },
    **{key: {"type": "integer", "minimum": 1} for key in ("number", "width")},
}


def description() -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in _all_routes():
        if not route.summary:
            continue
        path, method = re.sub(r":\w+\}", "}", route.path), route.methods.lower()
        operation: dict[str, Any] = {
            "summary": route.summary,
            "operationId": f"{method}-{_name_of(path)}",
            "parameters": [_parameter(name, "query") for name in route.parameters.split()],
            "responses": _responses(route),
        }
        operation["parameters"] += [_parameter(name, "path") for name in _IN_PATH.findall(path)]
        if route.takes is not None:
            taken = route.takes if isinstance(route.takes, dict) else _json_of(route.takes)
            content = {media_type: {"schema": schema} for media_type, schema in taken.items()}
            operation["requestBody"] = {"required": True, "content": content}
        if route.guarded:
            operation["security"] = [{"token": []}]
        paths.setdefault(path, {})[method] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "graphrag-rdf", "version": __version__},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": _PROBLEM},
        },
    }


def _name_of(path: str) -> str:
    return _IN_PATH.sub("one", path.strip("/")).replace("/", "-") or "home"


_PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "RFC 9457",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "hint": _TEXT,
    },
}


def _parameter(name: str, place: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": _SCHEMAS.get(name, _TEXT)}


def _responses(route: Route) -> dict[str, Any]:
    done = {media_type: {"schema": _ANY} for media_type in route.gives}
    problem: dict[str, Any] = {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
    }
    refused = problem if route.error_form is None else ANY
    success: dict[str, Any] = {"description": "done", **({"content": done} if done else {})}
    return {"2XX": success, "default": {"description": "refused", "content": refused}}
