"""Adding, editing and removing documents leaves what a build from scratch on the last documents gives: facts,
claims, merged descriptions, communities and reports. An edit of a chunk asks a model about it only."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyoxigraph import Quad

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks
from graphrag_rdf.rdf.namespaces import PROV, RAG
from tests.ingest.conftest import MakeEngine, assert_same, by_model, chunks, content
from tests.ingest.conftest import settings as settings_of
from tests.support.scripted_readers import answer_all, kind_of
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

NAMES = ["Walter Pennock", "Ada Lark", "Port Merrin", "Tarnay Light", "Lin Yuhua", "Ada", "Pennock"]
VERBS = ["founded", "met", "taught", "left", "lived in"]
SENTENCES = [
    f"In 19{10 + number} {one} {verb} {other}."
    for number, (one, verb, other) in enumerate(
        (one, VERBS[(i + k) % len(VERBS)], NAMES[(i + k) % len(NAMES)])
        for i, one in enumerate(NAMES)
        for k in (1, 2, 3)
    )
]
TEXTS = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5).map(" ".join)
FILES = st.sampled_from(["a.txt", "b.txt", "c.txt", "d.txt"])
STEPS = st.lists(st.tuples(FILES, st.one_of(TEXTS, TEXTS, st.none()), st.booleans()), min_size=2, max_size=6)
"""Each the file, its new text or None to remove it, and whether everything is brought up to date then."""


def refresh(engine: Engine, *, by_a_model: bool) -> None:
    """Bring everything up to date."""
    if by_a_model:
        assert not engine.refresh("claims").failures
    assert not engine.refresh("summaries").failures
    assert not engine.refresh("communities").failures


def state(engine: Engine) -> set[Quad]:
    """What the store holds, but its history, numbers of commits, and which programs ever wrote something."""
    quads = content(engine, history=False)
    agents = {quad.subject for quad in quads if quad.object == PROV.SoftwareAgent}
    return {quad for quad in quads if quad.predicate != RAG.parameters and quad.subject not in agents}


def compare(steps: list[tuple[str, str | None, bool]], options: dict[str, Any], *, by_a_model: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        docs = Path(place) / "docs"
        docs.mkdir()
        (docs / "stays.txt").write_text("Walter Pennock founded Tarnay Light.")
        config = settings_of(communities__max_size=3, **options)
        with closing(open_engine(config=config, where=":memory:")) as edited:
            for name, text, update in [*steps, ("stays.txt", "Walter Pennock left Port Merrin.", True)]:
                if text is None:
                    (docs / name).unlink(missing_ok=True)
                else:
                    (docs / name).write_text(text)
                edited.ingest([docs], sync=True)
                if update:
                    refresh(edited, by_a_model=by_a_model)
            assert run_checks(edited.store, edited.blobs, edited.text_index) == []
            with closing(open_engine(config=config, where=":memory:")) as fresh:
                fresh.ingest([docs])
                refresh(fresh, by_a_model=by_a_model)
                assert_same(state(edited), state(fresh))


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.answer_with(answer_all)
        yield server


SHORT = settings(
    max_examples=2,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # each example takes a second
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
LONG = settings(SHORT, max_examples=60)


def with_model(server: ScriptedServer) -> dict[str, Any]:
    return by_model(server, claims__gleaning_rounds=1)


@SHORT
@given(STEPS)
def test_by_a_model(model: ScriptedServer, steps: list[tuple[str, str | None, bool]]) -> None:
    compare(steps, with_model(model), by_a_model=True)


@SHORT
@given(STEPS)
def test_without_a_model(steps: list[tuple[str, str | None, bool]]) -> None:
    compare(steps, {"extract__use": "rules"}, by_a_model=False)


@pytest.mark.slow
@LONG
@given(STEPS)
def test_by_a_model_at_length(model: ScriptedServer, steps: list[tuple[str, str | None, bool]]) -> None:
    compare(steps, with_model(model), by_a_model=True)


@pytest.mark.slow
@LONG
@given(STEPS)
def test_without_a_model_at_length(steps: list[tuple[str, str | None, bool]]) -> None:
    compare(steps, {"extract__use": "rules"}, by_a_model=False)


def test_an_edit_of_one_chunk_asks_about_that_chunk(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(answer_all)
    for number in range(12):
        people = f"Ann Orr{number}", f"Ben Gow{number}"
        said = [f"{people[0]} met {people[1]} in 19{year} at Quay{number}." for year in range(10, 14)]
        (docs / f"{number}.txt").write_text(" ".join(said))
    options = by_model(scripted_server, claims__build=True, summaries__build=True, communities__auto=True)
    engine = engine_of(**{**options, "extract__gleaning_rounds": 1, "claims__gleaning_rounds": 1})
    engine.ingest([docs])
    before = Counter(map(kind_of, scripted_server.requests))
    assert before["extract"] == before["claims"] == 2 * len(chunks(engine)) >= 24
    scripted_server.requests.clear()
    text = (docs / "3.txt").read_text()
    (docs / "3.txt").write_text(text.replace("1913", "1920"))
    engine.ingest([docs])
    asked = Counter(map(kind_of, scripted_server.requests))
    assert asked["extract"] <= 2
    assert asked["claims"] <= 2
    assert asked["summary"] <= 6, "of what the chunk speaks of"
    assert asked["report"] <= 2, "of the community that it speaks of"
    assert all("Orr3" in request.prompt or "Gow3" in request.prompt for request in scripted_server.requests)
