"""The two vocabularies: complete annotations, nothing redefined, OWL 2 DL as far as rdflib can see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import DCTERMS, OWL, RDF, RDFS, XSD, BNode, Graph, Literal, URIRef

TG = "https://trustgraph.ai/ns/"
RAG = "https://w3id.org/graphrag-rdf/ns#"
PROV = "http://www.w3.org/ns/prov#"
ONTOLOGIES = {TG: URIRef("https://trustgraph.ai/ns"), RAG: URIRef("https://w3id.org/graphrag-rdf/ns")}
PROV_O = URIRef("http://www.w3.org/ns/prov-o#")

CLASS, OBJECT, DATA, ANNOTATION = (
    OWL.Class,
    OWL.ObjectProperty,
    OWL.DatatypeProperty,
    OWL.AnnotationProperty,
)
BUILT_IN = (str(OWL), str(RDF), str(RDFS), str(XSD))
STORE_KEEPS = {
    XSD.integer,
    XSD.double,
    XSD.string,
    XSD.dateTime,
    XSD.boolean,
    XSD.base64Binary,
    RDF.PlainLiteral,
}


def _terms(graph: Graph, namespace: str) -> list[URIRef]:
    return sorted({s for s in graph.subjects() if isinstance(s, URIRef) and s.startswith(namespace)})


@pytest.fixture(params=[TG, RAG], ids=["tg", "rag"])
def namespace(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def vocabulary(namespace: str, tg: Graph, rag: Graph) -> Graph:
    return tg if namespace == TG else rag


def test_every_term_has_one_kind_a_label_a_comment_and_its_ontology(
    namespace: str, vocabulary: Graph
) -> None:
    terms = _terms(vocabulary, namespace)
    assert len(terms) > 70
    for term in terms:
        kinds = set(vocabulary.objects(term, RDF.type)) & {CLASS, OBJECT, DATA, ANNOTATION}
        assert len(kinds) == 1, term
        assert list(vocabulary.objects(term, RDFS.isDefinedBy)) == [ONTOLOGIES[namespace]], term
        for annotation in (RDFS.label, RDFS.comment):
            values = list(vocabulary.objects(term, annotation))
            assert len(values) == 1, (term, annotation)
            assert isinstance(values[0], Literal)
            assert values[0].language == "en", (term, annotation)


def test_the_ontology_is_described_and_imports_what_it_builds_on(namespace: str, vocabulary: Graph) -> None:
    ontology = ONTOLOGIES[namespace]
    assert list(vocabulary.subjects(RDF.type, OWL.Ontology)) == [ontology]
    (version,) = vocabulary.objects(ontology, OWL.versionIRI)
    assert str(version).startswith("https://w3id.org/graphrag-rdf/")
    for annotation in (OWL.versionInfo, DCTERMS.title, DCTERMS.description, DCTERMS.license):
        assert vocabulary.value(ontology, annotation), annotation
    imports = {PROV_O} if namespace == TG else {PROV_O, ONTOLOGIES[TG]}
    assert set(vocabulary.objects(ontology, OWL.imports)) == imports


def test_no_term_of_trustgraph_or_prov_is_described_in_our_vocabulary(rag: Graph, tg: Graph) -> None:
    assert _terms(rag, TG) == []
    assert _terms(rag, PROV) == []
    assert _terms(tg, PROV) == []


def test_no_iri_is_used_in_two_ways(everything: Graph, tg: Graph, rag: Graph) -> None:
    """No class is a property, and no property has two kinds (PROV-O's own doubles are not ours)."""
    for graph in (tg, rag):
        for term in {s for s in graph.subjects() if isinstance(s, URIRef) and not s.startswith(PROV)}:
            kinds = set(everything.objects(term, RDF.type)) & {CLASS, OBJECT, DATA, ANNOTATION}
            assert len(kinds) <= 1, (term, kinds)


def test_whatever_an_axiom_names_is_declared(everything: Graph, tg: Graph, rag: Graph) -> None:
    """Superclasses, superproperties, domains, ranges, inverses and members, here or in an import."""
    for graph in (tg, rag):
        for term, wanted in _named_in_axioms(graph):
            if str(term).startswith(BUILT_IN):
                continue
            assert set(everything.objects(term, RDF.type)) & wanted, f"{term} is not declared as {wanted}"


def _named_in_axioms(graph: Graph) -> Iterator[tuple[URIRef, set[URIRef]]]:
    properties = {OBJECT, DATA}
    links = {
        RDFS.subClassOf: {CLASS},
        OWL.equivalentClass: {CLASS},
        OWL.disjointWith: {CLASS},
        RDFS.domain: {CLASS},
        RDFS.range: {CLASS, RDFS.Datatype},
        RDF.first: {CLASS},
        RDFS.subPropertyOf: properties,
        OWL.inverseOf: {OBJECT},
    }
    for link, wanted in links.items():
        for value in graph.objects(None, link):
            if isinstance(value, URIRef):
                yield value, wanted


def test_every_annotation_property_is_declared(everything: Graph, tg: Graph, rag: Graph) -> None:
    for graph in (tg, rag):
        for predicate in set(graph.predicates()):
            if not str(predicate).startswith(BUILT_IN):
                assert (predicate, RDF.type, ANNOTATION) in everything, predicate


def test_no_axiom_uses_vocabulary_that_owl_2_dl_reserves(tg: Graph, rag: Graph) -> None:
    names = ("Statement", "subject", "predicate", "object", "reifies", "Property")
    reserved = {URIRef(str(RDF) + name) for name in names} | {RDFS.Class, RDFS.Resource}
    for graph in (tg, rag):
        used = {term for triple in graph for term in triple}
        assert not used & reserved


def test_properties_agree_in_kind_with_range_superproperty_and_inverse(
    everything: Graph, tg: Graph, rag: Graph
) -> None:
    for graph, namespace in ((tg, TG), (rag, RAG)):
        for kind in (OBJECT, DATA):
            for term in graph.subjects(RDF.type, kind):
                if not str(term).startswith(namespace):
                    continue
                for parent in graph.objects(term, RDFS.subPropertyOf):
                    assert (parent, RDF.type, kind) in everything, term
                range_ = graph.value(term, RDFS.range)
                if range_ is None:
                    continue
                literal = range_ in STORE_KEEPS or (range_, RDF.type, RDFS.Datatype) in graph
                assert literal == (kind == DATA), f"{term}: range {range_}"


def test_numbers_have_the_types_that_stores_keep(tg: Graph, rag: Graph) -> None:
    for graph in (tg, rag):
        for term, range_ in graph.subject_objects(RDFS.range):
            datatype = graph.value(range_, OWL.onDatatype) if isinstance(range_, BNode) else range_
            if str(datatype).startswith(str(XSD)):
                assert datatype in STORE_KEEPS, term


def test_scores_are_doubles_from_0_to_1(tg: Graph) -> None:
    range_ = tg.value(URIRef(TG + "score"), RDFS.range)
    assert tg.value(range_, OWL.onDatatype) == XSD.double
    bounds = {str(value) for value in tg.objects(None, XSD.minInclusive | XSD.maxInclusive)}
    assert bounds == {"0.0", "1.0"}
    assert tg.value(URIRef(TG + "score"), RDFS.domain) is None


@pytest.mark.parametrize(
    "name",
    [
        TG + "contains",
        TG + "edge",
        RAG + "formerlyContains",
        RAG + "retracts",
        RAG + "assertsInstead",
        RAG + "premise",
    ],
)
def test_what_leads_to_a_triple_term_is_an_object_property_without_range(
    name: str, tg: Graph, rag: Graph
) -> None:
    graph = tg if name.startswith(TG) else rag
    assert (URIRef(name), RDF.type, OBJECT) in graph
    assert graph.value(URIRef(name), RDFS.range) is None
    assert "triple term" in str(graph.value(URIRef(name), RDFS.comment))


def test_class_hierarchy_has_no_cycle(everything: Graph) -> None:
    for term in set(everything.subjects(RDF.type, CLASS)):
        if isinstance(term, URIRef):
            assert term not in everything.objects(term, RDFS.subClassOf / (RDFS.subClassOf * "*"))


def test_activities_and_entities_stay_apart(everything: Graph) -> None:
    """prov:Activity and prov:Entity exclude each other, so no class of ours is both."""
    activity, entity = URIRef(PROV + "Activity"), URIRef(PROV + "Entity")
    for term in set(everything.subjects(RDF.type, CLASS)):
        if isinstance(term, URIRef) and str(term).startswith((TG, RAG)):
            parents = set(everything.transitive_objects(term, RDFS.subClassOf))
            assert not {activity, entity} <= parents, term


def test_rdf_1_1_turtle_only(home: Path) -> None:
    """OWL tools refuse a file with triple terms in it."""
    for file in home.glob("*.ttl"):
        lines = [line.split("#")[0] for line in file.read_text("utf-8").splitlines() if '"' not in line]
        assert not any("<<" in line or "{|" in line for line in lines), file
