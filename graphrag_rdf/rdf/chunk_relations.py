"""Builders for relations that a model found between chunks: the call, the relations, and their evidence.

Everything goes to `urn:graph:source`, but for the relation itself, which is stated plainly in
`urn:graph:derived`. See docs/architecture.md, "The RDF model".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, TG, Graphs
from graphrag_rdf.rdf.prov import source
from graphrag_rdf.rdf.terms import datetime_, double, integer

STAGE = "relations"
"""The stage of failures of pairs."""


@dataclass(frozen=True, slots=True)
class PairFacts:
    """Data about a model call for relations between two chunks.

    Attributes:
        first, second: in the order of their document.
        key: everything that the result depends on except the pair; a call with this key marks the pair as
        done. in_tokens, out_tokens: None when unknown.
    """

    first: NamedNode
    second: NamedNode
    component: str
    key: str
    started: datetime
    model: str
    prompt_hash: str
    in_tokens: int | None = None
    out_tokens: int | None = None

    @property
    def activity(self) -> NamedNode:
        """The call."""
        return iris.pair_activity(self.first, self.second, self.key)


def call(p: PairFacts) -> Iterator[Quad]:
    """A model call for relations between two chunks."""
    activity = p.activity
    yield source(activity, RDF.type, PROV.Activity)
    yield source(activity, PROV.used, p.first)
    yield source(activity, PROV.used, p.second)
    yield source(activity, PROV.wasAssociatedWith, iris.agent(p.component))
    yield source(activity, PROV.startedAtTime, datetime_(p.started))
    yield source(activity, RAG.extractor, Literal(p.key))
    yield source(activity, TG.llmModel, Literal(p.model))
    yield source(activity, RAG.promptHash, Literal(p.prompt_hash))
    if p.in_tokens is not None:
        yield source(activity, TG.inToken, integer(p.in_tokens))
    if p.out_tokens is not None:
        yield source(activity, TG.outToken, integer(p.out_tokens))


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote for a relation between chunks.

    Attributes:
        text: its text; that of the chunk if it was located.
        chunk: None if it was not located, which marks it as unverified.
        offset: code points into the chunk's text.
        sentence: in which it begins.
    """

    text: str
    chunk: NamedNode | None = None
    offset: int = 0
    sentence: NamedNode | None = None


def relation(
    p: PairFacts, type_: NamedNode, *, forward: bool, confidence: float, quotes: Iterable[Quote]
) -> Iterator[Quad]:
    """A relation that a call found between two chunks: stated plainly in `urn:graph:derived`, and what is
    known of it, with its evidence.

    Args:
        forward: it leads from the first chunk to the second.
    """
    start, end = (p.first, p.second) if forward else (p.second, p.first)
    node = iris.chunk_relation(p.activity, type_, start)
    yield Quad(start, type_, end, Graphs.DERIVED)
    yield source(node, RDF.type, RAG.ChunkRelation)
    yield source(node, RDF.reifies, Triple(start, type_, end))
    yield source(node, RAG.relationType, type_)
    yield source(node, RAG.relationFrom, start)
    yield source(node, RAG.relationTo, end)
    yield source(node, RAG.confidence, double(confidence))
    yield source(node, PROV.wasGeneratedBy, p.activity)
    yield source(node, PROV.wasDerivedFrom, p.first)
    yield source(node, PROV.wasDerivedFrom, p.second)
    for quote in quotes:
        place = iris.digest(quote.text) if quote.chunk is None else quote.offset
        evidence_iri = iris.relation_evidence(node, quote.chunk, place)
        yield source(node, RAG.evidence, evidence_iri)
        yield source(evidence_iri, TG.sourceText, Literal(quote.text))
        if quote.chunk is None:
            yield source(evidence_iri, RAG.verified, Literal(False))
            yield source(evidence_iri, PROV.wasDerivedFrom, p.first)
            yield source(evidence_iri, PROV.wasDerivedFrom, p.second)
            continue
        yield source(evidence_iri, PROV.wasDerivedFrom, quote.chunk)
        yield source(evidence_iri, TG.sourceCharOffset, integer(quote.offset))
        yield source(evidence_iri, TG.sourceCharLength, integer(len(quote.text)))
        if quote.sentence is not None:
            yield source(evidence_iri, PROV.wasQuotedFrom, quote.sentence)


def rejected(p: PairFacts, index: int, reason: str, item: str) -> Iterator[Quad]:
    """A rejected relation, with the reason."""
    node = iris.rejected(p.activity, index)
    yield source(node, RDF.type, RAG.RejectedCandidate)
    yield source(node, PROV.wasGeneratedBy, p.activity)
    yield source(node, PROV.wasDerivedFrom, p.first)
    yield source(node, PROV.wasDerivedFrom, p.second)
    yield source(node, RAG.reason, Literal(reason))
    yield source(node, RAG.candidate, Literal(item))


def failure(first: NamedNode, second: NamedNode, reason: str, when: datetime) -> Iterator[Quad]:
    """A failure of a pair of chunks; the next run tries again and removes it."""
    node = iris.pair_failure(first, second)
    yield source(node, RDF.type, RAG.Failure)
    yield source(node, RAG.failureOf, first)
    yield source(node, RAG.failureOf, second)
    yield source(node, RAG.stage, Literal(STAGE))
    yield source(node, RAG.reason, Literal(reason))
    yield source(node, PROV.generatedAtTime, datetime_(when))
