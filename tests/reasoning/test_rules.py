"""Reasoning: what the rules infer, against owlrl; premises; inconsistencies."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf.iris import DEFAULT_NAMESPACE
from graphrag_rdf.rdf.namespaces import OWL, RDF, RDFS, Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.schema.observed import observe
from graphrag_rdf.schema.reasoning import (
    INCONSISTENCIES,
    Inconsistency,
    find_inconsistencies,
    infer,
)
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.wings.ontologies.explain import derivations

TEMPLATES = TemplateLibrary(folder("queries"))
E = "http://example.org/"
THINGS, RELATIONS, CLASSES = ([NamedNode(f"{E}{kind}{n}") for n in range(4)] for kind in "trc")
TYPE = RDF["type"]


def n(name: str) -> NamedNode:
    return NamedNode(E + name)


def store_with(axioms: Iterable[Triple], facts: Iterable[Triple]) -> EmbeddedStore:
    store = EmbeddedStore(TEMPLATES)
    placed = [(Graphs.ONTOLOGY, each) for each in axioms] + [(DefaultGraph(), each) for each in facts]
    store.write_quads([Quad(t.subject, t.predicate, t.object, graph) for graph, t in placed])
    return store


def inferred(store: EmbeddedStore) -> set[Triple]:
    return {each.triple for each in store.quads(Graphs.INFERRED)}


def texts(triple: Triple) -> tuple[str, ...]:
    return tuple(str(part).strip("<>") for part in triple)


def _triples(
    subjects: list[NamedNode], predicates: list[NamedNode], objects: list[NamedNode]
) -> st.SearchStrategy[Triple]:
    sampled = st.sampled_from
    return st.builds(Triple, sampled(subjects), sampled(predicates), sampled(objects))


_RELATED = [RDFS["subPropertyOf"], OWL["inverseOf"], OWL["equivalentProperty"]]
_AXIOMS = st.one_of(
    _triples(CLASSES, [RDFS["subClassOf"], OWL["equivalentClass"]], CLASSES),
    _triples(RELATIONS, _RELATED, RELATIONS),
    _triples(RELATIONS, [RDFS["domain"], RDFS["range"]], CLASSES),
    _triples(RELATIONS, [TYPE], [OWL["SymmetricProperty"], OWL["TransitiveProperty"]]),
)
_FACTS = st.one_of(_triples(THINGS, RELATIONS, THINGS), _triples(THINGS, [TYPE], CLASSES))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_AXIOMS, max_size=6), st.lists(_FACTS, min_size=1, max_size=6))
def test_as_owlrl(axioms: list[Triple], facts: list[Triple]) -> None:
    """The facts about things are those of owlrl's closure, and asserted ones are not repeated."""
    import owlrl
    import rdflib

    store = store_with(axioms, facts)
    report = infer(store, "rl")
    found = inferred(store)
    assert sum(report.rules.values()) == len(found)
    assert not found & {*axioms, *facts}
    graph = rdflib.Graph()
    graph.parse(data="".join(f"{each} .\n" for each in [*axioms, *facts]), format="nt")
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    things, terms = {each.value for each in THINGS}, {each.value for each in [*RELATIONS, TYPE]}
    ends = things | {each.value for each in CLASSES}
    expected = {
        tuple(map(str, each))
        for each in graph
        if str(each[0]) in things and str(each[1]) in terms and str(each[2]) in ends
    }
    known = {texts(each) for each in [*found, *facts]}
    assert {each for each in known if each[0] in things} == expected


def test_rdfs_leaves_out_rules_of_owl() -> None:
    axioms = [
        Triple(n("knows"), TYPE, OWL["SymmetricProperty"]),
        Triple(n("knows"), RDFS["domain"], n("Person")),
    ]
    store = store_with(axioms, [Triple(n("ada"), n("knows"), n("bob"))])
    assert infer(store, "rdfs").rules["rdfs2"] == 1
    assert inferred(store) == {Triple(n("ada"), TYPE, n("Person"))}
    infer(store, "rl")
    assert Triple(n("bob"), n("knows"), n("ada")) in inferred(store)
    infer(store, "rdfs")
    assert inferred(store) == {Triple(n("ada"), TYPE, n("Person"))}


def test_literals_have_no_types_and_blank_classes_are_left_out() -> None:
    axioms = [Triple(n("age"), RDFS["range"], n("Age")), Triple(n("age"), RDFS["domain"], BlankNode("x"))]
    store = store_with(axioms, [Triple(n("ada"), n("age"), Literal("36"))])
    infer(store, "rl")
    assert inferred(store) == set()


def test_premises_of_an_inferred_fact() -> None:
    part = Triple(n("partOf"), TYPE, OWL["TransitiveProperty"])
    one, two = Triple(n("a"), n("partOf"), n("b")), Triple(n("b"), n("partOf"), n("c"))
    store = store_with([part], [one, two])
    infer(store, "rl")
    (found,) = derivations(store, n("a"), n("partOf"), n("c"))
    assert found.rule == "prp-trp"
    assert sorted(found.premises, key=str) == sorted(
        [(part, "ontology"), (one, "fact"), (two, "fact")], key=str
    )
    assert derivations(store, n("a"), n("partOf"), n("b")) == []


CONTRADICTIONS = {
    "cax-dw": (
        [Triple(n("Ship"), OWL["disjointWith"], n("Town"))],
        [Triple(n("a"), TYPE, n("Ship")), Triple(n("a"), TYPE, n("Town"))],
    ),
    "prp-fp": (
        [Triple(n("p"), TYPE, OWL["FunctionalProperty"])],
        [Triple(n("a"), n("p"), Literal(1)), Triple(n("a"), n("p"), Literal(2))],
    ),
    "prp-asyp": (
        [Triple(n("p"), TYPE, OWL["AsymmetricProperty"])],
        [Triple(n("a"), n("p"), n("b")), Triple(n("b"), n("p"), n("a"))],
    ),
    "prp-irp": (
        [Triple(n("p"), TYPE, OWL["IrreflexiveProperty"])],
        [Triple(n("a"), n("p"), n("a"))],
    ),
    "prp-pdw": (
        [Triple(n("p"), OWL["propertyDisjointWith"], n("q"))],
        [Triple(n("a"), n("p"), n("b")), Triple(n("a"), n("q"), n("b"))],
    ),
}


def found(store: EmbeddedStore) -> list[Inconsistency]:
    infer(store, "rl")
    return list(find_inconsistencies(store))


@pytest.mark.parametrize("rule", INCONSISTENCIES)
def test_contradictions(rule: str) -> None:
    axioms, facts = CONTRADICTIONS[rule]
    (one,) = found(store_with(axioms, facts))
    assert (one.rule, one.focus) == (rule, f"{E}a")
    assert found(store_with(axioms, facts[:-1])) == []


def test_equal_values_of_a_functional_relation_agree() -> None:
    axioms, _ = CONTRADICTIONS["prp-fp"]
    integer = Literal(1).datatype
    facts = [Triple(n("a"), n("p"), Literal(text, datatype=integer)) for text in ("1", "01")]
    assert found(store_with(axioms, facts)) == []


def test_a_change_of_facts_removes_what_was_inferred() -> None:
    axioms = [Triple(n("knows"), RDFS["domain"], n("Person"))]
    store = store_with(axioms, [Triple(n("ada"), n("knows"), n("bob"))])
    infer(store, "rl")
    assert inferred(store)
    observe(store, DEFAULT_NAMESPACE)
    assert inferred(store) == set()
