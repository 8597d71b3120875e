"""A store with the sample documents, made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from tests.support.stores import open_engine

SAMPLES = Path(__file__).resolve().parents[2] / "examples" / "documents"


@pytest.fixture(scope="session")
def sample_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store folder with the sample documents, extracted by rules."""
    folder = tmp_path_factory.mktemp("samples") / "store"
    with open_engine(folder, config=Settings()) as engine:
        engine.ingest([SAMPLES])
    return folder


@pytest.fixture
def samples(sample_folder: Path) -> Iterator[Engine]:
    """The sample store, opened without a model."""
    with open_engine(sample_folder, config=Settings()) as engine:
        yield engine
