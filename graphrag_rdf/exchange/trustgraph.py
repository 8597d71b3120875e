"""What in a file is TrustGraph's record of its work, and stays what it is: traces, provenance of extraction.

A file with named graphs says where they are. In others traces are known by their IRIs. Everything else in the
file is facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad

from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, TG, Graphs
from graphrag_rdf.rdf.terms import Term

_TRACES = "urn:trustgraph:"
_STATED = (TG.edge, TG.contains)
"""Properties whose values are facts."""


def take_records(quads: Iterable[Quad]) -> tuple[list[Quad], list[Quad]]:
    """Split the quads of a file.

    A fact that is written `<< >>` as a value, which RDF 1.2 reads as a reifier without a name, becomes the
    triple term that TrustGraph writes today.

    What is described in our terms is left to the others: only a dump says such things of a store.

    Returns:
        (traces and provenance in their graphs, all others).
    """
    records: list[Quad] = []
    others: list[Quad] = []
    reified: dict[Term, Quad] = {}
    known = list(quads)
    ours = {quad.subject for quad in known if quad.predicate in RAG or quad.object in RAG}
    for quad in known:
        graph = None if quad.subject in ours else _graph_of(quad)
        if isinstance(quad.subject, BlankNode) and quad.predicate == RDF.reifies:
            reified[quad.subject] = quad
        elif graph is None:
            others.append(quad)
        else:
            records.append(Quad(quad.subject, quad.predicate, quad.object, graph))
    used: set[Term] = set()
    for number, quad in enumerate(records):
        if quad.predicate in _STATED and quad.object in reified:
            used.add(quad.object)
            fact = reified[quad.object].object
            records[number] = Quad(quad.subject, quad.predicate, fact, quad.graph_name)
    others += [quad for node, quad in reified.items() if node not in used]
    return records, others


def count_traces(records: Iterable[Quad]) -> int:
    """How many traces are among quads."""
    return sum(
        quad.predicate == PROV.startedAtTime and quad.graph_name == Graphs.RETRIEVAL for quad in records
    )


def _graph_of(quad: Quad) -> NamedNode | None:
    if quad.graph_name in (Graphs.RETRIEVAL, Graphs.SOURCE):
        return Graphs.RETRIEVAL if quad.graph_name == Graphs.RETRIEVAL else Graphs.SOURCE
    known = isinstance(quad.subject, NamedNode) and quad.subject.value.startswith(_TRACES)
    return Graphs.RETRIEVAL if known and isinstance(quad.graph_name, DefaultGraph) else None
