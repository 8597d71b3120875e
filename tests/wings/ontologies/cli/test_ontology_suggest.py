"""`ontology suggest`: a draft from the facts, by rules and with a model, that can be loaded again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import rdflib
from rdflib import OWL, RDF, RDFS, SKOS

from tests.support.commands import Run
from tests.support.scripted_server import Request, ScriptedServer

RAG = rdflib.Namespace("https://w3id.org/graphrag-rdf/ns#")
SCHEMA = rdflib.Namespace("https://schema.org/")
EX = rdflib.Namespace("http://example.org/")
O = rdflib.Namespace("http://example.org/towns#")  # noqa: E741
IRI = "http://example.org/towns"
LINES = "\n\n".join(
    f"Captain {name} was born in Tarn. {name} lived in Port Merrin."
    for name in ("Mona Kell", "Ada Moor", "Peter Gow", "Ingrid Halden")
)
GRAPH = "@prefix : <http://example.org/> .\n" + "\n".join(
    f""":tug{n} a :Tug, :Ship ; :sailsFrom :port{n % 2} ; :length {20 + n} ; :note "n{n}", {n} .
    :ferry{n} a :Ship ; :sailsFrom :port{n % 2} . :port{n % 2} a :Port ."""
    for n in range(4)
)


@pytest.fixture
def people(run: Run, folder: Path) -> None:
    """A store with documents."""
    (folder / "people.md").write_text(LINES)
    assert run("ingest", "people.md").code == 0


@pytest.fixture
def ships(run: Run, folder: Path) -> None:
    """A store with an imported graph."""
    (folder / "ships.ttl").write_text(GRAPH)
    assert run("import", "ships.ttl").code == 0


def suggested(run: Run, *more: str) -> tuple[rdflib.Graph, str]:
    found = run("ontology", "suggest", "--iri", IRI, *more)
    assert found.code == 0, found.err
    return rdflib.Graph().parse(data=found.out, format="turtle"), found.err


def test_what_documents_speak_of(run: Run, people: None) -> None:
    graph, told = suggested(run)
    assert (rdflib.URIRef(IRI), RDF.type, OWL.Ontology) in graph
    assert (O.Person, RDF.type, OWL.Class) in graph
    assert (O.wasBornIn, RDF.type, OWL.ObjectProperty) in graph
    assert graph.value(O.wasBornIn, RAG.observedCount).toPython() == 4
    assert (rdflib.URIRef("http://trustgraph.ai/r/was-born-in"), RDFS.subPropertyOf, O.wasBornIn) in graph
    quotes = {str(quote) for quote in graph.objects(O.wasBornIn, SKOS.example)}
    assert quotes == {"Captain Ada Moor was born in Tarn.", "Captain Mona Kell was born in Tarn."}
    for axiom in graph.subjects(OWL.annotatedSource, O.wasBornIn):
        assert str(graph.value(axiom, rdflib.DCTERMS.title)) == "People"
    assert "no language model is configured" in told


def test_a_draft_is_sound_and_its_terms_have_the_facts(run: Run, people: None, folder: Path) -> None:
    report = run("ontology", "suggest", "--iri", IRI, "-o", "draft.ttl", "--counts").json
    assert (report["ontology"], report["model"]) == (IRI, None)
    assert run("ontology", "check", "draft.ttl").out == "no problems\n"
    assert run("ontology", "load", "draft.ttl").code == 0
    assert run("ontology", "check").code == 0
    run("refresh", "inferences")
    born = f"SELECT (COUNT(*) AS ?n) {{ GRAPH <urn:graph:inferred> {{ ?person <{O.wasBornIn}> ?place }} }}"
    assert run("sparql", "--format", "csv", born).out.split() == ["n", "4"]
    again = run("ontology", "suggest", "--iri", IRI).out
    assert again.encode() == (folder / "draft.ttl").read_bytes()  # what is loaded changes nothing


def test_domains_ranges_and_subclasses_have_support(run: Run, ships: None) -> None:
    graph, _ = suggested(run)
    assert set(graph.objects(EX.sailsFrom, RDFS.domain)) == {EX.Ship}  # all subjects are ships, half are tugs
    assert (EX.sailsFrom, SCHEMA.domainIncludes, EX.Tug) in graph
    assert not list(graph.objects(EX.sailsFrom, RDFS.range))  # two ports are too few
    assert set(graph.objects(EX.length, RDFS.range)) == {rdflib.XSD.integer}
    assert set(graph.subject_objects(RDFS.subClassOf)) == {(EX.Tug, EX.Ship)}
    (axiom,) = graph.subjects(OWL.annotatedProperty, RDFS.subClassOf)
    assert "all its 4 things" in str(graph.value(axiom, RDFS.comment))
    lower, _ = suggested(run, "--least", "2")
    assert set(lower.objects(EX.sailsFrom, RDFS.range)) == {EX.Port}


def test_terms_of_other_vocabularies_keep_their_iris(run: Run, ships: None) -> None:
    graph, told = suggested(run, "--examples", "0")
    declared = set(graph.subjects(RDF.type, OWL.DatatypeProperty))
    assert declared == {EX.length, EX.note}
    assert str(graph.value(EX.sailsFrom, RDFS.label)) == "sails from"
    assert not list(graph.objects(None, SKOS.example))
    assert "too little" not in told


def named(request: Request) -> str | None:
    """Groups by a model: two that hold, and one each of what does not."""
    if '"parent"' not in request.prompt:
        return None
    lines = {
        line.split(" (")[0].split(": ", 1)[1]: line.split(":")[0]
        for line in request.prompt.splitlines()
        if line[:2] in {"c1", "p1", "p2", "p3"}
    }
    born, lived = lines["was born in"], lines["lived in"]
    return json.dumps(
        {
            "classes": [
                {"name": "Human", "ids": [lines["Person"]], "parent": "Thing", "meaning": "Somebody."},
                {"name": "Mixed", "ids": ["c1", "p9"]},
            ],
            "properties": [{"name": "from the place", "ids": [born, lived, "p99"], "meaning": "Home."}],
        }
    )


def test_a_model_names_and_groups_terms(
    run: Run, people: None, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-test")
    scripted_server.answer_with(named)
    graph, told = suggested(run, "--model", "openai/test-model")
    assert len(scripted_server.requests) == 1
    assert (O.Human, RDF.type, OWL.Class) in graph
    assert str(graph.value(O.Human, RDFS.comment)) == "Somebody."
    assert not list(graph.objects(O.Human, RDFS.subClassOf))  # the corpus has no class "Thing"
    assert {str(each) for each in graph.objects(O.fromThePlace, SKOS.altLabel)} == {"was born in", "lived in"}
    assert len(list(graph.subjects(RDFS.subPropertyOf, O.fromThePlace))) == 2
    assert "unknown or repeated id" in told
    assert "mixed group" not in told  # c1 was taken, and p9 is unknown


def test_a_model_that_does_not_answer(
    run: Run, people: None, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-test")
    scripted_server.answer_with(lambda request: "no")
    failed = run("ontology", "suggest", "--model", "openai/test-model", "-o", "draft.ttl")
    assert failed.code != 0
    assert "--model none" in failed.err
    assert len(scripted_server.requests) == 2
    assert not Path("draft.ttl").exists()


@pytest.mark.parametrize(
    ("iri", "namespace"),
    [("http://example.org/o#", "http://example.org/o#"), ("http://example.org/o/", "http://example.org/o/")],
)
def test_the_namespace_of_terms(iri: str, namespace: str, run: Run, people: None) -> None:
    graph, _ = suggested(run, "--iri", iri)
    assert (rdflib.URIRef(f"{namespace}wasBornIn"), RDF.type, OWL.ObjectProperty) in graph
    assert (rdflib.URIRef(iri.removesuffix("#")), RDF.type, OWL.Ontology) in graph


def test_nothing_to_draft(run: Run, people: None) -> None:
    found = run("ontology", "suggest", "--least", "1000")
    assert found.code == 2
    assert "--least" in found.err
    assert "not an IRI" in run("ontology", "suggest", "--iri", "no iri").err
    assert run("ontology", "suggest", "--counts").code == 2
