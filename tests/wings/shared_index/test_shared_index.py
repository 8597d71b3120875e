"""Servers in front of one endpoint, which read the indexes that another process made."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.ingest.forget import forget_named
from tests.remote.conftest import _oxigraph, server
from tests.support.commands import Run, documents_in, places
from tests.support.endpoint import Endpoint
from tests.support.endpoints import Server
from tests.wings.history.test_history import folder, run

__all__ = ["_oxigraph", "folder", "run", "server"]

QUESTION = "Who founded the Kite Club?"
KITES = "Wilhelmina Crake founded the Kite Club in 1931."
FOUNDER = "Where did Walter Pennock live?"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return documents_in(tmp_path)


def settings(server: Server, tmp_path: Path, shared: str, name: str = "writer") -> Settings:
    where = {"folder": str(tmp_path / name)}
    return Settings(store=server.url, remote=where, index={"shared": shared})  # type: ignore[arg-type]


def ingest(server: Server, tmp_path: Path, shared: str, *paths: Path) -> None:
    with Engine.open(config=settings(server, tmp_path, shared)) as engine:
        engine.ingest(list(paths))


@pytest.fixture(params=["", "file://"], ids=["folder", "url"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}{tmp_path / 'shared'}"


def ask(engine: Engine, question: str) -> tuple[str, list[str]]:
    """The answer, and types of warnings."""
    answer = list(engine.ask(question))[-1].answer
    assert answer is not None
    return answer["answer"], [warning["type"] for warning in answer["warnings"]]


def reader(server: Server, tmp_path: Path, shared: str) -> Engine:
    return Engine.open(config=settings(server, tmp_path, shared, "reader"), create=False, read_only=True)


def test_readers_have_the_indexes_of_the_writer(
    server: Server, tmp_path: Path, shared: str, documents: Path
) -> None:
    ingest(server, tmp_path, shared, documents)
    with reader(server, tmp_path, shared) as engine:
        assert engine.text_index.commit_number == engine.store.content_commit()
        hits = engine.text_index.search("lighthouse", kind="chunk", k=5)
    with Engine.open(config=settings(server, tmp_path, shared)) as writer:
        assert hits == writer.text_index.search("lighthouse", kind="chunk", k=5)
    assert hits


def test_a_reader_follows_the_writer(server: Server, tmp_path: Path, shared: str, documents: Path) -> None:
    ingest(server, tmp_path, shared, documents)
    kites = documents / "kites.txt"
    kites.write_text(KITES, encoding="utf-8")
    with reader(server, tmp_path, shared) as engine:
        assert "Crake" not in ask(engine, QUESTION)[0]
        ingest(server, tmp_path, shared, kites)
        answer, warnings = ask(engine, QUESTION)
        assert "Crake" in answer
        assert "index_behind" not in warnings
        ingest(server, tmp_path, "", documents / "harbour.md")
        shutil.rmtree(tmp_path / "shared")
        assert "Crake" in ask(engine, QUESTION)[0]


def test_what_is_forgotten_is_in_no_shared_file(
    run: Run, server: Server, tmp_path: Path, shared: str, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (documents / "kites.txt").write_text(KITES, encoding="utf-8")
    ingest(server, tmp_path, shared, documents)
    assert places(tmp_path / "shared", "crake") + places(tmp_path / "shared", "Crake") != []
    monkeypatch.setenv("GRAPHRAG_RDF_INDEX__SHARED", shared)
    monkeypatch.setenv("GRAPHRAG_RDF_REMOTE__FOLDER", str(tmp_path / "writer"))
    assert run("--store", server.url, "forget", "documents/kites.txt").code == 0
    assert places(tmp_path / "shared", "crake") + places(tmp_path / "shared", "Crake") == []


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, of this process and those that it starts."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return path


def test_what_is_forgotten_is_in_no_copy_after_the_next_question(
    run: Run, server: Server, tmp_path: Path, temporary: Path, documents: Path
) -> None:
    shared = f"file://{tmp_path / 'shared'}"
    (documents / "kites.txt").write_text(KITES, encoding="utf-8")
    ingest(server, tmp_path, shared, documents)
    with reader(server, tmp_path, shared) as engine:
        assert "Crake" in ask(engine, QUESTION)[0]
        assert len(list(temporary.iterdir())) == 1
        words = engine.text_index
        with Engine.open(config=settings(server, tmp_path, shared)) as writer:
            forget_named(writer, ["kites.txt"])
        assert "Crake" not in ask(engine, QUESTION)[0]
        assert places(temporary, "crake") + places(temporary, "Crake") == []
        assert len(list(temporary.iterdir())) == 1
        assert words.search("Crake", kind="chunk", k=1)  # a question that began before ends undisturbed
    del engine, words
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_copies_of_killed_readers_are_deleted(
    server: Server, tmp_path: Path, temporary: Path, documents: Path
) -> None:
    shared = f"file://{tmp_path / 'shared'}"
    ingest(server, tmp_path, shared, documents)
    values = {"GRAPHRAG_RDF_INDEX__SHARED": shared, "GRAPHRAG_RDF_REMOTE__FOLDER": str(tmp_path / "other")}
    killed = Endpoint.start(server.url, "--read-only", **values)
    with killed.client() as client:
        client.post("/ask", json={"question": FOUNDER})
    killed.stop(signal.SIGKILL)
    (abandoned,) = temporary.glob("graphrag-rdf-index-*")
    os.utime(abandoned / "lock", (0, 0))
    with reader(server, tmp_path, shared) as first, reader(server, tmp_path, shared) as second:
        assert all(engine.text_index.count("chunk") for engine in (first, second))
        assert not abandoned.exists()
        assert len(list(temporary.glob("graphrag-rdf-index-*"))) == 2


@pytest.mark.parametrize("digest", [None, 1, "../../secret", ""])
def test_a_malformed_listing_is_said_to_be(
    server: Server, tmp_path: Path, shared: str, documents: Path, digest: object
) -> None:
    ingest(server, tmp_path, shared, documents)
    path = tmp_path / "shared" / "listing.json"
    listing = json.loads(path.read_text())
    listing["files"] = {name: [digest, 1] for name in listing["files"]}
    path.write_text(json.dumps(listing))
    with reader(server, tmp_path, shared) as engine:
        assert "index_missing" in ask(engine, FOUNDER)[1]


def test_a_changed_file_is_not_used(server: Server, tmp_path: Path, documents: Path) -> None:
    shared = f"file://{tmp_path / 'shared'}"
    ingest(server, tmp_path, shared, documents)
    largest = max((tmp_path / "shared" / "files").iterdir(), key=lambda path: path.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:-1] + b"?")
    with reader(server, tmp_path, shared) as engine:
        assert "index_missing" in ask(engine, FOUNDER)[1]


@pytest.mark.parametrize("name", ["../../escaped", "/etc/escaped", "text/other", "text/entity-1/../../../x"])
def test_a_listing_names_only_files_of_indexes(
    server: Server, tmp_path: Path, documents: Path, name: str
) -> None:
    shared = str(tmp_path / "shared")
    ingest(server, tmp_path, shared, documents)
    path = tmp_path / "shared" / "listing.json"
    listing = json.loads(path.read_text())
    listing["files"][name] = next(iter(listing["files"].values()))
    path.write_text(json.dumps(listing))
    with reader(server, tmp_path, shared) as engine:
        assert "index_missing" in ask(engine, FOUNDER)[1]


def test_an_index_of_another_store_is_not_used(server: Server, tmp_path: Path, documents: Path) -> None:
    shared = str(tmp_path / "shared")
    ingest(server, tmp_path, shared, documents)
    server.fill([])
    ingest(server, tmp_path, "", documents)
    with reader(server, tmp_path, shared) as engine:
        assert "index_missing" in ask(engine, FOUNDER)[1]


def test_only_stores_behind_endpoints_are_published(run: Run) -> None:
    assert run("index", "publish").code == 2


def test_an_unknown_kind_of_url_is_an_error(server: Server, tmp_path: Path, documents: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        ingest(server, tmp_path, "nowhere://bucket/path", documents)


def test_three_servers_answer_as_one_and_one_is_killed(
    server: Server, tmp_path: Path, documents: Path
) -> None:
    shared = str(tmp_path / "shared")
    ingest(server, tmp_path, shared, documents)
    places_ = {"GRAPHRAG_RDF_INDEX__SHARED": shared, "GRAPHRAG_RDF_REMOTE__FOLDER": str(tmp_path / "other")}
    with ExitStack() as stack:
        servers = [
            stack.enter_context(Endpoint.start(server.url, "--read-only", **places_)) for _ in range(3)
        ]

        def answers(question: str) -> list[str]:
            clients = [stack.enter_context(each.client()) for each in servers]
            bodies = [client.post("/ask", json={"question": question}).json() for client in clients]
            return [body["answer"] for body in bodies]

        assert len(set(answers(FOUNDER))) == 1
        servers.pop(1).stop(signal.SIGKILL)
        (documents / "kites.txt").write_text(KITES, encoding="utf-8")
        ingest(server, tmp_path, shared, documents / "kites.txt")
        assert ["Crake" in answer for answer in answers(QUESTION)] == [True, True]
