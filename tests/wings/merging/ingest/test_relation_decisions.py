"""Relations that say the same are one by decisions, which can be undone; facts keep their own relation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.checks.conflicts import find_conflicts
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange.ontologies import load_ontologies
from graphrag_rdf.ingest.decisions import read_decisions, undo
from graphrag_rdf.ingest.fact_decisions import remove_facts
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.relation_decisions import FORM, RELATIONS, merge, split
from graphrag_rdf.ingest.resolutions import Merge, Resolution
from graphrag_rdf.rdf.iris import DEFAULT_NAMESPACE
from graphrag_rdf.rdf.namespaces import RAG, RDFS, SKOS, STORE_NODE, Graphs
from graphrag_rdf.store.base import plain_quads
from graphrag_rdf.trace.facts import facts_called
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.merging import relation_normalisation as normalisation
from graphrag_rdf.wings.merging.relations import relations_called, together
from graphrag_rdf.wings.merging.relations_by_model import by_model as groups_of_model
from tests.ingest.conftest import MakeEngine, assert_same, by_model, chunk_in, content, everything
from tests.support.scripted_server import Request, ScriptedServer

STATED = re.compile(r"(\w+) \[([^]]+)\] (\w+)\.")
TYPES = {"P": "person", "F": "firm", "T": "town"}


def answer(request: Request) -> str:
    """The statements that a chunk spells out: "Ada [works at] Kelm."; P1, F1 and T1 have a type."""
    relations: list[dict[str, Any]] = []
    entities = []
    for s, p, o in STATED.findall(chunk_in(request)):
        value = {"object_is_entity": False, "datatype": "integer"} if o.isdigit() else {}
        relations.append({"subject": s, "predicate": p, "object": o, **value})
        entities += [
            {"name": name, "type": TYPES.get(name[0]) if name[1:].isdigit() else None} for name in (s, o)
        ]
    return json.dumps({"entities": [one for one in entities if one["type"]], "relations": relations})


@pytest.fixture
def model(scripted_server: ScriptedServer) -> ScriptedServer:
    scripted_server.answer_with(answer)
    return scripted_server


def relation(slug: str) -> NamedNode:
    return NamedNode(f"{DEFAULT_NAMESPACE}r/{slug}")


def canonical(engine: Engine) -> dict[str, str]:
    """Relation → the one that stands for it, by the ends of their IRIs; only those that are not their own."""
    quads = plain_quads(engine.store, Graphs.DERIVED)
    links = [quad for quad in quads if quad.predicate == RAG.canonicalRelation]
    ends = [
        tuple(re.split("[/#]", str(node).strip("<>"))[-1] for node in (q.subject, q.object)) for q in links
    ]
    assert len({s for s, _ in ends}) == len(ends)
    return {s: o for s, o in ends if s != o}


def ingested(engine: Engine, docs: Path, texts: Iterable[tuple[str, str]]) -> Engine:
    for name, text in texts:
        (docs / name).write_text(text)
        engine.ingest([docs])
    return engine


def sound(engine: Engine) -> None:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(plain_quads(engine.store)) == []


A = ("a.txt", "Ada [works at] Kelm. Bob [worked at] Tarn. Cid [founded] Tarn.")
B = ("b.txt", "Dora [work at] Kelm. Tarn [was founded by] Cid. Eve [has founded] Kelm. Eve [lives in] Kelm.")
C = ("c.txt", "Kelm [founded by] Eve. Bob [works at] Tarn. Eve [works at] 1851. Eve [worked at] 1852.")


@pytest.fixture
def engine(docs: Path, engine_of: MakeEngine, model: ScriptedServer) -> Engine:
    return ingested(engine_of("store", **by_model(model)), docs, [A, B, C])


ONE = {
    "works-at": "work-at",
    "worked-at": "work-at",
    "has-founded": "founded",
    "was-founded-by": "founded-by",
    "worked-at-value": "works-at-value",
}


def test_names_that_differ_in_form_are_one_and_facts_stay(engine: Engine) -> None:
    assert canonical(engine) == ONE
    facts = plain_quads(engine.store)
    assert {str(q.predicate).split("/")[-1].strip(">") for q in facts if "/e/" in str(q.subject)} >= {
        "works-at",
        "worked-at",
        "work-at",
        "founded",
        "has-founded",
    }
    assert {d.by for d in read_decisions(engine.store, RELATIONS)} == {FORM}
    sound(engine)


def test_every_relation_has_one_that_stands_for_it(engine: Engine) -> None:
    quads = everything(engine)
    used = {q.predicate for q in quads if "/r/" in str(q.predicate)}
    linked = {
        q.subject for q in quads if q.predicate == RAG.canonicalRelation and q.graph_name == Graphs.DERIVED
    }
    assert used <= linked


def test_the_schema_declares_them(engine: Engine) -> None:
    said = {
        (quad.predicate, quad.object)
        for quad in plain_quads(engine.store, Graphs.ONTOLOGY)
        if quad.subject == relation("work-at")
    }
    assert {(SKOS.altLabel, Literal(name, language="en")) for name in ("works at", "worked at")} <= said
    below = {
        q.subject for q in plain_quads(engine.store, Graphs.ONTOLOGY) if q.predicate == RDFS.subPropertyOf
    }
    assert {relation("works-at"), relation("worked-at"), relation("worked-at-value")} <= below


def test_sparql_over_the_one_finds_all(engine: Engine) -> None:
    query = """
    SELECT ?who ?where WHERE {
      GRAPH <urn:graph:derived> { ?relation rag:canonicalRelation <http://trustgraph.ai/r/work-at> }
      ?who ?relation ?where
    }"""
    found = engine.store.query(f"PREFIX rag: <https://w3id.org/graphrag-rdf/ns#> {query}")
    assert len(found.rows or ()) == 4


def test_the_order_of_documents_does_not_matter(
    docs: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    stores = []
    for order in permutations([A, B, C]):
        for file in docs.iterdir():
            file.unlink()
        stores.append(content(ingested(engine_of(None, **by_model(model)), docs, order), history=False))
    for other in stores[1:]:
        assert_same(other, stores[0])


def test_a_second_ingest_writes_nothing(engine: Engine, docs: Path) -> None:
    before = everything(engine)
    engine.ingest([docs])
    assert_same(everything(engine), before)


def test_forgetting_leaves_nothing(
    engine: Engine, docs: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    merge(engine, [Merge(relation("founded"), (relation("founded"), relation("lives-in")), "for a test")])
    forget_documents(engine, find_documents(engine.store, [str(docs / "b.txt")]))
    assert canonical(engine) == {"worked-at": "works-at", "worked-at-value": "works-at-value"}
    left = {str(term) for quad in everything(engine) for term in (quad.subject, quad.object)}
    gone = ("/r/lives-in", "/r/has-founded", "/r/was-founded-by", "/r/work-at>")
    assert not [term for term in left if any(each in term for each in gone)]
    sound(engine)


# --- undoing ---


def unrecorded(engine: Engine) -> set[Quad]:
    """All but decisions of people, who made them, and commit numbers."""
    decided = {d.iri for d in read_decisions(engine.store, RELATIONS) if d.by != FORM or d.undone}
    return {
        quad
        for quad in everything(engine)
        if not (
            quad.graph_name == Graphs.SYSTEM
            and (quad.subject in decided or "person" in str(quad.subject) or quad.subject == STORE_NODE)
        )
    }


SLUGS = [
    "work-at",
    "works-at",
    "worked-at",
    "founded",
    "has-founded",
    "founded-by",
    "was-founded-by",
    "lives-in",
]
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("merge"), st.lists(st.sampled_from(SLUGS), min_size=2, max_size=4, unique=True)),
        st.tuples(st.just("split"), st.sampled_from(SLUGS).map(lambda slug: [slug])),
    ),
    max_size=4,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ACTS, st.randoms())
def test_merges_and_splits_undone_leave_the_store_as_it_was(engine: Engine, acts: Any, random: Any) -> None:
    before = unrecorded(engine)
    made: list[Resolution] = []
    for act, slugs in acts:
        members = tuple(map(relation, slugs))
        try:
            made += merge(engine, [Merge(members[0], members)]) if act == "merge" else split(engine, members)
        except UsageError:  # a relation that is merged with no other cannot be split off
            assert act == "split"
    random.shuffle(made)
    for one in made:
        undo(engine, [one])
    assert_same(unrecorded(engine), before)


def test_an_undone_form_stays_apart(engine: Engine, docs: Path) -> None:
    (decision,) = (d for d in read_decisions(engine.store, RELATIONS) if relation("works-at") in d.members)
    undo(engine, [decision])
    expected = {one: other for one, other in ONE.items() if other != "work-at"}
    assert canonical(engine) == expected
    ingested(engine, docs, [("d.txt", "Dora [work at] Tarn.")])
    assert canonical(engine) == expected
    sound(engine)


def test_a_split_stays_and_a_later_merge_wins(engine: Engine, docs: Path) -> None:
    split(engine, [relation("worked-at")], reason="the past matters")
    expected = {one: other for one, other in ONE.items() if one != "worked-at"}
    assert canonical(engine) == expected
    ingested(engine, docs, [("d.txt", "Dora [worked at] Tarn.")])
    assert canonical(engine) == expected
    merge(engine, [Merge(relation("worked-at"), (relation("worked-at"), relation("works-at")))])
    assert canonical(engine)["works-at"] == canonical(engine)["work-at"] == "worked-at"
    sound(engine)


# --- what keeps relations apart ---


def test_contradicting_types_keep_relations_apart(
    docs: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    people = " ".join(f"P{n} [runs] F{n}." for n in range(3))
    towns = " ".join(f"T{n} [ran] P{n}." for n in range(3))
    engine = ingested(engine_of(**by_model(model)), docs, [("a.txt", people), ("b.txt", towns)])
    assert canonical(engine) == {}
    few = ingested(engine_of(**by_model(model)), docs, [("b.txt", "T1 [ran] P1.")])
    assert canonical(few) == {"runs": "ran"}


def test_things_and_values_are_merged_apart(engine: Engine) -> None:
    called = [relations_called(engine.store, name, DEFAULT_NAMESPACE) for name in ("works at", "lives in")]
    assert together(called) == [[relation("works-at"), relation("lives-in")]]
    values = {"values": relation("works-at-value")}
    with pytest.raises(UsageError, match="cannot be merged"):
        together([called[1], values])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="no relation is called"):
        relations_called(engine.store, "nothing like it", DEFAULT_NAMESPACE)


# --- what reads them ---


def test_a_fact_is_found_by_other_names_of_its_relation(engine: Engine) -> None:
    (fact,) = facts_called(engine.store, "Ada", "worked at", "Kelm")
    assert fact[1] == relation("works-at")
    listed = engine.store.select("facts/list", texts=["work at"], limit=50, offset=0)
    assert {row["p"] for row in listed} == {relation(slug) for slug in ("work-at", "works-at", "worked-at")}


def test_removing_a_fact_reports_those_that_say_the_same(engine: Engine) -> None:
    bob = facts_called(engine.store, "Bob", "works at", "Tarn")
    edited = remove_facts(engine, bob, dry_run=True)
    assert [fact[1] for fact in edited.also] == [relation("worked-at")]


def test_values_under_two_names_contradict(docs: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    texts = [("a.txt", "Ada [opened in] 1851."), ("b.txt", "Ada [opens in] 1852. Ada [closed in] 1853.")]
    engine = ingested(engine_of(**by_model(model)), docs, texts)
    (conflict,) = find_conflicts(engine.store)
    assert conflict.rule == "documents"
    assert {fact.p for fact in conflict.facts} == {relation("opened-in-value"), relation("opens-in-value")}
    same = ingested(
        engine_of(**by_model(model)), docs, [("b.txt", "Ada [opened in] 1851. Ada [opens in] 1852.")]
    )
    forget_documents(same, find_documents(same.store, [str(docs / "a.txt")]))
    assert find_conflicts(same.store) == []  # one document


def writing(request: Request) -> str:
    """A model that writes a query with the relation as it is listed for Kelm."""
    if "Write a SPARQL" not in request.prompt:
        return "Ada. [1] Dora. [2] Eve. [3]"
    (path,) = set(re.findall(r"← (\S*work-at\S*) ", request.prompt))
    kelm = f"<{DEFAULT_NAMESPACE}e/kelm>"
    return f"```sparql\nSELECT ?who ?name {{ ?who {path} {kelm} . ?who rdfs:label ?name }}\n```"


def test_a_query_over_a_relation_asks_for_all_its_names(engine: Engine, model: ScriptedServer) -> None:
    members = (relation("work-at"), relation("lives-in"))
    merge(engine, [Merge(members[0], members)])
    model.answer_with(writing)
    *_, last = engine.ask("Who works at Kelm?", "sparql", cache=False)
    assert last.answer is not None, last.error
    query = render_trace(engine.traces["last"]).partition("SELECT")[2]
    assert all(slug in query for slug in ("work-at", "works-at", "worked-at", "lives-in"))
    cited = {citation["edge"]["p_label"] for citation in last.answer["citations"]}
    assert cited == {"works at", "work at", "lives in"}


# --- proposals ---


ONTOLOGY = """
@prefix ex: <http://example.org/firms#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/firms> a owl:Ontology .
ex:residence a owl:ObjectProperty ; rdfs:label "residence"@en ; skos:altLabel "lives in"@en .
ex:year a owl:DatatypeProperty ; rdfs:label "founded"@en .
"""


def test_a_property_of_an_ontology_stands_for_relations_of_its_name(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "firms.ttl"
    file.write_text(ONTOLOGY)
    before = unrecorded(engine)
    load_ontologies(engine.store, [file], DEFAULT_NAMESPACE, datetime.now(UTC))
    known = normalisation.read_known(engine)
    (proposal,) = normalisation.choose(engine, known, normalisation.by_ontology(engine.store, known))
    assert (proposal.pair.rule, proposal.pair.keep.value) == (
        "ontology",
        "http://example.org/firms#residence",
    )
    made = normalisation.apply(engine, [proposal])
    assert canonical(engine)["lives-in"] == "residence"
    sound(engine)
    undo(engine, made)
    assert canonical(engine) == ONE
    assert {q for q in before if q.graph_name != Graphs.SYSTEM} <= unrecorded(engine)


def grouped(request: Request) -> str:
    prompt = request.messages[-1]["content"]
    ids = {name: key for key, name in re.findall(r"^(r\d+): ([a-z ]+?) \(", prompt, re.MULTILINE)}
    groups = [["r99", ids["work at"], ids["lives in"]], [ids["founded"], ids["founded by"]]]
    return json.dumps({"groups": groups if "lives in" in ids else []})


def test_a_model_groups_relations(engine: Engine, model: ScriptedServer) -> None:
    model.answer_with(grouped)
    known = normalisation.read_known(engine)
    pairs, dropped = groups_of_model(engine, known, "openai/scripted")
    assert dropped == {"unknown_or_repeated_id": 1}
    (proposal,) = normalisation.choose(
        engine, known, pairs, by="openai/scripted"
    )  # not founded and founded by
    assert proposal.names == ("work at", "lives in")
    normalisation.apply(engine, [proposal])
    assert canonical(engine) == {**ONE, "lives-in": "work-at"}
    (decision,) = normalisation.standing(engine.store)
    assert decision.reason == "openai/scripted says that the names mean the same"
    assert "[r" not in model.requests[-1].messages[-1]["content"].split("<relations>")[1]
    sound(engine)
