"""`forget`: documents leave for good."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run


def test_dry_run_says_what_would_go_and_erases_nothing(run: Run, store: Path) -> None:
    found = run("forget", "--dry-run", "documents/harbour.md", "--format", "json").json
    assert found["removed"]["chunks"] == 1
    assert found["removed"]["facts"] > 0
    assert {"facts", "entities", "chunks"} == found["removed"].keys()
    assert "kept_facts" in found
    assert "Andrew Orr" in run("ask", "Who designed Drumlaw Head Lighthouse?").out


def test_forgotten_is_gone(run: Run, store: Path) -> None:
    run("ask", "Who designed Drumlaw Head Lighthouse?")
    assert run("forget", "documents/harbour.md").code == 0
    assert "don't know" in run("ask", "Who designed Drumlaw Head Lighthouse?").out
    texts = run("export", "--format", "nquads").out if "export" in run("--help").out else ""
    assert "designed Drumlaw Head Lighthouse in 1881" not in texts
    assert "Walter Pennock" in run("ask", "Who founded the Tarnay Electric Light Company?").out


def test_unknown_document(run: Run, store: Path) -> None:
    found = run("forget", "nothing.pdf")
    assert found.code == 2
    assert "nothing.pdf" in found.err


def test_it_tells_what_it_is_at(run: Run, store: Path) -> None:
    found = run("forget", "Port Merrin", "--format", "json")
    assert found.code == 0
    assert found.json["documents"] == 1
    assert [line for line in found.err.splitlines() if line.endswith("…")][-1].startswith(
        "rewriting the database"
    )
    assert run("forget", "x", "-q").err.count("…") == 0


def test_a_name_that_no_document_has_is_told_with_those_like_it(run: Run, store: Path) -> None:
    for name in ("company", "COMPANY.txt", "documents/compny.txt"):
        assert "did you mean documents/company.txt" in run("forget", name).err
    assert "queries run ingest/documents" in run("forget", "zzz").err
