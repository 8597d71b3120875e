"""The command line in this process and in processes of its own, on a small store."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphrag_rdf.cli import check
from graphrag_rdf.cli.app import root
from tests.support.commands import Outcome, Run, documents_in, environment, program


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, without settings from outside."""
    for name in list(os.environ):
        if name.startswith("GRAPHRAG_RDF_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in this process. `check` does not fork: earlier commands opened stores here."""
    monkeypatch.setattr(check, "bounded", lambda work, _: work())

    def call(*arguments: object, stdin: str | bytes | None = None) -> Outcome:
        found = CliRunner().invoke(
            root, [str(argument) for argument in arguments], input=stdin, prog_name="graphrag-rdf"
        )
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        return Outcome(found.exit_code, found.stdout, found.stderr)

    return call


@pytest.fixture(scope="session")
def _ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from graphrag_rdf import Engine
    from graphrag_rdf.config import Settings

    place = tmp_path_factory.mktemp("cli")
    documents = documents_in(place)
    with Engine.open(config=Settings(store=str(place / "store"))) as engine:
        engine.ingest([documents])
    return place


@pytest.fixture
def store(_ingested: Path, folder: Path) -> Path:
    """A store with the two documents, this test's own; the documents are in `documents/`."""
    shutil.copytree(_ingested / "store", folder / "graphrag-store")
    shutil.copytree(_ingested / "documents", folder / "documents")
    return folder / "graphrag-store"


@pytest.fixture
def process(folder: Path) -> Run:
    """Run a command line in a process of its own."""

    def call(*arguments: object, stdin: str | None = None, timeout: float = 60, **env: str) -> Outcome:
        found = subprocess.run(
            program(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=folder,
            env=environment(**env),
            check=False,
        )
        return Outcome(found.returncode, found.stdout, found.stderr)

    return call
