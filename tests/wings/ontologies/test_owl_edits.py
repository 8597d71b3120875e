"""Edited ontologies and individuals: the differences, and their application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import rdflib
from pyoxigraph import Literal, NamedNode, Triple
from rdflib import RDFS

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks
from graphrag_rdf.config import Settings
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange.ontologies import load_ontologies, ontology_versions
from graphrag_rdf.rdf.namespaces import PROV
from graphrag_rdf.trace.sources import source_fact
from graphrag_rdf.wings.ontologies.owl import export_owl
from graphrag_rdf.wings.ontologies.owl_edits import Difference, apply_edits, find_differences
from tests.support.stores import open_engine

NAMESPACE = "http://trustgraph.ai/"
E = rdflib.Namespace(f"{NAMESPACE}e/")
R = rdflib.Namespace(f"{NAMESPACE}r/")
TEXT = (
    "Walter Pennock founded the Tarnay Electric Light Company. "
    "The Petrel sank in Skell Sound on 14 November 1911."
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SHIPS = """@prefix : <http://example.org/ships#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://example.org/ships> a owl:Ontology .
:Ship a owl:Class ; rdfs:label "ship"@en .
:Person a owl:Class . :Company a owl:Class .
:owner a owl:ObjectProperty ; rdfs:range [ a owl:Class ; owl:unionOf ( :Person :Company ) ] .
[] a owl:AllDisjointClasses ; owl:members ( :Ship :Person ) .
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "notes.txt").write_text(TEXT)
    with open_engine(tmp_path / "store", config=Settings()) as engine:
        engine.ingest([tmp_path / "notes.txt"])
        yield engine


def edited(engine: Engine, folder: Path, edit: Callable[[rdflib.Graph], object]) -> Path:
    """The exported facts after an edit by another tool."""
    export_owl(engine.store, folder / "owl", NAMESPACE)
    graph = rdflib.Graph().parse(folder / "owl" / "facts.ttl")
    edit(graph)
    graph.serialize(folder / "edited.rdf", format="xml")
    return folder / "edited.rdf"


def only(found: list[Difference]) -> Difference:
    (difference,) = found
    return difference


def stated(engine: Engine, s: str, p: str) -> list[str]:
    answer = engine.store.query(f"SELECT ?o {{ <{E[s]}> <{R[p]}> ?o }}")
    return [str(row["o"]) for row in answer.rows or []]


def test_what_was_not_edited_does_not_differ(engine: Engine, tmp_path: Path) -> None:
    found = only(find_differences(engine, [edited(engine, tmp_path, lambda graph: None)]))
    assert (found.is_empty, found.names, found.of_facts, found.known) == (True, [], True, True)
    assert apply_edits(engine, [tmp_path / "edited.rdf"], NOW)[0].is_empty
    assert not engine.facts.decisions()


def test_a_whole_export_does_not_differ(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "ships.ttl").write_text(SHIPS)
    load_ontologies(engine.store, [tmp_path / "ships.ttl"], NAMESPACE, NOW)
    export_owl(engine.store, tmp_path / "owl", NAMESPACE)
    assert {path.name for path in (tmp_path / "owl").glob("*.ttl")} == {
        "facts.ttl",
        "schema.ttl",
        "ontology-1.ttl",
    }
    found = find_differences(engine, [tmp_path / "owl"])
    ontologies = [f"{NAMESPACE}facts", "http://example.org/ships", f"{NAMESPACE}schema"]
    assert [each.ontology for each in found] == ontologies
    assert all(each.is_empty for each in found)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError):
        find_differences(engine, [tmp_path / "empty"])


def test_a_relation_used_once_is_a_statement_and_no_property(engine: Engine, tmp_path: Path) -> None:
    export_owl(engine.store, tmp_path / "once", NAMESPACE)
    facts = rdflib.Graph().parse(tmp_path / "once" / "facts.ttl")
    assert (R.founded, rdflib.RDF.type, rdflib.OWL.AnnotationProperty) in facts
    assert (E["walter-pennock"], R.founded, E["tarnay-electric-light-company"]) in facts
    assert (None, rdflib.OWL.annotatedProperty, R.founded) in facts, "it has its quote"
    assert (R.founded, None, None) not in rdflib.Graph().parse(tmp_path / "once" / "schema.ttl")

    (tmp_path / "more.txt").write_text("Mona Kell founded the Lantern Society in 1901.")
    engine.ingest([tmp_path / "more.txt"])
    export_owl(engine.store, tmp_path / "twice", NAMESPACE)
    schema = rdflib.Graph().parse(tmp_path / "twice" / "schema.ttl")
    assert (R.founded, rdflib.RDF.type, rdflib.OWL.ObjectProperty) in schema


