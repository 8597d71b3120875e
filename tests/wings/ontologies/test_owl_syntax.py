"""OWL/XML and functional-style syntax: the triples of the OWL 2 mapping, and malformed files."""

from __future__ import annotations

import contextlib
from xml.sax.saxutils import escape, quoteattr

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode
from rdflib.compare import isomorphic

from graphrag_rdf.wings.ontologies.owl_mapping import to_rdf
from graphrag_rdf.wings.ontologies.owl_syntax import Argument, Expression, read_owl, syntax_of

PREFIXES = "".join(
    f"@prefix {name}: <{iri}> .\n"
    for name, iri in {
        "": "http://example.org/o#",
        "owl": "http://www.w3.org/2002/07/owl#",
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
    }.items()
)
AXIOMS = {
    # from the tables of the OWL 2 mapping to RDF graphs
    "Declaration(Class(:A))": ":A a owl:Class .",
    "Declaration(DataProperty(:p))": ":p a owl:DatatypeProperty .",
    "Declaration(Datatype(:D))": ":D a rdfs:Datatype .",
    "Declaration(NamedIndividual(:a))": ":a a owl:NamedIndividual .",
    "SubClassOf(:A :B)": ":A rdfs:subClassOf :B .",
    "EquivalentClasses(:A :B :C)": ":A owl:equivalentClass :B . :B owl:equivalentClass :C .",
    "DisjointClasses(:A :B)": ":A owl:disjointWith :B .",
    "DisjointClasses(:A :B :C)": "[] a owl:AllDisjointClasses ; owl:members (:A :B :C) .",
    "DisjointUnion(:A :B :C)": ":A owl:disjointUnionOf (:B :C) .",
    "SubObjectPropertyOf(ObjectInverseOf(:p) :q)": "[ owl:inverseOf :p ] rdfs:subPropertyOf :q .",
    "SubObjectPropertyOf(ObjectPropertyChain(:p :q) :r)": ":r owl:propertyChainAxiom (:p :q) .",
    "DisjointDataProperties(:p :q :r)": "[] a owl:AllDisjointProperties ; owl:members (:p :q :r) .",
    "InverseObjectProperties(:p :q)": ":p owl:inverseOf :q .",
    "ObjectPropertyDomain(:p :A)": ":p rdfs:domain :A .",
    "DataPropertyRange(:p xsd:integer)": ":p rdfs:range xsd:integer .",
    "InverseFunctionalObjectProperty(:p)": ":p a owl:InverseFunctionalProperty .",
    "TransitiveObjectProperty(:p)": ":p a owl:TransitiveProperty .",
    "HasKey(:A (:p) (:q))": ":A owl:hasKey (:p :q) .",
    "HasKey(:A () (:q))": ":A owl:hasKey (:q) .",
    "SameIndividual(:a :b)": ":a owl:sameAs :b .",
    "DifferentIndividuals(:a :b :c)": "[] a owl:AllDifferent ; owl:members (:a :b :c) .",
    "ClassAssertion(:A _:x)": "[] a :A .",
    "ObjectPropertyAssertion(:p :a :b)": ":a :p :b .",
    "ObjectPropertyAssertion(ObjectInverseOf(:p) :a :b)": ":b :p :a .",
    'DataPropertyAssertion(:p :a "5"^^xsd:integer)': ":a :p 5 .",
    'NegativeDataPropertyAssertion(:p :a "x@y")': "[] a owl:NegativePropertyAssertion ; "
    'owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetValue "x@y" .',
    'AnnotationAssertion(rdfs:label :A "a \\"b\\" \\\\"@en-GB)': ':A rdfs:label "a \\"b\\" \\\\"@en-gb .',
    'AnnotationAssertion(rdfs:label :A "plain@de"^^rdf:PlainLiteral)': ':A rdfs:label "plain"@de .',
    "AnnotationPropertyDomain(:p :A)": ":p rdfs:domain :A .",
    "SubClassOf(:A ObjectSomeValuesFrom(:p owl:Thing))": ":A rdfs:subClassOf "
    "[ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom owl:Thing ] .",
    "SubClassOf(:A DataAllValuesFrom(:p :q :D))": ":A rdfs:subClassOf "
    "[ a owl:Restriction ; owl:onProperties (:p :q) ; owl:allValuesFrom :D ] .",
    'SubClassOf(:A DataHasValue(:p "x"@en))': ":A rdfs:subClassOf "
    '[ a owl:Restriction ; owl:onProperty :p ; owl:hasValue "x"@en ] .',
    "SubClassOf(:A ObjectHasSelf(:p))": ":A rdfs:subClassOf "
    "[ a owl:Restriction ; owl:onProperty :p ; owl:hasSelf true ] .",
    "SubClassOf(:A ObjectMinCardinality(2 :p))": ":A rdfs:subClassOf "
    '[ a owl:Restriction ; owl:onProperty :p ; owl:minCardinality "2"^^xsd:nonNegativeInteger ] .',
    "SubClassOf(:A ObjectExactCardinality(1 :p :B))": ":A rdfs:subClassOf [ a owl:Restriction ; "
    'owl:onProperty :p ; owl:qualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onClass :B ] .',
    "SubClassOf(:A DataMaxCardinality(1 :p xsd:string))": ":A rdfs:subClassOf [ a owl:Restriction ; "
    'owl:onProperty :p ; owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger ; '
    "owl:onDataRange xsd:string ] .",
    "EquivalentClasses(:A ObjectIntersectionOf(:B ObjectComplementOf(ObjectOneOf(:a :b))))": ":A "
    "owl:equivalentClass [ a owl:Class ; owl:intersectionOf "
    "(:B [ a owl:Class ; owl:complementOf [ a owl:Class ; owl:oneOf (:a :b) ] ]) ] .",
    'DatatypeDefinition(:D DataUnionOf(DataOneOf("1") DataComplementOf(xsd:string)))': ":D "
    "owl:equivalentClass [ a rdfs:Datatype ; owl:unionOf ([ a rdfs:Datatype ; owl:oneOf ('1') ] "
    "[ a rdfs:Datatype ; owl:datatypeComplementOf xsd:string ]) ] .",
    'DataPropertyRange(:p DatatypeRestriction(xsd:integer xsd:minInclusive "5"^^xsd:integer))': ":p "
    "rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:integer ; "
    "owl:withRestrictions ([ xsd:minInclusive 5 ]) ] .",
    # annotations: of a triple, of a node, of an annotation, of the ontology
    'SubClassOf(Annotation(rdfs:comment "why") :A :B)': ":A rdfs:subClassOf :B . [] a owl:Axiom ; "
    "owl:annotatedSource :A ; owl:annotatedProperty rdfs:subClassOf ; owl:annotatedTarget :B ; "
    "rdfs:comment 'why' .",
    'DifferentIndividuals(Annotation(rdfs:comment "why") :a :b :c)': "[] a owl:AllDifferent ; "
    "owl:members (:a :b :c) ; rdfs:comment 'why' .",
    'Annotation(Annotation(:by :me) rdfs:comment "why")': "<http://example.org/o> rdfs:comment 'why' . "
    "[] a owl:Annotation ; owl:annotatedSource <http://example.org/o> ; "
    "owl:annotatedProperty rdfs:comment ; owl:annotatedTarget 'why' ; :by :me .",
}
HEAD = "# a comment\nPrefix(:=<http://example.org/o#>)\nOntology(<http://example.org/o> # another\n"


