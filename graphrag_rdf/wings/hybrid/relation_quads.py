"""Builders for relations that a model found between chunks, with their evidence.

Everything goes to `urn:graph:source`, but for the relation itself, which is stated plainly in
`urn:graph:derived`. See docs/architecture/rdf-model.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyoxigraph import NamedNode, Quad, Triple

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.model_calls import ModelCall, Quote, evidence, generated
from graphrag_rdf.rdf.namespaces import RAG, RDF, Graphs
from graphrag_rdf.rdf.prov import source
from graphrag_rdf.rdf.terms import double


def relation(
    call: ModelCall, type_: NamedNode, *, forward: bool, confidence: float, quotes: Iterable[Quote]
) -> Iterator[Quad]:
    """A relation that a call found between two chunks: stated plainly in `urn:graph:derived`, and what is
    known of it, with its evidence.

    Args:
        forward: it leads from the first chunk to the second.
    """
    first, second = call.chunks
    start, end = (first, second) if forward else (second, first)
    node = iris.chunk_relation(call.activity, type_, start)
    yield Quad(start, type_, end, Graphs.DERIVED)
    yield source(node, RDF.type, RAG.ChunkRelation)
    yield source(node, RDF.reifies, Triple(start, type_, end))
    yield source(node, RAG.relationType, type_)
    yield source(node, RAG.relationFrom, start)
    yield source(node, RAG.relationTo, end)
    yield source(node, RAG.confidence, double(confidence))
    yield from generated(call, node)
    for quote in quotes:
        place = iris.digest(quote.text) if quote.chunk is None else quote.offset
        yield from evidence(call, node, iris.relation_evidence(node, quote.chunk, place), quote)
