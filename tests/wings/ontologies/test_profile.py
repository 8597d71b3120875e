"""Every exported file is OWL 2 DL: for `ontology check`, and for the OWL API where there is Java."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import rdflib
from rdflib import OWL, RDF

from graphrag_rdf.config import Settings
from graphrag_rdf.exchange import import_file
from graphrag_rdf.exchange.ontologies import load_ontologies
from graphrag_rdf.rdf.iris import DEFAULT_NAMESPACE
from graphrag_rdf.wings.ontologies.checks import check_files
from graphrag_rdf.wings.ontologies.owl import export_owl
from tests.support.sample_stores import DOCUMENTS, templates
from tests.support.stores import open_engine

CHECKER = Path(__file__).with_name("Owl2DlProfile.java")
PREFIXES = """
@prefix : <http://example.org/ships#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
ONTOLOGY = f"""{PREFIXES}
<http://example.org/ships> a owl:Ontology .
:Ship a owl:Class ; rdfs:label "ship" . :Yard a owl:Class ; rdfs:label "yard" .
:builtBy a owl:ObjectProperty ; rdfs:label "built by" ; rdfs:range :Yard .
:weight a owl:DatatypeProperty ; rdfs:label "weight" ; rdfs:range xsd:decimal .
:remark a owl:AnnotationProperty ; rdfs:label "remark" .
"""
IMPORTED = f"""{PREFIXES}
# an application's graph: its schema among its data, lists, and properties with both things and values
<http://example.org/data> a owl:Ontology ; owl:versionInfo "1" .
:Ship a owl:Class ; rdfs:subClassOf :Vehicle ,
  [ a owl:Restriction ; owl:onProperty :builtBy ; owl:someValuesFrom :Yard ] .
:Vehicle a rdfs:Class . :builtBy rdfs:domain :Ship ; owl:inverseOf :built . :weight rdfs:range xsd:decimal .
:petrel a :Ship , rdf:Bag , skos:Concept ; rdfs:label "Petrel" ; :builtBy :yard , "Corvane Yard" ;
  :weight 120.5 , :heavy ; :remark "fast" , :yard ; rdf:value 3 ; rdfs:member :yard ; :crew ( :ada :bob ) ;
  :launched "1903-05-01"^^xsd:date ; dcterms:creator :ada ; skos:related :yard ; owl:differentFrom :yard ;
  :speed [ :knots 12 ] ; :paint "grey"^^:colour ; :likes owl:Thing ; rdfs:seeAlso <http://example.org/x> .
:yard a :Yard , :yard , owl:NamedIndividual ; rdfs:label "Yard" .
"""


def of_samples(place: Path) -> None:
    with open_engine(place / "store", config=Settings()) as engine:
        engine.ingest([DOCUMENTS])
        export_owl(engine.store, place / "owl", DEFAULT_NAMESPACE)


def of_chinese_samples(place: Path) -> None:
    with open_engine(place / "store", config=Settings()) as engine:
        engine.ingest([DOCUMENTS.parent / "zh"])
        export_owl(engine.store, place / "owl", DEFAULT_NAMESPACE)


def of_an_import(place: Path) -> None:
    (place / "ships.ttl").write_text(ONTOLOGY, "utf-8")
    (place / "data.ttl").write_text(IMPORTED, "utf-8")
    with open_engine(place / "store", config=Settings()) as engine:
        load_ontologies(engine.store, [place / "ships.ttl"], DEFAULT_NAMESPACE, datetime.now(UTC))
        import_file(engine, place / "data.ttl")
        assert export_owl(engine.store, place / "owl", DEFAULT_NAMESPACE).left_out > 0


EXPORTS = {"samples": of_samples, "chinese": of_chinese_samples, "import": of_an_import}


@pytest.fixture(scope="module", params=EXPORTS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an export."""
    place = tmp_path_factory.mktemp("export")
    make: Callable[[Path], None] = EXPORTS[request.param]
    make(place)
    return place / "owl"


def violations(files: list[Path]) -> list[str]:
    """What the OWL API finds against the profile OWL 2 DL; HermiT, which owlready2 ships, contains it."""
    owlready2 = pytest.importorskip("owlready2")
    jar = Path(owlready2.__file__).with_name("hermit") / "HermiT.jar"
    done = subprocess.run(
        ["java", "-cp", str(jar), str(CHECKER), *map(str, files)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_check_of_ontologies_finds_nothing(exported: Path) -> None:
    found = check_files(sorted(exported.glob("*.ttl")), templates())
    assert [each for each in found if each.severity == "error" or each.check.startswith("undeclared")] == []


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_the_owl_api_finds_nothing(exported: Path) -> None:
    assert violations(sorted(exported.glob("*.ttl"))) == []


def test_each_declaration_stands_once_under_a_version_and_prefixes(exported: Path) -> None:
    for path in exported.glob("[!o]*.ttl"):
        text = path.read_text("utf-8")
        declared = [line.rstrip(" ;.") for line in text.splitlines() if " a owl:" in line]
        assert len(declared) == len(set(declared))
        for prefix, local in (("e", "e/"), ("r", "r/"), ("type", "type/")):
            assert f"@prefix {prefix}: <{DEFAULT_NAMESPACE}{local}> ." in text
        graph = rdflib.Graph().parse(path)
        (ontology,) = graph.subjects(RDF.type, OWL.Ontology)
        (version,) = graph.objects(ontology, OWL.versionIRI)
        assert str(version).startswith(f"{ontology}/")


def test_equal_exports_have_equal_versions(tmp_path: Path) -> None:
    (tmp_path / "data.ttl").write_text(IMPORTED, "utf-8")
    versions = []
    with open_engine(":memory:", config=Settings()) as engine:
        for said in ("", ":ada <http://example.org/ships#age> 41 ."):
            (tmp_path / "more.ttl").write_text(PREFIXES + said, "utf-8")
            import_file(engine, tmp_path / "data.ttl")
            if said:
                import_file(engine, tmp_path / "more.ttl")
            for name in ("one", "two"):
                export_owl(engine.store, tmp_path / name, DEFAULT_NAMESPACE)
                graph = rdflib.Graph().parse(tmp_path / name / "facts.ttl")
                versions.append(str(next(graph.objects(None, OWL.versionIRI))))
    assert [versions[0] == versions[1], versions[2] == versions[3], versions[1] == versions[2]] == [
        True,
        True,
        False,
    ]


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_the_owl_api_and_the_check_agree_on_faults(tmp_path: Path) -> None:
    """Undeclared terms, punning, and a key whose property has no kind."""
    faults = {
        "undeclared-classes": ":x a owl:NamedIndividual , :Unknown .",
        "property-kinds": ":p a owl:ObjectProperty , owl:AnnotationProperty .",
        "undeclared-properties": ":Ship owl:hasKey ( :number ) .",
        "class-kinds": ":kg a owl:Class , rdfs:Datatype .",
    }
    for check, said in faults.items():
        path = tmp_path / f"{check}.ttl"
        path.write_text(f"{PREFIXES}<http://example.org/{check}> a owl:Ontology . :Ship a owl:Class . {said}")
        assert check in {each.check for each in check_files([path], templates())}
        assert violations([path]), check