def graph_of(data: bytes) -> rdflib.Graph:
    syntax = syntax_of(data)
    assert syntax is not None
    triples = to_rdf(read_owl(data, syntax))
    return rdflib.Graph().parse(data="".join(f"{triple} .\n" for triple in triples), format="nt")


def as_xml(value: Argument, kind: str = "IRI") -> str:
    """An expression in OWL/XML."""
    if isinstance(value, NamedNode):
        return (
            f"<IRI>{escape(value.value)}</IRI>"
            if kind == "IRI"
            else f"<{kind} IRI={quoteattr(value.value)}/>"
        )
    if isinstance(value, BlankNode):
        return f'<AnonymousIndividual nodeID="_:{value.value}"/>'
    if isinstance(value, Literal):
        about = f" xml:lang={quoteattr(value.language)}" if value.language else ""
        about = about or f" datatypeIRI={quoteattr(value.datatype.value)}"
        return f"<Literal{about}>{escape(value.value)}</Literal>"
    assert isinstance(value, Expression)
    if not value.name:
        return "".join(map(as_xml, value.arguments))
    arguments = list(value.arguments)
    about = f' cardinality="{arguments.pop(0)}"' if isinstance(arguments[0], int) else ""
    if value.name == "Declaration":
        (declared,) = arguments
        assert isinstance(declared, Expression)
        return f"<Declaration>{as_xml(declared.arguments[0], declared.name)}</Declaration>"
    if value.name == "DatatypeRestriction":
        datatype, facet, limit = arguments
        assert isinstance(facet, NamedNode)
        facets = f"facet={quoteattr(facet.value)}>{as_xml(limit)}</FacetRestriction>"
        inner = f"{as_xml(datatype)}<FacetRestriction {facets}"
    else:
        inner = "".join(map(as_xml, arguments))
    return f"<{value.name}{about}>{inner}</{value.name}>"


