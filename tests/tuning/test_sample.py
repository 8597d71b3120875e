"""Which passages are looked at, and which excerpts of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.tuning.sample import EXCERPT, Selection, cover, draw, excerpts

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


@pytest.mark.parametrize("selection", get_args(Selection))
def test_the_same_every_time_and_never_twice(engine: Engine, selection: str) -> None:
    def drawn(seed: int):  # type: ignore[no-untyped-def]
        return draw(engine.store, selection, limit=5, held_out=3, seed=seed)  # type: ignore[arg-type]

    found = drawn(0)
    assert drawn(0) == found
    assert found.all == 14
    assert len(found.held_out) == 3
    assert len(found.seen) == 5
    chunks = [passage.chunk for passage in (*found.seen, *found.held_out)]
    assert len(set(chunks)) == len(chunks)
    assert {passage.chunk for passage in drawn(1).held_out} != {p.chunk for p in found.held_out}


def test_no_more_than_a_third_is_held_out(engine: Engine) -> None:
    found = draw(engine.store, "random", limit=100, held_out=100, seed=0)
    assert (len(found.seen), len(found.held_out)) == (10, 4)


def test_what_names_the_most_comes_first(engine: Engine) -> None:
    found = draw(engine.store, "auto", limit=1, held_out=0, seed=0)
    assert "Captain Alder Finch" in found.seen[0].text


def test_excerpts_are_where_names_are_and_never_rows(engine: Engine) -> None:
    passages = draw(engine.store, "all", limit=1, held_out=0, seed=0).seen
    found = {one.chunk: one for one in excerpts(engine.store, passages)}
    for passage in passages:
        excerpt = found.get(passage.chunk)
        if "Lindow Mill" in passage.text:
            assert excerpt is None
            continue
        assert excerpt is not None
        assert excerpt.text in passage.text
        assert len(excerpt.text) <= EXCERPT
        assert excerpt.text.startswith(("Mona Kell", "Captain Alder"))
        assert not excerpt.text.endswith("came of it.")


def test_excerpts_end_with_their_page(tmp_path: Path) -> None:
    """The break of a page may not stand in an example."""
    (tmp_path / "a.txt").write_text(
        "Mona Kell met Ada Moor.\fAda Moor of Tarn sailed with Bram Finch. Cole Venn of Lindow saw it.\f"
        "Dana Orr met the crew\fof Ewan Hale, Skell Town, Port Merrin, Orrin Bridge and Tarnay Sound."
    )
    with Engine.open(config=Settings(store=":memory:")) as opened:
        opened.ingest([tmp_path])
        passages = draw(opened.store, "all", limit=1, held_out=0, seed=0).seen
        assert "\f" in passages[0].text
        (excerpt,) = excerpts(opened.store, passages)
    assert excerpt.text.startswith("Ada Moor of Tarn")
    assert excerpt.text.endswith("saw it.")


@given(st.dictionaries(st.integers(), st.sets(st.integers(0, 12)), max_size=12), st.integers(0, 12))
def test_cover_is_greedy(things: dict[int, set[int]], number: int) -> None:
    chosen = cover(things, number)
    assert len(chosen) == len(set(chosen)) == min(number, len(things))
    covered: set[int] = set()
    for place, key in enumerate(chosen):
        gains = [len(values - covered) for other, values in things.items() if other not in chosen[:place]]
        assert len(things[key] - covered) == max(gains)
        covered |= things[key]
