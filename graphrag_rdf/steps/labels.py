"""Labels for models, IRIs for provenance.

A model sees edges by their labels and answers with ids; the trace needs the terms. `edge_id` is
TrustGraph's id; two edges with equal labels would share it, so `label_graph` tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphrag_rdf.rdf.labels import edge_id
from graphrag_rdf.steps.nodes.exploration import Edge


def label_graph(edges: Iterable[Edge]) -> dict[str, Edge]:
    """Edges by id, in order; the second edge with the same labels gets `id-2`, and so on."""
    by_id: dict[str, Edge] = {}
    for edge in edges:
        base = key = edge_id(edge.s_label, edge.p_label, edge.o_label)
        number = 1
        while key in by_id and by_id[key].triple != edge.triple:
            number += 1
            key = f"{base}-{number}"
        by_id[key] = edge
    return by_id
