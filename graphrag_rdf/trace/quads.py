"""The triples of a trace, and of what it rests on."""

from __future__ import annotations

from collections.abc import Iterable

from pyoxigraph import NamedNode, Quad, Triple

from graphrag_rdf.rdf.namespaces import RDF, Graphs
from graphrag_rdf.sparql.dialect import decode
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace import rows


def trace_quads(store: Store, session: NamedNode, *, with_sources: bool = True) -> list[Quad]:
    """The quads of a trace, with triple terms whatever the store's dialect, sorted for people."""
    quads = _in_graph(store.construct("trace/graph", session=session), Graphs.RETRIEVAL)
    if with_sources:
        containers = store.construct("trace/containers", session=session)
        starts = {rows.node(row, "node") for row in store.select("trace/supports", session=session)}
        starts |= {triple.subject for triple in containers if isinstance(triple.subject, NamedNode)}
        found = store.select("trace/source-nodes", starts=sorted(starts, key=str)) if starts else []
        nodes = [rows.node(row, "node") for row in found]
        described = store.construct("trace/describe-sources", nodes=nodes)
        quads |= _in_graph([*containers, *described], Graphs.SOURCE)
        quads |= _in_graph(store.construct("trace/describe-decisions", nodes=nodes), Graphs.SYSTEM)
    return sorted(decode(quads) if store.renderer.dialect == "classic" else quads, key=order_of)


def _in_graph(triples: Iterable[Triple], graph: NamedNode) -> set[Quad]:
    return {Quad(triple.subject, triple.predicate, triple.object, graph) for triple in triples}


def order_of(quad: Quad) -> tuple[str, str, bool, str, str]:
    return (
        str(quad.graph_name),
        str(quad.subject),
        quad.predicate != RDF.type,
        str(quad.predicate),
        str(quad.object),
    )
