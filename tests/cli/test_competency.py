"""`ontology test`: competency questions on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_questions_pass_fail_and_end_with_a_code(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("Walter Pennock founded the Tarnay Electric Light Company.")
    run("ingest", "a.md", "--model", "none")
    (folder / "questions").mkdir()
    (folder / "questions" / "who.rq").write_text(
        "# Who founded something?\nSELECT ?who { ?s <http://trustgraph.ai/r/founded> ?o ; rdfs:label ?who }"
    )
    written = run("ontology", "test", "--write", "questions")
    assert written.code == 0
    assert "passed  Who founded something?" in written.out
    assert "who.csv; review it" in written.err
    (folder / "questions" / "who.csv").write_text("who\nMona Kell\n")
    failed = run("ontology", "test", "questions")
    assert failed.code == 1
    assert "- Mona Kell" in failed.out
    assert "+ Walter Pennock" in failed.out
    (found,) = run("ontology", "test", "questions", "--format", "json").json
    assert (found["passed"], found["missing"], found["rows"]) == (False, [["Mona Kell"]], 1)
    assert run("ontology", "test", "nowhere").code == 2
