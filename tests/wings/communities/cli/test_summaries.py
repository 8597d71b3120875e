"""`refresh summaries` and `entities show` as people type them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run, documents_in
from tests.support.scripted_readers import answer_all
from tests.support.scripted_server import ScriptedServer


def test_descriptions_are_estimated_merged_and_shown(
    run: Run, folder: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted_server.answer_with(answer_all)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "k")
    model = ("--model", "openai/scripted")
    assert run("ingest", documents_in(folder), *model).code == 0
    planned = run("refresh", "summaries", *model, "--dry-run", "--format", "json").json
    done = run("refresh", "summaries", *model, "--format", "json")
    assert done.code == 0
    assert planned["summaries"]["written"] == done.json["summaries"]["written"] == planned["llm"]["calls"] > 0
    again = run("refresh", "summaries", *model)
    assert "by openai/scripted" in again.out
    assert "kept" in again.out
    shown = run("entities", "show", "Port Merrin", "--format", "json").json
    assert shown["description"].startswith("Merged: ")
    assert shown["model"] == "openai/scripted"
    assert len({one["title"] for one in shown["descriptions"]}) == 2
    assert "Merged: " in run("entities", "show", "Port Merrin").out
    assert run("check").code == 0


def test_without_a_model_texts_are_quoted(run: Run, folder: Path) -> None:
    assert run("ingest", documents_in(folder)).code == 0
    done = run("refresh", "summaries")
    assert "by quoting, without a model" in done.out
    assert "(quoted, without a model)" in run("entities", "show", "Port Merrin").out
