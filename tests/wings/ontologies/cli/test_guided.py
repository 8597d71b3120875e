"""`ingest --ontology`: a file is loaded, an IRI names a loaded ontology."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run

SHIPS = """@prefix : <http://example.org/ships#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://example.org/ships> a owl:Ontology .
:lostOn a owl:DatatypeProperty ; rdfs:label "date of loss" ; skos:altLabel "sank on" ; rdfs:range xsd:date .
"""
LOST = "SELECT ?day { ?ship <http://example.org/ships#lostOn> ?day }"


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "ships.ttl").write_text(SHIPS)
    (folder / "loss.txt").write_text("The Petrel sank in Skell Sound on 17 November 1911.")
    return folder


def test_a_file_is_loaded_and_guides(run: Run, files: Path) -> None:
    found = run("ingest", "--ontology", "ships.ttl", "loss.txt")
    assert "without a property of the ontology" in found.out
    assert "1911-11-17" in run("sparql", LOST).out
    assert "http://example.org/ships" in run("ontology", "list").out


def test_an_iri_names_a_loaded_ontology(run: Run, files: Path) -> None:
    run("ontology", "load", "ships.ttl")
    run("ingest", "--ontology", "http://example.org/ships", "--ontology-mode", "open", "loss.txt")
    assert "1911-11-17" in run("sparql", LOST).out
    assert "sank in" in run("queries", "run", "cookbook/proposed-terms", "-p", "limit=5").out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.ttl", "none.ttl does not exist"),
        ("http://example.org/none", "http://example.org/none is not loaded"),
    ],
)
def test_what_is_not_there(name: str, message: str, run: Run, files: Path) -> None:
    found = run("ingest", "--ontology", name, "loss.txt")
    assert found.code != 0
    assert message in found.err


def test_a_mode_needs_an_ontology(run: Run, files: Path) -> None:
    found = run("ingest", "--ontology-mode", "open", "loss.txt")
    assert found.code != 0
    assert "--ontology" in found.err


def test_a_dry_run_loads_nothing(run: Run, files: Path) -> None:
    found = run("ingest", "--dry-run", "--ontology", "ships.ttl", "loss.txt")
    assert found.code != 0
    assert "ontology load" in found.err
    assert not (files / "graphrag-store").exists()


def test_proposals_become_an_ontology_that_guides_with_the_first(run: Run, files: Path) -> None:
    run("ingest", "--ontology", "ships.ttl", "--ontology-mode", "open", "loss.txt")
    found = run(
        "ontology", "suggest", "--proposed", "--least", "1", "--iri", "http://zzz.org/more", "-o", "more.ttl"
    )
    assert found.code == 0, found.err
    assert "no class" not in found.err, "the classes are those of the ontology in force"
    draft = (files / "more.ttl").read_text("utf-8")
    assert "sankIn" in draft
    assert "lostOn" not in draft
    both = ("--ontology", "http://example.org/ships", "--ontology", "more.ttl")
    assert "without a property" not in run("ingest", *both, "loss.txt").out
    assert (
        "Skell Sound"
        in run("sparql", "SELECT ?label { ?s <http://zzz.org/more#sankIn>/rdfs:label ?label }").out
    )


def test_a_draft_of_proposals_says_when_there_are_none(run: Run, files: Path) -> None:
    run("ingest", "loss.txt")
    found = run("ontology", "suggest", "--proposed", "--least", "1")
    assert found.code == 2
    assert "was proposed" in found.err
    assert "--ontology-mode open" in found.err