@pytest.mark.parametrize("axiom", AXIOMS)
def test_the_triples_of_an_axiom(axiom: str) -> None:
    """They are those of the specification, from both syntaxes."""
    expected = rdflib.Graph().parse(data=PREFIXES + AXIOMS[axiom], format="turtle")
    expected.add((rdflib.URIRef("http://example.org/o"), rdflib.RDF.type, rdflib.OWL.Ontology))
    functional = f"{HEAD}{axiom})".encode()
    assert isomorphic(graph_of(functional), expected)
    parts = "".join(map(as_xml, read_owl(functional, "functional").parts))
    whole = f'<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://example.org/o">{parts}</Ontology>'
    assert isomorphic(graph_of(whole.encode()), expected)


def test_relative_iris_prefixes_and_entities_of_owl_xml() -> None:
    found = graph_of(
        b"""<?xml version="1.0"?><!DOCTYPE Ontology [<!ENTITY e "http://example.org/e#">]>
        <owl:Ontology xmlns:owl="http://www.w3.org/2002/07/owl#" xml:base="http://example.org/o"
          ontologyIRI="http://example.org/o" versionIRI="o/2">
        <owl:Prefix name="" IRI="http://example.org/e#"/><owl:Import>other</owl:Import>
        <owl:SubClassOf><owl:Class IRI="#A"/><owl:Class abbreviatedIRI=":A"/></owl:SubClassOf>
        <owl:SubClassOf><owl:Class IRI="&e;B"/><owl:Class abbreviatedIRI="owl:Thing"/></owl:SubClassOf>
        </owl:Ontology>"""
    )
    expected = rdflib.Graph().parse(
        data=PREFIXES + "@prefix e: <http://example.org/e#> . <http://example.org/o> a owl:Ontology ; "
        "owl:versionIRI <http://example.org/o/2> ; owl:imports <http://example.org/other> . "
        ":A rdfs:subClassOf e:A . e:B rdfs:subClassOf owl:Thing .",
        format="turtle",
    )
    assert isomorphic(found, expected)


_IRIS = st.sampled_from([NamedNode("http://example.org/o#A"), NamedNode("urn:x:1")])
_LITERALS = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8).map(Literal),
    st.builds(Literal, st.sampled_from(["a#b", ')"(', "@en", "\\"]), language=st.just("de-at")),
    st.builds(Literal, st.just("5"), datatype=st.just(NamedNode("http://www.w3.org/2001/XMLSchema#integer"))),
)
_EXPRESSIONS = st.recursive(
    st.one_of(_IRIS, _LITERALS, st.integers(0, 99)),
    lambda inner: st.builds(
        Expression, st.sampled_from(["SubClassOf", "ObjectOneOf"]), st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=8,
)


def as_text(value: Argument) -> str:
    """An expression in functional-style syntax."""
    if isinstance(value, Literal):
        text = '"' + value.value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return f"{text}@{value.language}" if value.language else f"{text}^^{value.datatype}"
    if isinstance(value, Expression):
        return f"{value.name}({' '.join(map(as_text, value.arguments))})"
    return str(value)


@given(st.lists(_EXPRESSIONS, max_size=3).map(tuple))
def test_what_is_written_is_read(arguments: tuple[Argument, ...]) -> None:
    axiom = Expression("Annotated", arguments)
    found = read_owl(f"Ontology({as_text(axiom)})".encode(), "functional")
    assert found.parts == (axiom,)


@given(st.text(alphabet=' ()<>"^@=:#_aOntology\\\n', max_size=30))
def test_malformed_texts_are_errors(text: str) -> None:
    with contextlib.suppress(SyntaxError):  # and no other error
        to_rdf(read_owl(f"Ontology({text}".encode(), "functional"))


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("Ontology(\nSubClassOf(:A owl:Thing))", "prefix : is not declared", 2),
        ("Ontology(SubClassOf(owl:Thing", "unexpected", 1),
        ("Ontology(\n\nSubClassOf(owl:Thing))", "SubClassOf: parts are missing", None),
        ("Ontology(DLSafeRule(Body() Head()))", "not an axiom of OWL 2", None),
        ("Ontology(SubClassOf(owl:Thing Blob(owl:Thing)))", "not an expression of OWL 2", None),
        ("Ontology() Ontology()", "after the ontology", 1),
        ("Ontology(" + "A(" * 1000, "too deeply", 1),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str, line: int | None) -> None:
    with pytest.raises(SyntaxError, match=message) as raised:
        to_rdf(read_owl(text.encode(), "functional"))
    assert raised.value.lineno == line


def test_other_syntaxes_are_not_taken_for_these() -> None:
    rdf = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://www.w3.org/2002/07/owl#"/>'
    for data in (
        b"",
        b"@prefix : <http://www.w3.org/2002/07/owl#> .",
        rdf,
        b"Prefix: owl: <http://a>",
        b"<Ontology",
    ):
        assert syntax_of(data) is None
