"""Snapshots of a store while it is written, and while they are taken and dropped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.layout import StorePaths
from graphrag_rdf.reader_process.process import Snapshot
from graphrag_rdf.resources import folder
from graphrag_rdf.server.execution.snapshots import Snapshots
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    found = EmbeddedStore(TemplateLibrary(folder("queries")), tmp_path / "oxigraph")
    yield found
    found.close()


def write(store: EmbeddedStore, number: int) -> None:
    store.commit(Changes(add=[Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal(number))]))


class Reading:
    snapshot: Snapshot | None = None


def test_one_that_is_read_stays_however_old_it_is(store: EmbeddedStore, tmp_path: Path) -> None:
    snapshots, reader, other = Snapshots(store, StorePaths(tmp_path)), Reading(), Reading()
    read = snapshots.fresh(0, reader)
    write(store, 1)
    left = snapshots.fresh(store.commit_number(), other)
    write(store, 2)
    other.snapshot = None
    snapshots.tidy([reader, other])
    assert read.path.exists()
    assert not left.path.exists()


def test_one_that_is_taken_while_others_are_dropped_is_not_dropped_under_its_reader(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    """The tidying has to ask who reads what after the snapshot was taken, not before."""
    snapshots, readers = Snapshots(store, StorePaths(tmp_path)), [Reading() for _ in range(4)]
    done = threading.Event()

    def tidy() -> None:
        while not done.is_set():
            snapshots.tidy(readers)

    def read(reader: Reading) -> bool:
        found = [snapshots.fresh(store.commit_number(), reader).path.exists() for _ in range(20)]
        return all(found)

    with ThreadPoolExecutor(5) as threads:
        tidying, reading = threads.submit(tidy), [threads.submit(read, reader) for reader in readers]
        for number in range(20):
            write(store, number)
        try:
            assert all(one.result() for one in reading)
        finally:
            done.set()
        tidying.result()
