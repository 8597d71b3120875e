"""`eval`: figures of a small set, in a store that nobody sees."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.commands import Run, environment, program
from tests.support.pdf import lines, make_pdf
from tests.support.scripted_server import ScriptedServer
from tests.support.tiny_set import TINY


@pytest.fixture
def evalset(folder: Path) -> Path:
    path = folder / "tiny.json"
    path.write_text(json.dumps(TINY))
    return path


def test_retrieval(run: Run, evalset: Path, folder: Path) -> None:
    found = run("eval", "retrieval", evalset, "--k", "1,2", "--format", "json").json
    assert found["name"] == "tiny"
    assert found["n"] == 2
    assert found["recall"] == {"1": 1.0, "2": 1.0}
    assert {"perfect", "mrr", "ci95", "baselines", "seconds_per_question"} <= found.keys()
    assert found["ablation"].keys() == {"names", "names_and_facts"}
    assert found["ablation"]["names_and_facts"]["recall"] == found["recall"]
    shown = run("eval", "retrieval", evalset).out
    assert all(row in shown for row in ("bm25", "names only", "names and facts"))
    assert (
        "ablation" not in run("eval", "retrieval", evalset, "--extraction", "names", "--format", "json").json
    )
    assert list(folder.iterdir()) == [evalset]


def test_pipelines_are_compared_in_one_table(run: Run, evalset: Path) -> None:
    asked = ("eval", "retrieval", evalset, "--compare", "hybrid_rag,hops_rag")
    found = run(*asked, "--format", "json").json
    assert (found["pipeline"], list(found["baselines"])) == ("graph_rag", ["hybrid_rag", "hops_rag", "bm25"])
    assert all(run["recall"].keys() == found["recall"].keys() for run in found["baselines"].values())
    rows = [line.split()[0] for line in run(*asked).out.splitlines()[2:6]]
    assert rows == ["graph_rag", "hybrid_rag", "hops_rag", "bm25"]
    every = run("eval", "all", evalset.parent, "--only", "retrieval", "--compare", "hops_rag").out
    assert "hops_rag R@1" in every


@pytest.mark.slow
def test_dense_search_is_a_baseline_with_embeddings(
    run: Run, evalset: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-planted")
    option = ("--embedding-model", "openai/scripted")
    found = run("eval", "retrieval", evalset, *option, "--format", "json").json
    assert found["baselines"].keys() == {"bm25", "dense"}
    assert found["baselines"]["dense"]["recall"]["5"] == 1.0  # of three passages
    assert "dense R@1" in run("eval", "all", ".", "--only", "retrieval", *option).out


def test_answers(run: Run, evalset: Path) -> None:
    found = run("eval", "answers", evalset, "--format", "json").json
    assert found["contain_accuracy"] == 1.0
    assert found["abstention"] == 1.0
    assert "citation_precision" in found
    baseline = found["baselines"]["bm25"]
    assert (baseline["contain_accuracy"], baseline["abstention"]) == (1.0, 0.0)
    shown = run("eval", "answers", evalset).out
    assert "abstention" in shown
    assert "bm25" in shown


def test_extractions_of_a_list_are_merged(run: Run, evalset: Path, folder: Path) -> None:
    evalset.write_text(json.dumps({**TINY, "openie": [[["Andrew Orr", "lived in", "Tarnay"]], [], []]}))
    run("import", "evalset", evalset, "--extraction", "rules,recorded", "--store", folder / "s")
    asked = "SELECT ?p { <http://trustgraph.ai/e/andrew-orr> ?p ?o }"
    found = run("sparql", asked, "--store", folder / "s", "--format", "csv").out
    assert all(f"/r/{relation}" in found for relation in ("designed", "lived-in"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.json"], "nowhere.json"),
        (["tiny.json", "--k", "many"], "--k"),
        (["tiny.json", "--k", "0"], "--k"),
        (["tiny.json", "--extraction", "magic"], "magic"),
        (["tiny.json", "--extraction", "recorded"], "recorded"),
        (["tiny.json", "--pipeline", "nothing"], "nothing"),
    ],
)
def test_wrong_usage(run: Run, evalset: Path, arguments: list[str], told: str) -> None:
    found = run("eval", "retrieval", *arguments)
    assert found.code == 2
    assert told in found.err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "not an evaluation set: not a mapping"),
        ('{"name": "x", "corpus": [{"text": "a"}], "questions": []}', "corpus.0.title: it is missing"),
        ("{", "not an evaluation set: Expecting"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(run: Run, folder: Path, content: str, told: str) -> None:
    (folder / "set.json").write_text(content)
    found = run("eval", "retrieval", "set.json")
    assert found.code == 2
    assert told in found.err


def pages(folder: Path) -> None:
    """A PDF of two pages, and a question about one of them."""
    folder.mkdir(exist_ok=True)
    texts = ("The tide gate was opened by Ada Moor.", "The pier was built of oak.")
    (folder / "gate.pdf").write_bytes(make_pdf([lines(50, 700, [text]) for text in texts]))
    asked = {"id": "1", "q": "Who opened the tide gate?", "document": "gate.pdf", "pages": [1]}
    (folder / "questions.jsonl").write_text(json.dumps(asked))


def test_pages(run: Run, folder: Path) -> None:
    pages(folder)
    found = run("eval", "pages", ".", "questions.jsonl", "--k", "1", "--format", "json").json
    assert found["found"] == found["document_known"] == {"1": 1.0}
    assert {"bm25_pages", "bm25_chunks"} == found["baselines"].keys()
    assert "bm25 over pages" in run("eval", "pages", ".", "questions.jsonl").out
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4")
    partly = run("eval", "pages", ".", "questions.jsonl")
    assert partly.code == 3
    assert "cannot read bad.pdf" in partly.err
    assert run("eval", "pages", "nowhere", "questions.jsonl").code == 2


def test_all_runs_every_set_of_a_folder(run: Run, evalset: Path, folder: Path) -> None:
    pages(folder / "pdf")
    other = {**TINY, "name": "small", "questions": [{"id": "1", "q": "Who was it?", "gold": [1]}]}
    (folder / "evalsets").mkdir()
    (folder / "evalsets" / "small.json").write_text(json.dumps(other))
    found = run("eval", "all", ".", "--format", "json")
    assert found.code == 0
    assert "set tiny; n 2; R@1 1.000; " in found.err  # before the other sets are measured
    tiny, small = found.json["sets"]
    assert (tiny["name"], small["name"]) == ("tiny", "small")
    alone = run("eval", "retrieval", evalset, "--format", "json").json
    untimed = {"ingest_seconds", "seconds_per_question", "ablation"}
    assert {k: v for k, v in tiny["retrieval"].items() if k not in untimed} == {
        k: v for k, v in alone.items() if k not in untimed
    }
    assert (
        tiny["answers"]["contain_accuracy"]
        == run("eval", "answers", evalset, "--format", "json").json["contain_accuracy"]
    )
    assert small["answers"]["contain_n"] == 0
    assert found.json["pages"][0]["found"]["1"] == 1.0
    assert found.json["failed"] == []


def test_the_table_of_all(run: Run, evalset: Path, folder: Path) -> None:
    found = run("eval", "all", ".")
    heading, row = found.out.splitlines()
    assert heading.split()[:2] == ["set", "n"]
    assert "BM25 R@5" in heading
    assert "honest" in heading
    assert row.split()[:3] == ["tiny", "2", "1.000"]
    assert "tiny.json (1 of 1)" in found.err


def test_a_set_that_cannot_be_measured_is_reported_and_the_others_go_on(
    run: Run, evalset: Path, folder: Path
) -> None:
    (folder / "bad.json").write_text("{")
    found = run("eval", "all", ".", "--only", "retrieval", "--format", "json")
    assert found.code == 3
    assert [one["path"] for one in found.json["failed"]] == ["bad.json"]
    assert [one["name"] for one in found.json["sets"]] == ["tiny"]
    assert "cannot measure bad.json: bad.json: not an evaluation set" in found.err
    evalset.unlink()
    assert run("eval", "all", ".").code == 2
    (folder / "bad.json").unlink()
    nothing = run("eval", "all", ".")
    assert nothing.code == 2
    assert ". has no evaluation sets" in nothing.err


def test_all_of_some_questions_and_one_measure(run: Run, evalset: Path, folder: Path) -> None:
    pages(folder)
    found = run("eval", "all", ".", "--only", "retrieval", "--limit", "1", "--format", "json").json
    assert found["pages"] == []
    assert found["sets"][0]["retrieval"]["n"] == 1
    assert "answers" not in found["sets"][0]
    only = run("eval", "all", ".", "--only", "pages", "--format", "json").json
    assert (len(only["pages"]), only["sets"]) == (1, [])
    (folder / "questions.jsonl").unlink()
    nothing = run("eval", "all", ".", "--only", "pages")
    assert nothing.code == 2
    assert "has no sets for: pages" in nothing.err


@pytest.mark.slow
def test_an_interruption_prints_what_was_measured(evalset: Path, folder: Path) -> None:
    passages = [
        {"title": f"Pier {n}", "text": f"Keeper {n} of Pier {n} built a gate. " * 20} for n in range(900)
    ]
    long = {"name": "long", "corpus": passages, "questions": [{"id": "1", "q": "Who?", "gold": [1]}]}
    (folder / "zz_long.json").write_text(json.dumps(long))
    command = program("eval", "all", ".", "--only", "retrieval", "--format", "json")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment()
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        while "2 of 2" not in process.stderr.readline():
            pass
        time.sleep(0.5)  # it reads passages
        process.send_signal(signal.SIGINT)
        found = json.loads(process.stdout.read())
        told = process.stderr.read()
    assert process.returncode == 130
    assert [run["name"] for run in found["sets"]] == ["tiny"]
    assert "interrupted: 1 of 2 sets were measured" in told


def test_facts(run: Run, folder: Path) -> None:
    text = {
        "id": "1",
        "kind": "plain",
        "traits": ["negated"],
        "text": "Ada Venn built Orrin Bridge. Steel was not an option.",
        "must": [["Ada Venn", "built", "Orrin Bridge"], ["Orrin Bridge", "is", "long"]],
        "recorded": {"some-model": [["Steel", "is", "option"]]},
    }
    (folder / "facts.jsonl").write_text(json.dumps(text))
    found = run("eval", "facts", "facts.jsonl", "--format", "json").json
    assert found["runs"].keys() == {"rules", "some-model"}
    assert found["runs"]["rules"]["recall"] == 0.5
    assert found["runs"]["some-model"]["precision"] == 0.0
    shown = run("eval", "facts", "facts.jsonl", "--faults").out
    assert "negated" in shown
    assert "missed: Orrin Bridge | is | long" in shown
    assert "unlisted: Steel | is | option" in shown
    assert run("eval", "facts", "nowhere.jsonl").code == 2
