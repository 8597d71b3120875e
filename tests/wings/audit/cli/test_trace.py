"""`trace verify`, `diff`, `replay`, `ask-without`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run

QUESTION = "Who designed Drumlaw Head Lighthouse?"


@pytest.fixture
def asked(run: Run, store: Path) -> str:
    """A question was asked; its IRI."""
    return str(run("ask", "--format", "json", QUESTION).json["question_iri"])


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
