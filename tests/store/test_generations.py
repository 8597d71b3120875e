"""Writing the database anew: readers go on, a failure changes nothing, a kill leaves one whole database."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.errors import StoreError
from graphrag_rdf.store import embedded, generations
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.store.test_embedded import data, python, quad
from tests.support.sample_stores import templates

pytestmark = pytest.mark.embedded
SECRET = "planted-words-that-are-erased"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "s" / "oxigraph"


@pytest.fixture
def disk(database: Path) -> Iterator[EmbeddedStore]:
    """A store on disk that held a secret."""
    store = EmbeddedStore(templates(), database)
    fill(store)
    yield store
    store.close()


def fill(store: EmbeddedStore) -> None:
    store.commit(Changes(add=[quad(SECRET), *(quad(f"{n} kept {'x' * 500}") for n in range(300))]))
    store.update("CREATE GRAPH <urn:empty>")
    store.commit(Changes(remove=[quad(SECRET)]))
    store.flush()


def files(database: Path) -> list[str]:
    """What is beside the database, and it itself."""
    return sorted(path.name for path in database.parent.iterdir())


def words(database: Path) -> list[Path]:
    return [p for p in database.parent.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]


def test_readers_go_on_while_the_database_is_written_anew(disk: EmbeddedStore, database: Path) -> None:
    before, end, failed = data(disk), threading.Event(), []

    def read() -> int:
        seen = 0
        while not end.is_set():
            rows = disk.query("SELECT ?o { <urn:s> <urn:p> ?o }").rows or []
            if len(rows) < 300 or sum(1 for _ in disk.quads()) < 300:
                failed.append(len(rows))
            seen += 1
        return seen

    with ThreadPoolExecutor(3) as pool:
        reading = [pool.submit(read) for _ in range(2)]
        writing = pool.submit(lambda: [disk.commit(Changes(add=[quad(f"new {n}")])) for n in range(50)])
        for _ in range(5):
            assert disk.purge() is None
        writing.result()
        end.set()
        assert all(task.result() for task in reading)
    assert failed == []
    assert data(disk) == before | {quad(f"new {n}") for n in range(50)}
    assert disk.has_graph(NamedNode("urn:empty"))
    assert words(database) == []
    disk.close()
    assert files(database) == ["oxigraph", "oxigraph.lock"]


def test_a_reader_that_does_not_end_keeps_its_files_until_it_does(
    disk: EmbeddedStore, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_PATIENCE", 0.05)
    reading = disk.quads()
    next(reading)
    assert "reader" in (disk.purge() or "")
    assert disk.commit(Changes(add=[quad("goes on")]))
    assert words(database)
    assert len(list(reading)) > 300
    assert words(database) == []


@contextmanager
def not_filled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The new database cannot be written. (A real limit of open files would also meet what the engine writes
    of its own accord to the old one, which then takes nothing until it is opened again.)
    """

    def refuse(*_: object) -> None:
        raise OSError("IO error: While open a file for appending: Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("graphrag_rdf.store.generations._fill", refuse)
        yield


@contextmanager
def no_name(database: Path) -> Iterator[None]:
    """The new database cannot be named: the last step fails."""
    obstacle = database.with_name("oxigraph.current")
    obstacle.mkdir()
    yield
    obstacle.rmdir()


@contextmanager
def not_the_same(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The new database holds something else."""
    with monkeypatch.context() as patch:
        patch.setattr("graphrag_rdf.store.generations._tally", lambda engine: (0, 0, set()))
        yield


@pytest.mark.parametrize("fault", ["unfilled", "unnamed", "different"])
def test_a_failure_leaves_the_old_database_in_use(
    disk: EmbeddedStore, database: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = data(disk)
    faults = {
        "unfilled": not_filled(monkeypatch),
        "unnamed": no_name(database),
        "different": not_the_same(monkeypatch),
    }
    with faults[fault]:
        for _ in range(2):
            with pytest.raises(StoreError):
                disk.purge()
            assert data(disk) == before
    assert files(database) == ["oxigraph", "oxigraph.lock"]
    disk.commit(Changes(add=[quad("goes on")]))
    assert disk.purge() is None
    assert data(disk) == before | {quad("goes on")}
    assert words(database) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from graphrag_rdf import layout
from graphrag_rdf.store import generations
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.support.sample_stores import templates

place, owner, name, number = Path(sys.argv[1]), *sys.argv[2:4], int(sys.argv[4])
store = EmbeddedStore(templates(), place)
owners = {"generations": generations, "Generation": generations.Generation, "layout": layout, "Path": Path}
work, calls = getattr(owners[owner], name), 0

def killed(*arguments, **options):
    global calls
    calls += 1
    if calls == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return work(*arguments, **options)

setattr(owners[owner], name, killed)
store.purge()
store.close()
"""


@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("generations._fill", 1),
        ("generations._tally", 1),
        ("layout._sync", 1),
        ("Path.replace", 1),
        ("layout._sync", 2),
        ("Generation.remove", 1),
        ("layout.remove", 1),
        ("layout.remove", 2),
        ("Path.rename", 1),
        ("Path.unlink", 1),
    ],
)
def test_a_kill_before_any_step_leaves_one_whole_database(database: Path, step: str, number: int) -> None:
    store = EmbeddedStore(templates(), database)
    fill(store)
    before = data(store)
    store.close()
    process = python(KILLED, database, *step.split("."), number)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == -signal.SIGKILL
    again = EmbeddedStore(templates(), database)
    assert data(again) == before
    assert again.has_graph(NamedNode("urn:empty"))
    assert files(database) == ["oxigraph", "oxigraph.lock"]
    assert again.purge() is None
    assert words(database) == []
    again.close()


