"""The ASGI app: the table of routes, and what stands before them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Message, Receive, Scope, Send

from graphrag_rdf.config import ServerSection
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.server.caching import ZIPPED
from graphrag_rdf.server.http import problems
from graphrag_rdf.server.http.access import Access
from graphrag_rdf.server.http.envelope import Envelope, Metrics
from graphrag_rdf.server.http.guard import Gate, Guard, Rate, known_hosts
from graphrag_rdf.server.http.negotiation import takes_gzip
from graphrag_rdf.server.mcp import protocol as mcp
from graphrag_rdf.server.pages import rendering
from graphrag_rdf.server.routes import (
    ask,
    dataset,
    documents,
    editor,
    entities,
    facts,
    graphstore,
    openapi,
    reference,
    resource,
    sparql,
    status,
    traces,
    uploads,
)
from graphrag_rdf.server.service import COMMIT, MIN_COMMIT, Service

_COMPRESSED_FROM = 1024
_LEVEL = 4
_MCP = ("Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name")
"""Headers of the Model Context Protocol."""


class _Compressed(GZipMiddleware):
    """Starlette's, used only if the client accepts gzip: it costs a small query much of its time."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        asked = scope.get("http_version") != "1.0" and any(  # HTTP/1.0 needs the length of what is sent
            name == b"accept-encoding" and b"gzip" in value and takes_gzip(value.decode("latin-1"))
            for name, value in scope.get("headers", ())
        )
        if not asked:
            await self.app(scope, receive, send)
            return

        async def tagged(message: Message) -> None:
            """Two forms of an answer have two strong tags (RFC 9110 §8.8.3.3)."""
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                tag = headers.get("etag", "W/")
                if "content-encoding" in headers and not tag.startswith("W/"):
                    headers["etag"] = tag[:-1] + ZIPPED
            await send(message)

        await super().__call__(scope, receive, tagged)


def routes() -> list[BaseRoute]:
    """All routes."""
    return [
        Route("/sparql", sparql.sparql_endpoint, methods=sparql.METHODS),
        Route("/sparql/", sparql.sparql_endpoint, methods=sparql.METHODS),
        Route("/query", sparql.query_endpoint, methods=sparql.METHODS),
        Route("/update", sparql.update_endpoint, methods=["POST"]),
        Route("/store", graphstore.graph_store_endpoint, methods=graphstore.METHODS),
        Route("/store/{path:path}", graphstore.graph_store_endpoint, methods=graphstore.METHODS),
        Route("/ask", ask.submit, methods=["POST"]),
        Route("/retrieve", ask.retrieve, methods=["POST"]),
        WebSocketRoute("/ask/ws", ask.ask_socket),
        Route("/traces", traces.trace_list, methods=["GET"]),
        Route("/traces/{id}/feedback", traces.marks, methods=["GET"]),
        Route("/traces/{id}/feedback", traces.mark, methods=["POST"]),
        Route("/traces/{id}/replay", traces.replayed, methods=["POST"]),
        Route("/traces/{id}/ask-without", traces.asked_without, methods=["POST"]),
        Route("/traces/{id:path}", traces.trace, methods=["GET"]),
        Route("/documents", documents.document_list, methods=["GET"]),
        Route("/documents", uploads.upload, methods=["POST"]),
        Route("/documents/{id:path}", documents.document, methods=["GET"]),
        Route("/documents/{id:path}", uploads.forget, methods=["DELETE"]),
        Route("/facts", facts.fact_list, methods=["GET"]),
        Route("/facts", facts.decide, methods=["POST"]),
        Route("/facts", facts.undo, methods=["DELETE"]),
        Route("/facts/decisions", facts.decisions, methods=["GET"]),
        Route("/entities", entities.entity_list, methods=["GET"]),
        Route("/entities/{id:path}", entities.entity, methods=["GET"]),
        Route("/resource", resource.resource, methods=["GET"]),
        Route("/queries", reference.query_list, methods=["GET"]),
        Route("/queries/{name:path}", reference.query, methods=["GET"]),
        Route("/dataset", dataset.dataset, methods=["GET"]),
        Route("/.well-known/void", dataset.dataset, methods=["GET"]),
        Route("/", ask.home, methods=["GET"]),
        Route("/ask", ask.ask_page, methods=["GET"]),
        Route("/sparql-editor", editor.editor, methods=["GET", "POST"]),
        Route("/ontology", reference.ontology, methods=["GET"]),
        Route("/static/{name}", rendering.static_file, methods=["GET"]),
        Route("/mcp", mcp.McpEndpoint(), methods=mcp.METHODS),
        Route("/openapi.json", openapi.openapi, methods=["GET"]),
        Route("/health", status.health, methods=["GET"]),
        Route("/metrics", status.metrics, methods=["GET"]),
        Route("/cache", status.cache, methods=["GET"]),
        Route("/cache", status.empty_cache, methods=["DELETE"]),
        Route("/diagnostics", status.diagnostics, methods=["GET"]),
    ]


def create_app(engine: Engine, settings: ServerSection | None = None) -> Starlette:
    """The app over an open engine.

    Args:
        settings: None takes the engine's own.

    Raises:
        ConfigError: when a token is unfit.
    """
    settings = settings or engine.settings.server
    service = Service(engine, settings)
    access = Access.of_settings(settings)
    gate = Gate(
        hosts=known_hosts(settings.host, settings.allow_hosts),
        origins=frozenset(settings.cors),
        access=access,
        rate=Rate(settings.requests_per_minute),
    )
    metrics = _metrics(service)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = Starlette(
        routes=routes(),
        middleware=_middleware(settings, gate, metrics),
        lifespan=lifespan,
        exception_handlers=dict.fromkeys(
            (problems.Problem, HTTPException, GraphRagError), rendering.on_error
        ),
    )
    app.state.service, app.state.access, app.state.metrics = service, access, metrics
    app.state.gate = gate
    app.router.redirect_slashes = False
    return app


def _middleware(settings: ServerSection, gate: Gate, metrics: Metrics) -> list[Middleware]:
    """From the outermost inwards."""
    cors = Middleware(
        CORSMiddleware,
        allow_origins=settings.cors,
        allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE", "QUERY"],
        allow_headers=["Authorization", "Content-Type", "If-None-Match", MIN_COMMIT, *_MCP],
        expose_headers=[COMMIT, "ETag", "Location", "X-Request-Id"],
    )
    return [
        Middleware(Envelope, metrics=metrics, cross_origin=bool(settings.cors)),
        Middleware(Guard, gate=gate),
        *([cors] if settings.cors else []),
        Middleware(_Compressed, minimum_size=_COMPRESSED_FROM, compresslevel=_LEVEL),
    ]


def _metrics(service: Service) -> Metrics:
    metrics = Metrics()
    store = service.engine.store
    metrics.gauge("commit", "Number of the newest commit.", store.commit_number)
    metrics.gauge("writes_waiting", "Writes in the queue.", lambda: service.writes.waiting)
    metrics.gauge("questions", "Questions under way or waiting.", lambda: service.runs.under_way)
    metrics.gauge("started_seconds", "When the server was started.", lambda: service.started)
    return metrics
