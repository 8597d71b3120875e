"""SHACL shapes at the command line: `ingest --shapes`, `import --shapes`, the settings, `check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run

pytest.importorskip("pyshacl")

SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix r: <http://trustgraph.ai/r/> .
<urn:founders> a sh:NodeShape ; sh:targetSubjectsOf r:founded ; sh:property <urn:founded> .
<urn:founded> sh:path r:founded ; sh:class <urn:Bank> ; sh:message "only banks are founded" .
"""
TEXT = "Walter Pennock founded the Tarnay Electric Light Company. Walter Pennock lived in Port Merrin."
FACTS = "<urn:a> <http://trustgraph.ai/r/founded> <urn:b> ."


@pytest.fixture
def shapes(folder: Path) -> Path:
    (folder / "pennock.txt").write_text(TEXT)
    (folder / "facts.ttl").write_text(FACTS)
    (folder / "shapes.ttl").write_text(SHAPES)
    return folder / "shapes.ttl"


def test_ingest_rejects_facts_and_ends_with_3(run: Run, shapes: Path) -> None:
    result = run("ingest", "pennock.txt", "--shapes", shapes, "--validation", "reject", "--format", "json")
    assert result.code == 3
    found = result.json
    assert found["validation"]["rejected"] == 1
    assert found["validation"]["violations"] == 1
    listed = run("facts", "rejected", "--reason", "breaks_shape", "--format", "json").json
    assert "only banks are founded" in listed[0]["candidate"]
    assert "founded" not in run("sparql", "SELECT ?p { ?s ?p ?o }", "--format", "csv").out


def test_facts_rejected_by_shapes_without_names_are_counted_by_the_shape_around_them(
    run: Run, shapes: Path
) -> None:
    shapes.write_text(SHAPES.replace("<urn:founded> .\n<urn:founded> ", "[ ").replace('" .\n', '" ] .\n'))
    assert run("ingest", "pennock.txt", "--shapes", shapes, "--validation", "reject").code == 3
    found = run("queries", "run", "cookbook/broken-properties", "-p", "limit=5", "--format", "csv").out
    assert "urn:founders,breaks_shape,1," in found


def test_ingest_reports_by_default(run: Run, shapes: Path) -> None:
    result = run("ingest", "pennock.txt", "--shapes", shapes)
    assert result.code == 0
    assert "1 violations, 0 warnings (queries run validation/results)" in result.out
    assert "only banks are founded" in run("queries", "run", "validation/results", "-p", "limit=5").out


def test_settings_of_a_file(run: Run, shapes: Path) -> None:
    (shapes.parent / "graphrag.toml").write_text(
        '[validation]\nshapes = ["shapes.ttl"]\nmode = "reject"\n', "utf-8"
    )
    assert run("ingest", "pennock.txt").code == 3
    assert run("ingest", "--validation", "off", "--refresh", "pennock.txt").code == 0
    assert "founded" in run("sparql", "SELECT ?p { ?s ?p ?o }", "--format", "csv").out


def test_import_refuses_a_file(run: Run, shapes: Path) -> None:
    refused = run("import", "facts.ttl", "--shapes", shapes, "--validation", "reject")
    assert refused.code == 2
    assert "only banks are founded" in refused.err
    assert "urn:a" not in run("sparql", "SELECT ?s { ?s ?p ?o }", "--format", "csv").out
    reported = run("import", "facts.ttl", "--shapes", shapes, "--format", "json")
    assert (reported.code, reported.json["broken"]) == (0, 1)


def test_wrong_usage(run: Run, shapes: Path) -> None:
    del shapes
    assert run("ingest", "pennock.txt", "--validation", "reject").code == 2
    missing = run("ingest", "pennock.txt", "--shapes", "none.ttl")
    assert missing.code == 2
    assert "none.ttl" in missing.err


def test_the_gate_is_no_setting_of_a_store(run: Run, shapes: Path) -> None:
    del shapes
    assert run("ingest", "pennock.txt").code == 0
    assert run("config", "set", "validation.mode", "off").code != 0


def test_check_reports_shapes_and_integrity_with_quotes(run: Run, shapes: Path) -> None:
    assert run("ingest", "pennock.txt").code == 0
    assert run("check").out == "no errors, no warnings\n"
    result = run("check", "--shapes", shapes, "--format", "json")
    assert result.code == 1
    (found,) = result.json
    assert (found["check"], found["severity"]) == ("user-shape", "error")
    assert found["focus"] == "http://trustgraph.ai/e/walter-pennock"
    assert found["shape"] == "urn:founded"
    (place,) = found["sources"]
    assert place["quote"] == "Walter Pennock founded the Tarnay Electric Light Company."
    assert place["title"] == "Pennock"
    shown = run("check", "--shapes", shapes).out
    assert "user-shape  Walter Pennock http://trustgraph.ai/e/walter-pennock" in shown
    assert "“Walter Pennock founded the Tarnay Electric Light Company.” (Pennock)" in shown


def test_check_uses_the_shapes_of_the_settings(run: Run, shapes: Path) -> None:
    assert run("ingest", "pennock.txt").code == 0
    (shapes.parent / "graphrag.toml").write_text('[validation]\nshapes = ["shapes.ttl"]\n', "utf-8")
    assert run("check").code == 1
    assert run("check", "--shapes").code == 1
    assert [one["check"] for one in run("check", "--shapes", "--format", "json").json] == ["user-shape"]


def test_check_says_where_a_node_with_something_missing_is_named(run: Run, shapes: Path) -> None:
    shapes.write_text(
        SHAPES.replace("sh:path r:founded ; sh:class <urn:Bank>", "sh:path r:born ; sh:minCount 1")
    )
    assert run("ingest", "pennock.txt").code == 0
    (found,) = run("check", "--shapes", shapes, "--format", "json").json
    assert found["component"] == "MinCountConstraintComponent"
    assert found["sources"][0]["quote"].startswith("Walter Pennock")


def test_faults_of_evidence_show_chunk_and_document(run: Run, shapes: Path) -> None:
    del shapes
    assert run("ingest", "pennock.txt").code == 0
    update = (
        "DELETE { GRAPH ?g { ?e tg:sourceCharOffset ?o } } INSERT { GRAPH ?g { ?e tg:sourceCharOffset 3 } } "
        "WHERE { GRAPH ?g { ?e tg:sourceCharOffset ?o } }"
    )
    assert run("sparql", "--update", update).code == 0
    found = run("check", "--format", "json").json
    quoted = [one for one in found if one["check"] == "evidence-quotes"]
    assert quoted
    assert quoted[0]["sources"][0]["title"] == "Pennock"
    assert quoted[0]["sources"][0]["quote"]
