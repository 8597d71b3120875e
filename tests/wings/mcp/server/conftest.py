"""The fixtures of tests/server."""

from __future__ import annotations

from tests.server.conftest import (
    _guarded,
    _open_endpoint,
    answering,
    client,
    documents_store,
    endpoint,
    guarded,
    server,
    stranger,
    writer,
)

__all__ = [
    "_guarded",
    "_open_endpoint",
    "answering",
    "client",
    "documents_store",
    "endpoint",
    "guarded",
    "server",
    "stranger",
    "writer",
]
