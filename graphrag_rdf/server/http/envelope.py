"""Middleware around every request: id, security headers, log, aborted answers, and figures for Prometheus."""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from itertools import count

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.problems import TransferAborted, fault

log = logging.getLogger("graphrag_rdf.server.access")

request_id: ContextVar[str] = ContextVar("request_id", default="-")
"""The id of the current request, for the log."""

_SECURITY: list[tuple[bytes, bytes]] = [
    (
        b"content-security-policy",
        b"default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_LISTS = frozenset((b"accept", b"accept-encoding", b"accept-language", b"if-match", b"if-none-match"))
_LONGEST_PATH = 300
"""Characters of a path in the log."""
_OPEN_POLICY = (b"cross-origin-resource-policy", b"cross-origin")


_RUN, _COUNT = uuid.uuid4().hex[:8].encode(), count(1)
_SENT_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")


def _identifier_of(sent: bytes) -> bytes:
    """The client's id if it is valid, else a new one."""
    return sent if _SENT_ID.match(sent) else b"%b-%x" % (_RUN, next(_COUNT))


def _joined(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers with those that are lists on one line each (RFC 9110 §5.3)."""
    names = [name for name, _ in headers if name in _LISTS]
    if len(names) == len(set(names)):
        return headers
    lists = [(name, b", ".join(value for header, value in headers if header == name)) for name in set(names)]
    return [*(header for header in headers if header[0] not in _LISTS), *lists]


def _log_request(identifier: bytes, scope: Scope, status: int, size: int, seconds: float, how: str) -> None:
    """One line for each request, in fields of `name=value` (logfmt).

    The path is as it came, percent-encoded and so one word. Query strings may hold secrets and are left out.
    """
    if log.isEnabledFor(logging.INFO):
        path = scope["raw_path"].decode("ascii", "backslashreplace")
        log.info(
            "request=%s client=%s method=%s path=%s status=%d bytes=%d ms=%.1f%s",
            identifier.decode(),
            scope["client"][0] if scope.get("client") else "-",
            scope.get("method", "WEBSOCKET"),
            path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}...",
            status,
            size,
            seconds * 1000,
            f" cut_off={json.dumps(how)}" if how else "",
        )


class Envelope:
    """ASGI middleware, the outermost.

    Args:
        cross_origin: pages of other origins may read answers (CORS is on).
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, cross_origin: bool = False) -> None:
        self._app = app
        self._metrics = metrics
        self._headers = [*_SECURITY[:-1], _OPEN_POLICY] if cross_origin else _SECURITY

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        scope["headers"] = _joined(scope["headers"])
        sent = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        identifier = _identifier_of(sent)
        request_id.set(identifier.decode())
        extra = [*self._headers, (b"x-request-id", identifier)]
        start, status, size = time.perf_counter(), 0, 0

        async def enveloped(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *extra]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        outcome = ""
        try:
            await self._app(scope, receive, enveloped)
        except Exception as error:
            if _is_abort(error):
                outcome = str(error)
                raise
            log.exception("request=%s failed", identifier.decode())
            if status or scope["type"] != "http":
                raise TransferAborted(tr("the server failed")) from None
            await fault(identifier.decode()).response_to(scope)(scope, receive, enveloped)
        finally:
            seconds = time.perf_counter() - start
            self._metrics.observe(scope["path"], scope.get("method", "WEBSOCKET"), status, seconds)
            _log_request(identifier, scope, status, size, seconds, outcome)


class NoAborts(logging.Filter):
    """Keeps uvicorn from logging an answer that was cut off on purpose as an error."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log."""
        error = record.exc_info[1] if record.exc_info else None
        return not _is_abort(error)


def _is_abort(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_abort, error.exceptions))
    return isinstance(error, TransferAborted)


# --- figures -------------------------------------------------------------------------------------------

CONTENT_TYPE = CONTENT_TYPE_LATEST
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_AREAS = {"sparql", "query", "update", "store", "ask", "retrieve", "mcp", "traces", "documents", "entities"}
_AREAS |= {"resource", "health", "metrics", "diagnostics", "openapi.json"}
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "QUERY", "OPTIONS", "WEBSOCKET"})


class Metrics:
    """The counters, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "graphrag_rdf_requests_total",
            "Requests answered.",
            ("area", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "graphrag_rdf_request_seconds",
            "Seconds from a request to the end of its answer.",
            ("area",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._children = cache(self._labelled)  # looking them up takes longer than counting

    def gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Add a figure that is computed on request."""
        Gauge(f"graphrag_rdf_{name}", about, registry=self.registry).set_function(value)

    def observe(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        area = path.lstrip("/").partition("/")[0]  # `OPTIONS *` has none
        area = area if area in _AREAS else "other"
        method = method if method in _METHODS else "other"
        count, time = self._children(area, method, f"{status // 100}xx" if status else "none")
        count.inc()
        time.observe(seconds)

    def _labelled(self, area: str, method: str, status: str) -> tuple[Counter, Histogram]:
        return self._requests.labels(area, method, status), self._seconds.labels(area)

    def text(self) -> bytes:
        """All figures in Prometheus' text format."""
        return generate_latest(self.registry)
