"""A run of `tune prompts` by the Python API: it ends between calls when told to, and another goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.tuning.prompt_run import Request, tune_prompts
from tests.support.scripted_server import Request as Asked
from tests.support.scripted_server import ScriptedServer

MODEL = "openai/test-model"


def answer(request: Asked) -> str | None:
    if '"persona": "..."' in request.prompt:
        return json.dumps({"domain": "rooms", "persona": "You are a caretaker."})
    if '"relation_types": [{"name"' in request.prompt:
        return json.dumps({"entity_types": ["person"], "relation_types": ["met"]})
    return None


def test_ends_when_told_and_goes_on(tmp_path: Path, scripted_server: ScriptedServer) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(9):
        text = f"Mona Kell met Ada Moor of Tarn in room {number}. Ada Moor knew Mona Kell."
        (notes / f"{number}.txt").write_text(text)
    scripted_server.answer_with(answer)
    settings = Settings.model_validate(
        {
            "store": str(tmp_path / "store"),
            "llm": {"model": MODEL, "api_base": scripted_server.base_url, "api_key": "sk-test"},
            "extract": {"use": "rules", "jobs": 1},
        }
    )
    with Engine.open(config=settings) as engine:
        engine.ingest([notes])
        before = engine.store.commit_number()
        heard: list[tuple[int, str]] = []

        def progress(done: int, total: int, what: str) -> None:
            assert done <= total
            heard.append((done, what))

        with pytest.raises(KeyboardInterrupt):
            tune_prompts(
                engine, engine.store, Request(), model=MODEL, progress=progress, stop=lambda: len(heard) >= 4
            )
        assert heard == [(1, "profile"), (2, "types"), (3, "examples"), (4, "examples")]
        assert len(scripted_server.requests) == 4
        outcome = tune_prompts(engine, engine.store, Request(), model=MODEL)
        assert outcome.llm.cached == 4
        assert outcome.llm.calls == len(scripted_server.requests) - 4
        assert outcome.check is not None
        assert len(outcome.check.readings) == 3
        assert engine.store.commit_number() == before  # nothing is written but the cache
