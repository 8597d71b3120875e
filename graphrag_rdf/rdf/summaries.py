"""Builder for merged descriptions of entities and facts. Everything goes to `urn:graph:derived`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.model_calls import Activity
from graphrag_rdf.rdf.model_calls import activity as build_activity
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import Term, double, integer

Element = NamedNode | tuple[NamedNode, NamedNode, Term]
"""An entity, or a fact."""


@dataclass(frozen=True, slots=True)
class SummaryFacts:
    """Data about a merged description.

    Attributes:
        hash: SHA-256 of everything that it depends on.
        derived_from: evidence and sentences.
        sources: number of chunks and documents that say something of the element.
        weight: of a fact, None of an entity.
        made: the activity.
    """

    element: Element
    hash: str
    text: str
    derived_from: Iterable[NamedNode]
    sources: int
    weight: float | None
    made: Activity


def summary(found: SummaryFacts) -> Iterator[Quad]:
    """A merged description, and the activity that made it."""
    node = iris.summary(found.element)
    activity = iris.activity(node)
    yield _quad(node, RDF.type, RAG.ElementSummary)
    if isinstance(found.element, NamedNode):
        yield _quad(node, RAG.summaryOf, found.element)
    else:
        yield _quad(node, RDF.reifies, Triple(*found.element))
    yield _quad(node, DCTERMS.description, Literal(found.text))
    yield _quad(node, RAG.inputHash, Literal(found.hash))
    yield _quad(node, RAG.sourceCount, integer(found.sources))
    if found.weight is not None:
        yield _quad(node, RAG.confidenceSum, double(found.weight))
    for one in found.derived_from:
        yield _quad(node, PROV.wasDerivedFrom, one)
    yield _quad(node, PROV.wasGeneratedBy, activity)
    yield from build_activity(activity, found.made, Graphs.DERIVED)


def _quad(s: NamedNode, p: NamedNode, o: Term | Triple) -> Quad:
    return Quad(s, p, o, Graphs.DERIVED)
