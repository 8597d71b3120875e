"""Servers to speak to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.endpoints import Server, oxigraph


@pytest.fixture(scope="session")
def _oxigraph() -> Iterator[Server]:
    server = oxigraph()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def server(_oxigraph: Server) -> Server:
    """`oxigraph serve`, empty."""
    _oxigraph.fill([])
    return _oxigraph
