"""`ontology`: load with imports and versions, list, check, remove."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import rdflib
from rdflib import OWL, RDF

from tests.support.commands import Run

RAG = rdflib.Namespace("https://w3id.org/graphrag-rdf/ns#")
HEAD = """@prefix : <http://example.org/ships#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
SHIPS = f"""{HEAD}<http://example.org/ships> a owl:Ontology ; owl:versionIRI <http://example.org/ships/1> .
:Ship a owl:Class ; rdfs:label "ship" ; rdfs:subClassOf [ a owl:Restriction ;
  owl:onProperty :owner ; owl:someValuesFrom owl:Thing ] .
:owner a owl:ObjectProperty ; rdfs:label "owner" ; rdfs:domain :Ship .
"""
PORTS = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
<http://example.org/ports> a owl:Ontology ;
  owl:imports <http://example.org/ships>, <http://example.org/tides> .
<http://example.org/ports#Port> a owl:Class ; <http://www.w3.org/2000/01/rdf-schema#label> "port" .
"""
CATALOG = """<?xml version="1.0"?><catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
<uri name="http://example.org/ships" uri="ships.ttl"/></catalog>"""
COUNT = "SELECT (COUNT(*) AS ?n) { GRAPH <urn:graph:ontology> { ?s ?p ?o } }"


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "ships.ttl").write_text(SHIPS)
    (folder / "ports.ttl").write_text(PORTS)
    (folder / "catalog-v001.xml").write_text(CATALOG)
    return folder


SCHEME = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/tides> a skos:ConceptScheme .
<http://example.org/tides#neap> a skos:Concept ; skos:prefLabel "neap tide" ;
  skos:inScheme <http://example.org/tides> .
"""


def triples(run: Run) -> int:
    return int(run("sparql", "--format", "csv", COUNT).out.split()[1])


def test_imports_come_by_the_catalogue(run: Run, files: Path) -> None:
    found = run("ontology", "load", "ports.ttl", "--format", "json")
    report = json.loads(found.out)
    assert report["loaded"] == {"http://example.org/ports": 5, "http://example.org/ships": 11}
    assert report["missing"] == ["http://example.org/tides"]
    assert "the import http://example.org/tides was not loaded" in found.err
    assert triples(run) == 16
    again = json.loads(run("ontology", "load", "ports.ttl", "--format", "json").out)
    assert (again["loaded"], len(again["unchanged"])) == ({}, 2)
    assert triples(run) == 16


@pytest.mark.parametrize("uri", ["my%20ships.ttl", "my ships.ttl", "file:{folder}/my%20ships.ttl"])
def test_a_catalogue_names_files_by_uri(uri: str, run: Run, files: Path) -> None:
    (files / "ships.ttl").rename(files / "my ships.ttl")
    named = CATALOG.replace("ships.ttl", uri.format(folder=files))
    grouped = named.replace("<uri", "<group id='Folder' xml:base=''><uri").replace("/></", "/></group></")
    (files / "catalog-v001.xml").write_text(grouped)
    report = json.loads(run("ontology", "load", "ports.ttl", "--format", "json").out)
    assert report["missing"] == ["http://example.org/tides"]


def test_a_new_version_takes_the_place_of_the_old_one(run: Run, files: Path) -> None:
    run("ontology", "load", "ships.ttl")
    (files / "ships.ttl").write_text(SHIPS.replace('"owner"', '"owned by"'))
    run("ontology", "load", "ships.ttl")
    assert triples(run) == 11
    listed = json.loads(run("ontology", "list", "--format", "json").out)
    assert [each["active"] for each in listed] == [True, False]
    old = f"ASK {{ GRAPH <{listed[1]['graph']}> {{ ?s rdfs:label 'owner' }} }}"
    assert run("sparql", old).out == "yes\n"
    (files / "ships.ttl").write_text(SHIPS)
    run("ontology", "load", "ships.ttl")
    assert run("sparql", "ASK { GRAPH <urn:graph:ontology> { ?s rdfs:label 'owner' } }").out == "yes\n"
    assert triples(run) == 11


def test_what_others_say_stays(run: Run, files: Path) -> None:
    run("ontology", "load", "ports.ttl")
    assert json.loads(run("ontology", "remove", "http://example.org/ports", "--format", "json").out) == {
        "versions": 1
    }
    assert triples(run) == 11
    assert run("ontology", "remove", "http://example.org/ships").code == 0
    assert triples(run) == 0
    gone = run("ontology", "remove", "http://example.org/ships")
    assert gone.code == 2
    assert "ontology list" in gone.err


