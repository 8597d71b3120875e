"""Inferred facts in answers: their proofs, the sources of these, and what of them no longer holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from graphrag_rdf.rdf.namespaces import OWL, RDF, RDFS, Graphs
from graphrag_rdf.resources import folder as data_folder
from graphrag_rdf.schema.proofs import Inferred, Statement, follows, prove
from graphrag_rdf.schema.reasoning import infer
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.support.commands import Run
from tests.support.scripted_server import Request, ScriptedServer, number_of, shown

TEMPLATES = TemplateLibrary(data_folder("queries"))
E = "http://example.org/"
TYPE = RDF["type"]
ONTOLOGY = f"""@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<{E}ships> a owl:Ontology .
<http://trustgraph.ai/r/sank-in> a owl:ObjectProperty ; rdfs:domain <{E}Ship> .
<{E}Ship> a owl:Class ; rdfs:label "ship" ; rdfs:subClassOf <{E}Vehicle> .
<{E}Vehicle> a owl:Class ; rdfs:label "vehicle" .
"""
TEXT = "This is what the keeper of the light wrote about the town. The Petrel sank in Skell Sound."
FACT = ("http://trustgraph.ai/e/petrel", TYPE.value, f"{E}Vehicle")
QUOTE = "The Petrel sank in Skell Sound."


def n(name: str) -> NamedNode:
    return NamedNode(E + name)


def inferring(axioms: list[Statement], facts: list[Statement]) -> EmbeddedStore:
    store = EmbeddedStore(TEMPLATES)
    store.write_quads([Quad(*axiom, Graphs.ONTOLOGY) for axiom in axioms])
    store.write_quads([Quad(*fact, DefaultGraph()) for fact in facts])
    infer(store, "rl")
    return store


def test_a_proof_does_not_run_in_circles() -> None:
    """Each of three equivalent classes follows from the others; only one proof begins with the fact."""
    a, b, c = n("A"), n("B"), n("C")
    axioms: list[Statement] = [
        (one, OWL["equivalentClass"], other) for one, other in [(a, b), (b, c), (c, a)]
    ]
    axioms.append((n("made"), RDFS["domain"], b))
    fact: Statement = (n("ada"), n("made"), Literal("x"))
    store = inferring(axioms, [fact])
    wanted: list[Statement] = [(n("ada"), TYPE, each) for each in (a, b, c)]
    proofs = prove(store, wanted)
    assert proofs.keys() == set(wanted)
    for start, steps in proofs.items():
        assert steps[0].fact == start
        proved = {fact, *axioms}
        for step in reversed(steps):
            assert proved.issuperset(step.premises)
            assert follows(store, step)
            proved.add(step.fact)


def test_what_is_asserted_or_unknown_has_no_proof() -> None:
    store = inferring([], [(n("ada"), TYPE, n("A"))])
    assert prove(store, [(n("ada"), TYPE, n("A")), (n("ada"), TYPE, n("B"))]) == {}


def test_a_rule_needs_all_premises() -> None:
    store = EmbeddedStore(TEMPLATES)
    below: Statement = (n("A"), RDFS["subClassOf"], n("B"))
    typed: Statement = (n("ada"), TYPE, n("A"))
    end: Statement = (n("ada"), TYPE, n("B"))
    assert follows(store, Inferred(end, "rdfs9", (below, typed)))
    assert not follows(store, Inferred(end, "rdfs9", (typed,)))
    assert not follows(store, Inferred(end, "rdfs2", (below, typed)))
    assert not follows(store, Inferred(end, "no-rule", (below, typed)))


@pytest.fixture
def ships(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a text, an ontology, and what follows."""
    monkeypatch.setenv("GRAPHRAG_RDF_REASONING__AUTO", "true")
    (folder / "ships.ttl").write_text(ONTOLOGY)
    (folder / "a.txt").write_text(TEXT)
    assert run("ontology", "load", "ships.ttl").code == 0
    assert run("ingest", "a.txt").code == 0
    return folder


def ask(run: Run, *options: str) -> dict[str, object]:
    return run("ask", "Is the Petrel a vehicle?", *options, "--format", "json").json  # type: ignore[no-any-return]


