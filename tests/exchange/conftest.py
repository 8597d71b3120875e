"""A store of the sample documents, and empty ones to import into."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from tests.support.sample_stores import sample_engine
from tests.support.stores import open_engine


@pytest.fixture(scope="session")
def sample() -> Iterator[Engine]:
    with sample_engine() as engine:
        yield engine


@pytest.fixture
def empty() -> Iterator[Engine]:
    with open_engine(":memory:", config=Settings()) as engine:
        yield engine
