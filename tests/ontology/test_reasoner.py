"""HermiT, the reasoner of Protégé, finds the program's ontologies and exports consistent."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import RdfFormat, parse, serialize

from graphrag_rdf.config import Settings
from graphrag_rdf.exchange.ontologies import load_ontologies
from graphrag_rdf.rdf.namespaces import OWL
from graphrag_rdf.resources import folder
from graphrag_rdf.wings.merging.links import apply, choose_vocabularies, propose
from graphrag_rdf.wings.ontologies.owl import export_owl
from tests.support.stores import open_engine

owlready2 = pytest.importorskip("owlready2")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="HermiT needs Java"),
    pytest.mark.filterwarnings("ignore"),  # of owlready2
]

VOCABULARY = """
@prefix : <http://example.org/v#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://example.org/v> a owl:Ontology . :Person a owl:Class .
:walter a owl:NamedIndividual , :Person ; rdfs:label "Walter Pennock" .
:company a skos:Concept ; skos:prefLabel "Tarnay Electric Light Company"@en .
"""
NAMES = ("prov-o.ttl", "trustgraph.ttl", "graphrag-rdf.ttl")


def unsatisfiable(files: list[Path], place: Path) -> list[str]:
    """The classes that HermiT finds without possible instances.

    Raises:
        owlready2.OwlReadyInconsistentOntologyError: the ontologies contradict themselves.
    """
    world: Any = owlready2.World()
    triples = [quad.triple for file in files for quad in parse(path=str(file))]
    together = place / "together.nt"  # owlready2 reads no Turtle
    kept = (triple for triple in triples if triple.predicate != OWL.imports)
    serialize(kept, str(together), format=RdfFormat.N_TRIPLES)
    world.get_ontology(together.as_uri()).load()
    owlready2.sync_reasoner_hermit(world, debug=0)
    return sorted(str(each) for each in world.inconsistent_classes() if each is not owlready2.Nothing)


def test_the_vocabularies_are_consistent(tmp_path: Path) -> None:
    assert unsatisfiable([folder("ontology") / name for name in NAMES], tmp_path) == []


def test_an_export_is_consistent(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "Walter Pennock founded the Tarnay Electric Light Company on 3 March 1897."
    )
    (tmp_path / "v.ttl").write_text(VOCABULARY)
    with open_engine(tmp_path / "store", config=Settings()) as engine:
        engine.ingest([tmp_path / "a.txt"])
        load_ontologies(engine.store, [tmp_path / "v.ttl"], "http://trustgraph.ai/", datetime.now(UTC))
        apply(engine, propose(engine, choose_vocabularies(engine.store, None)))
        export_owl(engine.store, tmp_path / "owl", "http://trustgraph.ai/")
    links = (tmp_path / "owl" / "links.ttl").read_text()
    assert "owl:sameAs <http://example.org/v#walter>" in links
    assert "skos:exactMatch <http://example.org/v#company>" in links
    assert unsatisfiable([*(tmp_path / "owl").glob("*.ttl")], tmp_path) == []


@pytest.mark.parametrize(
    ("axioms", "found"),
    [
        ("ex:B rdfs:subClassOf ex:A . ex:A owl:disjointWith ex:B .", ["B"]),
        ("ex:A owl:disjointWith ex:B . ex:x a ex:A , ex:B .", None),
    ],
)
def test_it_would_find_a_contradiction(tmp_path: Path, axioms: str, found: list[str] | None) -> None:
    (tmp_path / "bad.ttl").write_text(
        "@prefix ex: <http://example.org/#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        f"<http://example.org/> a owl:Ontology . ex:A a owl:Class . ex:B a owl:Class . {axioms}"
    )
    if found is None:
        with pytest.raises(owlready2.OwlReadyInconsistentOntologyError):
            unsatisfiable([tmp_path / "bad.ttl"], tmp_path)
    else:
        assert [each.rpartition(".")[2] for each in unsatisfiable([tmp_path / "bad.ttl"], tmp_path)] == found
