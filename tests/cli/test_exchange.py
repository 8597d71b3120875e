"""`export` and `import`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run

QUESTION = "Who designed Drumlaw Head Lighthouse?"
TURTLE = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:mona rdfs:label "Mona Kell" ; :founded :society . :society rdfs:label "Lantern Society" .
"""


@pytest.mark.parametrize("form", ["trig", "nquads"])
def test_dump_and_restore(run: Run, store: Path, form: str) -> None:
    run("ask", QUESTION)
    dump = f"dump.{'trig' if form == 'trig' else 'nq'}"
    found = run("export", "--format", form, "-o", dump, "--counts")
    assert found.code == 0
    assert found.json["quads"] > 100
    restored = run("import", dump, "--store", "restored", "--format", "json")
    assert restored.code == 0, restored.err
    assert restored.json["kind"] == "restored"
    assert "Andrew Orr" in run("ask", QUESTION, "--store", "restored").out
    assert run("import", dump).code == 2


@pytest.mark.parametrize("form", ["trig", "nquads", "turtle", "ntriples", "graphml"])
def test_formats(run: Run, store: Path, form: str) -> None:
    found = run("export", "--format", form)
    assert found.code == 0, found.err
    assert "Andrew Orr" in found.out
    assert "wrote" in found.err


def test_one_graph(run: Run, store: Path) -> None:
    found = run("export", "--graph", "urn:graph:derived", "--format", "ntriples")
    assert all("canonicalEntity" in line for line in found.out.splitlines())


def test_facts_of_others(run: Run, folder: Path) -> None:
    (folder / "people.ttl").write_text(TURTLE)
    found = run("import", "people.ttl", "--format", "json")
    assert found.code == 0, found.err
    assert found.json | {"file": "people.ttl", "kind": "imported", "facts": 1} == found.json
    assert run("import", "people.ttl").out.startswith("people.ttl: unchanged")
    names = [entity["name"] for entity in run("entities", "list", "--format", "json").json]
    assert sorted(names) == ["Lantern Society", "Mona Kell"]
    assert run("check").code == 0


def test_into_a_graph_of_its_own(run: Run, store: Path, folder: Path) -> None:
    (folder / "people.ttl").write_text(TURTLE)
    assert run("import", "people.ttl", "--graph", "http://example.org/g").code == 0
    query = "ASK { GRAPH <http://example.org/g> { ?s rdfs:label 'Mona Kell' } }"
    assert run("sparql", query).out == "yes\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["import", "nowhere.ttl"], "nowhere.ttl"),
        (["import", "broken.ttl"], "line 1"),
        (["import", "people.txt"], "RDF format"),
        (["import", "fine.ttl", "--graph", "no iri"], "IRI"),
        (["import", "fine.ttl", "--graph", "urn:graph:source"], "urn:graph:source"),
        (["import", "evalset", "nowhere.json"], "nowhere.json"),
        (["export", "--counts"], "-o FILE"),
        (["export", "-o", "nowhere/dump.trig"], "nowhere"),
        (["export", "--format", "rdfxml", "--dialect", "rdf-star"], "RDF-star"),
    ],
)
def test_wrong_usage(run: Run, store: Path, folder: Path, arguments: list[str], told: str) -> None:
    (folder / "broken.ttl").write_text("this is no Turtle")
    (folder / "fine.ttl").write_text(TURTLE)
    (folder / "people.txt").write_text(TURTLE)
    found = run(*arguments)
    assert found.code == 2
    assert told in found.err
    assert not list(folder.glob("*.part"))


def test_a_mistyped_import_makes_no_store(run: Run, folder: Path) -> None:
    assert run("import", "nowhere.ttl").code == 2
    assert not (folder / "graphrag-store").exists()


def test_evaluation_set(run: Run, folder: Path) -> None:
    evalset = {
        "name": "tiny",
        "corpus": [{"title": "Lighthouse", "text": "Andrew Orr designed Drumlaw Head Lighthouse in 1881."}],
        "questions": [],
        "openie": [[["Andrew Orr", "designed", "Drumlaw Head Lighthouse"]]],
    }
    (folder / "tiny.json").write_text(json.dumps(evalset))
    found = run("import", "evalset", "tiny.json", "--extraction", "recorded", "--format", "json")
    assert found.code == 0, found.err
    assert found.json["documents"]["added"] == 1
    assert found.json["facts"] == 1
    query = "SELECT ?n { GRAPH <urn:graph:source> { ?d dcterms:identifier ?n } }"
    assert run("sparql", "--format", "csv", query).out.split() == ["n", "0"]
    assert "1 passages" not in run("import", "evalset", "tiny.json", "--extraction", "recorded").out
