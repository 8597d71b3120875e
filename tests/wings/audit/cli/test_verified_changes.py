"""`trace verify` after what an answer cites was removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.commands import Run

QUESTION = "Who designed Drumlaw Head Lighthouse?"


def checks_of(run: Run) -> dict[str, dict[str, Any]]:
    """The checks of the last trace; none of them fails."""
    found = run("trace", "verify", "last", "--format", "json")
    assert (found.code, found.json["ok"]) == (0, True), found.out
    return {check["check"]: check for check in found.json["checks"]}


def test_what_was_removed_since_is_changed_and_not_ok(run: Run, store: Path) -> None:
    run("ask", QUESTION)
    before = checks_of(run)
    assert not any(check["changed"] for check in before.values())
    queries = before["ranking"]["queries"]
    assert {"retrieval/reached", "retrieval/ranked", "retrieval/evidence"} <= {
        one["template"] for one in queries
    }
    assert all(one["rows"] and one["order"] and one["scores"] and one["ok"] for one in queries)
    trace = run("trace", "show", "last", "--format", "json").json
    facts = [one["edge"] for step in trace["steps"] for one in step.get("selections", ()) if one["edge"]]
    assert facts
    for fact in facts:
        assert run("facts", "remove", fact["s"], fact["p"], fact["o"]).code == 0
    after = checks_of(run)
    assert (after["edges"]["ok"], after["edges"]["changed"]) == (None, True)
    assert "holds no more" in after["edges"]["detail"]
    assert after["citations"] == before["citations"]
    told = run("trace", "verify", "last").out
    assert "\nchanged  edges: " in told
    assert "\nok  edges: " not in told


def test_what_was_ingested_since_changes_the_queries_that_read_it(
    run: Run, store: Path, folder: Path
) -> None:
    run("ask", QUESTION)
    (folder / "more.txt").write_text("Tom Hask designed Drumlaw Head Lighthouse with Andrew Orr.\n")
    assert run("ingest", "more.txt").code == 0
    ranking = checks_of(run)["ranking"]
    assert (ranking["ok"], ranking["changed"]) == (None, True)
    others = {one["template"] for one in ranking["queries"] if not one["ok"]}
    assert "retrieval/ranked" in others
    told = run("trace", "verify", "last").out
    assert "changed  ranking: the store has changed since; " in told
    for one in ranking["queries"]:
        assert (
            f"      {one['template']} ({one['number']}): {one['detail'] or 'same rows, order and scores'}"
            in told
        )
