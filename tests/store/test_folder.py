"""The folder of a store: who holds it, what version it has, what may be opened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyoxigraph import Literal, Quad

from graphrag_rdf.errors import StoreError, StoreLockedError, UsageError
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, STORE_NODE, Graphs
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.folder import Served, StoreFolder, collections
from graphrag_rdf.store.migrations import MIGRATIONS, migrate, store_version
from tests.support.sample_stores import templates

HOLDER = """
import sys
from pathlib import Path
from graphrag_rdf.store.folder import StoreFolder
from tests.support.sample_stores import templates
place = Path(sys.argv[2])
sys.argv[:] = ["/usr/bin/graphrag-rdf", "-v", "serve", "--token-file", "my tokens"]
kept = StoreFolder(place).open(templates(), create=True)
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(root: Path) -> Iterator[int]:
    """A store that another process holds, with that process's id."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, "x", str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    try:
        yield process.pid
    finally:
        process.communicate()


@pytest.mark.embedded
def test_a_lock_names_its_holder(tmp_path: Path) -> None:
    with held(tmp_path / "s") as pid:
        with pytest.raises(
            StoreLockedError, match=f"process {pid} .graphrag-rdf -v serve --token-file 'my tokens', since"
        ) as caught:
            StoreFolder(tmp_path / "s").open(templates(), create=True)
        assert str(tmp_path / "s") in caught.value.message
        assert caught.value.hint == "wait until it ends, or stop it"
        note = StoreFolder(tmp_path / "s").holder
        note.write_text(json.dumps({**json.loads(note.read_text()), "url": "http://127.0.0.1:7878"}))
        with pytest.raises(StoreLockedError) as caught:
            StoreFolder(tmp_path / "s").open(templates(), create=True)
        assert "http://127.0.0.1:7878" in (caught.value.hint or "")
        note.write_text("not json")
        with pytest.raises(StoreLockedError, match="another process"):
            StoreFolder(tmp_path / "s").open(templates(), create=True)
    store, _ = StoreFolder(tmp_path / "s").open(templates(), create=False)
    store.close()


def test_a_holder_is_noted_and_taken_away(tmp_path: Path) -> None:
    place = StoreFolder(tmp_path / "s")
    store, _ = place.open(templates(), create=True)
    assert json.loads(place.holder.read_text())["pid"] == os.getpid()
    store.close()
    place.release()
    place.release()
    assert not place.holder.exists()


def test_a_missing_store_is_not_made_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store") as caught:
        StoreFolder(tmp_path / "s").open(templates(), create=False)
    assert "ingest" in (caught.value.hint or "")
    assert not (tmp_path / "s").exists()


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("x")
    with pytest.raises(StoreError, match="is a file"):
        StoreFolder(tmp_path / "s").open(templates(), create=True)


@pytest.mark.parametrize("name", ["", "..", "a/b", "a b", "-a", "a" * 65, "ä", "a\n"])
def test_a_collection_is_named_like_a_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="invalid name of a collection"):
        StoreFolder.of_collection(tmp_path, name)


def test_collections_are_stores_of_their_own(tmp_path: Path) -> None:
    for name in ("default", "b", "a"):
        store, _ = StoreFolder.of_collection(tmp_path, name).open(templates(), create=True)
        store.commit(Changes(add=[Quad(STORE_NODE, RDF.type, Literal(name), Graphs.SYSTEM)]))
        store.close()
    assert collections(tmp_path) == ["default", "a", "b"]


# --- versions ------------------------------------------------------------------------------------


def test_migrations_are_applied_once_and_recorded() -> None:
    store = EmbeddedStore(templates())
    assert store_version(store) == 0
    assert migrate(store) == len(MIGRATIONS) == store_version(store)
    before = set(store.quads())
    migrate(store)
    assert set(store.quads()) == before
    recorded = [q.subject for q in before if q.predicate == RDF.type and q.object == RAG.Migration]
    assert len(recorded) == len(MIGRATIONS)
    assert all(any(q.subject == s and q.predicate == PROV.endedAtTime for q in before) for s in recorded)
    assert sum(q.predicate == RAG.storeVersion for q in before) == 1


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_of_a_newer_program_is_refused(tmp_path: Path, read_only: bool) -> None:
    place = StoreFolder(tmp_path / "s")
    store, _ = place.open(templates(), create=True)
    store.commit(Changes(add=[Quad(STORE_NODE, RAG.storeVersion, Literal(99), Graphs.SYSTEM)]))
    store.close()
    place.release()
    for _ in range(2):  # and is let go of
        with pytest.raises(StoreError, match="version 99") as caught:
            place.open(templates(), create=False, read_only=read_only)
        assert "upgrade" in (caught.value.hint or "")


def test_a_read_only_store_writes_nothing(tmp_path: Path) -> None:
    place = StoreFolder(tmp_path / "s")
    store, _ = place.open(templates(), create=True)
    store.commit(Changes(add=[Quad(STORE_NODE, RAG.commit, Literal(1), Graphs.SYSTEM)]))
    store.close()
    place.release()
    before = {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in place.root.rglob("*")}
    reading, _ = place.open(templates(), create=False, read_only=True)
    assert reading.select("system/store-version")
    reading.close()
    assert {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in place.root.rglob("*")} == before


def test_the_token_of_a_server_is_read_only_by_its_user(tmp_path: Path) -> None:
    place = StoreFolder(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("of the reader")
    place.token.symlink_to(secret)
    assert place.own_token is None
    place.note_server(Served("http://127.0.0.1:7878", None), "token-of-the-server")
    assert secret.read_text() == "of the reader"
    assert place.own_token == "token-of-the-server"
    assert place.token.stat().st_mode & 0o777 == 0o600
    if os.geteuid() == 0:
        os.chown(place.token, 65534, 65534)
        assert place.own_token is None


def test_a_server_runs_without_its_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = StoreFolder(tmp_path)
    place.token.mkdir()
    place.note_server(Served("http://127.0.0.1:7878", None), "token-of-the-server")
    assert f"cannot write {place.token}" in caplog.text
    assert place.own_token is None
    assert place.served is not None
