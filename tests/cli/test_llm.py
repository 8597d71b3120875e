"""`llm log` and `cache`: what was asked of models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import Run, documents_in
from tests.support.scripted_server import Reply, Request, ScriptedServer

QUESTION = "Who designed Drumlaw Head Lighthouse?"


@pytest.fixture
def asked(run: Run, store: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """A question was answered by a model; the IRI of the question."""
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-planted")
    monkeypatch.setenv("GRAPHRAG_RDF_ANSWERS__CACHE", "true")

    def answer(request: Request) -> str | None:
        found = re.search(r"^\[(\d+)\].*Andrew Orr", request.prompt, re.MULTILINE)
        return f"Andrew Orr \x1b[mdid. [{found[1]}]" if found and request.body.get("stream") else None

    scripted_server.answer_with(answer)
    found = run("ask", "--model", "openai/scripted", "--format", "json", QUESTION)
    assert found.code == 0, found.err
    return str(found.json["question_iri"])


def test_log_has_extractions(
    run: Run, tmp_path: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-planted")
    (tmp_path / "hale.txt").write_text("Mary Hale opened the Lindow Mill.")
    store = ("--store", str(tmp_path / "s"))
    assert run("ingest", str(tmp_path / "hale.txt"), "--model", "openai/scripted", *store).code == 0
    (call,) = run("llm", "log", "--format", "json", *store).json
    assert call["purpose"] == "extract"
    assert call["prompt"].endswith("<text>\nMary Hale opened the Lindow Mill.\n</text>")
    assert '"entities"' in call["completion"]
    assert call["out_tokens"] > 0
    assert "extract · Hale · openai/scripted" in run("llm", "log", *store).out
    assert run("cache", "clear", *store).code == 0
    (call,) = run("llm", "log", "--format", "json", *store).json
    assert call["completion"] is None


def test_log_has_prompts_and_raw_answers(run: Run, asked: str) -> None:
    calls = run("llm", "log", "--format", "jsonl").lines
    answer = next(call for call in calls if call["purpose"] == "answer")
    assert answer["completion"].startswith("Andrew Orr \x1b[mdid. [")
    assert QUESTION in answer["prompt"]
    assert answer["model"] == "openai/scripted"
    assert answer["question"] == QUESTION
    assert {"session", "step", "time", "in_tokens", "out_tokens", "cached"} <= answer.keys()
    assert run("llm", "log", "--format", "json").json == calls
    assert run("llm", "log", "--format", "json", "--trace", asked).json == calls
    assert run("llm", "log", "--format", "json", "--trace", "last", "--limit", "1").json == calls[:1]
    assert run("llm", "log", "--trace", "urn:other").code == 2


def test_log_for_people_is_harmless(run: Run, asked: str) -> None:
    found = run("llm", "log", "--limit", "1")
    assert "Andrew Orr" in found.out
    assert "\x1b" not in found.out


def test_no_calls(run: Run, store: Path) -> None:
    assert "no model calls" in run("llm", "log").out
    assert run("llm", "log", "--format", "jsonl").out == ""


def test_cache(run: Run, asked: str) -> None:
    stats = run("cache", "stats", "--format", "json").json
    assert stats["entries"] == stats["llm"]["entries"] > 0
    assert stats["answers"] == {"enabled": True, "entries": 1, "reused": 0}
    assert stats["embeddings"]["entries"] == 0
    assert "vectors of texts" in run("cache", "stats").out
    assert run("cache", "clear", "--embeddings", "--format", "json").json == {"erased": 0, "embeddings": 0}
    cleared = run("cache", "clear", "--format", "json").json
    assert cleared == {
        "erased": stats["entries"] + 1,
        "answers": 1,
        "llm": stats["entries"],
        "embeddings": 0,
    }
    left = run("cache", "stats", "--format", "json").json
    assert (left["entries"], left["answers"]["entries"]) == (0, 0)


def test_clearing_answers_leaves_the_rest(run: Run, asked: str) -> None:
    stats = run("cache", "stats", "--format", "json").json
    assert "erased 1 answers to questions" in run("cache", "clear", "--answers").out
    assert run("cache", "stats", "--format", "json").json["entries"] == stats["entries"]
    assert run("trace", "verify", asked).code == 0


def test_an_answer_is_given_again(run: Run, asked: str, scripted_server: ScriptedServer) -> None:
    """The second time costs no call, says so, and has a trace that leads to the first."""
    before = len(scripted_server.requests)
    again = run("ask", "--model", "openai/scripted", QUESTION)
    assert "cached answer of" in again.err
    assert len(scripted_server.requests) == before
    assert "answered before" not in run("ask", "--model", "openai/scripted", QUESTION, "--no-cache").err
    assert len(scripted_server.requests) > before
    assert run("check").code == 0


def test_cache_switched_off(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_CACHE__ENABLED", "false")
    assert "off (setting" in run("cache", "stats").out
    assert run("cache", "clear", "--format", "json").json == {
        "erased": 0,
        "answers": 0,
        "llm": 0,
        "embeddings": 0,
    }


def test_tokens_from_the_cache_of_the_provider(
    run: Run, folder: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = {"prompt_tokens": 1600, "completion_tokens": 7, "total_tokens": 1607}
    usage |= {"prompt_tokens_details": {"cached_tokens": 1408}}
    message = {"role": "assistant", "content": '{"entities": [{"name": "Ada Venn"}], "relations": []}'}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }
    scripted_server.answer_with(lambda _: Reply(raw=json.dumps(body).encode()))
    monkeypatch.setenv("GRAPHRAG_RDF_EXTRACT__CALL_CHUNKS", "1")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "x")
    told = run("ingest", documents_in(folder), "--model", "openai/scripted").out
    assert "3,200 (2,816 from the provider's cache) + 14 tokens" in told
    calls = run("llm", "log", "--format", "json").json
    assert [call["cached_in_tokens"] for call in calls] == [1408, 1408]
    assert "1600 (1408 from the provider's cache) + 7 tokens" in run("llm", "log").out
    assert run("check").code == 0