def test_blank_nodes_may_have_dots_in_their_names(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "ships.ttl"
    path.write_text(SHIPS.replace("[] a owl:AllDisjoint", "_:classes.1 a owl:AllDisjoint"))
    load_ontologies(engine.store, [path], NAMESPACE, NOW)
    export_owl(engine.store, tmp_path / "owl", NAMESPACE)
    assert all(one.is_empty for one in find_differences(engine, sorted((tmp_path / "owl").glob("*.ttl"))))


def test_an_export_that_fails_leaves_the_earlier_file(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_owl(engine.store, tmp_path, NAMESPACE)
    before = (tmp_path / "facts.ttl").read_bytes()
    monkeypatch.setattr("graphrag_rdf.wings.ontologies.owl._Facts.triples", fail_after_one)
    with pytest.raises(UsageError, match="No space left"):
        export_owl(engine.store, tmp_path, NAMESPACE)
    assert (tmp_path / "facts.ttl").read_bytes() == before
    assert not [*tmp_path.glob("*.part")]


def fail_after_one(*_: object) -> Iterator[Triple]:
    yield Triple(NamedNode("http://example.org/a"), NamedNode(f"{RDFS}label"), Literal("a"))
    raise OSError(28, "No space left on device")


def test_removed_and_new_facts_are_applied_and_can_be_undone(engine: Engine, tmp_path: Path) -> None:
    def edit(graph: rdflib.Graph) -> None:
        graph.remove((E["walter-pennock"], R.founded, None))
        graph.add((E["mona-kell"], rdflib.RDF.type, rdflib.OWL.NamedIndividual))
        graph.add((E["mona-kell"], rdflib.RDFS.label, rdflib.Literal("Mona Kell")))
        graph.add((E["mona-kell"], R.founded, E["tarnay-electric-light-company"]))

    path = edited(engine, tmp_path, edit)
    found = only(find_differences(engine, [path]))
    assert [one[0] for one in found.removed] == [f"<{E['walter-pennock']}>"]
    assert [one[0] for one in found.added] == [f"<{E['mona-kell']}>"]
    assert (found.changed, found.names) == ([], [])
    apply_edits(engine, [path], NOW, "Ann Orr", "read the register")
    assert only(find_differences(engine, [path])).is_empty
    assert stated(engine, "walter-pennock", "founded") == []
    (decision,) = engine.facts.decisions()
    assert (decision.label, decision.reason) == ("removal by Ann Orr", "read the register")
    (source,) = source_fact(engine.store, "Mona Kell", "founded", "Tarnay Electric Light Company")
    assert source.source.name == "edited.rdf"
    asked = "ASK { GRAPH ?g { ?import prov:wasAssociatedWith ?who } GRAPH ?h { ?who rdfs:label 'Ann Orr' } }"
    prefixes = (
        "PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>"
    )
    assert engine.store.query(f"{prefixes} {asked}").boolean
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    engine.facts.undo([decision.iri.value])
    assert stated(engine, "walter-pennock", "founded") == [f"<{E['tarnay-electric-light-company']}>"]


def test_a_changed_value_is_a_correction_and_keeps_the_datatype_that_owl_lacks(
    engine: Engine, tmp_path: Path
) -> None:
    date = "http://www.w3.org/2001/XMLSchema#date"
    before = engine.store.query(f"SELECT ?s ?p {{ ?s ?p ?o FILTER(DATATYPE(?o) = <{date}>) }}").rows
    assert before
    fact = next(row for row in before if str(row["p"]).startswith(f"<{R}"))
    s, p = (rdflib.URIRef(str(fact[part]).strip("<>")) for part in "sp")

    def edit(graph: rdflib.Graph) -> None:
        written = next(q for q in (p, rdflib.URIRef(f"{p}-value")) if (s, q, None) in graph)
        graph.set((s, written, rdflib.Literal("1911-11-17")))

    path = edited(engine, tmp_path, edit)
    found = only(apply_edits(engine, [path], NOW, "Ann Orr"))
    assert (len(found.changed), found.added, found.removed) == (1, [], [])
    answer = engine.store.query(f"SELECT ?o {{ <{s}> <{p}> ?o }}").rows or []
    assert [str(row["o"]) for row in answer] == ['"1911-11-17"^^<http://www.w3.org/2001/XMLSchema#date>']
    assert only(find_differences(engine, [path])).is_empty
    assert [decision.kind.name for decision in engine.facts.decisions()] == ["correction"]


def test_names_are_left(engine: Engine, tmp_path: Path) -> None:
    named = rdflib.Literal("SS Petrel")
    path = edited(engine, tmp_path, lambda graph: graph.set((E["petrel"], rdflib.RDFS.label, named)))
    found = only(find_differences(engine, [path]))
    assert found.is_empty
    assert [one[2] for one in found.names] == ['"Petrel"@en', '"SS Petrel"']


@pytest.mark.parametrize(
    ("old", "new", "removed", "added", "changed"),
    [
        ("", "", 0, 0, 0),
        ('"ship"@en', '"vessel"@en', 0, 0, 1),
        ("( :Person :Company )", "( :Person :Company :Ship )", 0, 0, 1),
        ("( :Ship :Person )", "( :Ship :Company )", 1, 1, 0),
        (":Company a owl:Class .", ":Company a owl:Class . :Port a owl:Class .", 0, 1, 0),
        (':Ship a owl:Class ; rdfs:label "ship"@en .', "", 2, 0, 0),
    ],
)
def test_an_edited_ontology_becomes_a_new_version(
    engine: Engine, tmp_path: Path, old: str, new: str, removed: int, added: int, changed: int
) -> None:
    (tmp_path / "ships.ttl").write_text(SHIPS)
    load_ontologies(engine.store, [tmp_path / "ships.ttl"], NAMESPACE, NOW)
    (tmp_path / "edited.ttl").write_text(SHIPS.replace(old, new) if old else SHIPS)
    found = only(find_differences(engine, [tmp_path / "edited.ttl"]))
    assert (len(found.removed), len(found.added), len(found.changed)) == (removed, added, changed)
    apply_edits(engine, [tmp_path / "edited.ttl"], NOW, "Ann Orr")
    assert only(find_differences(engine, [tmp_path / "edited.ttl"])).is_empty
    active = next(each for each in ontology_versions(engine.store) if each.active)
    by = engine.store.query(f"ASK {{ GRAPH ?g {{ <{active.graph}> <{PROV.wasAttributedTo.value}> ?who }} }}")
    assert by.boolean == bool(old)


SCHEMA = rdflib.URIRef(f"{NAMESPACE}schema")
VESSEL, FOUNDED = rdflib.URIRef("http://example.org/own#Vessel"), R.founded


def edited_schema(engine: Engine, folder: Path, edit: Callable[[rdflib.Graph], object]) -> Path:
    export_owl(engine.store, folder / "owl", NAMESPACE)
    graph = rdflib.Graph().parse(folder / "owl" / "schema.ttl")
    edit(graph)
    graph.serialize(folder / "schema.rdf", format="xml")
    return folder / "schema.rdf"


def add_terms(graph: rdflib.Graph) -> None:
    """A class with a union above it, a comment, another label, and a comment on the ontology itself."""
    union, members = rdflib.BNode(), rdflib.BNode()
    rdflib.collection.Collection(graph, members, [VESSEL, rdflib.OWL.Nothing])
    graph.add((union, rdflib.RDF.type, rdflib.OWL.Class))
    graph.add((union, rdflib.OWL.unionOf, members))
    graph.add((VESSEL, rdflib.RDF.type, rdflib.OWL.Class))
    graph.add((VESSEL, rdflib.RDFS.subClassOf, union))
    graph.add((VESSEL, rdflib.RDFS.label, rdflib.Literal("vessel", "en")))
    graph.add((FOUNDED, rdflib.RDFS.comment, rdflib.Literal("Who began it.", "en")))
    graph.remove((FOUNDED, rdflib.RDFS.label, None))
    graph.add((FOUNDED, rdflib.RDFS.label, rdflib.Literal("was the founder of", "en")))
    graph.add((SCHEMA, rdflib.RDFS.comment, rdflib.Literal("Reviewed.", "en")))


def in_ontologies(engine: Engine, term: rdflib.URIRef, predicate: rdflib.URIRef) -> set[str]:
    query = f"SELECT ?o {{ GRAPH <urn:graph:ontology> {{ <{term}> <{predicate}> ?o }} }}"
    return {str(row["o"]) for row in engine.store.query(query).rows or []}


def test_edits_of_the_schema_are_shown_and_applied(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("Mona Kell founded the Lantern Society in 1901.")
    engine.ingest([tmp_path / "more.txt"])
    path = edited_schema(engine, tmp_path, add_terms)
    found = only(find_differences(engine, [path]))
    assert not found.is_empty
    shown = {(one[1].rpartition("#")[2].rstrip(">"), one[2]) for one in found.added}
    assert {
        ("comment", '"Who began it."@en'),
        ("label", '"was the founder of"@en'),
        ("comment", '"Reviewed."@en'),
        ("label", '"vessel"@en'),
    } <= shown
    assert any(name == "subClassOf" and "unionOf" in said for name, said in shown)
    assert [one[2] for one in found.names] == ['"founded"@en']
    assert in_ontologies(engine, FOUNDED, rdflib.RDFS.label) == {'"founded"@en'}, "nothing is written yet"

    apply_edits(engine, [path], NOW, "Ann Orr")
    assert in_ontologies(engine, FOUNDED, rdflib.RDFS.label) == {'"was the founder of"@en'}
    assert '"founded"@en' in in_ontologies(engine, FOUNDED, rdflib.SKOS.altLabel)
    assert in_ontologies(engine, VESSEL, rdflib.RDF.type) == {f"<{rdflib.OWL.Class}>"}
    assert only(find_differences(engine, [path])).is_empty
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    export_owl(engine.store, tmp_path / "again", NAMESPACE)
    assert not [*(tmp_path / "again").glob("ontology-*")]
    again = rdflib.Graph().parse(tmp_path / "again" / "schema.ttl")
    assert (FOUNDED, rdflib.RDFS.comment, rdflib.Literal("Who began it.", "en")) in again
    assert again.value(again.value(VESSEL, rdflib.RDFS.subClassOf), rdflib.OWL.unionOf) is not None
    assert only(find_differences(engine, [tmp_path / "again" / "schema.ttl"])).is_empty


def test_edits_of_the_schema_stay_when_facts_change_and_can_be_taken_out(
    engine: Engine, tmp_path: Path
) -> None:
    apply_edits(engine, [edited_schema(engine, tmp_path, add_terms)], NOW, "Ann Orr")
    (tmp_path / "more.txt").write_text("Mona Kell founded the Lantern Society.")
    engine.ingest([tmp_path / "more.txt"])
    assert in_ontologies(engine, FOUNDED, rdflib.RDFS.label) == {'"was the founder of"@en'}
    assert in_ontologies(engine, FOUNDED, rdflib.RDFS.comment) == {'"Who began it."@en'}
    stale = tmp_path / "schema.rdf"  # of before the ingest: its counts are no edits
    assert only(find_differences(engine, [stale])).is_empty

    def remove(graph: rdflib.Graph) -> None:
        graph.remove((FOUNDED, rdflib.RDFS.comment, None))

    path = edited_schema(engine, tmp_path, remove)
    found = only(find_differences(engine, [path]))
    assert [one[2] for one in found.removed] == ['"Who began it."@en']
    apply_edits(engine, [path], NOW)
    assert in_ontologies(engine, FOUNDED, rdflib.RDFS.comment) == set()
    assert in_ontologies(engine, VESSEL, rdflib.RDFS.label) == {'"vessel"@en'}

    def remove_all(graph: rdflib.Graph) -> None:
        for term in (VESSEL, SCHEMA, FOUNDED):
            for predicate in (rdflib.RDF.type, rdflib.RDFS.subClassOf, rdflib.RDFS.comment):
                graph.remove((term, predicate, None) if term != SCHEMA else (term, rdflib.RDFS.comment, None))
        for term in (VESSEL, FOUNDED):
            graph.remove((term, rdflib.RDFS.label, None))
        for union in list(graph.subjects(rdflib.OWL.unionOf)):
            graph.remove((union, None, None))
        for cell in [*graph.subjects(rdflib.RDF.first)]:
            graph.remove((cell, None, None))

    apply_edits(engine, [edited_schema(engine, tmp_path, remove_all)], NOW)
    assert in_ontologies(engine, FOUNDED, rdflib.RDFS.label) == {'"founded"@en'}
    assert not [each for each in ontology_versions(engine.store) if each.ontology.endswith("/edits")]


def test_an_ontology_that_is_not_loaded_is_new(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "ships.ttl").write_text(SHIPS)
    found = only(find_differences(engine, [tmp_path / "ships.ttl"]))
    assert (found.known, found.removed, found.changed) == (False, [], [])
    assert any(one[0] == "<http://example.org/ships#Ship>" and one[2] == '"ship"@en' for one in found.added)
    apply_edits(engine, [tmp_path / "ships.ttl"], NOW)
    assert [each.ontology for each in ontology_versions(engine.store)] == ["http://example.org/ships"]
