"""`check`: the integrity of the store."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run


def test_a_sound_store(run: Run, store: Path) -> None:
    run("ask", "Who designed Drumlaw Head Lighthouse?")
    found = run("check")
    assert found.code == 0, found.out
    assert found.out == "no errors, no warnings\n"
    assert run("check", "--format", "json").json == []


def test_what_is_wrong_is_listed(run: Run, store: Path) -> None:
    update = "DELETE WHERE { GRAPH <urn:graph:source> { ?g tg:contains ?f } }"
    assert run("sparql", "--update", update).code == 0
    found = run("check", "--format", "json")
    assert found.code == 1
    assert found.json[0].keys() > {"check", "severity", "focus", "message", "sources"}
    assert "error" in run("check").out


def test_damaged_index(run: Run, store: Path) -> None:
    (store / "index" / "text" / "manifest.json").write_text("{")
    found = run("check", "--format", "json")
    assert found.code == 1
    assert [violation["check"] for violation in found.json] == ["index-damaged"]


def test_damaged_texts_are_mended_as_the_message_says(run: Run, folder: Path) -> None:
    """An ingest notices that the text is damaged, and keeps it anew."""
    (folder / "a.txt").write_text("Ada Lovelace met Charles Babbage in London.")
    assert run("ingest", "a.txt").code == 0
    for file in (folder / "graphrag-store" / "librarian").glob("*/*"):
        file.write_bytes(b"damaged")
    found = run("check")
    assert found.code == 1
    assert "run graphrag-rdf ingest (or import) with its file" in " ".join(found.out.split())
    assert run("ingest", "a.txt").code == 0
    assert run("check").code == 0
