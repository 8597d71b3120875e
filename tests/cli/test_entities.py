"""`entities list`."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run


def test_most_connected_first(run: Run, store: Path) -> None:
    found = run("entities", "list", "--format", "json").json
    assert [entity["facts"] for entity in found] == sorted((e["facts"] for e in found), reverse=True)
    assert found[0].keys() == {"iri", "name", "facts", "members"}


def test_match_without_regard_to_case(run: Run, store: Path) -> None:
    found = run("entities", "list", "--match", "ORR", "--format", "jsonl").lines
    assert [entity["name"] for entity in found] == ["Andrew Orr"]
    assert found[0]["facts"] >= 2
    assert "Andrew Orr" in run("entities", "list", "--match", "orr").out


def test_limit(run: Run, store: Path) -> None:
    assert len(run("entities", "list", "--limit", "2", "--format", "json").json) == 2
