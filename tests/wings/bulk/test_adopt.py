"""Shards in an engine's own bulk loader, and the store that comes of them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.store.base import plain_quads
from tests.support.commands import Outcome, documents_in, environment, program
from tests.support.endpoints import Classic, Server, Virtuoso, oxigraph, virtuoso

_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
MANY = 6


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small documents, and some longer ones that share names."""
    folder = documents_in(tmp_path_factory.mktemp("bulk"))
    for number in range(MANY):
        lines = [
            f"Person{line} Finlay founded the Guild{number} Society in {1800 + line}." for line in range(40)
        ]
        (folder / f"guild-{number}.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def local(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What the store of a normal ingest holds."""
    store = tmp_path_factory.mktemp("local") / "store"
    require(invoke("ingest", documents, "--store", store))
    return quads(str(store))


@pytest.fixture(scope="module")
def shards(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shards of an ingest."""
    folder = tmp_path_factory.mktemp("shards") / "shards"
    require(invoke("ingest", documents, "--to-shards", folder))
    return folder


@pytest.fixture
def engine() -> Iterator[Server]:
    """`oxigraph serve` on disk, before its start."""
    server = oxigraph(on_disk=True)
    yield server
    server.stop()


def invoke(*arguments: object, cwd: Path | None = None) -> Outcome:
    done = subprocess.run(
        program(*arguments), env=environment(), capture_output=True, text=True, check=False, cwd=cwd
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def require(done: Outcome) -> Outcome:
    assert done.code == 0, done.err
    return done


def load(server: Server, *files: Path) -> None:
    """Load files with the engine's own command, and start it."""
    command = [server.command[0], "load", "--location", str(server.folder / "data"), "--file"]
    subprocess.run([*command, *map(str, files)], check=True, capture_output=True)
    server.start()


def quads(store: str, cwd: Path = Path()) -> set[str]:
    """The quads of a store, without times, random names and its own description."""
    settings = Settings.model_validate({"store": store, "remote": {"folder": str(cwd / "graphrag-remote")}})
    with Engine.open(config=settings, create=False, read_only=True) as opened:
        return {
            _RANDOM.sub("", str(quad))
            for quad in plain_quads(opened.store)
            if "dateTime" not in str(quad) and quad.graph_name != Graphs.SYSTEM
        }


def test_the_loaded_store_is_that_of_a_normal_ingest(
    engine: Server, shards: Path, local: set[str], tmp_path: Path
) -> None:
    load(engine, *shards.glob("*.nq.gz"))
    manifest = shards / "manifest.json"  # stands for its folder
    adopted = require(invoke("adopt", engine.url, manifest, "--format", "json", cwd=tmp_path)).json
    assert adopted["indexes"]["text"]["up_to_date"]
    assert quads(engine.url, tmp_path) == local
    answer = require(invoke("ask", "Who founded the Guild3 Society?", "--store", engine.url, cwd=tmp_path))
    assert "Finlay" in answer.out
    checked = invoke("check", "--store", engine.url, cwd=tmp_path)
    assert checked.code == 0, checked.out + checked.err  # the blobs are there too


@pytest.mark.slow
def test_parts_that_were_ingested_apart_are_one_store(
    engine: Server, documents: Path, local: set[str], tmp_path: Path
) -> None:
    parts = []
    files = sorted(documents.iterdir())
    for index in range(2):
        part = tmp_path / f"part-{index}"
        require(invoke("ingest", *files[index::2], "--to-shards", part))
        parts.append(part)
    load(engine, *(file for part in parts for file in part.glob("*.nq.gz")))
    require(invoke("adopt", engine.url, *parts, cwd=tmp_path))
    whole, one = (
        {quad for quad in every if "nearDuplicateOf" not in quad}  # which is noted within a part
        for every in (quads(engine.url, tmp_path), local)
    )
    assert whole == one


@pytest.mark.slow
def test_an_engine_of_rdf_11_gets_statements(shards: Path, local: set[str], tmp_path: Path) -> None:
    place = oxigraph("--union-default-graph", on_disk=True)
    server = Classic(place.url, place.command, place.folder, dialect="classic")
    classic = tmp_path / "classic"
    require(
        invoke("export", "--store", shards / "store", "--shards", 3, "--dialect", "classic", "-o", classic)
    )
    try:
        load(server, *classic.glob("*.nq.gz"))
        require(invoke("adopt", server.url, classic, cwd=tmp_path))
        assert quads(server.url, tmp_path) == local
    finally:
        server.stop()


@pytest.mark.slow
def test_virtuoso_loads_them(shards: Path, local: set[str], tmp_path: Path) -> None:
    server = virtuoso()
    assert isinstance(server, Virtuoso)
    require(
        invoke(
            "export", "--store", shards / "store", "--shards", 3, "--dialect", "classic", "-o", server.folder
        )
    )
    try:
        server.start()
        statements = "ld_dir('.', '*.nq.gz', 'urn:unused'); rdf_loader_run(); checkpoint;"
        login = ["isql-vt", str(server.sql_port), "dba", "dba"]
        subprocess.run([*login, f"exec={statements}"], check=True, capture_output=True)
        require(invoke("adopt", server.url, server.folder, cwd=tmp_path))
        assert quads(server.url, tmp_path) == local
    finally:
        server.stop()


def test_a_shard_that_was_not_loaded_is_an_error(engine: Server, shards: Path, tmp_path: Path) -> None:
    load(engine, *(file for file in shards.glob("*.nq.gz") if file.name != "shard-0002.nq.gz"))
    adopted = invoke("adopt", engine.url, shards / "manifest.json", cwd=tmp_path)
    assert adopted.code == 1
    assert "lacks quads of its shards: " in adopted.err
    assert "urn:graph:source" in adopted.err


def test_an_empty_engine_is_an_error(engine: Server, shards: Path, tmp_path: Path) -> None:
    engine.start()
    adopted = invoke("adopt", engine.url, shards, cwd=tmp_path)
    assert adopted.code == 2
    assert "load the shards" in adopted.err


def test_what_is_no_manifest_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"shards": [{"name": "../passwd"}]}', encoding="utf-8")
    adopted = invoke("adopt", "http://127.0.0.1:9", tmp_path)
    assert adopted.code == 2
    assert "is not a manifest" in adopted.err
