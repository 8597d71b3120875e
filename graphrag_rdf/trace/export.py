"""Traces for elsewhere: RDF, PROV-N, PROV-JSON, and a page for people.

With its sources a trace is complete: whoever has the file can walk from the answer to the characters that it
rests on without our store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias, get_args

from pyoxigraph import NamedNode, Quad, RdfFormat, Triple, serialize

from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.namespaces import PREFIXES, RDF, Graphs
from graphrag_rdf.sparql.dialect import decode
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.prov_dm import to_prov_json, to_prov_n
from graphrag_rdf.trace.reader import read_trace

TraceFormat: TypeAlias = Literal["trig", "turtle", "nquads", "prov-n", "prov-json", "html"]
FORMATS: tuple[TraceFormat, ...] = get_args(TraceFormat)


def export_trace(
    store: Store,
    blobs: BlobStore,
    iri: NamedNode | str,
    format: TraceFormat,  # noqa: A002
    *,
    with_sources: bool = True,
) -> str:
    """A trace as text in one of `FORMATS`.

    Args:
        iri: the session.
        blobs: where long answers are (`html` only).
        format: `turtle` merges the named graphs, which `trig` and `nquads` keep.
        with_sources: also the evidence, subgraphs, activities, agents, chunks, pages, documents and versions
            that the trace rests on (`html` always shows them), and the decisions about its facts.

    Raises:
        UsageError: when there is no such trace or format.
    """
    session = NamedNode(iri) if isinstance(iri, str) else iri
    if format not in FORMATS:
        raise UsageError(f"a trace cannot be written as {format!r}", hint=f"formats: {', '.join(FORMATS)}")
    trace = read_trace(store, session, blobs)
    if format == "html":
        return render_page(store, trace)
    return _WRITERS[format](trace_quads(store, session, with_sources=with_sources))


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
    return sorted(decode(quads) if store.renderer.dialect == "classic" else quads, key=_order)


def _in_graph(triples: Iterable[Triple], graph: NamedNode) -> set[Quad]:
    return {Quad(triple.subject, triple.predicate, triple.object, graph) for triple in triples}


def _order(quad: Quad) -> tuple[str, str, bool, str, str]:
    return (
        str(quad.graph_name),
        str(quad.subject),
        quad.predicate != RDF.type,
        str(quad.predicate),
        str(quad.object),
    )


def _trig(quads: list[Quad]) -> str:
    return _text(serialize(quads, format=RdfFormat.TRIG, prefixes=_used(quads)))


def _turtle(quads: list[Quad]) -> str:
    merged = {Quad(quad.subject, quad.predicate, quad.object) for quad in quads}
    triples = [quad.triple for quad in sorted(merged, key=_order)]
    return _text(serialize(triples, format=RdfFormat.TURTLE, prefixes=_used(quads)))


def _nquads(quads: list[Quad]) -> str:
    return _text(serialize(quads, format=RdfFormat.N_QUADS))


def _text(data: bytes | None) -> str:
    return (data or b"").decode()


def _used(quads: list[Quad]) -> dict[str, str]:
    """The prefixes that the quads use."""
    text = "\n".join(map(str, quads))
    return {name: iri for name, iri in PREFIXES.items() if f"<{iri}" in text}


_WRITERS: Mapping[str, Callable[[list[Quad]], str]] = {
    "trig": _trig,
    "turtle": _turtle,
    "nquads": _nquads,
    "prov-n": to_prov_n,
    "prov-json": to_prov_json,
}