WRONG = {
    "property-kinds": ":p a owl:ObjectProperty, owl:DatatypeProperty ; rdfs:label 'p' .",
    "class-kinds": ":c a owl:Class, owl:ObjectProperty ; rdfs:label 'c' .",
    "ranges": ":p a owl:ObjectProperty ; rdfs:label 'p' ; rdfs:range xsd:integer .",
    "reserved": "rdf:Statement rdfs:subClassOf owl:Thing .",
    "literals": ":o a owl:Ontology_ ; owl:versionInfo 'x'^^xsd:integer .",
    "datatypes": ":p a owl:DatatypeProperty ; rdfs:label 'p' ; rdfs:range xsd:date .",
    "undeclared-classes": ":c a owl:Class ; rdfs:label 'c' ; rdfs:subClassOf :unknown .",
    "undeclared-properties": ":c a owl:Class ; rdfs:label 'c' ; :says 'x' .",
    "labels": ":c a owl:Class ; rdfs:comment 'What floats.' .",
    "value-classes": ":Number a owl:Class ; rdfs:label 'number' . "
    ":crew a owl:ObjectProperty ; rdfs:label 'crew' ; rdfs:range :Number .",
    "cycles": ":c a owl:Class ; rdfs:label 'c' ; rdfs:subClassOf :d . "
    ":d a owl:Class ; rdfs:label 'd' ; rdfs:subClassOf :c .",
}


@pytest.mark.parametrize("check", WRONG)
def test_each_check_finds_its_fault(check: str, run: Run, folder: Path) -> None:
    (folder / "wrong.ttl").write_text(HEAD + WRONG[check])
    found = run("ontology", "check", "wrong.ttl", "--format", "json")
    reported = json.loads(found.out)
    assert check in {each["check"] for each in reported}
    assert found.code == (1 if any(each["severity"] == "error" for each in reported) else 0)
    run("ontology", "load", "wrong.ttl")
    loaded = json.loads(run("ontology", "check", "--format", "json").out)
    assert {each["check"] for each in reported} == {each["check"] for each in loaded}


def test_a_sound_ontology_has_no_findings(run: Run, files: Path) -> None:
    found = run("ontology", "check", "ships.ttl")
    assert (found.code, found.out) == (0, "no problems\n")
    assert "missing-import" in run("ontology", "check", "ports.ttl").out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@prefix : <x", "line 1"),
        (
            f"{HEAD} :a a owl:Ontology . :b a owl:Ontology .",
            "several",
        ),
        ("<urn:a> <urn:b> <<( <urn:a> <urn:b> <urn:c> )>> .", "triple terms"),
    ],
)
def test_bad_files_change_nothing(text: str, message: str, run: Run, folder: Path) -> None:
    (folder / "bad.ttl").write_text(text)
    found = run("ontology", "load", "bad.ttl")
    assert found.code == 2
    assert message in found.err
    assert triples(run) == 0


def test_facts_for_protege(run: Run, store: Path, files: Path) -> None:
    """OWL 2 DL files that rdflib reads, that import each other, and whose assertions carry quotes."""
    run("ontology", "load", "ships.ttl")
    report = json.loads(run("ontology", "export", "protege", "--format", "json").out)
    assert report["files"] == ["ontology-1.ttl", "schema.ttl", "facts.ttl", "catalog-v001.xml"]
    graph = rdflib.Graph()
    for name in report["files"][:3]:
        graph.parse(files / "protege" / name)
    assert run("ontology", "check", "protege/facts.ttl").out == "no problems\n"
    imported = set(graph.objects(rdflib.URIRef("http://trustgraph.ai/facts"), OWL.imports))
    assert imported == {
        rdflib.URIRef("http://example.org/ships"),
        rdflib.URIRef("http://trustgraph.ai/schema"),
    }
    kinds = {kind: set(graph.subjects(RDF.type, kind)) for kind in (OWL.ObjectProperty, OWL.DatatypeProperty)}
    assert not kinds[OWL.ObjectProperty] & kinds[OWL.DatatypeProperty]
    assert len(set(graph.subjects(RDF.type, OWL.NamedIndividual))) >= report["individuals"] > 5
    axioms = list(graph.subjects(RDF.type, OWL.Axiom))
    assert len(axioms) == report["annotations"] > 5
    for axiom in axioms:
        ends = (OWL.annotatedSource, OWL.annotatedProperty, OWL.annotatedTarget)
        assert tuple(graph.value(axiom, end) for end in ends) in graph
        assert graph.value(axiom, RAG.quotedText)
    quote = next(graph.objects(axioms[0], RAG.quotedText))
    asked = f"ASK {{ ?evidence tg:sourceText {quote.n3()} }}"
    assert run("sparql", "--union", asked).out == "yes\n"


def test_a_folder_that_cannot_be_written(run: Run, store: Path, folder: Path) -> None:
    (folder / "taken").write_text("x")
    found = run("ontology", "export", "taken")
    assert found.code == 2
    assert "cannot write" in found.err


