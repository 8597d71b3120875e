"""`facts rejected`: what extraction found and did not take."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run


def test_rejected_candidates_are_listed_by_document_with_their_reasons(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text(
        "Walter Pennock founded the bank. Mona Kell never founded the Lantern Society."
    )
    (folder / "b.md").write_text("Ann Orr perhaps founded the Orr Mill. It rained.")
    assert run("ingest", "a.md", "b.md").code == 0
    found = run("facts", "rejected", "--format", "json").json
    assert [row["title"] for row in found] == sorted(row["title"] for row in found)
    assert {row["reason"] for row in found} >= {"negated"}
    (negated,) = run("facts", "rejected", "--reason", "negated", "--format", "json").json
    assert "Mona Kell" in negated["candidate"]
    assert (negated["document"].endswith("a.md"), negated["chunk_number"]) == (True, 1)
    told = run("facts", "rejected").out
    assert told.count("\n  ") >= len(found)
    assert "negated: Mona Kell" in told
    assert "--limit shows more" in run("facts", "rejected", "--limit", "1").err
    wrong = run("facts", "rejected", "--reason", "rejected")
    assert (wrong.code, "negated" in wrong.err) == (2, True)
    run("forget", "a.md")
    assert not [row for row in run("facts", "rejected", "--format", "json").json if row["title"] == "A"]
    assert run("facts", "rejected", "--reason", "negated").code == 2


def test_nothing_rejected(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("Walter Pennock founded the Tarnay Bank.")
    run("ingest", "a.md")
    assert run("facts", "rejected").out == "nothing was rejected\n"
