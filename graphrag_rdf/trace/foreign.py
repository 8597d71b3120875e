"""Traces in TrustGraph's own form that were put into the store: read as if they were ours.

TrustGraph's question is the first node; all others derive from it, and their IRIs name the run. Older ones
begin with an activity (a session, or the question itself), and some of their nodes have no class. The tables
say what stands for what; the nodes are then read like those of our own traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import Any

from pyoxigraph import Literal, NamedNode, Triple

from graphrag_rdf.i18n import later
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, TG
from graphrag_rdf.rdf.terms import Term, local_name
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.trace.kinds import Node, NodeKind, Statement, StepField

OWN, TRUSTGRAPH, OLDER = "graphrag-rdf", "trustgraph", "trustgraph-older"
FORMS: Mapping[str, str] = {
    TRUSTGRAPH: later("in TrustGraph's form"),
    OLDER: later("in an older form of TrustGraph"),
}
"""Form of a trace that another program wrote → words."""

_PIPELINES = (
    (TG.AgentQuestion, ":agent:", "agent"),
    (TG.DocRagQuestion, ":docrag:", "docrag"),
    (TG.GraphRagQuestion, ":question:", "graphrag"),
    (None, ":session:", "graphrag"),
)
"""Class of the first node, a part of its IRI, what it is called."""
_CLASSES = (
    (TG.selectedEdge, TG.Focus),
    (TG.edgeCount, TG.Exploration),
    (TG.document, TG.Synthesis),
)
"""What a step without a class says, and the class that it would have today."""
_ITEMS = ((TG.selectedEdge, TG.EdgeSelection), (TG.selectedChunk, TG.ChunkSelection))
"""Links to items, and their class."""
_TEXTS = ((TG.answer, TG.content), (TG.document, RAG.storedText))
"""Of a step with a text: its property there, and here."""
_DERIVATION = frozenset({PROV.wasDerivedFrom, PROV.wasGeneratedBy})


def form_of(first: Node) -> str:
    """The form of a trace, by what is said of its first node."""
    types = first.get(RDF.type, ())
    if RAG.Session in types:
        return OWN
    return OLDER if PROV.Activity in types else TRUSTGRAPH


def pipeline_of(iri: str, types: Iterable[Term]) -> str | None:
    """What to call the kind of a trace, by the classes of its first node or, without these, its IRI."""
    classes = set(types)
    by_class = (name for rdf_type, _, name in _PIPELINES if rdf_type in classes)
    by_iri = (name for _, part, name in _PIPELINES if part in iri)
    return next(by_class, None) or next(by_iri, None)


def steps_of(session: NamedNode, nodes: Mapping[NamedNode, Node]) -> list[NamedNode]:
    """The steps: what derives from something, and is not an item of a step."""
    linked = {
        value
        for node, node_properties in nodes.items()
        for predicate, values in node_properties.items()
        for value in values
        if predicate not in _DERIVATION and value != node
    }
    return [
        node
        for node, node_properties in nodes.items()
        if node != session and node not in linked and _DERIVATION & node_properties.keys()
    ]


def in_our_terms(
    steps: Iterable[NamedNode],
    nodes: Mapping[NamedNode, MutableMapping[NamedNode, list[Term]]],
    declared: Mapping[NamedNode, NodeKind],
) -> None:
    """Give steps and items the classes and properties by which they are read."""
    for step in steps:
        node_properties = nodes[step]
        if not declared.keys() & {*node_properties.get(RDF.type, ())}:
            known = next((rdf_type for predicate, rdf_type in _CLASSES if predicate in node_properties), None)
            node_properties[RDF.type] = [*node_properties.get(RDF.type, ()), *([known] if known else [])]
        for theirs, ours in _TEXTS:
            if theirs in node_properties and ours not in node_properties:
                node_properties[ours] = node_properties.pop(theirs)
        for kept in node_properties.get(RAG.storedText, ()):  # somebody has put the text into the graph, too
            text = nodes.get(kept, {}).get(TG.content) if isinstance(kept, NamedNode) else None
            if text and TG.content not in node_properties:
                node_properties[TG.content] = text
        for link, rdf_type in _ITEMS:
            for item in node_properties.get(link, ()):
                if isinstance(item, NamedNode) and item in nodes:
                    nodes[item].setdefault(RDF.type, [rdf_type])


def with_undeclared(
    kind: NodeKind, node_properties: Node, nodes: Mapping[NamedNode, Node], of_all_steps: Iterable[NamedNode]
) -> NodeKind:
    """A kind that also has what a step says beside it: values that no item stands for.

    All are listed. Only what was selected is shown as of our steps, with its sources.

    Args:
        of_all_steps: properties that every step has.
    """
    passed = {
        *of_all_steps,
        *(field.predicate for field in kind.fields),
        *(field.stored for field in kind.fields),
    }
    further = [
        StepField(local_name(predicate.value), predicate, read=list)
        for predicate in sorted(node_properties.keys() - passed, key=str)
        if any(value not in nodes for value in node_properties[predicate])
    ]
    selects = any(value in nodes for link, _ in _ITEMS for value in node_properties.get(link, ()))
    if selects:
        return replace(kind, fields=(*kind.fields, *further))
    own = (
        field
        for field in kind.fields
        if field.predicate in node_properties or field.stored in node_properties
    )
    return replace(kind, fields=(*own, *further), text=None, page=None)


def selected_of(
    nodes: Mapping[NamedNode, Node],
) -> tuple[dict[Statement, list[NamedNode]], dict[NamedNode, list[NamedNode]]]:
    """What steps selected: facts and chunks, each with the items that name it."""
    facts: dict[Statement, list[NamedNode]] = {}
    chunks: dict[NamedNode, list[NamedNode]] = {}
    linked = (
        value
        for node_properties in nodes.values()
        for link, _ in _ITEMS
        for value in node_properties.get(link, ())
    )
    for item in sorted(
        {item_node for item_node in linked if isinstance(item_node, NamedNode) and item_node in nodes},
        key=str,
    ):
        for fact in nodes[item].get(TG.edge, ()):
            if isinstance(fact, Triple) and _has_names(fact):
                facts.setdefault((fact.subject, fact.predicate, fact.object), []).append(item)  # type: ignore[arg-type]
        for chunk in nodes[item].get(TG.document, ()):
            if isinstance(chunk, NamedNode):
                chunks.setdefault(chunk, []).append(item)
    return facts, chunks


def _has_names(fact: Triple) -> bool:
    """Whether a query can name it."""
    return isinstance(fact.subject, NamedNode) and isinstance(fact.object, NamedNode | Literal)


def containers_of(store: Store, facts: Iterable[Statement]) -> dict[Statement, list[NamedNode]]:
    """The subgraphs that contain facts, as triple terms or, as of older data, by reifiers."""
    edges = list(facts)
    containers: dict[Statement, list[NamedNode]] = {}
    for template in ("facts/containers", "facts/written-containers"):
        for row in store.select(template, edges=edges) if edges else ():
            fact: Any = (row["s"], row["p"], row["o"])
            containers.setdefault(fact, []).append(row["subgraph"])
    return containers


def places_of(store: Store, nodes: Mapping[NamedNode, Node]) -> Iterator[Row]:
    """The places of what was selected: `item`, and `chunk`, `page`, `document` with their labels."""
    facts, starts = selected_of(nodes)
    for fact, subgraphs in containers_of(store, facts).items():
        for subgraph in subgraphs:
            starts[subgraph] = [*starts.get(subgraph, ()), *facts[fact]]
    for row in store.select("trace/foreign-places", nodes=list(starts)) if starts else ():
        for item in starts[row["node"]]:
            yield {**row, "item": item.value}