def test_nobody_settles_a_store_that_another_process_holds(disk: EmbeddedStore, database: Path) -> None:
    """A command that finds the store in use touches nothing of it, also while it is written anew."""
    code = """
    import sys
    from pathlib import Path
    from graphrag_rdf.errors import StoreLockedError
    from graphrag_rdf.store.embedded import EmbeddedStore
    from tests.support.sample_stores import templates
    for _ in range(50):
        try:
            EmbeddedStore(templates(), Path(sys.argv[1]))
        except StoreLockedError:
            print("locked", flush=True)
    """
    before, process = data(disk), python(code, database)
    assert process.stdout is not None
    process.stdout.readline()
    for _ in range(5):
        assert disk.purge() is None
        time.sleep(0.01)
    out = process.stdout.read()  # communicate() would miss lines that readline() has buffered
    _, error = process.communicate(timeout=60)
    assert (set(out.split()), error) == ({"locked"}, "")
    assert data(disk) == before


def test_traces_are_written_while_the_database_is_rewritten(
    disk: EmbeddedStore, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, copied = data(disk), threading.Event()
    going_on, fill_copy = threading.Event(), generations._fill

    def slow(*arguments: Any) -> Any:
        found = fill_copy(*arguments)
        copied.set()
        assert going_on.wait(60)
        return found

    monkeypatch.setattr(generations, "_fill", slow)
    with ThreadPoolExecutor(2) as pool:
        purging = pool.submit(disk.purge)
        assert copied.wait(60)
        number = disk.commit_number()
        for each in range(3):
            disk.commit(Changes(add=[quad(f"trace {each}")], content=False, trace=True))
        other = pool.submit(lambda: disk.commit(Changes(add=[quad("waits")])))
        time.sleep(0.05)
        assert not other.done()
        going_on.set()
        assert purging.result() is None
        assert other.result() == number + 4
    assert data(disk) == before | {quad(f"trace {each}") for each in range(3)} | {quad("waits")}
    disk.close()
    with closing(EmbeddedStore(templates(), database)) as again:
        assert again.commit_number() == number + 4
        assert data(again) == before | {quad(f"trace {each}") for each in range(3)} | {quad("waits")}
