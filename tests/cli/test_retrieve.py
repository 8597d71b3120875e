"""`retrieve`: rankings, one question or many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Run

QUESTION = "Who designed Drumlaw Head Lighthouse?"


def test_json_keys(run: Run, store: Path) -> None:
    found = run("retrieve", "--top", "1", "--format", "json", QUESTION).json
    assert {"id", "question", "results", "edges"} <= found.keys()
    (result,) = found["results"]
    assert {"rank", "score", "chunk", "document", "title", "text", "signals", "paths"} <= result.keys()
    assert result["title"] == "Port Merrin"
    (edge,) = found["edges"]
    assert {"s", "p", "o", "s_label", "p_label", "o_label", "score", "hop"} <= edge.keys()


def test_for_people(run: Run, store: Path) -> None:
    found = run("retrieve", "--preview", QUESTION)
    assert "Port Merrin" in found.out
    assert "score:" in found.out
    assert "Andrew Orr — designed — Drumlaw Head Lighthouse" in found.out


def test_relations_are_told_by_titles_and_labels(run: Run, store: Path) -> None:
    assert run("refresh", "relations", "--min-count", "1").code == 0
    asked = ("retrieve", "--preview", "--pipeline", "hybrid_rag", "Who founded Port Merrin?")
    found = [
        path for result in run(*asked, "--format", "json").json["results"] for path in result["relations"]
    ]
    assert {path["signal"] for path in found} >= {"cooccurs"}
    for path in found:
        assert path["origin_label"] in {"Port Merrin", "Company"}
        assert (path["near_label"] is None) == (path["near"] is None)
    shown = run(*asked).out
    assert "relation:" in shown
    assert "urn:" not in shown
    assert "http" not in shown


def test_many_questions(run: Run, store: Path, folder: Path) -> None:
    lines = [{"id": "a", "q": QUESTION}, {"id": "b", "q": "Who founded the Tarnay Electric Light Company?"}]
    (folder / "q.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    found = run("retrieve", "--questions", "q.jsonl", "--format", "jsonl").lines
    assert [result["id"] for result in found] == ["a", "b"]
    assert [result["results"][0]["title"] for result in found] == ["Port Merrin", "Company"]
    again = run("retrieve", "--questions", "q.jsonl", "--format", "json").out

    def rounded(text: str) -> Any:  # sums in SPARQL have no order
        return json.loads(text, parse_float=lambda number: round(float(number), 12))

    assert rounded(again) == rounded(json.dumps(found))


def test_no_trace_unless_asked(run: Run, store: Path) -> None:
    def traces() -> int:
        query = "SELECT ?s { GRAPH <urn:graph:retrieval> { ?s a rag:Session } }"
        return len(run("sparql", "--format", "csv", query).out.splitlines()) - 1

    run("retrieve", QUESTION)
    assert traces() == 0
    found = run("retrieve", "--trace", "--format", "json", QUESTION).json
    assert traces() == 1
    assert found["trace"].startswith("urn:trustgraph:session:")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"id": 1}', "line 1"),
        ("no JSON", "line 1"),
        ('{"id": 1, "q": "a"}\n[]', "line 2"),
        (None, "No such"),
    ],
)
def test_bad_files_of_questions(run: Run, store: Path, folder: Path, content: str | None, told: str) -> None:
    if content is not None:
        (folder / "q.jsonl").write_text(content)
    found = run("retrieve", "--questions", "q.jsonl")
    assert found.code == 2
    assert told in found.err


def test_a_question_or_a_file(run: Run, store: Path) -> None:
    assert run("retrieve").code == 2
    assert run("retrieve", "--questions", "q.jsonl", QUESTION).code == 2
