"""Descriptions of entities, descriptions and weights of relationships.

Microsoft GraphRAG makes them from all text units of a row, so they derive from all of these chunks: if one of
them goes, so does what was made of it. A description of an entity is a `skos:definition` in a subgraph of its
own. Description and weight of a relationship are on a reifier of its fact, which other subgraphs contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.ingest.fact_decisions import Withheld, read_withheld
from graphrag_rdf.ingest.retract import retract_subgraphs
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, SKOS, TG
from graphrag_rdf.rdf.terms import double
from graphrag_rdf.store.base import Changes, Store, in_batches, select_in_batches
from graphrag_rdf.wings.msgraphrag.extraction import COMPONENT, VERSION
from graphrag_rdf.wings.msgraphrag.found import Found, ImportedEdge

KEY = f"ms-graphrag-elements/{VERSION}"


def write_elements(store: Store, found: Found) -> int:
    """Write what is missing, and remove what an earlier import of these texts wrote otherwise.

    Returns:
        how many descriptions and weights were written or removed.
    """
    wanted = dict(_wanted(found, read_withheld(store)))
    rows = select_in_batches(store, "exchange/elements", "chunks", found.texts, extractor=KEY)
    there = {row["element"] for row in rows}
    gone, missing = sorted(there - wanted.keys(), key=str), [node for node in wanted if node not in there]
    for batch in in_batches(gone):
        changes = Changes()
        retract_subgraphs(store, batch, changes)
        store.commit(changes)
    for batch in in_batches(missing):
        store.commit(Changes(add=[quad for node in batch for quad in wanted[node]]))
    return len(gone) + len(missing)


def reifier(edge: ImportedEdge, chunks: Iterable[NamedNode]) -> NamedNode | None:
    """The reifier with description and weight of a relationship; None if it has neither."""
    if not edge.row.description and edge.row.weight is None:
        return None
    return iris.evidence(_of_edge(edge, chunks), *edge.fact, "merged")


def _wanted(found: Found, withheld: Withheld) -> Iterator[tuple[NamedNode, list[Quad]]]:
    for entity in found.all_entities:
        chunks = found.chunks_of(entity.row.text_unit_ids)
        if description := entity.row.description:
            element = _element(entity.iri, description, chunks)
            fact = (entity.iri, SKOS.definition, Literal(description))
            quads = [prov.source(element, RDF.type, TG.Subgraph), *_derived(element, chunks)]
            yield element, [*quads, *withheld.contained(element, *fact)]
    for edge in found.all_edges:
        chunks = found.chunks_of(edge.row.text_unit_ids)
        if node := reifier(edge, chunks):
            element = _of_edge(edge, chunks)
            yield element, [*_derived(element, chunks), *_reified(edge, node, element)]


def _of_edge(edge: ImportedEdge, chunks: Iterable[NamedNode]) -> NamedNode:
    s, p, o = edge.fact
    return _element(s, f"{p.value} {o.value} {edge.row.description} {edge.row.weight}", chunks)


def _element(thing: NamedNode, said: str, chunks: Iterable[NamedNode]) -> NamedNode:
    """The IRI depends on everything that the element holds, so that this never changes."""
    return iris.subgraph(thing, KEY, iris.digest("\n".join([said, *(chunk.value for chunk in chunks)])))


def _derived(element: NamedNode, chunks: Iterable[NamedNode]) -> Iterator[Quad]:
    yield prov.source(element, RDF.type, PROV.Entity)
    yield prov.source(element, RAG.extractor, Literal(KEY))
    yield prov.source(element, PROV.wasAttributedTo, iris.agent(COMPONENT))
    for chunk in chunks:
        yield prov.source(element, PROV.wasDerivedFrom, chunk)


def _reified(edge: ImportedEdge, node: NamedNode, element: NamedNode) -> Iterator[Quad]:
    yield prov.source(node, RDF.reifies, Triple(*edge.fact))
    yield prov.source(node, PROV.wasDerivedFrom, element)
    if edge.row.description:
        yield prov.source(node, DCTERMS.description, Literal(edge.row.description))
    if edge.row.weight is not None:
        yield prov.source(node, RAG.relationWeight, double(edge.row.weight))
