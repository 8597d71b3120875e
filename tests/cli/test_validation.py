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