def test_answers_cite_inferred_facts_if_they_may(run: Run, ships: Path) -> None:
    assert "vehicle" not in str(ask(run)["answer"])
    answer = ask(run, "--set", "exploration.inferred=true")
    assert answer["answer"] == "Petrel is a vehicle (inferred) [1]"
    (citation,) = answer["citations"]  # type: ignore[misc]
    assert citation["edge"]["inferred"] is True
    assert [one["rule"] for one in citation["inferences"]] == ["rdfs9", "rdfs2"]
    assert citation["inferences"][0]["fact"]["o_label"] == "vehicle"
    (source,) = citation["sources"]
    assert (source["quote"], source["verified"]) == (QUOTE, True)

    iri = run("trace", "list", "--format", "json").json[0]["iri"]
    text = run("trace", "show", iri).out
    assert "Inferred: (Petrel, is a, vehicle) by rdfs9" in text
    steps = run("trace", "show", iri, "--format", "json").json["steps"]
    (selected,) = (
        one
        for step in steps
        for one in step.get("selections", ())
        if one["edge"] and one["edge"]["o_label"] == "vehicle"
    )
    assert [one["rule"] for one in selected["inferences"]] == ["rdfs9", "rdfs2"]
    assert [one["quote"] for one in selected["sources"]] == [QUOTE]
    html = run("trace", "export", iri, "--format", "html").out
    assert "<summary>Inferred</summary>" in html

    def checks() -> dict[str, bool]:
        found = run("trace", "verify", iri, "--format", "json").json["checks"]
        return {one["check"]: one["ok"] for one in found}

    found = checks()
    assert found["inferences"]
    assert all(found.values())
    assert run("facts", "remove", "Petrel", "sank in", "Skell Sound").code == 0
    assert checks()["inferences"] is False


def test_a_model_is_shown_inferred_facts_as_such(
    run: Run, ships: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []

    def reply(request: Request) -> str:
        if "knowledge graph will be searched" in request.prompt:
            return "Petrel"
        number = number_of(shown(request.prompt), "Petrel is a vehicle")
        lines.append(shown(request.prompt)[number])
        return f"[{number}] it says so\nANSWER: Yes, the Petrel is a vehicle. [{number}]"

    scripted_server.answer_with(reply)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MODEL", "openai/test-model")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "secret-key-1234567890")
    answer = ask(run, "--set", "exploration.inferred=true")
    assert lines == ["Petrel is a vehicle (inferred)"]
    (citation,) = answer["citations"]  # type: ignore[misc]
    assert citation["edge"]["inferred"] is True
    assert [source["quote"] for source in citation["sources"]] == [QUOTE]
    checked = run("trace", "verify", "last", "--format", "json").json["checks"]
    assert [check for check in checked if check["ok"] is False] == []


def test_the_sources_of_an_inferred_fact(run: Run, ships: Path) -> None:
    rows = run("source", "fact", *FACT, "--format", "json").json
    assert [(one["quote"], one["inferred"]["o_label"]) for one in rows] == [(QUOTE, "vehicle")]
    assert [one["rule"] for one in rows[0]["inferences"]] == ["rdfs9", "rdfs2"]
    text = run("source", "fact", *FACT).out
    assert "Inferred: (Petrel, is a, ship) by rdfs2" in text
    assert QUOTE in text


def test_forgetting_erases_proofs(run: Run, ships: Path) -> None:
    ask(run, "--set", "exploration.inferred=true")
    assert run("forget", "a.txt").code == 0
    left = 'ASK { GRAPH ?g { ?s ?p ?o } FILTER(CONTAINS(STR(?o), "petrel") || CONTAINS(STR(?o), "Petrel")) }'
    assert "no" in run("sparql", left).out
    terms = "ASK { GRAPH ?g { ?s ?p ?o FILTER(isTriple(?o) && CONTAINS(STR(SUBJECT(?o)), 'petrel')) } }"
    assert "no" in run("sparql", terms).out
    assert json.loads(run("trace", "list", "--format", "json").out)


def test_a_fact_under_another_name_of_its_relation_is_not_said_twice(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text(
        "Mary Hale works at Corvane Yard. The Gannet sank in Skell Sound. Tom Reay worked at Corvane Yard."
    )
    (folder / "work.ttl").write_text(
        """@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix r: <http://trustgraph.ai/r/> .
        <urn:work> a owl:Ontology . r:works-at a owl:ObjectProperty ; owl:inverseOf <urn:employs> ."""
    )
    assert run("ontology", "load", "work.ttl").code == 0
    assert run("ingest", "a.md").code == 0
    assert run("refresh", "inferences").code == 0
    inferred = "SELECT ?s { GRAPH <urn:graph:inferred> { ?s <http://trustgraph.ai/r/works-at> ?o } }"
    assert "tom-reay" in run("sparql", inferred, "--format", "csv").out
    found = run("ask", "Who works at Corvane Yard?", "--set", "exploration.inferred=true")
    assert "Tom Reay worked at Corvane Yard." in " ".join(found.out.split())
    assert "Tom Reay works at Corvane Yard" not in found.out
