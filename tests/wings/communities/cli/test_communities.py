"""`communities`: build, list, show."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run


def test_build_list_and_show(run: Run, store: Path) -> None:
    built = run("communities", "build", "--format", "json").json
    assert built["communities"]["0"] >= 1
    assert not built["unchanged"]
    assert "nothing since the last build" in run("communities", "build").out
    found = run("communities", "list", "--format", "json").json
    assert len(found) == sum(built["communities"].values())
    first = found[0]
    assert first["central"]
    (shown,) = run("communities", "show", first["iri"], "--format", "json").json
    assert len(shown["members"]) == first["entities"]
    assert shown["documents"]
    named = run("communities", "show", shown["members"][0]["name"])
    assert named.code == 0
    assert first["iri"] in named.out
    assert str(first["entities"]) in run("communities", "list").out


def test_without_a_build(run: Run, store: Path) -> None:
    found = run("communities", "list")
    assert found.code == 2
    assert "the store has no communities" in found.err
    assert "graphrag-rdf communities build" in found.err


def test_an_unknown_community(run: Run, store: Path) -> None:
    run("communities", "build")
    found = run("communities", "show", "urn:community:none")
    assert found.code == 2
    assert "no community: urn:community:none" in found.err


def test_communities_of_an_older_store_say_so(run: Run, store: Path) -> None:
    run("communities", "build")
    (store.parent / "documents" / "more.txt").write_text("Ingrid Halden sailed with Peter Gow.\n")
    run("ingest", "documents")
    found = run("communities", "list")
    assert found.code == 0
    assert "the store has changed since the communities were built" in found.err


def test_reports_are_listed_shown_and_removed(run: Run, store: Path) -> None:
    built = run("communities", "build", "--format", "json").json
    assert built["reports"]["by"] == "extractive"
    assert built["reports"]["written"] > 0
    (first, *_) = run("communities", "list", "--format", "json").json
    assert first["report"]["title"] in run("communities", "list").out
    assert first["report"]["rating"] is None
    (shown,) = run("communities", "show", first["iri"], "--format", "json").json
    finding = shown["report"]["findings"][0]
    assert [source["iri"] for source in finding["sources"]] == finding["cites"] != []
    text = " ".join(run("communities", "show", first["iri"]).out.split())
    assert "quotes of the documents, no model" in text
    assert finding["sources"][0]["document"] in text
    assert "none" in run("communities", "build", "--reports", "none").out
    assert run("communities", "list", "--format", "json").json[0]["report"] is None
    refused = run("communities", "build", "--reports", "llm")
    assert "communities.reports is llm, but no model is set" in refused.err
