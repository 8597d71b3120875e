"""The quads of a store, whatever its engine made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyoxigraph import DefaultGraph, NamedNode, Quad

from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.sparql.dialect import decode
from graphrag_rdf.store.base import Store


def plain_quads(store: Store, graph: NamedNode | None = None) -> Iterator[Quad]:
    """The quads of a store in dialect `rdf12`, the facts in the default graph."""
    facts = store.renderer.facts_graph
    if store.renderer.dialect == "classic":
        quads: Iterable[Quad] = decode(store.quads())
    elif graph is None:
        quads = store.quads()
    else:
        place = DefaultGraph() if graph == Graphs.FACTS and facts is None else graph
        quads = store.quads(place)  # type: ignore[arg-type]
    for quad in quads:
        is_fact = quad.graph_name in (DefaultGraph(), facts)
        if graph is None or quad.graph_name == graph or (graph == Graphs.FACTS and is_fact):
            yield Quad(quad.subject, quad.predicate, quad.object) if is_fact else quad
