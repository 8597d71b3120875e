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


def summary(facts: SummaryFacts) -> Iterator[Quad]:
    """A merged description, and the activity that made it."""
    node = iris.summary(facts.element)
    activity = iris.activity(node)
    yield _quad(node, RDF.type, RAG.ElementSummary)
    if isinstance(facts.element, NamedNode):
        yield _quad(node, RAG.summaryOf, facts.element)
    else:
        yield _quad(node, RDF.reifies, Triple(*facts.element))
    yield _quad(node, DCTERMS.description, Literal(facts.text))
    yield _quad(node, RAG.inputHash, Literal(facts.hash))
    yield _quad(node, RAG.sourceCount, integer(facts.sources))
    if facts.weight is not None:
        yield _quad(node, RAG.confidenceSum, double(facts.weight))
    for source in facts.derived_from:
        yield _quad(node, PROV.wasDerivedFrom, source)
    yield _quad(node, PROV.wasGeneratedBy, activity)
    yield from build_activity(activity, facts.made, Graphs.DERIVED)


def _quad(s: NamedNode, p: NamedNode, o: Term | Triple) -> Quad:
    return Quad(s, p, o, Graphs.DERIVED)
