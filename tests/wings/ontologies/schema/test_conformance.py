"""Candidate facts against an ontology: domain, range, datatypes and value sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.exchange.ontologies import load_ontologies
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.wings.ontologies.schema.conformance import (
    CONFORMS,
    Candidate,
    Verdict,
    check,
    check_together,
    disjoint_pairs,
)
from tests.support.stores import open_engine

SHIPS = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:ships a owl:Ontology .
:Vessel a owl:Class ; rdfs:label "vessel"@en .
:Ship a owl:Class ; rdfs:label "ship"@en ; rdfs:subClassOf :Vessel .
:Barque a owl:Class ; rdfs:subClassOf :Ship .
:Person a owl:Class ; rdfs:label "person"@en .
:Company a owl:Class ; rdfs:label "company"@en .
:Human a owl:Class ; owl:equivalentClass :Person .
:Rig a owl:Class ; owl:equivalentClass [ a owl:Class ; owl:oneOf ( :brig :Schooner ) ] .
:brig a owl:NamedIndividual ; rdfs:label "Brig"@en , "Brigg"@de .
:Schooner a owl:NamedIndividual .
:captain a owl:ObjectProperty ; rdfs:domain :Ship ; rdfs:range :Person .
:firstCaptain a owl:ObjectProperty ; rdfs:subPropertyOf :captain .
:owner a owl:ObjectProperty ; rdfs:range [ a owl:Class ; owl:unionOf ( :Person :Company ) ] .
:rig a owl:ObjectProperty ; rdfs:range :Rig .
:launched a owl:DatatypeProperty ; rdfs:domain :Vessel ; rdfs:range xsd:date .
:year a owl:DatatypeProperty ; rdfs:range xsd:gYear .
:masts a owl:DatatypeProperty ; rdfs:range xsd:positiveInteger .
:length a owl:DatatypeProperty ; rdfs:range xsd:decimal .
:page a owl:DatatypeProperty ; rdfs:range xsd:anyURI .
:motto a owl:DatatypeProperty ; rdfs:range xsd:string .
:state a owl:DatatypeProperty ;
  rdfs:range [ a rdfs:Datatype ; owl:oneOf ( "afloat" "sunk" ) ] .
:note a owl:DatatypeProperty .
"""


def ex(name: str) -> NamedNode:
    return NamedNode(f"http://example.org/{name}")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "ships.ttl").write_text(SHIPS)
    with open_engine(":memory:", config=Settings()) as engine:
        load_ontologies(engine.store, [tmp_path / "ships.ttl"], "http://example.org/", datetime.now(UTC))
        yield engine


def verdict(
    engine: Engine, name: str, subject: str | None = None, target: str | None = None, text: str = ""
) -> Verdict:
    """What is said of a fact with this property, by classes of its ends, or by the text of a value."""
    one = Candidate(
        7,
        ex(name),
        text or "Mona Kell",
        not text,
        (ex(subject),) if subject else (),
        (ex(target),) if target else (),
    )
    assert check(engine.store, []) == {}
    return check(engine.store, [one])[7]


@pytest.mark.parametrize(
    ("name", "subject", "target"),
    [
        ("captain", "Ship", "Person"),
        ("captain", "Barque", "Person"),  # a subclass
        ("captain", "Vessel", "Person"),  # less specific: it may be a ship
        ("captain", "Ship", "Human"),  # equivalent
        ("captain", None, None),
        ("firstCaptain", "Ship", "Person"),
        ("owner", "Company", "Company"),
        ("owner", "Ship", "Person"),
    ],
)
def test_ends_of_fitting_classes_conform(
    engine: Engine, name: str, subject: str | None, target: str | None
) -> None:
    assert verdict(engine, name, subject, target) == CONFORMS


