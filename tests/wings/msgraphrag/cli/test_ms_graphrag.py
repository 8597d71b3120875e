"""`import ms-graphrag` and `export ms-graphrag` as people type them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.ms_tables import some_tables, write_parquet


def test_import_tells_what_was_imported_and_what_was_not(run: Run, tmp_path: Path) -> None:
    write_parquet(tmp_path / "output", some_tables())
    found = run("import", "ms-graphrag", str(tmp_path / "output"))
    assert found.code == 0, found.err
    lines = [" ".join(line.split()) for line in found.out.splitlines()]
    assert "entities 4 of 4" in lines
    assert "covariates 2 of 4 (1 malformed, 1 status not listed, 1 invalid date)" in lines or any(
        line.startswith("covariates 2 of 4 (") for line in lines
    )
    assert "citations 6 of 7 resolved, 1 dangling, 1 outside of their community" in lines
    assert "dangling citation: no row has the number (omitted)" in found.err
    assert "Ada Lark" in run("ask", "Who designed the Skell Tidal Station?").out
    assert "The harbour" in run("communities", "list").out
    again = run("import", "ms-graphrag", str(tmp_path / "output"), "--format", "json")
    assert again.json["tables"]["relationships"]["imported"] == 4
    assert (again.json["facts"], again.json["changed"]) == (0, 0)
    assert {problem["reason"] for problem in again.json["problems"]} >= {"malformed", "undescribed_end"}
    assert run("check").code == 0


def test_a_wrong_folder_makes_no_store(run: Run, tmp_path: Path) -> None:
    found = run("import", "ms-graphrag", str(tmp_path), "--store", str(tmp_path / "new"))
    assert found.code == 2
    assert "no table of text units" in found.err
    assert not (tmp_path / "new").exists()


def test_export_writes_tables_that_can_be_imported(run: Run, store: Path, tmp_path: Path) -> None:
    assert run("communities", "build").code == 0
    found = run("export", "ms-graphrag", str(tmp_path / "output"), "--counts")
    assert found.code == 0, found.err
    counts = found.json["tables"]
    assert counts["text_units"] == counts["documents"] == 2
    assert min(counts[name] for name in ("entities", "relationships", "communities", "community_reports")) > 0
    assert found.json["values"] > 0
    again = run("import", "ms-graphrag", str(tmp_path / "output"), "--store", "other", "--format", "json")
    assert again.code == 0, again.err
    imported = {name: each["imported"] for name, each in again.json["tables"].items()}
    assert imported == counts
    told = run("export", "ms-graphrag", str(tmp_path / "output")).err
    assert "2 text units" in told
    assert "facts with a value" in told


def test_a_wrong_word_is_refused(run: Run, store: Path) -> None:
    found = run("export", "graphrag", "output")
    assert found.code == 2
    assert "graphrag-rdf export ms-graphrag DIR" in found.err


def test_tables_pass_the_gate_of_shapes(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyshacl")
    write_parquet(tmp_path / "output", some_tables())
    (tmp_path / "shapes.ttl").write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix r: <http://trustgraph.ai/r/> .\n"
        "<urn:related> a sh:NodeShape ; sh:targetSubjectsOf r:related-to ;\n"
        "  sh:property [ sh:path r:related-to ;\n"
        '  sh:class <http://trustgraph.ai/type/person> ; sh:message "people know people" ] .\n'
    )
    gate = ("--shapes", str(tmp_path / "shapes.ttl"), "--validation", "reject")
    found = run("import", "ms-graphrag", str(tmp_path / "output"), *gate, "--format", "json")
    assert found.code == 3
    assert found.json["validation"]["rejected"] == 3
    kept = run("sparql", "SELECT ?o { ?s <http://trustgraph.ai/r/related-to> ?o }", "--format", "csv").out
    assert kept.split() == ["o", "http://trustgraph.ai/e/tom-reed"]
    assert len(run("facts", "rejected", "--reason", "breaks_shape", "--format", "json").json) == 3
    again = run("import", "ms-graphrag", str(tmp_path / "output"), *gate, "--format", "json")
    assert (again.code, again.json["facts"], again.json["validation"]) == (0, 0, None)
    assert run("check").code == 0
    (tmp_path / "set.json").write_text("{}")
    refused = run("import", "evalset", "set.json", *gate)
    assert refused.code == 2
    assert "evaluation sets are not validated" in refused.err
