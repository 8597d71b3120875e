"""Builders for claims that a model found in a chunk: the calls, the claims, and their evidence.

Everything goes to `urn:graph:source`. See docs/architecture.md, "The RDF model".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, TG
from graphrag_rdf.rdf.prov import source
from graphrag_rdf.rdf.terms import datetime_, integer

STAGE = "claims"
"""The stage of failures of chunks."""


@dataclass(frozen=True, slots=True)
class ClaimCall:
    """Data about the model calls for the claims of a chunk.

    Attributes:
        key: everything that the result depends on except the chunk; calls with this key mark the chunk as
            done.
        in_tokens, out_tokens: of all calls; None when unknown.
    """

    chunk: NamedNode
    component: str
    key: str
    started: datetime
    model: str
    prompt_hash: str
    in_tokens: int | None = None
    out_tokens: int | None = None

    @property
    def activity(self) -> NamedNode:
        """The calls."""
        return iris.claims_activity(self.chunk, self.key)


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


@dataclass(frozen=True, slots=True)
class ClaimQuote:
    """A quote for a claim.

    Attributes:
        text: that of the chunk if it was located.
        offset: code points into the chunk's text; None if it was not located, which marks it as unverified.
        sentence: in which it begins.
    """

    text: str
    offset: int | None = None
    sentence: NamedNode | None = None


def call(c: ClaimCall) -> Iterator[Quad]:
    """The model calls for the claims of a chunk."""
    activity = c.activity
    yield source(activity, RDF.type, PROV.Activity)
    yield source(activity, PROV.used, c.chunk)
    yield source(activity, PROV.wasAssociatedWith, iris.agent(c.component))
    yield source(activity, PROV.startedAtTime, datetime_(c.started))
    yield source(activity, RAG.extractor, Literal(c.key))
    yield source(activity, TG.llmModel, Literal(c.model))
    yield source(activity, RAG.promptHash, Literal(c.prompt_hash))
    if c.in_tokens is not None:
        yield source(activity, TG.inToken, integer(c.in_tokens))
    if c.out_tokens is not None:
        yield source(activity, TG.outToken, integer(c.out_tokens))


def claim(c: ClaimCall, found: ClaimFacts, quotes: Iterable[ClaimQuote]) -> Iterator[Quad]:
    """A claim, and the quotes that show it."""
    node = iris.claim(c.chunk, *found.key)
    yield source(node, RDF.type, RAG.Claim)
    yield source(node, RAG.subjectName, Literal(found.subject))
    if found.object is not None:
        yield source(node, RAG.objectName, Literal(found.object))
    yield source(node, RAG.claimType, Literal(found.type))
    yield source(node, RAG.claimStatus, Literal(found.status))
    for prop, date in ((RAG.startDate, found.start), (RAG.endDate, found.end)):
        if date is not None:
            yield source(node, prop, date)
    yield source(node, DCTERMS.description, Literal(found.description))
    yield source(node, PROV.wasGeneratedBy, c.activity)
    yield source(node, PROV.wasDerivedFrom, c.chunk)
    for quote in quotes:
        evidence = iris.claim_evidence(node, quote.text, quote.offset)
        yield source(node, RAG.evidence, evidence)
        yield source(evidence, TG.sourceText, Literal(quote.text))
        yield source(evidence, PROV.wasDerivedFrom, c.chunk)
        if quote.offset is None:
            yield source(evidence, RAG.verified, Literal(False))
            continue
        yield source(evidence, TG.sourceCharOffset, integer(quote.offset))
        yield source(evidence, TG.sourceCharLength, integer(len(quote.text)))
        if quote.sentence is not None:
            yield source(evidence, PROV.wasQuotedFrom, quote.sentence)


def rejected(c: ClaimCall, index: int, reason: str, item: str) -> Iterator[Quad]:
    """A rejected claim, or a part of one, with the reason."""
    node = iris.rejected(c.activity, index)
    yield source(node, RDF.type, RAG.RejectedCandidate)
    yield source(node, PROV.wasGeneratedBy, c.activity)
    yield source(node, PROV.wasDerivedFrom, c.chunk)
    yield source(node, RAG.reason, Literal(reason))
    yield source(node, RAG.candidate, Literal(item))
