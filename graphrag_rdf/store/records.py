"""Records of what was built from the store, and with which parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import Graphs

if TYPE_CHECKING:
    from graphrag_rdf.store.base import Store

COMMUNITIES = NamedNode("urn:graphrag-rdf:communities")
REPORTS = NamedNode("urn:graphrag-rdf:community-reports")
RELATIONS = NamedNode("urn:graphrag-rdf:relations")
SUMMARIES = NamedNode("urn:graphrag-rdf:summaries")
ENTITIES = NamedNode("urn:graphrag-rdf:entities")


def graph_of(record: NamedNode) -> NamedNode:
    """The graph of a record, which is that of what was built."""
    return Graphs.COMMUNITY if record in (COMMUNITIES, REPORTS) else Graphs.DERIVED


def parameters_of(store: Store, record: NamedNode) -> str | None:
    """The parameters, in JSON, of the last build; None if nothing was built.

    Args:
        record: one of the constants above.
    """
    rows = store.select("system/built", graph=graph_of(record), record=record)
    return str(rows[0]["parameters"]) if rows else None
