"""Traces for elsewhere: RDF, PROV-N, PROV-JSON, and a page for people.

With its sources a trace is complete: whoever has the file can walk from the answer to the characters that it
rests on without our store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, get_args

from pyoxigraph import NamedNode, Quad, RdfFormat, serialize

from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.namespaces import PREFIXES
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.prov_dm import to_prov_json, to_prov_n
from graphrag_rdf.trace.quads import order_of, trace_quads
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


def _trig(quads: list[Quad]) -> str:
    return _text(serialize(quads, format=RdfFormat.TRIG, prefixes=_used(quads)))


def _turtle(quads: list[Quad]) -> str:
    merged = {Quad(quad.subject, quad.predicate, quad.object) for quad in quads}
    triples = [quad.triple for quad in sorted(merged, key=order_of)]
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
