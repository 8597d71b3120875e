"""The SHACL shapes: well formed, and strict about what they say."""

from __future__ import annotations

import pytest
from rdflib import RDF, XSD, Graph, Namespace, URIRef

pyshacl = pytest.importorskip("pyshacl")

SH = Namespace("http://www.w3.org/ns/shacl#")
TRIPLE_TERM_LINKS = {
    str(RDF) + "reifies",
    "https://trustgraph.ai/ns/contains",
    "https://trustgraph.ai/ns/edge",
    "https://w3id.org/graphrag-rdf/ns#formerlyContains",
    "https://w3id.org/graphrag-rdf/ns#retracts",
    "https://w3id.org/graphrag-rdf/ns#assertsInstead",
    "https://w3id.org/graphrag-rdf/ns#premise",
}

PREFIXES = """
@prefix : <urn:test:> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix rag: <https://w3id.org/graphrag-rdf/ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix tg: <https://trustgraph.ai/ns/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""

GOOD = """
:d a tg:Document ; rdfs:label "Report" ; rag:identity "report.txt" ; rag:currentVersion :v ; tg:pageCount 1 .
:v a rag:DocumentVersion ; prov:specializationOf :d ; rag:byteSize 12 ;
  rag:contentHash "0000000000000000000000000000000000000000000000000000000000000000" ;
  prov:generatedAtTime "2026-01-02T03:04:05Z"^^xsd:dateTime .
:p a tg:Page ; prov:wasDerivedFrom :d ; tg:pageNumber 1 ; tg:charOffset 0 ; tg:charLength 12 .
:c a tg:Chunk ; dcterms:isPartOf :d ; prov:wasDerivedFrom :p ; tg:chunkIndex 1 ; tg:charOffset 0 ;
  tg:charLength 12 ; tg:content "Ann met Bob." .
:s a rag:Sentence ; rag:sentenceOf :c ; tg:charOffset 0 ; tg:charLength 12 ; rag:mentions :ann .
:g a tg:Subgraph ; prov:wasDerivedFrom :c ; prov:wasGeneratedBy :a ; rag:extractor "rules/1" .
:ev a rag:Evidence ; prov:wasDerivedFrom :g ; tg:sourceText "met" ;
  tg:sourceCharOffset 4 ; tg:sourceCharLength 3 ; rag:confidence 0.9e0 .
:un a rag:Evidence ; prov:wasDerivedFrom :g ; tg:sourceText "saw" ; rag:verified false .
:run a rag:Session ; tg:query "Who met Bob?" ; rag:pipeline "graph_rag" ; rag:durationMs 12 ;
  prov:startedAtTime "2026-01-02T03:04:05Z"^^xsd:dateTime .
:q a tg:Question , tg:GraphRagQuestion ; tg:query "Who met Bob?" ; prov:wasGeneratedBy :run .
:x a tg:Exploration ; prov:wasDerivedFrom :q ; tg:entity :bob ; tg:edgeCount 1 ; rag:candidateCount 4 .
:f a tg:Focus ; prov:wasDerivedFrom :x ; rag:filterDecision :d1 ; tg:selectedEdge :e ; tg:selectedChunk :k .
:e a tg:EdgeSelection ; tg:score 0.5e0 ; rag:rank 1 ; rag:hop 1 ; rag:supportedBy :ev ; rag:usedChunk :c .
:d1 a rag:FilterDecision ; tg:score 0.5e0 ; rag:kept true .
:k a tg:ChunkSelection ; tg:document :c ; tg:score 1.0e0 ; rag:rank 1 .
:y a tg:Synthesis , tg:Answer ; prov:wasDerivedFrom :f ; tg:content "Ann. [1]" ; rag:sentence :y0 ;
  rag:call :call .