@pytest.mark.parametrize(
    ("name", "subject", "target", "rule", "axiom", "why"),
    [
        ("captain", "Person", None, "domain", "captain", "the subject is person, not ship"),
        ("captain", "Ship", "Company", "range", "captain", "the object is company, not person"),
        ("firstCaptain", "Person", None, "domain", "captain", "the subject is person, not ship"),
        ("owner", None, "Barque", "range", "owner", "the object is Barque, not company or person"),
    ],
)
def test_ends_of_other_classes_break_domain_or_range(
    engine: Engine, name: str, subject: str | None, target: str | None, rule: str, axiom: str, why: str
) -> None:
    found = verdict(engine, name, subject, target)
    words = sorted(found.why.replace(",", "").split())
    assert (found.rule, found.axiom, words) == (rule, ex(axiom), sorted(why.replace(",", "").split()))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("launched", "1911-05-03", Literal("1911-05-03", datatype=XSD.date)),
        ("year", "1911", Literal("1911", datatype=XSD.gYear)),
        ("year", "1911-05-03", Literal("1911", datatype=XSD.gYear)),
        ("masts", "3", Literal("3", datatype=XSD.integer)),  # as the engine keeps it
        ("length", "12.5", Literal("12.5", datatype=XSD.decimal)),
        ("page", "https://example.org/petrel", Literal("https://example.org/petrel", datatype=XSD.anyURI)),
        ("motto", "Onward", Literal("Onward")),
        ("state", "Sunk", Literal("sunk")),
        ("note", "anything", None),
    ],
)
def test_values_get_the_datatype_of_the_range(
    engine: Engine, name: str, text: str, value: Literal | None
) -> None:
    assert verdict(engine, name, text=text) == Verdict(value=value)


@pytest.mark.parametrize(
    ("name", "text", "rule", "why"),
    [
        ("launched", "1911", "datatype", "the value is no xsd:date"),
        ("launched", "in spring", "datatype", "the value is no xsd:date"),
        ("masts", "0", "datatype", "the value is no xsd:positiveInteger"),
        ("masts", "three", "datatype", "the value is no xsd:positiveInteger"),
        ("page", "no address", "datatype", "the value is no xsd:anyURI"),
        ("state", "painted", "value_set", "the object is none of: afloat, sunk"),
    ],
)
def test_values_that_cannot_have_it_break_the_rule(
    engine: Engine, name: str, text: str, rule: str, why: str
) -> None:
    assert verdict(engine, name, text=text) == Verdict(rule, ex(name), why)


@pytest.mark.parametrize("text", ["brig", "BRIGG"])
def test_a_member_of_a_value_set_is_found_by_any_of_its_names(engine: Engine, text: str) -> None:
    one = Candidate(1, ex("rig"), text, of_entity=True)
    other = Candidate(2, ex("rig"), "cutter", of_entity=True)
    found = check(engine.store, [one, other])
    assert found[1] == Verdict(value=ex("brig"))
    assert (found[2].rule, found[2].axiom) == ("value_set", ex("rig"))


def test_candidates_are_told_apart(engine: Engine) -> None:
    good = Candidate(1, ex("captain"), "Ann", True, (ex("Ship"),), (ex("Person"),))
    bad = Candidate(2, ex("captain"), "Kell & Co", True, (ex("Ship"),), (ex("Company"),))
    value = Candidate(3, ex("masts"), "two", of_entity=False)
    found = check(engine.store, [good, bad, value])
    assert [found[number].rule for number in (1, 2, 3)] == [None, "range", "datatype"]


MORE = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:more a owl:Ontology .
:Ship a owl:Class ; rdfs:subClassOf
  [ a owl:Restriction ; owl:onProperty :mate ; owl:maxCardinality 2 ] ,
  [ a owl:Restriction ; owl:onProperty :crew ; owl:maxQualifiedCardinality 1 ; owl:onClass :Cook ] .
