"""`refresh relations`."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run, documents_in


def test_builds_and_counts(run: Run, store: Path) -> None:
    found = run("refresh", "relations", "--min-count", "1", "--format", "json")
    assert found.code == 0, found.err
    assert found.json["relations"]["rag:coOccursWith"] > 2
    assert found.json["relations"]["rag:sharesEntityWith"] == 1
    told = run("doctor", "--format", "json").json
    assert told["relation_counts"]["rag:sharesEntityWith"] == 1
    assert [drift["what"] for drift in told["configuration_drift"]] == ["relations derived"]
    assert run("check").code == 0


def test_of_one_document(run: Run, store: Path) -> None:
    whole = run("refresh", "relations", "--min-count", "1").out
    assert run("refresh", "relations", "--min-count", "1", "--source", "Port Merrin").out == whole
    found = run("refresh", "relations", "--sentence-window", "3", "--source", "Port Merrin")
    assert found.code == 2
    assert "--all" in found.err
    assert run("refresh", "relations", "--sentence-window", "3", "--all").code == 0


def test_wrong_use(run: Run, store: Path) -> None:
    assert run("refresh", "relations", "--all", "--source", "x").code == 2
    assert "no document" in run("refresh", "relations", "--source", "x").err
    assert run("refresh", "relations", "--window", "0").code == 2


def test_after_ingest_when_the_store_says_so(run: Run, store: Path) -> None:
    run("config", "set", "relations.build", "true")
    run("config", "set", "relations.min_count", "1")
    (store.parent / "documents" / "more.txt").write_text("Andrew Orr lived in Port Merrin.\n")
    assert run("ingest", "documents/more.txt").code == 0
    told = run("doctor", "--format", "json").json
    assert told["relation_counts"]["rag:sharesEntityWith"] >= 2
    assert told["configuration_drift"] == []


def test_other_stages(run: Run, store: Path) -> None:
    before = run("entities", "list", "--format", "json").json
    for file in (store.parent / "documents").iterdir():
        file.unlink()
    for stage in ("facts", "mentions"):
        found = run("refresh", stage, "--source", "Port Merrin", "--format", "json")
        assert found.code == 0, found.err
        assert found.json["documents"]["updated"] == 1
    assert run("refresh", "names", "--format", "json").json["settled"] > 3
    assert run("refresh", "index", "--format", "json").json["indexes"]["text"]["up_to_date"]
    assert run("entities", "list", "--format", "json").json == before
    assert run("check").code == 0
    assert run("refresh", "facts", "--all", "--source", "x").code == 2


def test_ingest_with_and_without_relations(run: Run, folder: Path) -> None:
    documents_in(folder)
    assert run("ingest", "documents").code == 0
    run("config", "set", "relations.build", "true")
    without = run("ingest", "--refresh", "--no-relations", "documents", "--format", "json").json
    assert without["relations"] == {}
    assert without["documents"]["updated"] == 2
    found = run("ingest", "--refresh", "documents", "--format", "json").json
    assert found["relations"]["rag:sharesEntityWith"] == 1
    assert [warning["type"] for warning in found["warnings"]] == ["no_llm"]
