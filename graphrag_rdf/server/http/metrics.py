"""Figures for Prometheus. Labels come from the table of routes, never from clients."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

CONTENT_TYPE = CONTENT_TYPE_LATEST
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_AREAS = frozenset(
    {
        "sparql",
        "query",
        "update",
        "store",
        "ask",
        "retrieve",
        "mcp",
        "traces",
        "documents",
        "entities",
        "resource",
        "health",
        "metrics",
        "diagnostics",
        "openapi.json",
    }
)
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
