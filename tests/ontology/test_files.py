"""The files beside the vocabularies: the catalogue, the vendored PROV-O, the generated page."""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from rdflib import OWL, RDF, Graph, URIRef

from graphrag_rdf.rdf.namespaces import PROV
from graphrag_rdf.rdf.vocabulary_page import page

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = "{urn:oasis:names:tc:entity:xmlns:xml:catalog}uri"


def _catalogue(home: Path) -> dict[str, Path]:
    entries = ET.parse(home / "catalog-v001.xml").getroot().iter(CATALOGUE)
    return {entry.attrib["name"]: home / entry.attrib["uri"] for entry in entries}


def test_the_catalogue_finds_every_import_without_a_network(home: Path, tg: Graph, rag: Graph) -> None:
    catalogue = _catalogue(home)
    imports = {str(o) for graph in (tg, rag) for o in graph.objects(None, OWL.imports)}
    assert imports <= set(catalogue)
    for iri, file in catalogue.items():
        ontologies = set(Graph().parse(file, format="turtle").subject_objects(OWL.versionIRI))
        names = {str(term) for pair in ontologies for term in pair}
        assert iri in names | {name.removesuffix("#") for name in names}, iri


def test_prov_o_is_whole_and_holds_only_prov_terms(prov: Graph) -> None:
    named = {s for s in prov.subjects(RDF.type) if isinstance(s, URIRef)}
    for kind, count in ((OWL.ObjectProperty, 44), (OWL.DatatypeProperty, 6)):
        assert len({s for s in prov.subjects(RDF.type, kind) if s in named}) == count
    assert len({s for s in prov.subjects(RDF.type, OWL.Class) if s in named}) >= 30
    assert (URIRef(str(PROV) + "Entity"), OWL.disjointWith, None) in prov
    other = {s for s in named if not str(s).startswith(("http://www.w3.org/ns/prov", str(OWL)))}
    assert {str(s).split("#")[0] for s in other} <= {"http://www.w3.org/2000/01/rdf-schema"}


def test_third_party_files_are_as_listed() -> None:
    listed = re.findall(
        r"\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|", (ROOT / "THIRD_PARTY.md").read_text("utf-8")
    )
    files = (*(ROOT / "graphrag_rdf/server/pages/static").glob("co*mirror*"), ROOT / "ontology/prov-o.ttl")
    files += (*(ROOT / "graphrag_rdf/server/pages/static").glob("*.min.js"),)
    assert dict(listed).keys() == {file.relative_to(ROOT).as_posix() for file in files}
    for file, digest in listed:
        assert hashlib.sha256((ROOT / file).read_bytes()).hexdigest() == digest, file


def test_the_page_lists_every_term(tg: Graph, rag: Graph) -> None:
    text = page()
    for graph, prefix, namespace in (
        (tg, "tg", "https://trustgraph.ai/ns/"),
        (rag, "rag", "https://w3id.org/graphrag-rdf/ns#"),
    ):
        for term in {s for s in graph.subjects(RDF.type) if str(s).startswith(namespace)}:
            assert text.count(f"| `{prefix}:{str(term).removeprefix(namespace)}` |") == 1, term
