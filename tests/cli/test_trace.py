"""`trace`, and `ask --explain`: how answers came about."""

from __future__ import annotations

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


def test_verify(run: Run, asked: str) -> None:
    found = run("trace", "verify", asked, "--format", "json")
    assert found.code == 0, found.out
    assert found.json["ok"]
    assert all({"check", "ok", "detail", "changed"} <= check.keys() for check in found.json["checks"])
    update = """
        DELETE { GRAPH <urn:graph:source> { ?chunk tg:content ?text } }
        INSERT { GRAPH <urn:graph:source> { ?chunk tg:content "tampered with" } }
        WHERE { GRAPH <urn:graph:source> { ?chunk tg:content ?text } }
    """
    assert run("sparql", "--update", update).code == 0
    broken = run("trace", "verify", asked)
    assert broken.code == 1
    assert "FAILED" in broken.out


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


def test_what_differs_between_two_traces(run: Run, store: Path) -> None:
    question = "Who designed Drumlaw Head Lighthouse?"
    first = run("ask", question, "--format", "json").json["question_iri"]
    second = run("ask", question, "--format", "json").json["question_iri"]
    same = run("trace", "diff", first, second, "--format", "json").json["differences"]
    assert same == []
    assert "no differences" in run("trace", "diff", first, second).out
    shorter = ("--set", "synthesis.max_sentences=1", "--format", "json")
    third = run("ask", question, *shorter).json["question_iri"]
    found = run("trace", "diff", first, third, "--format", "json").json["differences"]
    shorter_answer = {"what": "parameter", "name": "synthesis.max_sentences", "before": "3", "after": "1"}
    assert {**shorter_answer, "run": None} in found
    run("ask", "Who founded the Tarnay Electric Light Company?")
    told = run("trace", "diff", first, "last")
    assert told.code == 0
    headings = [line for line in told.out.splitlines() if not line.startswith(" ")]
    assert len(headings) == len(set(headings)), "each is said once"
    assert "- Who designed Drumlaw Head Lighthouse?" in told.out
    assert "+ Who founded the Tarnay Electric Light Company?" in told.out
    other = run("trace", "diff", first, "last", "--format", "json").json["differences"]
    assert {"question", "concept", "selection", "answer"} <= {difference["what"] for difference in other}
    assert run("trace", "diff", first, "nothing").code == 2


def test_replay(run: Run, asked: str) -> None:
    before = run("trace", "list", "--format", "json").json
    found = run("trace", "replay", asked, "--format", "json")
    assert (found.code, found.json["same"], found.json["replayed"]) == (0, True, None)
    assert "the same result" in run("trace", "replay", asked).out
    assert run("trace", "list", "--format", "json").json == before
    run("facts", "remove", "Andrew Orr", "designed", "Drumlaw Head Lighthouse", "--with-sentences")
    other = run("trace", "replay", asked)
    assert other.code == 1
    assert "a different result" in other.out
    assert "- Andrew Orr designed Drumlaw Head Lighthouse" in other.out
    kept = run("trace", "replay", asked, "--trace", "--format", "json").json
    assert run("trace", "show", kept["replayed"]).code == 0
    assert run("trace", "replay", "nothing").code == 2


def test_ask_without(run: Run, asked: str) -> None:
    document = ["--document", "documents/harbour.md"]
    found = run("trace", "ask-without", asked, *document, "--format", "json").json
    assert found["changed"]
    assert found["answer"] != found["answer_without"]
    assert found["without"][0].endswith("harbour.md")
    shown = run("trace", "ask-without", asked, *document)
    assert "the answer is different" in shown.out
    fact = ["--fact", "Andrew Orr", "was born in", "Arnhythe"]
    assert "the answer is the same" in run("trace", "ask-without", asked, *fact).out
    assert run("trace", "ask-without", asked).code == 2
    assert run("facts", "decisions", "--all", "--format", "json").json == []
