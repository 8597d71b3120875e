"""What an ingest by a model would take, against what it then took."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from graphrag_rdf.ingest.estimate import estimate
from tests.ingest.conftest import MakeEngine, by_model
from tests.support.scripted_server import ScriptedServer

NAMES = ("Ada Lovelace", "Grace Hopper", "Mary Somerville", "Charles Babbage", "Alan Turing", "Emmy Noether")


def text_of(number: int) -> str:
    """A document of another length each."""
    pairs = pairwise(NAMES)
    said = [f"{one} met {other} in town {number} and spoke of engines." for one, other in pairs]
    return " ".join(said[: 2 + number % 4])


def test_output_tokens_are_estimated_from_what_the_model_wrote_before(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """Within 25 %, once enough chunks are known."""
    engine = engine_of(**by_model(scripted_server, documents__chunk_size=2000))
    for number in range(6):
        (docs / f"{number}.txt").write_text(text_of(number), "utf-8")
    engine.ingest([docs])
    for number in range(6, 10):
        (docs / f"{number}.txt").write_text(text_of(number), "utf-8")
    told = estimate(engine, [docs]).llm
    took = engine.ingest([docs]).llm
    assert told.calls == took.calls == 4
    assert told.out_tokens is not None
    assert took.out_tokens is not None
    assert abs(told.out_tokens - took.out_tokens) <= 0.25 * took.out_tokens
