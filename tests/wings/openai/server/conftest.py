"""The fixtures of tests/server."""

from __future__ import annotations

from tests.server.conftest import documents_store, server

__all__ = ["documents_store", "server"]
