"""`index`: status and rebuild."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.scripted_server import Reply, ScriptedServer


def test_status(run: Run, store: Path) -> None:
    found = run("index", "status", "--format", "json").json
    assert found["indexes"]["text"]["counts"]["chunk"] == 2
    assert "up to date" in run("index", "status").out


@pytest.mark.parametrize("damage", ["manifest", "files", "everything"])
def test_rebuild_mends_whatever_is_broken(run: Run, store: Path, damage: str) -> None:
    before = run("index", "status", "--format", "json").json["indexes"]["text"]["counts"]
    text = store / "index" / "text"
    if damage == "manifest":
        (text / "manifest.json").write_text("{")
    elif damage == "files":
        for file in text.rglob("*"):
            if file.is_file() and file.name != "manifest.json":
                file.write_bytes(b"\0" * 100)
    else:
        shutil.rmtree(text)
        text.mkdir()
    if damage in ("manifest", "files"):
        asked = run("ask", "Who designed Drumlaw Head Lighthouse?")
        assert asked.code == 0
        assert "index rebuild" in asked.err
    assert run("index", "rebuild").code == 0
    found = run("index", "status", "--format", "json").json
    assert found["indexes"]["text"]["counts"] == before
    assert found["indexes"]["text"]["up_to_date"]
    assert "Andrew Orr" in run("ask", "Who designed Drumlaw Head Lighthouse?").out


def test_vectors(
    run: Run, store: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-planted")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MAX_RETRIES", "0")
    option = ["--embedding-model", "openai/scripted"]
    found = run("index", "rebuild", *option, "--format", "json").json["indexes"]["vectors"]
    assert found["dimension"] == scripted_server.dimensions
    assert found["counts"]["chunk"] == 2
    other = run("index", "status", "--embedding-model", "openai/other")
    assert other.code == 1
    assert "made by" in other.out
    scripted_server.script(*[Reply("out of order", status=500)] * 3)
    assert run("index", "rebuild", *option).code == 0  # nothing was asked: the vectors were kept
    run("cache", "clear", "--embeddings")
    failed = run("index", "rebuild", *option)
    assert failed.code == 1
    assert "cannot make the vectors" in failed.err
