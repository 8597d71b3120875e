"""A store with the traces of the three pipelines that the seeds describe, answered by a scripted model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from tests.pipeline import test_with_a_model
from tests.steps.conftest import sample_folder, samples
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine
from tests.wings.agents.pipeline import test_agent

__all__ = ["sample_folder", "samples"]


@pytest.fixture(scope="session")
def told(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The sample store after a question to `graph_rag`, `doc_rag` and `agent_react` each."""
    folder = tmp_path_factory.mktemp("seeds") / "store"
    shutil.copytree(sample_folder, folder)
    with ScriptedServer() as server, open_engine(folder, config=test_with_a_model.settings(server)) as engine:
        server.answer_with(test_with_a_model.model(chosen=60))
        for pipeline in ("graph_rag", "doc_rag"):
            list(engine.ask(test_with_a_model.QUESTION, pipeline))
        server.answer_with(test_agent.model)
        list(engine.ask(test_agent.QUESTION, "agent_react"))
        yield engine
