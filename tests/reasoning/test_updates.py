"""Inferences kept up to date: after changes they are what is inferred from scratch, and what owlrl infers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import owlrl
import pytest
import rdflib
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, Triple

from graphrag_rdf.rdf.iris import DEFAULT_NAMESPACE
from graphrag_rdf.rdf.namespaces import OWL, RDF, RDFS, Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.schema.observed import observe
from graphrag_rdf.schema.reasoning import Profile, infer, is_kept, update
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore

TEMPLATES = TemplateLibrary(folder("queries"))
E = "http://example.org/"
QUICK = [Phase.explicit, Phase.reuse, Phase.generate]  # shrinking would take minutes
EXAMPLES = int(os.environ.get("REASONING_EXAMPLES", "12"))
THINGS, RELATIONS, CLASSES = ([NamedNode(f"{E}{kind}{n}") for n in range(4)] for kind in "trc")
BLANK = BlankNode("x")
TYPE, SUBCLASS = RDF["type"], RDFS["subClassOf"]


def n(name: str) -> NamedNode:
    return NamedNode(E + name)


def _triples(*parts: list[NamedNode]) -> st.SearchStrategy[Triple]:
    return st.builds(Triple, *map(st.sampled_from, parts))


_RELATED = [RDFS["subPropertyOf"], OWL["inverseOf"], OWL["equivalentProperty"]]
AXIOMS = st.one_of(
    _triples(CLASSES, [SUBCLASS, OWL["equivalentClass"]], CLASSES),
    _triples(RELATIONS, _RELATED, RELATIONS),
    _triples(RELATIONS, [RDFS["domain"], RDFS["range"]], CLASSES),
    _triples(RELATIONS, [TYPE], [OWL["SymmetricProperty"], OWL["TransitiveProperty"]]),
)
FACTS = st.one_of(
    _triples(THINGS, RELATIONS, THINGS),
    _triples(THINGS, [TYPE], CLASSES),
    _triples(CLASSES, [SUBCLASS], CLASSES),  # an imported graph has axioms among its facts
)
ODD = st.one_of(
    _triples([*CLASSES, BLANK], [SUBCLASS], [*CLASSES, BLANK]),
    _triples(RELATIONS, [RDFS["subPropertyOf"]], [SUBCLASS, TYPE, RDFS["domain"]]),
)
"""Classes without a name, and relations that make axioms of facts. owlrl has other ideas about them."""


def placed(triples: Iterable[Triple], graph: NamedNode | DefaultGraph) -> list[Quad]:
    return [Quad(t.subject, t.predicate, t.object, graph) for t in triples]


def triples(store: EmbeddedStore, graph: NamedNode | DefaultGraph) -> set[Triple]:
    return {each.triple for each in store.quads(graph)}  # type: ignore[arg-type]


def change(
    store: EmbeddedStore,
    axioms: tuple[set[Triple], set[Triple]] = (set(), set()),
    facts: tuple[set[Triple], set[Triple]] = (set(), set()),
) -> None:
    """Remove and add axioms and facts, as the program does."""
    remove = [*placed(axioms[0], Graphs.ONTOLOGY), *placed(facts[0], DefaultGraph())]
    add = [*placed(axioms[1], Graphs.ONTOLOGY), *placed(facts[1], DefaultGraph())]
    store.commit(Changes(remove=remove, add=add))


def from_scratch(store: EmbeddedStore, profile: Profile = "rl") -> set[Triple]:
    fresh = EmbeddedStore(TEMPLATES)
    for graph in (Graphs.ONTOLOGY, DefaultGraph()):
        fresh.write_quads(placed(triples(store, graph), graph))
    infer(fresh, profile)
    return triples(fresh, Graphs.INFERRED)


def held(store: EmbeddedStore) -> set[Triple]:
    """Facts, axioms and inferences."""
    return {
        each for graph in (Graphs.ONTOLOGY, DefaultGraph(), Graphs.INFERRED) for each in triples(store, graph)
    }


def some(kinds: st.SearchStrategy[Triple]) -> st.SearchStrategy[set[Triple]]:
    return st.sets(kinds, max_size=6)


@settings(max_examples=EXAMPLES, deadline=None, phases=QUICK, suppress_health_check=list(HealthCheck))
@given(
    some(st.one_of(AXIOMS, ODD)),
    some(st.one_of(FACTS, ODD)),
    st.lists(st.tuples(some(st.one_of(AXIOMS, ODD)), some(st.one_of(FACTS, ODD)), st.randoms()), max_size=3),
    st.sampled_from(["rdfs", "rl"]),
)
def test_updates_give_what_is_inferred_from_scratch(
    axioms: set[Triple],
    facts: set[Triple],
    steps: list[tuple[set[Triple], set[Triple], st.randoms]],  # type: ignore[valid-type]
    profile: Profile,
) -> None:
    store = EmbeddedStore(TEMPLATES)
    change(store, (set(), axioms), (set(), facts))
    infer(store, profile)
    for more_axioms, more_facts, random in steps:
        known = [
            sorted(
                (
                    each
                    for each in triples(store, graph)
                    if not any(isinstance(part, BlankNode) for part in each)
                ),
                key=str,
            )
            for graph in (Graphs.ONTOLOGY, DefaultGraph())
        ]
        gone = [set(random.sample(each, random.randint(0, len(each)))) for each in known]  # type: ignore[attr-defined]
        before = held(store)
        change(store, (gone[0], more_axioms), (gone[1], more_facts))
        report = update(store, profile)
        assert report.incremental
        assert held(store) - before <= report.new <= held(store)
        assert triples(store, Graphs.INFERRED) == from_scratch(store, profile)
        for graph in (Graphs.LOST, Graphs.NEW, Graphs.CHANGED):
            assert not triples(store, graph)


@settings(max_examples=8, deadline=None, phases=QUICK, suppress_health_check=list(HealthCheck))
@given(some(AXIOMS), st.lists(FACTS, min_size=1, max_size=6, unique=True), some(FACTS), st.integers(0, 6))
def test_updates_give_what_owlrl_infers(
    axioms: set[Triple], facts: list[Triple], more: set[Triple], kept: int
) -> None:
    store = EmbeddedStore(TEMPLATES)
    change(store, (set(), axioms), (set(), set(facts)))
    infer(store, "rl")
    change(store, facts=(set(facts[kept:]), more))
    assert update(store, "rl").incremental
    known = triples(store, DefaultGraph()) | triples(store, Graphs.ONTOLOGY)
    graph = rdflib.Graph()
    graph.parse(data="".join(f"{each} .\n" for each in known), format="nt")
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    terms = {each.value for each in [*RELATIONS, TYPE]}
    ends = {each.value for each in [*THINGS, *CLASSES]}
    expected = {tuple(map(str, each)) for each in graph}
    found = {
        tuple(str(part).strip("<>") for part in each) for each in triples(store, Graphs.INFERRED) | known
    }
    things = {each.value for each in THINGS}
    assert {each for each in found if each[0] in things} == {
        each for each in expected if each[0] in things and each[1] in terms and each[2] in ends
    }


def kept_store() -> EmbeddedStore:
    store = EmbeddedStore(TEMPLATES)
    change(
        store,
        (set(), {Triple(n("knows"), RDFS["domain"], n("Person"))}),
        (set(), {Triple(n("ada"), n("knows"), n("bob"))}),
    )
    infer(store, "rl")
    return store


def test_a_type_stays_while_a_fact_gives_it() -> None:
    store = kept_store()
    person = Triple(n("ada"), TYPE, n("Person"))
    carl = Triple(n("ada"), n("knows"), n("carl"))
    change(store, facts=(set(), {carl}))
    assert update(store, "rl").rules["rdfs2"] == 0
    change(store, facts=({Triple(n("ada"), n("knows"), n("bob"))}, set()))
    report = update(store, "rl")
    assert triples(store, Graphs.INFERRED) == {person}
    assert not any(report.rules.values())  # it was not withdrawn and inferred again
    change(store, facts=({carl}, set()))
    update(store, "rl")
    assert triples(store, Graphs.INFERRED) == set()


def test_a_fact_is_not_an_inference_as_well() -> None:
    store = kept_store()
    person = Triple(n("ada"), TYPE, n("Person"))
    change(store, facts=(set(), {person}))
    update(store, "rl")
    assert triples(store, Graphs.INFERRED) == set()
    change(store, facts=({person}, set()))
    update(store, "rl")
    assert triples(store, Graphs.INFERRED) == {person}


def test_other_rules_and_unknown_changes_begin_from_scratch() -> None:
    store = kept_store()
    assert not update(store, "rdfs").incremental
    assert update(store, "rdfs").incremental
    store.update(f"INSERT DATA {{ <{E}eve> <{E}knows> <{E}ada> }}")
    assert not is_kept(store, "rdfs")
    assert not update(store, "rdfs").incremental
    assert Triple(n("eve"), TYPE, n("Person")) in triples(store, Graphs.INFERRED)
    store.bulk_add(placed([Triple(n("fay"), n("knows"), n("ada"))], DefaultGraph()))
    assert not update(store, "rdfs").incremental
    assert Triple(n("fay"), TYPE, n("Person")) in triples(store, Graphs.INFERRED)


@pytest.mark.parametrize("stop", ["withdraw", "gained", "finish", "empty"])
def test_an_update_that_was_stopped_is_made_good(stop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = kept_store()
    change(store, facts=({Triple(n("ada"), n("knows"), n("bob"))}, {Triple(n("bob"), n("knows"), n("ada"))}))
    commit = store.commit

    def stopped(changes: Changes) -> int:
        if [f"reasoning/{stop}"] == [name for name, _ in changes.updates]:
            raise KeyboardInterrupt
        return commit(changes)

    monkeypatch.setattr(store, "commit", stopped)
    with pytest.raises(KeyboardInterrupt):
        update(store, "rl")
    monkeypatch.setattr(store, "commit", commit)
    update(store, "rl")
    assert triples(store, Graphs.INFERRED) == {Triple(n("bob"), TYPE, n("Person"))}


def test_the_observed_schema_follows_and_then_the_inferences() -> None:
    store = kept_store()
    change(store, facts=(set(), {Triple(n("bob"), n("knows"), n("ada"))}))
    before = len(store)
    observed = observe(store, DEFAULT_NAMESPACE, "rl")
    assert observed.quads == len(store) - before
    assert is_kept(store, "rl")
    assert Triple(n("bob"), TYPE, n("Person")) in triples(store, Graphs.INFERRED)
    observe(store, DEFAULT_NAMESPACE)
    for graph in (Graphs.INFERRED, Graphs.AXIOMS):
        assert triples(store, graph) == set()


HEAD = r"(?:DELETE|INSERT)(?: DATA)? \{(.*?)\}\s*(?:WHERE|INSERT|;|$)"


def test_each_template_that_changes_facts_notes_them() -> None:
    """Otherwise inferences from facts that are gone would stay."""
    for name, template in TEMPLATES.items():
        heads = re.findall(
            r"(?:DELETE|INSERT)(?: DATA)? \{(.*?)\}\s*(?:WHERE|INSERT|;|$)", template.body, re.S
        )
        if template.header.kind == "update" and any("facts()" in head for head in heads):
            assert str(Graphs.CHANGED) in template.body, name
