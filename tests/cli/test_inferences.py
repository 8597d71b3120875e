"""`refresh inferences` and `ontology explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run

E = "http://example.org/"
ONTOLOGY = f"""@prefix owl: <http://www.w3.org/2002/07/owl#> .
<{E}people> a owl:Ontology .
<{E}knows> a owl:ObjectProperty, owl:SymmetricProperty, owl:IrreflexiveProperty .
"""
FACT = f"INSERT DATA {{ <{E}ada> <{E}knows> <{E}bob> }}"
INFERRED = "ASK { GRAPH <urn:graph:inferred> { ?s ?p ?o } }"


def test_infer_explain_and_contradict(run: Run, folder: Path) -> None:
    (folder / "people.ttl").write_text(ONTOLOGY)
    assert run("ontology", "load", "people.ttl").code == 0
    assert run("sparql", "--update", FACT).code == 0
    report = json.loads(run("refresh", "inferences", "--format", "json").out)
    assert report["rules"]["prp-symp"] == 1
    assert report["inconsistencies"] == []

    edge = (f"{E}bob", f"{E}knows", f"{E}ada")
    (derivation,) = json.loads(run("ontology", "explain", *edge, "--format", "json").out)
    assert derivation["rule"] == "prp-symp"
    assert {premise["held"] for premise in derivation["premises"]} == {"fact", "ontology"}
    assert run("ontology", "explain", f"{E}ada", f"{E}knows", f"{E}bob").code != 0

    assert run("sparql", "--update", FACT.replace("bob", "ada")).code == 0
    found = run("refresh", "inferences")
    assert found.code == 1
    assert "prp-irp" in found.err
    assert "Ontology: (knows, is a, Irreflexive Property)" in " ".join(found.out.split())

    assert "yes" in run("sparql", INFERRED).out
    assert run("ontology", "remove", f"{E}people").code == 0
    assert "no" in run("sparql", INFERRED).out


SHIPS = f"""@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<{E}ships> a owl:Ontology .
<http://trustgraph.ai/r/sank-in> a owl:ObjectProperty ; rdfs:domain <{E}Ship> .
<{E}Ship> a owl:Class .
"""
TOWN = f"""@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<{E}towns> a owl:Ontology .
<http://trustgraph.ai/r/sank-in> rdfs:domain <{E}Town> .
<{E}Town> a owl:Class ; owl:disjointWith <{E}Ship> .
"""
PROSE = "This is what the keeper of the light wrote about the ships of the town."
FACTS = f"""
<{E}ada> <{E}knows> <{E}bob> . <{E}ada> <http://www.w3.org/2000/01/rdf-schema#label> "Ada" .
<{E}bob> <http://www.w3.org/2000/01/rdf-schema#label> "Bob" .
"""


def test_inferences_follow_imports_and_corrections(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_REASONING__AUTO", "true")
    inverse = f"ASK {{ GRAPH <urn:graph:inferred> {{ <{E}bob> <{E}knows> <{E}ada> }} }}"

    def inferred() -> bool:
        return "yes" in run("sparql", inverse).out

    (folder / "people.ttl").write_text(ONTOLOGY)
    (folder / "facts.ttl").write_text(FACTS)
    assert run("import", "facts.ttl").code == 0
    assert not inferred()
    assert run("ontology", "load", "people.ttl").code == 0
    assert inferred()
    fact = (f"{E}ada", f"{E}knows", f"{E}bob")
    assert run("facts", "remove", *fact, "--reason", "they never met").code == 0
    assert not inferred()
    decision = json.loads(run("facts", "decisions", "--format", "json").out)[0]["iri"]
    assert run("facts", "undo", decision).code == 0
    assert inferred()
    assert run("ontology", "remove", f"{E}people").code == 0
    assert not inferred()
    assert run("ontology", "load", "people.ttl").code == 0
    assert inferred()


def test_inferences_follow_documents(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_REASONING__AUTO", "true")
    (folder / "ships.ttl").write_text(SHIPS)
    (folder / "a.txt").write_text(f"{PROSE} The Petrel sank in Skell Sound. The Heron sank in Norland Bay.")
    (folder / "b.txt").write_text(f"{PROSE} The Petrel sank in Skell Sound.")

    def ships() -> set[str]:
        query = f"SELECT ?ship {{ GRAPH <urn:graph:inferred> {{ ?ship a <{E}Ship> }} }}"
        rows = json.loads(run("sparql", query, "--format", "json").out)["results"]["bindings"]
        return {row["ship"]["value"].rpartition("/")[2] for row in rows}

    assert run("ontology", "load", "ships.ttl").code == 0
    assert run("ingest", "a.txt", "b.txt").code == 0
    assert ships() == {"petrel", "heron"}
    assert run("forget", "a.txt").code == 0
    assert ships() == {"petrel"}  # b.txt says so too
    (folder / "b.txt").write_text(f"{PROSE} The Gannet sank in Skell Sound.")
    assert run("ingest", "b.txt").code == 0
    assert ships() == {"gannet"}
    (folder / "town.ttl").write_text(TOWN)
    assert run("ontology", "load", "town.ttl").code == 0
    (found,) = run("refresh", "inferences", "--format", "json").json["inconsistencies"]
    assert (found["rule"], found["focus"]) == ("cax-dw", "http://trustgraph.ai/e/gannet")
    assert [one["held"] for one in found["premises"]] == ["ontology", "inferred", "inferred"]
    typed = [one for one in found["premises"] if one["held"] == "inferred"]
    assert [one["inferences"][0]["rule"] for one in typed] == ["rdfs2", "rdfs2"]
    quotes = {source["quote"] for one in typed for source in one["sources"]}
    assert quotes == {"The Gannet sank in Skell Sound."}
    shown = run("refresh", "inferences")
    assert shown.code == 1
    assert "“The Gannet sank in Skell Sound.”" in shown.out
    kept = 'ASK { GRAPH ?g { ?s ?p ?o } FILTER(CONTAINS(STR(?s), "e/heron") || STR(?o) = "Heron") }'
    assert "no" in run("sparql", kept).out


def test_an_ingest_reports_contradictions_that_its_facts_make(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_REASONING__AUTO", "true")
    for name, said in (("a", "The Heron sank"), ("b", "The Gannet sank"), ("c", "The Petrel left")):
        (folder / f"{name}.txt").write_text(f"{PROSE} {said} in Skell Sound.")
    (folder / "ships.ttl").write_text(SHIPS)
    (folder / "towns.ttl").write_text(TOWN)
    assert run("ontology", "load", "ships.ttl").code == 0
    first = run("ingest", "a.txt", "--format", "json").json
    assert (first["contradictions"], first["warnings"]) == (None, [])
    assert run("ontology", "load", "towns.ttl").code == 0  # now the Heron is a contradiction
    second = run("ingest", "b.txt", "--format", "json").json
    (warning,) = second["warnings"]
    assert warning["type"] == "contradictions"
    assert warning["detail"].startswith(
        "1 new contradiction with the ontologies: (Gannet, is a, Town) and (Gannet, is a, Ship) (B). "
    )
    assert second["contradictions"]["count"] == 1, "not that of the Heron"
    (one,) = second["contradictions"]["first"]
    assert (one["rule"], one["focus"]) == ("cax-dw", "http://trustgraph.ai/e/gannet")
    typed = [premise for premise in one["premises"] if premise["held"] == "inferred"]
    assert {source["quote"] for each in typed for source in each["sources"]} == {
        "The Gannet sank in Skell Sound."
    }
    assert len(run("refresh", "inferences", "--format", "json").json["inconsistencies"]) == 2
    assert run("ingest", "c.txt", "--format", "json").json["contradictions"] is None
    (folder / "b.txt").write_text(f"{PROSE} The Gannet sank in Skell Sound. The Tern sank in Skell Sound.")
    shown = run("ingest", "b.txt")
    assert "new contradiction" in shown.err
    assert "    inferred: (Tern, is a, Town)\n      “The Tern sank in Skell Sound.” (B)\n" in shown.out


def test_after_a_start_from_scratch_all_contradictions_are_reported(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.txt").write_text(f"{PROSE} The Heron sank in Skell Sound.")
    (folder / "b.txt").write_text(f"{PROSE} The Petrel left Port Merrin.")
    (folder / "ships.ttl").write_text(SHIPS)
    (folder / "towns.ttl").write_text(TOWN)
    assert run("ingest", "a.txt").code == 0
    assert run("ontology", "load", "ships.ttl", "towns.ttl").code == 0
    assert run("ingest", "a.txt", "--refresh", "--format", "json").json["contradictions"] is None, (
        "auto is off"
    )
    monkeypatch.setenv("GRAPHRAG_RDF_REASONING__AUTO", "true")
    found = run("ingest", "b.txt", "--format", "json").json
    assert found["contradictions"]["count"] == 1
    assert "old ones included: (Heron, is a, Town)" in found["warnings"][0]["detail"]
