"""Stores in memory and on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf.store.embedded import EmbeddedStore
from tests.support.sample_stores import templates


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedStore]:
    """The same of both."""
    opened = EmbeddedStore(templates(), tmp_path / "s" / "oxigraph" if request.param == "disk" else None)
    yield opened
    opened.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where a database may be."""
    return tmp_path / "s" / "oxigraph"
