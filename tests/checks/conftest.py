"""A healthy store, as quads to spoil, with its blobs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyoxigraph import Quad

from graphrag_rdf.engine import Engine
from graphrag_rdf.store.base import plain_quads
from tests.support.sample_stores import sample_engine


@pytest.fixture(scope="session")
def healthy() -> Iterator[Engine]:
    with sample_engine() as engine:
        yield engine


@pytest.fixture(scope="session")
def quads(healthy: Engine) -> tuple[Quad, ...]:
    return tuple(sorted(plain_quads(healthy.store), key=str))
