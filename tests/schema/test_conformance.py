"""Candidate facts against an ontology: domain, range, datatypes and value sets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.exchange.ontologies import load_ontologies
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.schema.conformance import CONFORMS, Candidate, Verdict, check
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
