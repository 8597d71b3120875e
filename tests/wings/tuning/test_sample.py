"""Which chunks are sampled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.wings.tuning.sample import draw

TABLE = "name,founded\nLindow Mill,1851\nTarn Mill,1860\n"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Twelve notes, each with a name of its own; one that names many; a table."""
    place = tmp_path_factory.mktemp("sample") / "notes"
    place.mkdir()
    for number in range(12):
        (place / f"{number:02}.txt").write_text(
            f"Mona Kell met Ada Moor of Tarn in room {number}. It rained."
        )
    people = " ".join(f"Captain {name} Finch sailed." for name in ("Alder", "Bram", "Cole", "Dana", "Ewan"))
    (place / "many.txt").write_text(f"{'It rained on. ' * 40}{people} {'Nothing came of it. ' * 40}")
    (place / "mills.csv").write_text(TABLE)
    with Engine.open(config=Settings(store=":memory:")) as opened:
        opened.ingest([place])
        yield opened


def test_the_same_every_time_and_never_twice(engine: Engine) -> None:
    sample = draw(engine.store, limit=5, seed=0)
    assert draw(engine.store, limit=5, seed=0) == sample
    assert sample.all == 14
    chunks = [passage.chunk for passage in sample.seen]
    assert len(set(chunks)) == 5
    assert [passage.chunk for passage in draw(engine.store, limit=5, seed=1).seen] != chunks
    assert len(draw(engine.store, limit=100, seed=0).seen) == 14
