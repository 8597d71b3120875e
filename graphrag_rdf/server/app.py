"""The ASGI app, and the middleware before its routes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import lru_cache

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphrag_rdf import i18n
from graphrag_rdf.config import ServerSection
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.ingest.gate import BrokenShapesError
from graphrag_rdf.server.caching import ZIPPED
from graphrag_rdf.server.http import problems
from graphrag_rdf.server.http.access import Access
from graphrag_rdf.server.http.envelope import Envelope, Metrics
from graphrag_rdf.server.http.guard import Gate, Guard, Rate, known_hosts
from graphrag_rdf.server.http.negotiation import parse_accept_language, takes_gzip
from graphrag_rdf.server.pages.rendering import on_error
from graphrag_rdf.server.routes.openapi import error_forms, routes
from graphrag_rdf.server.service import COMMIT, MIN_COMMIT, Service
from graphrag_rdf.server.validation import on_broken_shapes

_COMPRESSED_FROM = 1024
_LEVEL = 4
_MCP = ("Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name")
"""Headers of the Model Context Protocol."""


class _Localised:
    """Gives a request the messages of a language that it accepts, and pages and problems Content-Language."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if (language := _language(_header(scope["headers"], b"accept-language"))) is not None:
            i18n.set_language(language)

        async def told(message: Message) -> None:
            starts = message["type"] == "http.response.start"
            if starts and _header(message["headers"], b"content-type").startswith(_IN_WORDS):
                headers = MutableHeaders(raw=message["headers"])
                headers["Content-Language"] = i18n.language()
                headers.add_vary_header("Accept-Language")
            await send(message)

        await self._app(scope, receive, told)


_IN_WORDS = (b"text/html", problems.MEDIA_TYPE.encode())
"""Media types of answers that are written for people."""


def _header(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> bytes:
    return next((value for name, value in headers if name == wanted), b"")


@lru_cache(maxsize=512)
def _language(accepted: bytes) -> str | None:
    """The language of messages for an Accept-Language header."""
    return i18n.best(parse_accept_language(accepted.decode("latin-1")))


class _Compressed(GZipMiddleware):
    """Starlette's, used only if the client accepts gzip: it costs a small query much of its time."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        asked = scope.get("http_version") != "1.0" and any(  # HTTP/1.0 needs the length of what is sent
            name == b"accept-encoding" and b"gzip" in value and takes_gzip(value.decode("latin-1"))
            for name, value in scope.get("headers", ())
        )
        if not asked or scope["path"].endswith(".png"):  # a picture is compressed already
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
        exception_handlers={
            **dict.fromkeys((problems.Problem, HTTPException, GraphRagError), on_error),
            BrokenShapesError: on_broken_shapes,
        },
    )
    app.state.service, app.state.access, app.state.metrics = service, access, metrics
    app.state.gate, app.state.error_forms = gate, error_forms()
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
        Middleware(_Localised),
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
