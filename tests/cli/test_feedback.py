"""`feedback`."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run


def test_mark_show_and_take_back(run: Run, store: Path) -> None:
    answer = run("ask", "Who designed Drumlaw Head Lighthouse?", "--format", "json").json
    iri = answer["question_iri"]
    found = run("feedback", iri, "wrong", "--citation", "1", "--note", "no\x1b[2J", "--format", "json").json
    assert (found["rating"], found["citation"]) == ("wrong", 1)
    assert "marked as helpful: the answer" in run("feedback", "last", "helpful").out
    shown = run("trace", "show", "last")
    assert "Marked helpful: the answer" in shown.out
    assert "Marked wrong: what is cited as [1]" in shown.out
    assert "\x1b" not in shown.out
    listed = run("queries", "run", "trace/feedback", "--format", "json")
    assert len(listed.json["results"]["bindings"]) == 2
    assert "mark removed" in run("feedback", iri, "none").out
    assert "no such mark" in run("feedback", iri, "none").out
    assert run("check").code == 0


def test_what_is_not_there(run: Run, store: Path) -> None:
    assert run("feedback", "last", "helpful").code == 2
    run("retrieve", "--trace", "Who designed Drumlaw Head Lighthouse?")
    for where in ((), ("--citation", "1")):
        found = run("feedback", "last", "wrong", *where)
        assert found.code == 2
        assert "has no answer to mark" in found.err
        assert "trace list" in found.err
    run("ask", "Who designed Drumlaw Head Lighthouse?")
    assert run("feedback", "last", "wrong", "--citation", "40").code == 2
    assert run("feedback", "last", "splendid").code == 2
