"""`/openapi.json`: the description of the routes (OpenAPI 3.1), from one table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_rdf import __version__
from graphrag_rdf.caches import CACHES
from graphrag_rdf.server.http.negotiation import DATASETS, GRAPHS, RESULTS
from graphrag_rdf.server.http.questions import AskRequest, RetrieveRequest
from graphrag_rdf.server.routes.facts import FactRequest
from graphrag_rdf.server.routes.traces import FeedbackRequest, ReplayRequest, WithoutRequest

_TEXT: dict[str, Any] = {"type": "string"}
_LIMIT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 1000}
_ANY: dict[str, Any] = {}
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


_EDITED = _form("query")
_QUERY = {**_EDITED, "application/sparql-query": _TEXT}
_UPDATE = {**_form("update"), "application/sparql-update": _TEXT}
_QUERIED = ("/sparql", "/query")
_DATASET = "default-graph-uri named-graph-uri"
_USING = "using-graph-uri using-named-graph-uri"
_LISTED = "match failed sort reverse duplicates limit offset"
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


_ASK = _json_of(AskRequest)
_FEEDBACK = _json_of(FeedbackRequest)
_FACT = _json_of(FactRequest)
_REPLAY = _json_of(ReplayRequest)
_WITHOUT = _json_of(WithoutRequest)
_RETRIEVE = _json_of(RetrieveRequest)


@dataclass(frozen=True, slots=True)
class _Route:
    """A path and method, with the names of its parameters in the URL.

    Attributes:
        takes: media type of the body → its schema.
        gives: media types of the answer.
    """

    path: str
    method: str
    summary: str
    parameters: str = ""
    takes: dict[str, Any] | None = None
    gives: tuple[str, ...] = _JSON


_ROUTES = (
    *(
        _Route(path, "get", "Run a query, or describe the service.", f"query {_DATASET}", gives=_ANSWERS)
        for path in _QUERIED
    ),
    *(_Route(path, "post", "Run a query.", _DATASET, takes=_QUERY, gives=_ANSWERS) for path in _QUERIED),
    _Route("/update", "post", "Run an update.", _USING, takes=_UPDATE, gives=()),
    _Route("/store", "get", "A graph, or all of them.", "graph default", gives=_DUMPS),
    _Route("/store", "put", "Replace a graph.", "graph default", takes=_GRAPH, gives=()),
    _Route("/store", "post", "Add to a graph, or make one.", "graph default", takes=_GRAPH, gives=()),
    _Route("/store", "delete", "Drop a graph.", "graph default", gives=()),
    _Route("/ask", "post", "Answer a question.", takes=_ASK, gives=_STREAM),
    _Route("/retrieve", "post", "Rank passages and facts for a question.", takes=_RETRIEVE),
    _Route("/", "get", "The home page; as JSON, counts.", gives=_PAGES),
    _Route("/ask", "get", "The page to ask on.", gives=_HTML),
    _Route("/sparql-editor", "get", "The page to write queries on.", "query template call", gives=_HTML),
    _Route("/sparql-editor", "post", "Run a query; show or download its answer.", takes=_EDITED, gives=_HTML),
    _Route("/ontology", "get", "The page of classes and properties.", gives=_HTML),
    _Route("/static/{name}", "get", "Style sheets and the script of the pages.", gives=()),
    _Route("/traces", "get", "The newest traces.", "limit offset kind outcome match", gives=_FORMS),
    _Route("/traces/{id}", "get", "One trace.", gives=(*_FORMS, "text/plain")),
    _Route("/traces/{id}/feedback", "get", "The marks of a trace."),
    _Route("/traces/{id}/feedback", "post", "Mark an answer, or its evidence.", takes=_FEEDBACK),
    _Route("/traces/{id}/replay", "post", "Ask the question of a trace again.", takes=_REPLAY),
    _Route("/traces/{id}/ask-without", "post", "Ask it without some facts or documents.", takes=_WITHOUT),
    _Route("/documents", "get", "Documents, or pairs of duplicates.", _LISTED, gives=_FORMS),
    _Route("/documents", "post", "Ingest documents.", takes=_FILES, gives=_STREAM),
    _Route("/documents/{id}", "get", "One document.", "offset chunk page start length", gives=_FORMS),
    _Route("/documents/{id}", "delete", "Forget a document."),
    _Route(
        "/facts", "get", "Facts; sources of one.", "match limit offset subject predicate object", gives=_FORMS
    ),
    _Route("/facts/decisions", "get", "Decisions about facts.", "all", gives=_PAGES),
    _Route("/facts", "post", "Remove a fact, or correct it.", takes=_FACT),
    _Route(
        "/facts", "delete", "Take back a decision about a fact.", "decision subject predicate object dry_run"
    ),
    _Route("/entities", "get", "Entities.", "match limit offset", gives=_FORMS),
    _Route("/entities/{id}", "get", "One entity.", "facts mentions", gives=_FORMS),
    _Route(
        "/mcp",
        "post",
        "The Model Context Protocol (streamable HTTP).",
        takes={"application/json": _ANY},
        gives=_STREAM,
    ),
    _Route("/resource", "get", "What the store knows of an IRI.", "iri", gives=_FORMS),
    _Route("/queries", "get", "The query templates of the program.", gives=_FORMS),
    _Route("/queries/{name}", "get", "One template.", gives=_FORMS),
    _Route("/dataset", "get", "What the store holds (VoID, DCAT).", gives=_FORMS),
    _Route("/.well-known/void", "get", "The same.", gives=_FORMS),
    _Route("/health", "get", "The health of the server."),
    _Route("/metrics", "get", "Figures for Prometheus.", gives=("text/plain",)),
    _Route("/cache", "get", "How much is in the caches."),
    _Route("/cache", "delete", "Empty the caches, or those that are named.", "only"),
    _Route("/diagnostics", "get", "What `doctor` reports; for administrators."),
)

_IN_PATH = re.compile(r"\{(\w+)\}")
_SCHEMAS: dict[str, dict[str, Any]] = {
    "only": {"type": "string", "enum": list(CACHES)},
    "limit": _LIMIT,
    "all": {"type": "boolean"},
    "dry_run": {"type": "boolean"},
    **{key: {"type": "integer", "minimum": 0} for key in ("offset", "page", "facts", "mentions")},
}
_WRITES = {"put", "delete"}
_GUARDED = {
    ("post", "/update"),
    ("post", "/documents"),
    ("post", "/facts"),
    ("post", "/traces/{id}/feedback"),
    ("get", "/diagnostics"),
}


async def openapi(request: Request) -> Response:
    """The description."""
    del request
    return JSONResponse(description(), headers={"Cache-Control": "no-cache"})


def description() -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in _ROUTES:
        operation: dict[str, Any] = {
            "summary": route.summary,
            "operationId": f"{route.method}-{_name_of(route.path)}",
            "parameters": [_parameter(name, "query") for name in route.parameters.split()],
            "responses": _responses(route.gives),
        }
        operation["parameters"] += [_parameter(name, "path") for name in _IN_PATH.findall(route.path)]
        if route.takes is not None:
            content = {media_type: {"schema": schema} for media_type, schema in route.takes.items()}
            operation["requestBody"] = {"required": True, "content": content}
        if route.method in _WRITES or (route.method, route.path) in _GUARDED:
            operation["security"] = [{"token": []}]
        paths.setdefault(route.path, {})[route.method] = operation
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


def _responses(answers: tuple[str, ...]) -> dict[str, Any]:
    done = {media_type: {"schema": _ANY} for media_type in answers}
    refused = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    success: dict[str, Any] = {"description": "done", **({"content": done} if done else {})}
    return {"2XX": success, "default": {"description": "refused", "content": refused}}
