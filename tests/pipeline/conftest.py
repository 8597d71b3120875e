"""The fixtures of the steps, for whole pipelines, and a store with a scripted model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from tests.pipeline.test_with_a_model import settings
from tests.steps.conftest import sample_folder, samples
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

__all__ = ["sample_folder", "samples"]


@pytest.fixture
def engine(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """The sample store with a scripted model; tests that need another have one of their own."""
    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    with open_engine(folder, config=settings(scripted_server)) as opened:
        yield opened
