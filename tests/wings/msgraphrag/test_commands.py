"""The commands of the unmodified package `graphrag` over tables that we export; `make test-msgraphrag`."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphrag_rdf.config import Settings
from graphrag_rdf.wings.msgraphrag.export import export_tables
from graphrag_rdf.wings.msgraphrag.import_ import import_tables
from tests.support.ms_model import answer
from tests.support.ms_tables import some_tables, write_parquet
from tests.support.sample_stores import sample_engine
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

pytestmark = pytest.mark.msgraphrag

DIMENSIONS = 64


class Project:
    """A project of Microsoft GraphRAG, whose models are a scripted server."""

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        self.folder = folder
        self._program = Path(os.environ["MSGRAPHRAG_BIN"]).resolve() / "graphrag"
        self._env = {**os.environ, "GRAPHRAG_API_KEY": "secret-key-1234567890"}
        self.run("init", "--root", str(folder), "--model", "gpt-4o", "--embedding", "text-embedding-3-small")
        path = folder / "settings.yaml"
        settings: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        for kind in ("completion_models", "embedding_models"):
            for model in settings[kind].values():
                model["api_base"] = server.base_url
        settings["vector_store"]["vector_size"] = DIMENSIONS
        settings["workflows"] = ["generate_text_embeddings"]
        path.write_text(yaml.safe_dump(settings), encoding="utf-8")

    def run(self, *arguments: str) -> str:
        """The output of a command that succeeds."""
        done = subprocess.run(
            [str(self._program), *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self._env,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(self, method: str, question: str) -> str:
        """The answer of a search."""
        return self.run("query", "--root", str(self.folder), "--method", method, question)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(DIMENSIONS) as scripted:
        scripted.answer_with(answer)
        yield scripted


@pytest.fixture(scope="module", params=["ingested", "imported"])
def project(
    request: pytest.FixtureRequest, server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory
) -> Project:
    """A project with our tables and its embeddings: of the sample documents, and of imported tables."""
    folder = tmp_path_factory.mktemp(request.param)
    made = Project(folder, server)
    if request.param == "ingested":
        with sample_engine() as engine:
            engine.refresh("communities")
            export_tables(engine, folder / "output")
    else:
        tables = write_parquet(folder / "tables", some_tables())
        with open_engine(":memory:", config=Settings()) as engine:
            import_tables(engine, tables)
            export_tables(engine, folder / "output")
    made.run("index", "--root", str(folder))
    return made


@pytest.mark.parametrize(
    ("method", "tables"),
    [
        ("local", ("Entities", "Relationships", "Sources")),
        ("global", ("Reports",)),
        ("basic", ("Sources",)),
        ("drift", ("Drifted",)),
    ],
)
def test_searches_read_our_tables(project: Project, method: str, tables: tuple[str, ...]) -> None:
    answered = project.ask(method, "Who designed the Skell Tidal Station?")
    for name in tables:
        assert re.search(rf"{name}(?: \(\d|\.)", answered), answered
