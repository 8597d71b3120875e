"""`source`: from documents to facts and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import HARBOUR, Run

FACT = ["Andrew Orr", "designed", "Drumlaw Head Lighthouse"]


@pytest.mark.parametrize("name", ["Port Merrin", "documents/harbour.md"])
def test_tree(run: Run, store: Path, name: str) -> None:
    found = run("source", "tree", name, "--format", "json").json
    assert found["title"] == "Port Merrin"
    (chunk,) = found["chunks"]
    assert chunk["char_length"] == len(HARBOUR.rstrip())
    labels = [(fact["s_label"], fact["p_label"], fact["o_label"]) for fact in chunk["facts"]]
    assert tuple(FACT) in labels
    shown = run("source", "tree", name)
    assert "Andrew Orr" in shown.out


def test_fact_by_labels_and_by_terms(run: Run, store: Path) -> None:
    found = run("source", "fact", *FACT, "--format", "json").json
    (source,) = found
    keys = "chunk page document title page_number char_offset char_length quote verified subgraph activity"
    assert set(keys.split()) <= source.keys()
    start = source["char_offset"]
    assert HARBOUR[start : start + source["char_length"]] == source["quote"]
    fact = source["fact"]
    assert run("source", "fact", fact["s"], fact["p"], fact["o"], "--format", "json").json == found
    assert source["quote"] in " ".join(run("source", "fact", *FACT).out.split())


@pytest.mark.parametrize("arguments", [["tree", "nothing.md"], ["fact", "Andrew Orr", "designed", "nothing"]])
def test_unknown(run: Run, store: Path, arguments: list[str]) -> None:
    assert run("source", *arguments).code == 2
