"""`trace`, and `ask --explain`: how answers came about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.commands import Run

QUESTION = "Who designed Drumlaw Head Lighthouse?"


@pytest.fixture
def asked(run: Run, store: Path) -> str:
    """A question was asked; its IRI."""
    return str(run("ask", "--format", "json", QUESTION).json["question_iri"])


@pytest.mark.parametrize("option", ["--explain", "--explainable"])
def test_explained_answer(run: Run, store: Path, option: str) -> None:
    found = run("ask", option, QUESTION)
    assert found.code == 0
    answer, passage, explained = found.out.split("\n\n", 2)
    assert "Andrew Orr" in answer
    assert passage.startswith("Best passage\n")
    for step in ("session", "question", "grounding", "exploration", "focus", "synthesis"):
        assert f"[{step}] urn:trustgraph:" in explained
    assert explained.rstrip("\n").endswith(run("trace", "show", "last").out.rstrip("\n"))


def test_list(run: Run, asked: str) -> None:
    run("ask", "Who founded the Tarnay Electric Light Company?")
    found = run("trace", "list", "--format", "json").json
    assert [trace["question"] for trace in found][1] == QUESTION
    assert {"iri", "kind", "question", "time", "steps", "seconds"} <= found[0].keys()
    assert run("trace", "list", "--format", "jsonl").lines == found
    assert run("trace", "list", "--limit", "1", "--format", "json").json == found[:1]
    assert QUESTION in run("trace", "list").out
    assert run("trace", "list", "--pipeline", "other", "--format", "json").json == []


def test_nothing_to_list(run: Run, store: Path) -> None:
    assert "no traces yet" in run("trace", "list").out
    assert run("trace", "show", "last").code == 2


def test_show_by_any_name(run: Run, asked: str) -> None:
    uuid = asked.rsplit(":", 1)[-1]
    expected = run("trace", "show", asked, "--format", "json").json
    assert expected["question"] == QUESTION
    for name in (uuid, uuid[:8], "last", expected["iri"]):
        assert run("trace", "show", name, "--format", "json").json == expected
    assert "Call" in run("trace", "show", "--full", "last").out
    unknown = run("trace", "show", "nothing")
    assert unknown.code == 2
    assert "trace list" in unknown.err


@pytest.mark.parametrize(
    ("form", "file"),
    [
        *(("trig", "out"), ("turtle", "out.ttl"), ("nquads", "out.nq"), ("prov-n", "out.provn")),
        *(("prov-json", "out.json"), ("provx", "out.provx"), ("jsonld", "out.jsonld"), ("html", "out.html")),
    ],
)
def test_export(run: Run, asked: str, folder: Path, form: str, file: str) -> None:
    """The suffix of the file says the format, as --format does."""
    found = run("trace", "export", asked, "--format", form)
    assert found.code == 0
    assert asked.rsplit(":", 1)[-1] in found.out or "Andrew Orr" in found.out
    assert run("trace", "export", asked, "-o", file).out == ""
    assert (folder / file).read_text() == found.out
    assert run("trace", "export", asked, "-o", "nowhere/out").code == 2


def test_prune_and_delete(run: Run, asked: str) -> None:
    run("ask", "Who founded the Tarnay Electric Light Company?")
    assert run("trace", "prune").code == 2
    assert run("trace", "prune", "--older-than", "1", "--format", "json").json["traces"] == 0
    assert run("trace", "prune", "--keep", "1", "--format", "json").json["traces"] == 1
    (left,) = run("trace", "list", "--format", "json").json
    assert left["question"] != QUESTION
    assert run("trace", "delete", "last").out.startswith("deleted 1 trace,")
    assert run("trace", "list", "--format", "json").json == []


def test_a_query_of_a_trace_runs_again(run: Run, store: Path, asked: str, tmp_path: Path) -> None:
    kept = run("trace", "query", asked, "retrieval/ranked")
    assert kept.code == 0
    query = tmp_path / "ranking.rq"
    query.write_text(kept.out)
    ranked = run("sparql", "-f", query, "--format", "json").json["results"]["bindings"]
    assert len(ranked) > 1
    scores = [float(row["score"]["value"]) for row in ranked]
    assert scores == sorted(scores, reverse=True)
    unknown = run("trace", "query", asked, "retrieval/nothing")
    assert unknown.code == 2
    assert "the trace has no query retrieval/nothing" in unknown.err


def test_scores_have_three_digits_and_json_all(run: Run, store: Path) -> None:
    assert run("ask", "Who designed Drumlaw Head Lighthouse?").code == 0
    text = run("trace", "show", "last", "--full").out
    assert re.search(r"Score: \d\.\d{3}\b", text)
    assert re.findall(r"(?<![\d.:])\d\.\d{4,}", text) == []
    assert re.search(r'"score": 0\.\d{4,}', run("trace", "show", "last", "--format", "json").out)
