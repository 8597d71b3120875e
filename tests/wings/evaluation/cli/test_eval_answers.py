"""`eval answers` with a model: scores beside plain chunks, going on after an interruption, and its budget."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Run, environment, program
from tests.support.endpoint import eventually
from tests.support.scripted_server import Reply, Request, ScriptedServer, in_parts, shown
from tests.support.tiny_set import TINY

ALMANAC = {
    "title": "Almanac",
    "text": "The Lantern Society printed an almanac about Drumlaw Head Lighthouse.",
}
EVALSET = {**TINY, "corpus": [*TINY["corpus"], ALMANAC]}
TOLD = {"designed": ("designed Drumlaw", "Andrew Orr"), "Lantern": ("Mona Kell founded", "Mona")}


def careful(request: Request) -> str:
    """A model that finds what the evidence says, and says so when it does not."""
    prompt = request.prompt
    question = prompt.partition("<question>")[2].partition("</question>")[0]
    words, answer = TOLD["designed" if "designed" in question else "Lantern"]
    if "<evidence>" not in prompt:
        return "Drumlaw Head Lighthouse\nLantern Society"
    lines = [number for number, text in shown(prompt).items() if words in text]
    notes = [{"id": number, "reasoning": "says it"} for number in lines]
    return in_parts(prompt, notes, f"{answer} [{lines[0]}]." if lines else "NO ANSWER")


@pytest.fixture
def model(folder: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    """A set, and the careful model for it."""
    (folder / "tiny.json").write_text(json.dumps(EVALSET))
    for name, value in settings(scripted_server).items():
        monkeypatch.setenv(name, value)
    scripted_server.answer_with(careful)
    return scripted_server


def settings(server: ScriptedServer, **more: str) -> dict[str, str]:
    given = {"API_BASE": server.base_url, "API_KEY": "x", "MODEL": "openai/scripted", "MAX_RETRIES": "0"}
    given |= more
    return {f"GRAPHRAG_RDF_LLM__{name}": value for name, value in given.items()}


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()][1:]


def test_the_model_beside_plain_chunks(run: Run, model: ScriptedServer, folder: Path) -> None:
    found = run("eval", "answers", "tiny.json", "--out", "rows.jsonl", "--format", "json")
    assert found.code == 0
    assert (found.json["n"], found.json["rows"], found.json["rows_missing"]) == (2, 8, 0)
    for figures in (found.json, found.json["baselines"]["bm25"]):
        assert figures["exact_match"] == 0.5
        assert figures["f1"] == pytest.approx(5 / 6, abs=1e-4)  # "Mona" for "Mona Kell"
        assert figures["contained"] == 0.5
        assert figures["contain_accuracy"] == figures["citations_hold"] == 1.0
        assert (figures["answered"], figures["abstention"]) == (1.0, 1.0)
    assert (found.json["calls"], found.json["baselines"]["bm25"]["calls"]) == (1.0, 1.0)
    rows = {(row["run"], row["id"]): row for row in rows_of(folder / "rows.jsonl")}
    assert len(rows) == 8
    row = rows["bm25", "2"]
    assert (row["question"], row["gold"]) == ("Who founded the Lantern Society?", ["Mona Kell"])
    assert row["cited"] == ["Society: Mona Kell founded the Lantern Society in 1901."]
    assert re.fullmatch(r"Mona \[\d\]\.", row["answer"])
    assert not rows["bm25-without-gold", "2"]["answered"]
    told = sum(row["in_tokens"] + row["out_tokens"] for row in rows.values())
    assert told == found.json["tokens"] + found.json["baselines"]["bm25"]["tokens"] > 0


def test_the_baseline_gets_the_prompt_and_form_of_the_pipeline(run: Run, model: ScriptedServer) -> None:
    run("eval", "answers", "tiny.json", "--only", "graph", "--only", "bm25")
    asked = [r.prompt for r in model.requests if "<evidence>" in r.prompt and "Lantern Society?" in r.prompt]
    ours, plain = sorted(asked, key=lambda prompt: "two parts" in prompt, reverse=True)
    assert "two parts" not in plain
    assert "the shortest answer" in ours
    assert "the shortest answer" in plain
    rules = [prompt.partition("- End every sentence")[2].partition("- If nothing")[0] for prompt in asked]
    assert rules[0] == rules[1] != ""
    assert "# Society\n[" in plain


def test_rows_are_not_asked_again(run: Run, model: ScriptedServer) -> None:
    command = ("eval", "answers", "tiny.json", "--out", "rows.jsonl", "--limit")
    first = run(*command, "1", "--format", "json").json
    asked = len(model.requests)
    whole = run(*command, "2", "--format", "json").json
    assert (first["rows"], whole["rows"]) == (4, 8)
    assert len(model.requests) == 2 * asked
    again = run(*command, "2").out
    assert len(model.requests) == 2 * asked
    assert "asked for the shortest answer" in again
    assert re.search(r"token F1 +0\.833 +0\.833", again)
    assert re.search(r"calls per question +1\.000 +1\.000", again)
    other = run("eval", "answers", "tiny.json", "--out", "rows.jsonl", "--no-titles")
    assert other.code == 2
    assert "titles true, now false" in other.err


def test_the_budget_ends_a_run(run: Run, model: ScriptedServer) -> None:
    command = ("eval", "answers", "tiny.json", "--out", "rows.jsonl", "--format", "json")
    found = run(*command, "--max-tokens", "1700")
    assert found.code == 3
    assert found.json["stopped"] == "budget"
    assert 0 < found.json["rows"] < 8
    assert "the budget is used up" in found.err
    assert "run the same command again" in found.err
    usage = sum(row["in_tokens"] + row["out_tokens"] for row in rows_of(Path("rows.jsonl")))
    assert usage <= 1700
    assert run(*command).json["rows"] == 8


def test_a_server_that_goes_away(run: Run, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__JOBS", "1")
    command = ("eval", "answers", "tiny.json", "--out", "rows.jsonl", "--format", "json")
    seen = iter(range(100))
    model.answer_with(lambda r: careful(r) if next(seen) < 2 else Reply("no such model", status=404))
    found = run(*command)
    assert found.code == 1
    assert (found.json["stopped"], found.json["rows"]) == ("model", 2)
    assert "6 of 8 answers are missing" in found.err
    model.answer_with(careful)
    assert run(*command).json["rows"] == 8
    nothing = run("eval", "answers", "tiny.json", "--model", "openai/scripted", "--limit", "1")
    assert nothing.code == 0
    model.answer_with(lambda _: Reply("no such model", status=404))
    nothing = run("eval", "answers", "tiny.json", "--format", "json")
    assert nothing.code == 1
    assert "does not have the model" in nothing.err


def test_one_failed_question_does_not_end_the_others(run: Run, model: ScriptedServer) -> None:
    refused = Reply("too long", status=400)
    model.answer_with(lambda r: refused if "designed Drumlaw Head Lighthouse?" in r.prompt else careful(r))
    found = run("eval", "answers", "tiny.json", "--format", "json")
    assert found.code == 3
    assert (found.json["rows"], found.json["stopped"]) == (4, None)
    assert {failure["id"] for failure in found.json["failed"]} == {"1"}
    assert "question 1 (graph): " in found.err


def test_all_sets_with_a_model(run: Run, model: ScriptedServer) -> None:
    found = run("eval", "all", ".", "--only", "answers", "--format", "json").json["sets"][0]["answers"]
    assert (found["f1"], found["rows"]) == (pytest.approx(5 / 6, abs=1e-4), 8)
    model.answer_with(lambda r: None if "designed" in r.prompt else Reply("no such model", status=404))
    failed = run("eval", "all", ".", "--only", "answers")
    assert failed.code == 1
    assert "cannot measure tiny.json: " in failed.err


def test_questions_are_asked_side_by_side(
    run: Run, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__JOBS", "3")
    model.answer_with(lambda r: Reply(careful(r), delay=0.2))
    run("eval", "answers", "tiny.json", "--only", "graph", "--only", "bm25")
    assert model.most_active == 3


def test_questions_about_a_store(run: Run, model: ScriptedServer, store: Path, folder: Path) -> None:
    lines = [
        {"q": "Who designed Drumlaw Head Lighthouse?", "answer": "Andrew Orr"},
        {"id": 7, "q": "Who founded the Lantern Society?", "answers": ["Mona Kell"]},
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    command = ("eval", "answers", "questions.jsonl", "--store", store, "--out", "rows.jsonl")
    found = run(*command, "--format", "json").json
    assert (found["n"], found["rows"], found["gold"]) == (2, 4, False)
    assert found["exact_match"] == 0.5
    assert found["abstention"] is found["citations_hold"] is None
    shown_ = run(*command).out
    assert "Figures that need gold chunks are left out" in shown_
    assert re.search(r"^ +graph_rag +BM25 chunks$", shown_, re.MULTILINE), "the table names the pipeline"
    assert "rightly" not in shown_
    rows = rows_of(folder / "rows.jsonl")
    assert {row["id"] for row in rows} == {"1", "7"}
    traces = {row["run"]: row["trace"] for row in rows if row["id"] == "1"}
    assert traces["bm25"] is None
    assert run("trace", "show", traces["graph"], "--store", store).code == 0
    for number, (name, share) in enumerate((("harbour.md", 1.0), ("company.txt", 0.0))):
        line = {"q": "Who designed Drumlaw Head Lighthouse?", "answer": "Nobody", "document": name}
        (folder / "questions.jsonl").write_text(json.dumps(line))
        held = run(*command[:-1], f"{number}.jsonl", "--format", "json").json
        assert (held["citations_hold"], held["gold"]) == (share, True)
    (folder / "questions.jsonl").write_text('{"q": "Who?", "document": "gone.pdf"}')
    assert "question 1 is about gone.pdf" in run("eval", "answers", "questions.jsonl").err
    (folder / "questions.jsonl").write_text('{"q": "Who?", "document": "harbour.md", "pages": [1, 2]}')
    assert "no text of harbour.md is on page 1, 2" in run("eval", "answers", "questions.jsonl").err
    (folder / "questions.jsonl").write_text('{"q": "Who?"}\n{"id": "1", "q": "Who?"}')
    assert "two questions have the id 1" in run("eval", "answers", "questions.jsonl").err


def test_the_passages_of_a_set_in_a_store_of_ones_own(run: Run, model: ScriptedServer, folder: Path) -> None:
    command = ("eval", "answers", "tiny.json", "--store", "kept", "--out", "rows.jsonl", "--format", "json")
    found = run(*command).json
    assert found["abstention"] == 1.0  # of a copy
    assert len(run("documents", "--store", "kept", "--format", "json").json) == 4
    for row in rows_of(folder / "rows.jsonl"):
        assert (row["trace"] is None) == (row["run"] != "graph")
    (folder / "rows.jsonl").unlink()
    assert run(*command).json["rows"] == 8


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_process_goes_on(model: ScriptedServer, folder: Path, how: signal.Signals) -> None:
    asked: Counter[str] = Counter()
    go_on = threading.Event()

    def held(request: Request) -> str:
        asked[request.prompt] += 1
        if "Lantern Society?" in request.prompt and not go_on.is_set():
            go_on.wait(20)
        return careful(request)

    model.answer_with(held)
    command = program("eval", "answers", "tiny.json", "--out", "rows.jsonl", "--format", "json")
    env = environment(**settings(model, JOBS="1"))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=env
    ) as process:
        eventually(lambda: any("Lantern Society?" in prompt for prompt in asked))
        process.send_signal(how)
        if how is signal.SIGINT:
            time.sleep(0.3)
            go_on.set()
        out, err = process.communicate(timeout=60)
    go_on.set()
    kept = rows_of(folder / "rows.jsonl")
    if how is signal.SIGINT:  # what was in hand is finished
        assert process.returncode == 130
        assert json.loads(out)["stopped"] == "interrupted"
        assert "stopping when what is in hand is finished" in err
        assert len(kept) == 3
    else:
        assert len(kept) == 2
    before = asked.total()
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["rows"] == 8
    rows = rows_of(folder / "rows.jsonl")
    assert rows[: len(kept)] == kept
    assert asked.total() - before == sum(row["calls"] for row in rows[len(kept) :])
