"""Snapshots of a store while it is written, and while they are taken and dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.resources import folder
from graphrag_rdf.server.execution.snapshots import Snapshot, Snapshots
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


def test_one_that_is_read_stays_however_old_it_is(store: EmbeddedStore, tmp_path: Path) -> None:
    async def scenario() -> tuple[Snapshot, Snapshot]:
        snapshots = Snapshots(store, tmp_path / "snapshots")
        read = await snapshots.fresh(0)
        write(store, 1)
        left = await snapshots.fresh(store.commit_number())
        write(store, 2)
        await snapshots.tidy(lambda: {read})
        return read, left

    read, left = asyncio.run(scenario())
    assert read.path.exists()
    assert not left.path.exists()


def test_one_that_nobody_waits_for_any_more_is_dropped(store: EmbeddedStore, tmp_path: Path) -> None:
    """Its query was cancelled while it was taken."""
    folder = tmp_path / "snapshots"

    async def scenario() -> None:
        snapshots = Snapshots(store, folder)
        asking = asyncio.create_task(snapshots.fresh(0))
        await asyncio.sleep(0)  # it is being taken
        await asyncio.sleep(0)
        asking.cancel()
        while not snapshots.made:
            await asyncio.sleep(0.01)
        write(store, 1)
        await snapshots.tidy(set)

    asyncio.run(scenario())
    assert list(folder.iterdir()) == []


def test_one_that_is_taken_while_others_are_dropped_is_not_dropped_under_its_reader(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    """The tidying has to ask who reads what after it, not before it waited for the snapshot being taken."""
    readers: set[Snapshot] = set()

    async def read(snapshots: Snapshots) -> Snapshot:
        found = await snapshots.fresh(0)
        readers.add(found)
        write(store, 1)  # so that it is not kept for being the newest
        return found

    async def scenario() -> Snapshot:
        snapshots = Snapshots(store, tmp_path / "snapshots")
        reading = asyncio.create_task(read(snapshots))
        await asyncio.sleep(0)  # it holds the lock now
        await asyncio.gather(reading, snapshots.tidy(lambda: readers))
        return reading.result()

    assert asyncio.run(scenario()).path.exists()
