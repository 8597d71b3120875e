"""Worked examples: of an answer only what holds."""

from __future__ import annotations

from pyoxigraph import NamedNode

from graphrag_rdf.extract.model import EntityCandidate, Extraction, RelationCandidate
from graphrag_rdf.extract.prompts import WorkedExample
from graphrag_rdf.ingest.facts import CandidateFilter
from graphrag_rdf.tuning.prompts import shown, worked_example
from graphrag_rdf.tuning.sample import Passage

XSD = "http://www.w3.org/2001/XMLSchema#"
EXCERPT = Passage(
    NamedNode("urn:chunk:1"), "Ann  Moor met Bob\nin Tarn in 1901. He had 40 looms.", "A history", "en"
)


def entity(name: str, *aliases: str, kind: str | None = None) -> EntityCandidate:
    return EntityCandidate(name, kind, None, aliases, None)


def relation(
    subject: str,
    predicate: str,
    target: str,
    quote: str | None,
    datatype: str | None = None,
    *,
    value: bool = False,
) -> RelationCandidate:
    return RelationCandidate(subject, predicate, target, not value, datatype, quote, 0.9, None)


def made(*candidates: EntityCandidate | RelationCandidate) -> WorkedExample | str:
    entities = tuple(one for one in candidates if isinstance(one, EntityCandidate))
    relations = tuple(one for one in candidates if isinstance(one, RelationCandidate))
    return worked_example(EXCERPT, Extraction(entities, relations, (), (), None), CandidateFilter(2))


def test_only_what_holds() -> None:
    found = made(
        entity("Ann Moor", "Annie", kind="person"),
        entity("Bob", "He", "Robert", kind="person"),
        entity("He"),  # a pronoun is no name
        entity("Lindow Mill"),  # not in the excerpt
        relation("Ann Moor", "met", "Bob", "ann moor met Bob in Tarn"),  # blanks and case differ
        relation("Ann Moor", "met", "Bob", "Ann  Moor met Bob\nin Tarn"),  # the same quote
        relation("Bob", "number of looms", "40", "He had 40 looms.", f"{XSD}integer", value=True),
        relation("Bob", "met on", "1901", "in 1901", f"{XSD}gYear", value=True),
        relation("Ann Moor", "owned", "Lindow Mill", "Ann  Moor met Bob"),
        relation("Bob", "died in", "Tarn", "Bob died in Tarn, as everybody knows to this day"),
        relation("Bob", "said", "nothing", None, value=True),
    )
    assert isinstance(found, WorkedExample)
    assert [one.name for one in found.entities] == ["Ann Moor", "Bob"]
    assert [one.aliases for one in found.entities] == [(), ()]
    assert [(one.predicate, one.datatype, one.evidence) for one in found.relations] == [
        ("met", None, "Ann  Moor met Bob\nin Tarn"),
        ("number of looms", "integer", "He had 40 looms."),
        ("met on", "year", "in 1901"),
    ]
    assert found.source == "urn:chunk:1"
    predicates = {f"predicate {one.predicate}" for one in found.relations}
    assert shown(found) == {"type person", *predicates, "value integer", "value year"}


def test_why_there_is_none() -> None:
    people = entity("Ann Moor"), entity("Bob")
    assert made(*people) == "no_facts"
    assert made(*people, relation("Ann Moor", "met", "Bob", "met Bob")) == "too_few_facts_hold"
    lost = relation("Ann Moor", "loved", "Bob", "a great love, as all the town well knew")
    assert made(*people, lost, lost) == "too_few_facts_hold"