:Barque a owl:Class ; rdfs:subClassOf :Ship .
:Person a owl:Class . :Cook a owl:Class ; rdfs:subClassOf :Person .
:Port a owl:Class ; owl:disjointWith :Person .
:Day a owl:Class . :Night a owl:Class . :Dusk a owl:Class ; rdfs:subClassOf :Night .
[] a owl:AllDisjointClasses ; owl:members ( :Day :Night ) .
:mate a owl:ObjectProperty . :crew a owl:ObjectProperty .
:lostOn a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:range xsd:date .
:parent a owl:ObjectProperty , owl:FunctionalProperty .
:yard a owl:ObjectProperty ; rdfs:subPropertyOf :parent .
:flag a owl:ObjectProperty , owl:InverseFunctionalProperty .
:weight a owl:DatatypeProperty ; rdfs:range xsd:decimal ; qudt:unit unit:TONNE .
:height a owl:DatatypeProperty ; rdfs:range xsd:decimal ; schema:unitCode "MTR" .
:beam a owl:DatatypeProperty ; rdfs:range xsd:string ; schema:unitText "metres" .
:masts a owl:DatatypeProperty ; rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
  owl:withRestrictions ( [ xsd:minInclusive 1 ] [ xsd:maxExclusive 8 ] ) ] .
:sail a owl:DatatypeProperty ; rdfs:range :Number .
:Number a rdfs:Datatype ; owl:equivalentClass [ a rdfs:Datatype ; owl:onDatatype xsd:string ;
  owl:withRestrictions ( [ xsd:pattern "[A-Z]{2}[0-9]+" ] ) ] .
:rigs a skos:ConceptScheme .
:brig a skos:Concept ; skos:inScheme :rigs ; skos:prefLabel "Brig"@en ; skos:altLabel "Brigg"@de .
:barque a skos:Concept ; skos:topConceptOf :rigs ; skos:notation "BQ" .
:other a skos:Concept ; skos:prefLabel "Yawl"@en .
:rigged a owl:ObjectProperty ; rdfs:range :rigs .
:sailed a owl:ObjectProperty ; rdfs:range :Rigging .
:Rigging a owl:Class ;
  owl:equivalentClass [ a owl:Restriction ; owl:onProperty skos:inScheme ; owl:hasValue :rigs ] .