:y0 a rag:AnswerSentence ; rag:index 0 ; tg:charOffset 0 ; tg:charLength 8 ; rag:cites :e .
:call a rag:TemplateCall ; rag:sparql :text ; rag:rowCount 3 ; rag:durationMs 1 .
:t a rag:Tombstone ; prov:invalidatedAtTime "2026-01-02T03:04:05Z"^^xsd:dateTime .
"""


def _report(shapes: Graph, data: str) -> tuple[bool, str]:
    conforms, _, text = pyshacl.validate(
        Graph().parse(data=PREFIXES + data, format="turtle"), shacl_graph=shapes, advanced=False
    )
    return conforms, text


def test_the_shapes_are_well_formed(shapes: Graph) -> None:
    """The shapes graph conforms to the shapes that SHACL gives for shapes graphs."""
    assert pyshacl.validate(Graph(), shacl_graph=shapes, meta_shacl=True)[0]


def test_good_data_conform(shapes: Graph) -> None:
    conforms, text = _report(shapes, GOOD)
    assert conforms, text


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ('rag:identity "report.txt" ;', "", "identity"),
        ("rag:currentVersion :v ;", "", "current version"),
        ('"0000000', '"XYZ0000', "SHA-256"),
        ("tg:pageNumber 1 ;", "tg:pageNumber 0 ;", "counted from 1"),
        (
            "tg:charOffset 0 ;\n  tg:charLength 12 ;",
            "tg:charOffset -1 ;\n  tg:charLength 12 ;",
            "code points",
        ),
        ("dcterms:isPartOf :d ;", "", "part of one document"),
        ("prov:wasGeneratedBy :a ;", "", "activity made"),
        ("tg:sourceCharOffset 4 ;", "", "not verified"),
        ("rag:verified false", "rag:verified true", "not verified"),
        ("rag:confidence 0.9e0", "rag:confidence 1.9e0", "confidence"),
        ("rag:confidence 0.9e0", 'rag:confidence "0.9"', "confidence"),
        ('rag:pipeline "graph_rag" ;', "", "pipeline"),
        ("a tg:Exploration ; prov:wasDerivedFrom :q", "a tg:Exploration", "step derives"),
        ("tg:score 0.5e0", "tg:score 2.5e0", "score"),
        ("tg:selectedEdge :e ;", "", "an edge selection belongs to a step"),
        ("rag:rank 1 ; rag:hop 1", "rag:rank 0 ; rag:hop 1", "an integer from 1"),
        ("rag:kept true", "", "a filter decision has one rag:kept, a boolean"),
        ("tg:document :c ;", "", "a chunk selection has one tg:document"),
        ('tg:content "Ann. [1]" ;', "", "has its text"),
        ("rag:rowCount 3", "rag:rowCount -3", "rowCount"),
        ("rag:Tombstone ; prov:invalidatedAtTime", "rag:Tombstone ; prov:generatedAtTime", "tombstone"),
    ],
)
def test_bad_data_do_not_conform(shapes: Graph, right: str, wrong: str, says: str) -> None:
    assert right in GOOD
    conforms, text = _report(shapes, GOOD.replace(right, wrong, 1))
    assert not conforms
    assert says in text


def test_no_path_visits_a_triple_term(shapes: Graph) -> None:
    for path in shapes.objects(None, SH.path):
        for node in shapes.transitive_objects(path, None):
            assert str(node) not in TRIPLE_TERM_LINKS


def test_datatypes_are_those_that_stores_keep(shapes: Graph) -> None:
    kept = {XSD.integer, XSD.double, XSD.string, XSD.dateTime, XSD.boolean, RDF.langString}
    assert set(shapes.objects(None, SH.datatype)) <= kept


def test_every_class_that_a_shape_names_is_described(shapes: Graph, everything: Graph) -> None:
    for link in (SH.targetClass, SH["class"], SH.targetSubjectsOf, SH.targetObjectsOf):
        for term in shapes.objects(None, link):
            assert (URIRef(str(term)), RDF.type, None) in everything, term
