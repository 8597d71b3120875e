"""The observed schema: what extraction minted is declared, and goes with its last fact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.iris import DEFAULT_NAMESPACE
from graphrag_rdf.rdf.namespaces import OWL, RAG, RDF, RDFS, SCHEMA, XSD, Graphs
from graphrag_rdf.rdf.terms import Term, integer
from graphrag_rdf.store.base import plain_quads
from tests.ingest.conftest import MakeEngine, assert_same, by_model, content, everything
from tests.support.scripted_server import Request, ScriptedServer

MILL = "Mary Hale founded Lindow Mill. Mary Hale lived in Tarn."
INN = "The Heron founded Heron Inn. Heron Inn has twelve rooms."
ROOMS = {"object_is_entity": False, "datatype": "integer"}
ANSWERS: dict[str, Any] = {
    "Mary Hale": {
        "entities": [
            {"name": "Mary Hale", "type": "person"},
            {"name": "Lindow Mill", "type": "building"},
            {"name": "Tarn", "type": "town"},
        ],
        "relations": [
            {"subject": "Mary Hale", "predicate": "founded", "object": "Lindow Mill"},
            {"subject": "Mary Hale", "predicate": "lived in", "object": "Tarn"},
        ],
    },
    "The Heron": {
        "entities": [{"name": "Heron Inn", "type": "building"}],
        "relations": [
            {"subject": "The Heron", "predicate": "founded", "object": "Heron Inn"},
            {"subject": "Heron Inn", "predicate": "number of rooms", "object": "12", **ROOMS},
        ],
    },
}


def answer(request: Request) -> str:
    prompt = request.messages[-1]["content"]
    return json.dumps(next(one for name, one in ANSWERS.items() if f"{name} founded" in prompt))


def relation(slug: str) -> NamedNode:
    return NamedNode(f"{DEFAULT_NAMESPACE}r/{slug}")


def type_(slug: str) -> NamedNode:
    return NamedNode(f"{DEFAULT_NAMESPACE}type/{slug}")


OBSERVED = NamedNode(f"{DEFAULT_NAMESPACE}schema")


def declared(engine: Engine, term: NamedNode) -> set[tuple[NamedNode, Term]]:
    """What the graph of ontologies says of a term, without where it is defined."""
    quads = plain_quads(engine.store, Graphs.ONTOLOGY)
    found = {(quad.predicate, quad.object) for quad in quads if quad.subject == term}
    if found and term != OBSERVED:
        found.remove((RDFS.isDefinedBy, OBSERVED))
    return found


@pytest.fixture
def model(scripted_server: ScriptedServer) -> ScriptedServer:
    scripted_server.answer_with(answer)
    return scripted_server


@pytest.fixture
def two(docs: Path) -> Path:
    (docs / "mill.txt").write_text(MILL)
    (docs / "inn.txt").write_text(INN)
    return docs


def test_relations_and_types_are_declared(two: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = engine_of(**by_model(model))
    engine.ingest([two])
    assert declared(engine, OBSERVED) >= {(RDF.type, OWL.Ontology), (RDF.type, RAG.ObservedSchema)}
    assert declared(engine, relation("founded")) == {
        (RDF.type, OWL.ObjectProperty),
        (RDFS.label, Literal("founded", language="en")),
        (RAG.observedCount, integer(2)),
        (SCHEMA.domainIncludes, type_("person")),
        (SCHEMA.rangeIncludes, type_("building")),
    }
    assert declared(engine, type_("building")) == {
        (RDF.type, OWL.Class),
        (RDFS.label, Literal("building")),
        (RAG.observedCount, integer(2)),
    }
    values = [quad.subject for quad in everything(engine) if quad.object == OWL.DatatypeProperty]
    (value,) = values
    assert isinstance(value, NamedNode)
    assert declared(engine, value) >= {
        (SCHEMA.domainIncludes, type_("building")),
        (SCHEMA.rangeIncludes, XSD.integer),
        (RDFS.label, Literal("number of rooms", language="en")),
    }
    axioms = {RDFS.domain, RDFS.range}
    assert not [quad for quad in everything(engine) if quad.predicate in axioms]  # of what one text says
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(plain_quads(engine.store)) == []


def test_declarations_go_with_the_last_fact(two: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = engine_of(**by_model(model))
    engine.ingest([two])
    forget_documents(engine, find_documents(engine.store, [str(two / "mill.txt")]))
    assert declared(engine, relation("lived-in")) == declared(engine, type_("person")) == set()
    assert (RAG.observedCount, integer(1)) in declared(engine, relation("founded"))
    with_inn = engine_of(**by_model(model))
    (two / "mill.txt").unlink()
    with_inn.ingest([two])
    assert_same(
        set(plain_quads(engine.store, Graphs.ONTOLOGY)), set(plain_quads(with_inn.store, Graphs.ONTOLOGY))
    )
    forget_documents(engine, find_documents(engine.store, [str(two / "inn.txt")]))
    assert list(plain_quads(engine.store, Graphs.ONTOLOGY)) == []


def test_an_edited_document_leaves_what_a_build_from_scratch_gives(
    two: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine, fresh = engine_of(**by_model(model)), engine_of(**by_model(model))
    engine.ingest([two])
    (two / "mill.txt").write_text(INN)
    engine.ingest([two], sync=True)
    fresh.ingest([two])
    assert_same(content(engine, history=False), content(fresh, history=False))


def test_a_fact_that_is_removed_by_hand_and_restored(
    two: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_of(**by_model(model))
    engine.ingest([two])
    before = declared(engine, relation("lived-in"))
    engine.facts.remove("Mary Hale", "lived in", "Tarn")
    assert declared(engine, relation("lived-in")) == set()
    engine.facts.undo_about("Mary Hale", "lived in", "Tarn")
    assert declared(engine, relation("lived-in")) == before


def test_another_namespace_has_another_schema(
    two: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_of(**by_model(model, extract__namespace="https://mill.example/"))
    engine.ingest([two])
    schemas = [quad.subject for quad in everything(engine) if quad.object == RAG.ObservedSchema]
    assert schemas == [NamedNode("https://mill.example/schema")]


def test_a_relation_to_things_and_to_values_is_two(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    found = [
        {"subject": "Mary Hale", "predicate": "lived in", "object": "Tarn"},
        {"subject": "Mary Hale", "predicate": "lived in", "object": "1851", "object_is_entity": False},
        {"subject": "Mary Hale", "predicate": "lived in value", "object": "Lindow"},
    ]
    scripted_server.answer_with(lambda _: json.dumps({"entities": [], "relations": found}))
    (docs / "hale.txt").write_text("Mary Hale lived in Tarn and Lindow, in 1851.")
    engine = engine_of(**by_model(scripted_server))
    engine.ingest([docs])
    things, values = relation("lived-in"), relation("lived-in-value")
    assert declared(engine, things) >= {
        (RDF.type, OWL.ObjectProperty),
        (RDFS.label, Literal("lived in", language="en")),
        (RAG.valueRelation, values),
    }
    assert declared(engine, values) >= {
        (RDF.type, OWL.DatatypeProperty),
        (RDFS.label, Literal("lived in", language="en")),
    }
    assert (RDF.type, OWL.ObjectProperty) in declared(engine, relation("lived-in%2Dvalue"))
    assert not [quad for quad in everything(engine) if quad.object == RDF.Property]

    engine.facts.correct("Mary Hale", "lived in", "Tarn", object='"1850"')
    engine.facts.correct("Mary Hale", "lived in", "1851", object="1852")
    engine.facts.correct("Mary Hale", "lived in value", "Lindow", predicate="lived in")
    assert (RAG.observedCount, integer(1)) in declared(engine, things)
    assert (RAG.observedCount, integer(2)) in declared(engine, values)
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
