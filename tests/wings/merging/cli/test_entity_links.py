"""`entities link`, and where links are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.scripted_server import Request, ScriptedServer

VOCABULARY = """
@prefix : <http://example.org/places#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/places> a owl:Ontology .
:planet a skos:Concept ; skos:prefLabel "Mercury"@en , "Merkur"@de ;
  skos:definition "The smallest planet, in the orbit nearest to the Sun."@en .
:metal a skos:Concept ; skos:prefLabel "Mercury"@en ; skos:definition "A liquid metal in thermometers."@en .
:ada a skos:Concept ; skos:prefLabel "Ada Lovelace"@en ; skos:definition "A mathematician."@en .
"""
TEXT = (
    "Mercury is the planet closest to the Sun. Astronomers observed the orbit of Mercury with telescopes.\n"
)


@pytest.fixture
def place(run: Run, folder: Path) -> Path:
    """A folder with a store of a document, and a vocabulary that is not loaded."""
    (folder / "docs").mkdir()
    (folder / "docs" / "planets.txt").write_text(TEXT)
    (folder / "places.ttl").write_text(VOCABULARY)
    assert run("ingest", "docs").code == 0
    return folder


def test_link_show_and_undo(run: Run, place: Path) -> None:
    refused = run("entities", "link", "--vocabulary", "places.ttl")
    assert refused.code == 2
    assert "ontology load places.ttl" in refused.err
    made = run("entities", "link", "--vocabulary", "places.ttl", "--apply", "--format", "json").json
    assert made["applied"]
    (link,) = made["links"]
    assert (link["name"], link["thing"]) == ("Mercury", "http://example.org/places#planet")
    assert link["relation"].endswith("exactMatch")
    assert link["others"][0]["thing"].endswith("metal")
    assert run("entities", "link", "--format", "json").json == {"applied": False, "links": [], "left": []}
    (shown,) = run("entities", "show", "Mercury", "--format", "json").json["links"]
    assert (shown["name"], shown["language"], shown["method"]) == ("Mercury", "en", "exact")
    assert "planet closest to the Sun" in shown["evidence"][0]["text"]
    text = run("entities", "show", "Merkur").out
    assert "exactMatch" in text
    assert "“Mercury is the planet closest to the Sun.” (Planets)" in text
    (decision,) = run("entities", "decisions", "--format", "json").json
    assert (decision["kind"], decision["iri"]) == ("link", shown["decision"])
    assert "exactMatch" in run("entities", "decisions").out
    assert run("check").code == 0
    assert "undone" in run("entities", "link", "--undo").out
    assert "nothing to undo" in run("entities", "link", "--undo").out
    assert run("entities", "show", "Mercury", "--format", "json").json["links"] == []
    lines = run(
        "entities", "link", "--again", "--vocabulary", "http://example.org/places", "--format", "jsonl"
    ).lines
    assert [one["outcome"] for one in lines] == ["link"]
    assert "1 link; make them with" in run("entities", "link", "--again").out


def test_by_hand(run: Run, place: Path) -> None:
    run("ontology", "load", "places.ttl")
    (made,) = run(
        *("entities", "link", "Mercury", "http://example.org/places#metal"),
        *("--by", "R. Tennant", "--reason", "a thermometer", "--format", "json"),
    ).json
    assert (made["link"]["method"], made["reason"]) == ("person", "a thermometer")
    for arguments in (
        ("Mercury",),
        ("Mercury", "no iri"),
        ("Mercury", "http://example.org/places#metal"),
        ("Mercury", "http://example.org/places#other"),
        ("Mercury", "http://example.org/places#metal", "--apply"),
    ):
        assert run("entities", "link", *arguments).code == 2, arguments
    assert run("entities", "link", "--vocabulary", "http://example.org/none").code == 2


def test_links_are_exported_and_no_edit(run: Run, place: Path) -> None:
    run("entities", "link", "--vocabulary", "places.ttl", "--apply")
    report = run("ontology", "export", "owl", "--format", "json").json
    assert report["links"] == 1
    links = (place / "owl" / "links.ttl").read_text()
    assert "skos:exactMatch <http://example.org/places#planet>" in links
    assert "planet closest to the Sun" in links
    assert "no differences" in run("ontology", "diff", "owl").out
    assert run("export", "-o", "dump.trig").code == 0
    assert "EntityLink" in (place / "dump.trig").read_text()
    again = place / "again"
    assert run("--store", str(again), "import", "dump.trig").code == 0
    assert run("--store", str(again), "entities", "show", "Merkur", "--format", "json").json["links"]


def test_a_vocabulary_that_changes_changes_the_names(run: Run, place: Path) -> None:
    run("entities", "link", "--vocabulary", "places.ttl", "--apply")
    (place / "places.ttl").write_text(
        VOCABULARY.replace('"Merkur"@de', '"Merkur"@de , "Quecksilberplanet"@de')
    )
    assert run("entities", "show", "Quecksilberplanet").code == 2
    run("ontology", "load", "places.ttl")
    assert run("entities", "show", "Quecksilberplanet").code == 0
    run("ontology", "remove", "http://example.org/places")
    assert run("entities", "show", "Merkur").code == 2
    assert run("entities", "show", "Mercury", "--format", "json").json["links"]
    assert run("check").code == 0


def test_a_model_judges_what_several_things_fit(
    run: Run, folder: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "note.txt").write_text("Ada Lovelace admired Mercury.")
    (folder / "places.ttl").write_text(VOCABULARY)
    assert run("ingest", "note.txt", "--model", "none").code == 0
    assert run("ontology", "load", "places.ttl").code == 0
    link = ("entities", "link", "--by-model")
    refused = run(*link)
    assert refused.code == 2
    assert "--model" in refused.err
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MODEL", "openai/scripted")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-test")
    scripted_server.answer_with(lambda _: "I cannot know that.")
    unread = run(*link, "--apply")
    assert unread.code == 3
    assert "the model did not judge some entities, which are left" in unread.err
    assert "1 link made" in unread.out, "that of Ada Lovelace, by rule"
    assert "1 unsure" in unread.out

    def choose(request: Request) -> str:
        (metal,) = re.findall(r"(t\d+): .*liquid metal", request.prompt)
        (said,) = re.findall(r"(s\d+) \(Note\)", request.prompt)
        (asked,) = re.findall(r"^(e\d+): Mercury", request.prompt, re.MULTILINE)
        return json.dumps({"links": [{"entity": asked, "thing": metal, "sentences": [said]}]})

    scripted_server.answer_with(choose)
    shown = run(*link)
    assert shown.code == 0
    assert "exact, openai/scripted" in shown.out
    made = run(*link, "--apply", "--format", "json").json
    (one,) = made["links"]
    assert (one["thing"], one["by"]) == ("http://example.org/places#metal", "openai/scripted")
    assert one["reason"] == "openai/scripted says: the texts fit its description"
    assert "openai/scripted says" in run("entities", "show", "Mercury").out
    assert run("check").code == 0
    assert "undone" in run("entities", "link", "--undo").out
    assert run("entities", "show", "Mercury", "--format", "json").json["links"] == []
