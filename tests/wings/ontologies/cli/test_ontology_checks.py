"""`ontology test` and `ontology validate`: competency questions and SHACL shapes on the command line."""

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


def test_shapes_are_violated_with_the_quote(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("Walter Pennock founded the Tarnay Electric Light Company.")
    run("ingest", "a.md", "--model", "none")
    (folder / "shapes.ttl").write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix r: <http://trustgraph.ai/r/> .\n"
        "<urn:s> sh:targetSubjectsOf r:founded ; a sh:NodeShape ;"
        " sh:property [ sh:path r:founded ; sh:maxCount 0 ;"
        " sh:message 'nobody founds' ] ."
    )
    found = run("ontology", "validate", "shapes.ttl")
    assert (found.code, found.out.splitlines()[-1]) == (1, "1 violation")
    assert "violation  Walter Pennock · founded\n    nobody founds" in found.out
    assert run("ontology", "validate", "none.ttl").code == 2
    told = run("ontology", "validate", "shapes.ttl", "--format", "json").json
    assert told[0]["focus"] == "http://trustgraph.ai/e/walter-pennock"
