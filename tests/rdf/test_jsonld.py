"""JSON-LD with the program's context: read by the engine and by rdflib, it gives what was written."""

from __future__ import annotations

import io
import json

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf.jsonld import write_jsonld
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG, XSD
from graphrag_rdf.store.vocabularies import vocabulary_context

IRIS = [*map(NamedNode, ("urn:x", "http://a/b#c", "urn:graph:source")), TG.Chunk, TG.query]
PREDICATES = [TG.charOffset, TG.query, TG.edge, RAG.cites, RDF.type, NamedNode("urn:p")]
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
literals = st.one_of(
    texts.map(Literal),
    st.integers().map(Literal),
    st.booleans().map(Literal),
    texts.map(lambda text: Literal(text, language="en")),
    texts.map(lambda text: Literal(text, datatype=NamedNode("urn:datatype"))),
    st.just(Literal("2026-01-01", datatype=XSD.date)),
)
nodes = st.one_of(st.sampled_from(IRIS), st.sampled_from([BlankNode("a"), BlankNode("b")]))
quads = st.builds(
    Quad,
    nodes,
    st.sampled_from(PREDICATES),
    st.one_of(nodes, literals),
    st.one_of(st.just(DefaultGraph()), st.sampled_from(IRIS)),
)


def written(found: list[Quad], **context: object) -> bytes:
    out = io.BytesIO()
    write_jsonld(found, out, context or vocabulary_context())
    return out.getvalue()


def canonical(found: list[Quad]) -> list[str]:
    dataset = ox.Dataset(found)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return sorted(map(str, dataset))


@settings(max_examples=200, deadline=None)
@given(st.lists(quads, max_size=12))
def test_what_is_read_is_what_was_written(found: list[Quad]) -> None:
    for context in ({}, {"@context": {}}):
        data = written(found, **context)
        assert canonical(list(ox.parse(data, ox.RdfFormat.JSON_LD))) == canonical(found)


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # by rdflib itself
def test_terms_have_short_names_and_rdflib_reads_them() -> None:
    chunk = NamedNode("urn:chunk:1")
    data = written(
        [
            Quad(chunk, RDF.type, TG.Chunk),
            Quad(chunk, TG.charOffset, Literal(12)),
            Quad(chunk, NamedNode("http://purl.org/dc/terms/title"), Literal("Boot", language="de")),
        ]
    )
    (node,) = json.loads(data)["@graph"]
    assert node == {
        "@id": "urn:chunk:1",
        "@type": "Chunk",
        "charOffset": "12",
        "dcterms:title": {"@value": "Boot", "@language": "de"},
    }
    graph = rdflib.Graph().parse(data=data, format="json-ld")
    assert len(graph) == 3


def test_what_json_ld_cannot_express_is_an_error() -> None:
    s, p = NamedNode("urn:s"), NamedNode("urn:p")
    with pytest.raises(TypeError, match="triple terms"):
        written([Quad(s, p, Triple(s, p, s))])
    with pytest.raises(TypeError, match="prefix"):
        written([Quad(NamedNode("tg:x"), p, s)])