def test_what_is_loaded_of_terms_of_the_facts_stays(run: Run, store: Path, folder: Path) -> None:
    """Declarations that follow from the facts are made again after each ingest; loaded ones stay."""
    born = "<http://trustgraph.ai/r/was-born-in>"
    (folder / "rules.ttl").write_text(f"{HEAD}:rules a owl:Ontology . {born} a owl:FunctionalProperty .")
    run("ontology", "load", "rules.ttl")
    both = f"{born} a owl:FunctionalProperty, owl:ObjectProperty"
    functional = f"ASK {{ GRAPH <urn:graph:ontology> {{ {both} }} }}"
    assert run("sparql", functional).out == "yes\n"
    run("refresh", "schema")
    assert run("sparql", functional).out == "yes\n"
    run("ontology", "remove", "http://example.org/ships#rules")
    assert run("sparql", functional).out == "no\n"
    assert run("sparql", functional.replace("owl:FunctionalProperty, ", "")).out == "yes\n"


FUNCTIONAL = """Prefix(:=<http://example.org/ships#>)
Ontology(<http://example.org/ships> <http://example.org/ships/1>
Declaration(Class(:Ship)) AnnotationAssertion(rdfs:label :Ship "ship")
Declaration(ObjectProperty(:owner)) AnnotationAssertion(rdfs:label :owner "owner")
ObjectPropertyDomain(:owner :Ship) SubClassOf(:Ship ObjectSomeValuesFrom(:owner owl:Thing)))
"""
OWL_XML = """<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://example.org/ports">
<Import>http://example.org/ships</Import><Declaration><Class IRI="#Port"/></Declaration>
<SubClassOf><Class IRI="#Port"/><Class abbreviatedIRI="owl:Thing"/></SubClassOf></Ontology>"""


def test_syntaxes_of_owl(run: Run, folder: Path) -> None:
    """The same ontology as `SHIPS`, in functional-style syntax, imported by one in OWL/XML."""
    (folder / "ships.ofn").write_text(FUNCTIONAL)
    (folder / "ports.owl").write_text(OWL_XML)
    (folder / "catalog-v001.xml").write_text(CATALOG.replace("ships.ttl", "ships.ofn"))
    report = json.loads(run("ontology", "load", "ports.owl", "--format", "json").out)
    assert report == {
        "loaded": {"http://example.org/ports": 4, "http://example.org/ships": 11},
        "unchanged": [],
        "missing": [],
    }
    (folder / "ships.owl").write_text(SHIPS)  # Turtle, as Protégé may call it
    assert json.loads(run("ontology", "load", "ships.owl", "--format", "json").out)["loaded"]
    assert triples(run) == 15
    found = run("ontology", "check", "ports.owl")
    assert "[labels]" in found.out


def test_graphs_of_trig_are_read(run: Run, folder: Path) -> None:
    (folder / "ships.trig").write_text(f"{HEAD} :graph {{ {SHIPS.removeprefix(HEAD)} }}")
    report = json.loads(run("ontology", "load", "ships.trig", "--format", "json").out)
    assert report["loaded"] == {"http://example.org/ships": 11}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bad.ofn", "Ontology(\nSubClassOf(:A :B))", "line 2: the prefix : is not declared"),
        ("bad.owx", OWL_XML.replace("</SubClassOf>", ""), "line 3: mismatched tag"),
        ("bad.omn", "Ontology: <urn:a>", "save it as Turtle"),
    ],
)
def test_malformed_syntaxes_of_owl(name: str, text: str, message: str, run: Run, folder: Path) -> None:
    (folder / name).write_text(text)
    found = run("ontology", "load", name)
    assert found.code == 2
    assert message in found.err


def loaded(run: Run) -> list[str]:
    return [each["ontology"] for each in json.loads(run("ontology", "list", "--format", "json").out)]


def test_a_vocabulary_is_named_by_its_scheme(run: Run, folder: Path) -> None:
    (folder / "tides.ttl").write_text(SCHEME)
    run("ontology", "load", "tides.ttl")
    assert loaded(run) == ["http://example.org/tides"]


def test_a_file_without_a_name_has_an_iri_that_shows_no_folder(run: Run, folder: Path) -> None:
    (folder / "tides.ttl").write_text(SCHEME.replace("<http://example.org/tides> a skos:ConceptScheme .", ""))
    run("ontology", "load", "tides.ttl")
    (name,) = loaded(run)
    assert name.startswith("urn:graphrag-rdf:ontology:")
    assert json.loads(run("ontology", "load", "tides.ttl", "--format", "json").out)["unchanged"] == [name]
    (folder / "tides.ttl").write_text((folder / "tides.ttl").read_text().replace("neap tide", "neap"))
    assert list(json.loads(run("ontology", "load", "tides.ttl", "--format", "json").out)["loaded"]) == [name]
    (folder / "tides.ttl").rename(folder / "moved.ttl")
    run("ontology", "load", "moved.ttl")
    (moved,) = set(loaded(run))
    assert moved != name
    assert triples(run) == 3
