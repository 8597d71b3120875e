"""`refresh inferences` and `ontology explain`."""

from __future__ import annotations

import json
from pathlib import Path

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

    assert "yes" in run("sparql", INFERRED).out
    assert run("ontology", "remove", f"{E}people").code == 0
    assert "no" in run("sparql", INFERRED).out
