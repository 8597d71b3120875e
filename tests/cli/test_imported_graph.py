"""A knowledge graph that was made elsewhere is imported and asked, without extraction and without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run

GRAPH = """@prefix : <https://data.example.org/isles/> .
@prefix schema: <https://schema.org/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix rel: <https://data.example.org/relation/> .
:p1 a schema:Person, foaf:Person ; foaf:name "Elin Vestergaard" ; schema:birthPlace :t1 ;
  schema:birthDate "1874-03-02"^^xsd:date ; schema:jobTitle "lighthouse engineer"@en ; foaf:knows :p2 ;
  schema:award [ a schema:Award ; schema:name "Silver Beacon Medal" ] ;
  schema:address [ a schema:PostalAddress ;
    schema:streetAddress "4 Quay Row" ; schema:addressLocality "Sandvig" ] .
:p2 a schema:Person ; schema:name "Thomas Brekke" ; schema:worksFor :o2 ; schema:spouse :p3 .
:p3 foaf:name "Ingeborg Dahl" .
:t1 a schema:City ; skos:prefLabel "Sandvig"@en, "Sandwig"@de ; schema:population 4210 ;
  schema:containedInPlace :i1 .
:i1 a schema:Place ; rdfs:label "Greater Skarn"@en .
:o2 a schema:Organization ; schema:name "Norholm Boatyard" ; schema:foundingDate "1899"^^xsd:gYear .
:l1 rdfs:label "Gannet Rock Light"@en ; schema:architect :p1 ; rel:heightInMetres 31.5 ;
  rdfs:comment "A granite tower on the northern reef."@en .
:v1 schema:name "Havørn" ; schema:manufacturer :o2 ; rel:sailsBetween :t1 ; rel:q17 :p2 .
"""


@pytest.fixture
def imported(run: Run, folder: Path) -> None:
    """A store with nothing but the graph."""
    (folder / "isles.ttl").write_text(GRAPH, encoding="utf-8")
    assert run("import", "isles.ttl").code == 0


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who designed Gannet Rock Light?", "Gannet Rock Light was designed by Elin Vestergaard. [1]"),
        ("What medal did Elin Vestergaard receive?", "Elin Vestergaard received Silver Beacon Medal. [1]"),
        ("Where was Elin Vestergaard born?", "Elin Vestergaard was born in Sandvig. [1]"),
        ("When was Elin Vestergaard born?", "Elin Vestergaard was born on 1874-03-02. [1]"),
        ("Where does the Havørn sail?", "Havørn sails between Sandvig. [1]"),
        ("Who is the wife of Thomas Brekke?", "Thomas Brekke is married to Ingeborg Dahl. [1]"),
        (
            "What is the address of Elin Vestergaard?",
            "Elin Vestergaard has the address 4 Quay Row, Sandvig. [1]",
        ),
        ("How many inhabitants does Sandvig have?", "Sandvig has the population 4210. [1]"),
        ("What is the height of Gannet Rock Light?", "Gannet Rock Light height in metres 31.5. [1]"),
        ("Wo liegt Sandwig?", "Sandwig is in Greater Skarn. [1]"),
    ],
)
def test_questions_are_answered_with_its_facts(question: str, answer: str, run: Run, imported: None) -> None:
    found = run("ask", question, "--format", "json").json
    assert found["answer"] == answer
    assert found["sources"][0]["title"] == "isles.ttl"
    assert all(check["ok"] for check in run("trace", "verify", "last", "--format", "json").json["checks"])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was born in Sandvig?", "Elin Vestergaard, https://data.example.org/isles/p1 [1]"),
        ("How many people work for the Norholm Boatyard?", "1 [1]"),
    ],
)
def test_queries_answer_from_it(question: str, answer: str, run: Run, imported: None) -> None:
    found = run("ask", "--pipeline", "sparql", question, "--format", "json").json
    assert found["answer"] == answer


@pytest.mark.parametrize("question", ["When did Thomas Brekke die?", "Who was the king of Denmark?"])
def test_what_it_does_not_say_is_not_answered(question: str, run: Run, imported: None) -> None:
    assert run("ask", question, "--format", "json").json["answered"] is False


def test_labels_of_a_loaded_ontology_name_its_relations(run: Run, imported: None, folder: Path) -> None:
    (folder / "o.ttl").write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> . "
        "<https://data.example.org/relation/> a owl:Ontology .\n"
        "<https://data.example.org/relation/q17> a owl:ObjectProperty ; "
        '<http://www.w3.org/2000/01/rdf-schema#label> "has the captain"@en .'
    )
    assert run("ask", "Who is the captain of Havørn?", "--format", "json").json["answered"] is False
    assert run("ontology", "load", "o.ttl").code == 0
    found = run("ask", "Who is the captain of Havørn?", "--format", "json").json
    assert found["answer"] == "Havørn has the captain Thomas Brekke. [1]"


OTHERS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <http://voc.example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:boat a skos:Concept ; skos:prefLabel "boat"@en .
:ketch a skos:Concept ; skos:prefLabel "ketch"@en ; skos:broader :boat ;
  skos:definition "A two-masted boat."@en .
:P19 rdfs:label "place of birth"@en . :P569 rdfs:label "date of birth"@en .
:Q1 rdfs:label "Henrike Aalto"@en ; :P19 :Q2 ; :P569 "1901-05-06T00:00:00Z"^^xsd:dateTime .
:Q2 rdfs:label "Turmas"@en .
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is a ketch?", "ketch is defined as A two-masted boat. [1]"),
        ("Where was Henrike Aalto born?", "Henrike Aalto was born in Turmas. [1]"),
        ("What is the place of birth of Henrike Aalto?", "Henrike Aalto was born in Turmas. [1]"),
        ("When was Henrike Aalto born?", "Henrike Aalto was born on 1901-05-06. [1]"),
    ],
)
def test_thesauri_and_relations_with_codes(question: str, answer: str, run: Run, folder: Path) -> None:
    (folder / "others.ttl").write_text(OTHERS, encoding="utf-8")
    assert run("import", "others.ttl").code == 0
    assert run("ask", question, "--format", "json").json["answer"] == answer
    assert all(check["ok"] for check in run("trace", "verify", "last", "--format", "json").json["checks"])


def test_it_is_clustered_and_reported(run: Run, imported: None) -> None:
    assert run("communities", "build", "--format", "json").json["communities"]["0"] >= 1
    (first, *_) = run("communities", "list", "--format", "json").json
    (shown,) = run("communities", "show", first["iri"], "--format", "json").json
    texts = {finding["explanation"] for finding in shown["report"]["findings"]}
    assert texts
    assert not any("birthPlace" in text or "schema" in text for text in texts)


def test_communities_are_built_with_it(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "isles.ttl").write_text(GRAPH, encoding="utf-8")
    monkeypatch.setenv("GRAPHRAG_RDF_COMMUNITIES__AUTO", "true")
    found = run("import", "isles.ttl")
    assert found.code == 0
    assert "communities: " in found.err
    assert run("communities", "list", "--format", "json").json
    assert "communities: " not in run("import", "isles.ttl").err  # unchanged


def test_ingest_does_not_read_it_as_text(run: Run, folder: Path) -> None:
    (folder / "isles.ttl").write_text(GRAPH, encoding="utf-8")
    (folder / "note.txt").write_text("Mona Kell was born in Tarn.")
    named = run("ingest", "isles.ttl")
    assert named.code != 0
    assert "graphrag-rdf import" in named.err
    found = run("ingest", ".", "--format", "json").json
    assert found["documents"]["added"] == 1
    assert [text for text in found["skipped"] if "isles.ttl: RDF" in text]
