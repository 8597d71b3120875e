"""`eval sparql`: rows of answers against gold queries and gold rows, on a small store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Run
from tests.support.scripted_server import Request, ScriptedServer

PREFIX = "PREFIX r: <http://trustgraph.ai/r/> PREFIX e: <http://trustgraph.ai/e/>"
DESIGNED = f"{PREFIX} SELECT ?thing {{ e:andrew-orr r:designed ?thing }}"
RIGHT = {"q": "What did Andrew Orr design?", "kind": "list", "gold": DESIGNED}
WRONG = {"q": "Who succeeded Walter Pennock?", "kind": "list", "rows": [["Andrew Orr"]]}
UNANSWERED = {"q": "Which planet has the most moons?", "kind": "other", "rows": [["Saturn"]]}


def write(folder: Path, *questions: dict[str, Any]) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in questions), "utf-8")
    return path


def test_rows_are_compared_with_a_query_and_with_rows(run: Run, folder: Path, store: Path) -> None:
    asked = write(folder, RIGHT, WRONG, UNANSWERED)
    found = run("eval", "sparql", asked, "--format", "json").json
    assert (found["n"], found["right"], found["model"]) == (3, 1, None)
    assert found["accuracy"] == pytest.approx(1 / 3)
    assert found["kinds"]["list"]["accuracy"] == 0.5
    first, second, third = found["questions"]
    assert (first["right"], first["template"], first["found"]) == (True, "cookbook/what-did", 1)
    assert (second["right"], second["template"], second["expected"]) == (False, "cookbook/who-did", 1)
    assert (third["template"], third["query"], third["warnings"]) == (None, None, ["no_llm", "no_query_fits"])
    assert run("trace", "show", first["trace"]).code == 0
    shown = run("eval", "sparql", asked)
    assert shown.code == 0
    assert "wrong 2: Who succeeded Walter Pennock? (cookbook/who-did: 1 row(s), expected 1)" in shown.out


def test_an_interrupted_run_continues_from_its_file(run: Run, folder: Path, store: Path) -> None:
    asked = write(folder, RIGHT, UNANSWERED)
    run("eval", "sparql", asked, "--out", "rows.jsonl", "--limit", "1")
    assert len((folder / "rows.jsonl").read_text("utf-8").splitlines()) == 2
    run("eval", "sparql", asked, "--out", "rows.jsonl")
    head, *rows = map(json.loads, (folder / "rows.jsonl").read_text("utf-8").splitlines())
    assert head["results_of"] == "graphrag-rdf eval sparql"
    assert {row["id"] for row in rows} == {"1", "2"}
    assert len(rows) == 2
    other = run("eval", "answers", write(folder, {"q": "Who?"}), "--out", "rows.jsonl")
    assert "is not a file of eval answers" in other.err


def test_a_model_is_measured(
    run: Run, folder: Path, store: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def model(request: Request) -> str:
        prompt = request.prompt
        return f"```sparql\n{DESIGNED}\n```" if "Write a SPARQL" in prompt else "The company. [1]"

    scripted_server.answer_with(model)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "x")
    asked = write(folder, RIGHT, WRONG)
    found = run("eval", "sparql", asked, "--model", "openai/scripted", "--format", "json").json
    assert [one["right"] for one in found["questions"]] == [True, False]
    assert [one["calls"] for one in found["questions"]] == [2, 2]
    assert (found["model"], found["questions"][0]["template"]) == ("openai/scripted", None)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ({"q": "Who?"}, "line 1: give gold, a query, or rows"),
        ({"q": "Who?", "gold": "SELECT ?x {"}, "question 1: its gold query fails: "),
        (
            {"q": "Who?", "gold": "SELECT ?x { ?x <urn:none> ?y }"},
            "its gold query returns nothing in this store",
        ),
        ({"q": "Who?", "rows": [["x"]], "golden": 1}, "line 1: "),
    ],
)
def test_what_is_no_gold_is_an_error(
    run: Run, folder: Path, store: Path, question: dict[str, Any], told: str
) -> None:
    found = run("eval", "sparql", write(folder, question))
    assert found.code == 2
    assert told in found.err


@pytest.mark.parametrize(
    ("found", "gold", "ordered", "right"),
    [
        ([["Ada", 2]], [[2]], False, True),  # further columns
        ([[2, "Ada"]], [["ADA", 2.0]], False, True),  # columns in another order, names in another case
        ([["Ada"], ["Ada"]], [["Ada"]], False, True),  # rows that occur twice
        ([["b"], ["a"]], [["a"], ["b"]], False, True),
        ([["b"], ["a"]], [["a"], ["b"]], True, False),
        ([["a", "b"], ["b", "a"]], [["a", "a"], ["b", "b"]], False, False),  # the same values, other rows
        ([["a"]], [["a"], ["b"]], False, False),
        ([["a"], ["b"]], [["a"]], False, False),
        ([], [["a"]], False, False),
    ],
)
def test_results_are_compared_as_rows(
    found: Sequence[Sequence[Any]], gold: Sequence[Sequence[Any]], ordered: bool, right: bool
) -> None:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.wings.evaluation.sparql import SparqlQuestion, is_right, rows_of

    def answer(rows: Sequence[Sequence[Any]]) -> Any:
        return rows_of(SparqlQuestion.model_validate({"q": "?", "rows": rows, "gold": "ASK {}"}))

    with Engine.open(":memory:") as engine:
        assert is_right(engine, answer(found), answer(gold), ordered=ordered) is right
