"""`/openapi.json`: the routes for programs (OpenAPI 3.1), made from one table."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_rdf import __version__
from graphrag_rdf.caches import CACHES
from graphrag_rdf.server.http.negotiation import DATASETS, GRAPHS, RESULTS
from graphrag_rdf.server.http.questions import AskRequest, RetrieveRequest
from graphrag_rdf.server.routes.facts import FactRequest
from graphrag_rdf.server.routes.feedback import FeedbackRequest
from graphrag_rdf.server.routes.replay import ReplayRequest, WithoutRequest

_TEXT: dict[str, Any] = {"type": "string"}
_LIMIT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 1000}
_ANY: dict[str, Any] = {}
_JSON = ("application/json",)
_TOOLS = (*_JSON, "text/event-stream")
_RDF = tuple(f.media_type for f in GRAPHS)
_HTML = ("text/html",)
_FORMS = (*_JSON, *_HTML, *_RDF)
_ANSWERS = tuple(f.media_type for f in (*RESULTS, *GRAPHS))
_QUERY = {"application/sparql-query": _TEXT}
_UPDATE = {"application/sparql-update": _TEXT}
_GRAPH = dict.fromkeys(_RDF, _TEXT)
_FACT_TERMS = ("subject", "predicate", "object")
_UNDO = ("decision", *_FACT_TERMS, "dry_run")
_DATASET = ("default-graph-uri", "named-graph-uri")
_USING = ("using-graph-uri", "using-named-graph-uri")


def _form(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {name: _TEXT}, "required": [name]}
    return {"application/x-www-form-urlencoded": schema}


_FILE = {"type": "string", "format": "binary"}
_FILES = {
    "multipart/form-data": {
        "type": "object",
        "properties": {"files": {"type": "array", "items": _FILE}},
        "required": ["files"],
    }
}


def _json_of(model: type[BaseModel]) -> dict[str, Any]:
    """A body of JSON. Models within a model stand where they are named: references would lead out of here."""
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

_ROUTES: tuple[tuple[str, str, str, tuple[str, ...], dict[str, Any] | None, tuple[str, ...]], ...] = (
    (
        "/sparql",
        "get",
        "Run a query; without one, the service description.",
        ("query", *_DATASET),
        None,
        _ANSWERS,
    ),
    ("/sparql", "post", "Run a query.", _DATASET, _form("query") | _QUERY, _ANSWERS),
    (
        "/query",
        "get",
        "Run a query; without one, the service description.",
        ("query", *_DATASET),
        None,
        _ANSWERS,
    ),
    ("/query", "post", "Run a query.", _DATASET, _form("query") | _QUERY, _ANSWERS),
    ("/update", "post", "Run an update.", _USING, _form("update") | _UPDATE, ()),
    (
        "/store",
        "get",
        "A graph, or all of them.",
        ("graph", "default"),
        None,
        (*_RDF, DATASETS[0].media_type),
    ),
    ("/store", "put", "Replace a graph.", ("graph", "default"), _GRAPH, ()),
    ("/store", "post", "Add to a graph, or make one.", ("graph", "default"), _GRAPH, ()),
    ("/store", "delete", "Drop a graph.", ("graph", "default"), None, ()),
    ("/ask", "post", "Answer a question.", (), _ASK, ("application/json", "text/event-stream")),
    ("/retrieve", "post", "Rank passages and facts for a question.", (), _RETRIEVE, _JSON),
    ("/", "get", "The page to begin with; as JSON, counts.", (), None, (*_JSON, *_HTML)),
    ("/ask", "get", "The page to ask on.", (), None, _HTML),
    ("/sparql-editor", "get", "The page to write queries on.", ("query", "template", "call"), None, _HTML),
    ("/sparql-editor", "post", "Run a query and show, or download, its answer.", (), _form("query"), _HTML),
    ("/ontology", "get", "The page of classes and properties.", (), None, _HTML),
    ("/static/{name}", "get", "Style sheets and the script of the pages.", (), None, ()),
    ("/traces", "get", "The newest traces.", ("limit", "offset", "kind", "outcome", "match"), None, _FORMS),
    ("/traces/{id}", "get", "One trace.", (), None, (*_FORMS, "text/plain")),
    ("/traces/{id}/feedback", "get", "The marks of a trace.", (), None, _JSON),
    (
        "/traces/{id}/feedback",
        "post",
        "Mark an answer, or what it rests on, as helpful or wrong.",
        (),
        _FEEDBACK,
        _JSON,
    ),
    ("/traces/{id}/replay", "post", "Ask the question of a trace again.", (), _REPLAY, _JSON),
    (
        "/traces/{id}/ask-without",
        "post",
        "Ask the question of a trace as if something were not there.",
        (),
        _WITHOUT,
        _JSON,
    ),
    (
        "/documents",
        "get",
        "Documents with sizes, counts and failures, or pairs of duplicates.",
        ("match", "failed", "sort", "reverse", "duplicates", "limit", "offset"),
        None,
        _FORMS,
    ),
    ("/documents", "post", "Ingest documents.", (), _FILES, ("application/json", "text/event-stream")),
    (
        "/documents/{id}",
        "get",
        "One document, its chunks and facts.",
        ("offset", "chunk", "page", "start", "length"),
        None,
        _FORMS,
    ),
    ("/documents/{id}", "delete", "Forget a document.", (), None, _JSON),
    (
        "/facts",
        "get",
        "Facts; sources of one.",
        ("match", "limit", "offset", *_FACT_TERMS),
        None,
        _FORMS,
    ),
    ("/facts/decisions", "get", "Decisions about facts.", ("all",), None, (*_JSON, *_HTML)),
    ("/facts", "post", "Remove a fact, or correct it.", (), _FACT, _JSON),
    ("/facts", "delete", "Take back a decision about a fact.", _UNDO, None, _JSON),
    ("/entities", "get", "Entities.", ("match", "limit", "offset"), None, _FORMS),
    ("/entities/{id}", "get", "One entity.", ("facts", "mentions"), None, _FORMS),
    ("/mcp", "post", "The Model Context Protocol (streamable HTTP).", (), {"application/json": _ANY}, _TOOLS),
    ("/mcp", "delete", "End a session of the Model Context Protocol.", (), None, ()),
    ("/resource", "get", "Whatever is known of an IRI.", ("iri",), None, _FORMS),
    ("/queries", "get", "The templates that the program asks its store.", (), None, _FORMS),
    ("/queries/{name}", "get", "One template.", (), None, _FORMS),
    ("/dataset", "get", "What the store holds (VoID, DCAT).", (), None, _FORMS),
    ("/.well-known/void", "get", "The same.", (), None, _FORMS),
    ("/health", "get", "Whether the server is well.", (), None, _JSON),
    ("/metrics", "get", "Figures for Prometheus.", (), None, ("text/plain",)),
    ("/cache", "get", "How much is in the caches.", (), None, _JSON),
    ("/cache", "delete", "Empty the caches, or those that are named.", ("only",), None, _JSON),
    ("/diagnostics", "get", "What doctor tells; for administrators.", (), None, _JSON),
)
"""(path, method, summary, parameters of the URL, body by media type, media types of the answer)."""

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
    for path, method, summary, parameters, body, answers in _ROUTES:
        operation: dict[str, Any] = {
            "summary": summary,
            "operationId": f"{method}-{_name_of(path)}",
            "parameters": [_parameter(name, "query") for name in parameters],
            "responses": _responses(answers),
        }
        operation["parameters"] += [_parameter(name, "path") for name in _IN_PATH.findall(path)]
        if body is not None:
            content = {media_type: {"schema": schema} for media_type, schema in body.items()}
            operation["requestBody"] = {"required": True, "content": content}
        if (method in _WRITES and path != "/mcp") or (method, path) in _GUARDED:
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


def _responses(answers: tuple[str, ...]) -> dict[str, Any]:
    done = {media_type: {"schema": _ANY} for media_type in answers}
    refused = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    success: dict[str, Any] = {"description": "done", **({"content": done} if done else {})}
    return {"2XX": success, "default": {"description": "refused", "content": refused}}