:tempo a owl:DatatypeProperty ; rdfs:range :KnotValue .
:KnotValue qudt:hasUnit :kn . :kn rdfs:label "knot"@en .
"""


@pytest.fixture
def more(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "more.ttl").write_text(MORE)
    with open_engine(":memory:", config=Settings()) as engine:
        load_ontologies(engine.store, [tmp_path / "more.ttl"], "http://example.org/", datetime.now(UTC))
        yield engine


@pytest.mark.parametrize(
    ("prop", "said", "value", "rule"),
    [
        ("weight", "120 tonnes", "120", None),
        ("weight", "1,200.5 t", "1200.5", None),
        ("weight", "120", "120", None),
        ("weight", "120 Tonnen", "120", None),
        ("weight", "120 metres", None, "unit"),
        ("weight", "120 kg", None, "unit"),
        ("weight", "120 souls", None, "unit"),
        ("weight", "heavy", None, "datatype"),
        ("height", "38.5 m", "38.5", None),
        ("height", "38.5 meter", "38.5", None),
        ("height", "126 ft", None, "unit"),
        ("beam", "9 metres", None, None),
        ("beam", "30 feet", None, None),
        ("beam", "30 tons", None, "unit"),
        ("tempo", "12 knots", None, None),
        ("tempo", "12 hours", None, "unit"),
    ],
)
def test_units(more: Engine, prop: str, said: str, value: str | None, rule: str | None) -> None:
    (found,) = check(more.store, [Candidate(1, ex(prop), said, of_entity=False)]).values()
    assert found.rule == rule
    if value is not None:
        assert found.value == Literal(value, datatype=XSD.decimal)
        assert found.amount == (said if " " in said else None)
    elif rule is None:
        assert (found.value, found.amount) == (None, None), "the text keeps its unit"
    elif rule == "unit":
        assert found.axiom == ex(prop)


def said(number: int, subject: str, prop: str, value: str, **more: Any) -> Candidate:
    return Candidate(number, ex(prop), value, more.pop("of_entity", True), subject=subject, **more)


@pytest.mark.parametrize(
    ("candidates", "rules"),
    [
        ([("Petrel", "lostOn", "1911-05-03"), ("Petrel", "lostOn", "1912-01-01")], {2: "functional"}),
        ([("Petrel", "lostOn", "1911-05-03"), ("Petrel", "lostOn", "1911")], {}),
        ([("Petrel", "lostOn", "1911"), ("Tern", "lostOn", "1912")], {}),
        ([("Petrel", "parent", "Ada Kell"), ("Petrel", "parent", "Kell")], {}),
        ([("Petrel", "parent", "Ada Kell"), ("Petrel", "yard", "Tarnay Yard")], {2: "functional"}),
        ([("Petrel", "flag", "Red Ensign"), ("Tern", "flag", "Red Ensign")], {2: "inverse_functional"}),
        ([("Petrel", "flag", "Red Ensign"), ("Petrel", "flag", "Blue Peter")], {}),
    ],
)
def test_functional_properties(
    more: Engine, candidates: list[tuple[str, str, str]], rules: dict[int, str]
) -> None:
    given = [said(number, *each) for number, each in enumerate(candidates, 1)]
    found = check_together(more.store, given)
    assert {number: verdict.rule for number, verdict in found.items()} == rules


def test_the_most_confident_value_stands(more: Engine) -> None:
    given = [
        said(1, "Petrel", "parent", "Ada", confidence=0.4),
        said(2, "Petrel", "parent", "Bob", confidence=0.9),
    ]
    (found,) = check_together(more.store, given).items()
    assert (found[0], found[1].axiom) == (1, ex("parent"))
    assert found[1].why == "the text gives Bob, and at most 1 value"


def test_maximum_cardinalities_of_the_class_of_the_subject(more: Engine) -> None:
    names = ("Ada", "Bob", "Cy")
    ship = {"subject_classes": (ex("Barque"),)}
    mates = [said(number, "Petrel", "mate", name, **ship) for number, name in enumerate(names)]
    assert {n: v.rule for n, v in check_together(more.store, mates).items()} == {2: "cardinality"}
    assert check_together(more.store, [replace(each, subject_classes=()) for each in mates]) == {}
    kinds = (("Ada", "Cook"), ("Bob", "Person"), ("Cy", "Cook"))
    crew = [
        said(number, "Petrel", "crew", name, object_classes=(ex(kind),), **ship)
        for number, (name, kind) in enumerate(kinds)
    ]
    assert {n: v.rule for n, v in check_together(more.store, crew).items()} == {2: "cardinality"}


def test_disjoint_classes(more: Engine) -> None:
    pairs = [("Port", "Cook"), ("Cook", "Port"), ("Ship", "Cook"), ("Day", "Dusk"), ("Dusk", "Night")]
    given = [(ex(one), ex(other)) for one, other in pairs]
    assert disjoint_pairs(more.store, given) == {given[0], given[1], given[3]}


@pytest.mark.parametrize(
    ("prop", "text", "why"),
    [
        ("masts", "3", None),
        ("masts", "0", "minInclusive 1"),
        ("masts", "8", "maxExclusive 8"),
        ("masts", "many", "no xsd:integer"),
        ("sail", "GB12", None),
        ("sail", "12", "pattern"),
    ],
)
def test_facets_of_datatypes(more: Engine, prop: str, text: str, why: str | None) -> None:
    (found,) = check(more.store, [Candidate(1, ex(prop), text, of_entity=False)]).values()
    assert (found.rule == "datatype") == (why is not None)
    assert (why or "") in found.why


@pytest.mark.parametrize("prop", ["rigged", "sailed"])
@pytest.mark.parametrize(
    ("name", "member"), [("brigg", "brig"), ("Brig", "brig"), ("BQ", "barque"), ("yawl", None)]
)
def test_schemes_of_skos_are_value_sets(prop: str, name: str, member: str | None, more: Engine) -> None:
    given = Candidate(1, ex(prop), name, of_entity=True, object_classes=(ex("Port"),))
    (found,) = check(more.store, [given]).values()
    if member is None:
        assert found.rule in ("value_set", "range")
    else:
        assert (found.rule, found.value) == (None, ex(member))
