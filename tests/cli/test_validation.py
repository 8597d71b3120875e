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
    assert "1 violation, 0 warnings (queries run validation/results)" in result.out
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


REJECT = ("--validation", "reject")
UPDATE = f"INSERT DATA {{ {FACTS} }}"


def results(run: Run) -> str:
    return run("queries", "run", "validation/results", "-p", "limit=9", "--format", "csv").out


def has_fact(run: Run, subject: str = "urn:a", *more: str) -> bool:
    return subject in run("sparql", "SELECT ?s { ?s r:founded ?o }".replace("r:founded", FOUNDED), *more).out


FOUNDED = "<http://trustgraph.ai/r/founded>"


@pytest.mark.parametrize(
    "update",
    [UPDATE, f"INSERT {{ ?o {FOUNDED} <urn:b> }} WHERE {{ ?s {FOUNDED} ?o }}"],
    ids=["data", "where"],
)
def test_updates_that_break_the_shapes_are_refused_or_reported(run: Run, shapes: Path, update: str) -> None:
    assert run("ingest", "pennock.txt").code == 0
    subject = "urn:a" if update == UPDATE else "tarnay-electric-light-company"
    refused = run("sparql", "--update", update, "--shapes", shapes, *REJECT)
    assert refused.code == 2
    assert "1 violation of the shapes: " in refused.err
    assert "only banks are founded" in refused.err
    assert "nothing was written" in refused.err
    assert not has_fact(run, subject)
    assert "only banks are founded" in results(run)
    assert list((shapes.parent / "graphrag-store").glob("snapshots/*")) == []
    reported = run("sparql", "--update", update, "--shapes", shapes)
    assert reported.code == 0
    assert "warning: 1 result of the SHACL shapes" in reported.err
    assert has_fact(run, subject)
    assert results(run).count("only banks are founded") == 2


def test_updates_that_conform_say_nothing(run: Run, shapes: Path) -> None:
    assert run("ingest", "pennock.txt").code == 0
    found = run("sparql", "--update", "INSERT DATA { <urn:a> <urn:p> 1 }", "--shapes", shapes, *REJECT)
    assert (found.code, found.err) == (0, "")
    assert run("sparql", "ASK { ?s ?p ?o }", "--shapes", shapes).code == 2, "queries write nothing"


def test_files_for_a_graph_are_validated_with_the_facts(run: Run, shapes: Path) -> None:
    graph = ("--graph", "urn:g", "--shapes", shapes)
    refused = run("import", "facts.ttl", *graph, *REJECT)
    assert refused.code == 2
    assert "only banks are founded" in refused.err
    assert not has_fact(run, "urn:a", "--union")
    (shapes.parent / "bank.ttl").write_text("<urn:b> a <urn:Bank> .")
    assert run("import", "bank.ttl", "--shapes", shapes, *REJECT).code == 0
    allowed = run("import", "facts.ttl", *graph, *REJECT, "--format", "json")
    assert (allowed.code, allowed.json["kind"], allowed.json["broken"]) == (0, "loaded", 0)
    assert has_fact(run, "urn:a", "--union")


def test_dumps_are_validated_before_they_are_restored(run: Run, shapes: Path) -> None:
    assert run("ingest", "pennock.txt").code == 0
    assert run("export", "--format", "nquads", "-o", "dump.nq").code == 0
    other = ("--store", "other")
    refused = run("import", "dump.nq", "--shapes", shapes, *REJECT, *other)
    assert refused.code == 2
    assert "Walter Pennock · founded · Tarnay Electric Light Company: only banks" in refused.err
    assert run("sparql", "SELECT ?s { ?s ?p ?o }", *other, "--format", "csv").out == "s\n"
    assert (
        "only banks are founded" in run("queries", "run", "validation/results", "-p", "limit=9", *other).out
    )
    reported = run("import", "dump.nq", "--shapes", shapes, *other, "--format", "json")
    assert (reported.code, reported.json["kind"], reported.json["broken"]) == (0, "restored", 1)
    assert "1 result of the SHACL shapes" in reported.err
    assert run("forget", "pennock.txt", *other).code == 0
    kept = run("sparql", "SELECT ?v { GRAPH ?g { ?r sh:value ?v ; prov:wasDerivedFrom ?s } }", *other)
    assert "tarnay" not in kept.out, "results go with the document that they are about"
    assert run("check", *other).code == 0


def test_a_dump_is_validated_with_the_store_that_it_is_added_to(run: Run, shapes: Path) -> None:
    assert run("ingest", "pennock.txt").code == 0
    assert run("export", "--format", "nquads", "-o", "dump.nq").code == 0
    other, company = ("--store", "other"), "http://trustgraph.ai/e/tarnay-electric-light-company"
    (shapes.parent / "note.ttl").write_text("<urn:x> <urn:y> 1 .")
    assert run("import", "note.ttl", *other).code == 0
    merge = ("import", "dump.nq", "--merge", "--shapes", shapes, *REJECT, *other)
    assert run(*merge).code == 2
    (shapes.parent / "bank.ttl").write_text(f"<{company}> a <urn:Bank> .")
    assert run("import", "bank.ttl", *other).code == 0
    assert run(*merge).code == 0


def test_corrections_are_validated(run: Run, shapes: Path) -> None:
    assert run("ingest", "pennock.txt").code == 0
    fact = ("Walter Pennock", "lived in", "Port Merrin")
    how = ("--predicate", "founded", "--shapes", shapes)
    dry = run("facts", "correct", *fact, *how, *REJECT, "--dry-run")
    assert (dry.code, results(run).count("banks")) == (2, 0), "a dry run keeps no report"
    refused = run("facts", "correct", *fact, *how, *REJECT)
    assert refused.code == 2
    assert "Walter Pennock · founded · Port Merrin: only banks are founded" in refused.err
    assert run("facts", "decisions", "--format", "json").json == []
    assert results(run).count("only banks") == 1
    reported = run("facts", "correct", *fact, *how, "--format", "json")
    assert (reported.code, reported.json["broken"]) == (0, 1)
    assert "1 result of the SHACL shapes" in reported.err
    assert run("check").code == 0
    assert run("facts", "undo", reported.json["decisions"][0]["iri"]).code == 0
    assert run("check").code == 0


def test_edited_individuals_are_validated_as_a_whole(run: Run, shapes: Path) -> None:
    assert run("ingest", "pennock.txt").code == 0
    assert run("ontology", "export", "owl").code == 0
    facts = shapes.parent / "owl" / "facts.ttl"
    lines = facts.read_text().replace("/r/lived-in>", "/r/founded>").replace("r:lived-in", "r:founded")
    facts.write_text(lines)
    listed = run("facts", "decisions", "--format", "json").json
    refused = run("ontology", "apply", facts, "--shapes", shapes, *REJECT)
    assert refused.code == 2, refused.out
    assert "Walter Pennock · founded · Port Merrin: only banks are founded" in refused.err
    assert run("facts", "decisions", "--format", "json").json == listed == [], "nothing was removed either"
    reported = run("ontology", "apply", facts, "--shapes", shapes, "--format", "json")
    assert reported.code == 0
    assert [each["broken"] for each in reported.json] == [1]
    assert "1 result of the SHACL shapes" in reported.err
    assert "Port Merrin" in run("ontology", "validate", shapes).out
    assert run("check").code == 0
