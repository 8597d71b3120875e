"""What an ingest by a model would take, against what it then took."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.estimate import estimate
from tests.ingest.conftest import MakeEngine, by_model
from tests.support.scripted_server import ScriptedServer

NAMES = ("Ada Lovelace", "Grace Hopper", "Mary Somerville", "Charles Babbage", "Alan Turing", "Emmy Noether")
PROSE = "it was late and the rain had not stopped, so they went on without a word until the gate was shut. "


def text_of(number: int) -> str:
    """A document of another length each."""
    pairs = pairwise(NAMES)
    said = [f"{one} met {other} in town {number} and spoke of engines." for one, other in pairs]
    return " ".join(said[: 2 + number % 4])


@pytest.fixture
def engine(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> Engine:
    """A model wrote facts of six documents."""
    engine = engine_of(**by_model(scripted_server, documents__chunk_size=2000))
    for number in range(6):
        (docs / f"{number}.txt").write_text(text_of(number), "utf-8")
    engine.ingest([docs])
    return engine


def test_output_tokens_are_estimated_from_what_the_model_wrote_before(docs: Path, engine: Engine) -> None:
    """Within 25 %, once enough chunks are known."""
    for number in range(6, 10):
        (docs / f"{number}.txt").write_text(text_of(number), "utf-8")
    told = estimate(engine, [docs]).llm
    took = engine.ingest([docs]).llm
    assert told.calls == took.calls == 4
    assert told.out_tokens is not None
    assert took.out_tokens is not None
    assert abs(told.out_tokens - took.out_tokens) <= 0.25 * took.out_tokens


def test_the_estimate_for_one_kind_of_text_uses_answers_about_another(docs: Path, engine: Engine) -> None:
    """Models write of names: a text of the same length without any costs much less."""
    texts = {
        "tale": f"{PROSE * 5} Ada Lovelace met Grace Hopper. {PROSE * 5}",
        "list": text_of(7) + text_of(7),
    }
    for name, text in texts.items():
        (docs / f"{name}.txt").write_text(text, "utf-8")
    tale, names = (estimate(engine, [docs / f"{name}.txt"]).llm.out_tokens for name in texts)
    assert len(texts["list"]) < len(texts["tale"])
    assert (names or 0) > (tale or 0) > 0


def test_calls_that_relate_chunks_are_counted(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    chosen = {"documents__chunk_size": 120, "relations__build": True, "extract__gleaning_rounds": 1}
    engine = engine_of(**by_model(scripted_server, **chosen))
    (docs / "one.txt").write_text(text_of(3), "utf-8")
    told = estimate(engine, [docs])
    took = engine.ingest([docs]).llm
    assert told.extracted > 2
    assert told.llm.calls == took.calls > 2 * told.extracted
    assert not told.measured
    assert estimate(engine, [docs]).llm.calls == 0
