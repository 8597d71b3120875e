"""Builder for claims that a model found in a chunk. Everything goes to `urn:graph:source`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyoxigraph import Literal, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.model_calls import ModelCall, Quote, evidence, generated
from graphrag_rdf.rdf.namespaces import DCTERMS, RAG, RDF
from graphrag_rdf.rdf.prov import source


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """What a claim says.

    Attributes:
        key: distinguishes it from the other claims of its chunk.
        subject, object: names.
        start, end: dates, months or years.
    """

    key: tuple[str, ...]
    subject: str
    object: str | None
    type: str
    status: str
    start: Literal | None
    end: Literal | None
    description: str


def claim(call: ModelCall, facts: ClaimFacts, quotes: Iterable[Quote]) -> Iterator[Quad]:
    """A claim, and the quotes that show it."""
    (chunk,) = call.chunks
    node = iris.claim(chunk, *facts.key)
    yield source(node, RDF.type, RAG.Claim)
    yield source(node, RAG.subjectName, Literal(facts.subject))
    if facts.object is not None:
        yield source(node, RAG.objectName, Literal(facts.object))
    yield source(node, RAG.claimType, Literal(facts.type))
    yield source(node, RAG.claimStatus, Literal(facts.status))
    for prop, date in ((RAG.startDate, facts.start), (RAG.endDate, facts.end)):
        if date is not None:
            yield source(node, prop, date)
    yield source(node, DCTERMS.description, Literal(facts.description))
    yield from generated(call, node)
    for quote in quotes:
        yield from evidence(call, node, iris.claim_evidence(node, quote.text, quote.offset), quote)
