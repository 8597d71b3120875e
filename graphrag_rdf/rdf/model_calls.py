"""Builders for activities, mostly calls of models; for the evidence of what calls that read chunks found, and
for what was rejected.

Calls that read chunks go to `urn:graph:source`. Relations between chunks and claims share these builders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, TG, Graphs
from graphrag_rdf.rdf.prov import source
from graphrag_rdf.rdf.terms import datetime_, integer


@dataclass(frozen=True, slots=True)
class Activity:
    """What made something, and from what.

    Attributes:
        component: the agent.
        used: what was read: chunks, documents, claims, summaries.
        started, model, prompt_hash, in_tokens, out_tokens: of the calls of a model; None without one, or when
            unknown.
    """

    component: str
    used: Iterable[NamedNode] = ()
    started: datetime | None = None
    model: str | None = None
    prompt_hash: str | None = None
    in_tokens: int | None = None
    out_tokens: int | None = None


def activity(node: NamedNode, a: Activity, graph: NamedNode) -> Iterator[Quad]:
    """An activity, in the graph of what it made."""
    yield Quad(node, RDF.type, PROV.Activity, graph)
    yield Quad(node, PROV.wasAssociatedWith, iris.agent(a.component), graph)
    for used in a.used:
        yield Quad(node, PROV.used, used, graph)
    if a.started is not None:
        yield Quad(node, PROV.startedAtTime, datetime_(a.started), graph)
    for term, text in ((TG.llmModel, a.model), (RAG.promptHash, a.prompt_hash)):
        if text is not None:
            yield Quad(node, term, Literal(text), graph)
    for term, number in ((TG.inToken, a.in_tokens), (TG.outToken, a.out_tokens)):
        if number is not None:
            yield Quad(node, term, integer(number), graph)


def sum_known(values: Iterable[int | None]) -> int | None:
    """The sum of the known values; None if none is known."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """Data about the model calls that read one chunk, or two.

    Attributes:
        activity: the calls.
        chunks: in the order of their document.
        key: everything that the result depends on except the chunks; calls with this key mark them as done.
        in_tokens, out_tokens: of all calls; None when unknown.
    """

    activity: NamedNode
    chunks: tuple[NamedNode, ...]
    component: str
    key: str
    started: datetime
    model: str
    prompt_hash: str
    in_tokens: int | None = None
    out_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote from the chunks of a call.

    Attributes:
        text: that of the chunk if it was located.
        chunk: None if it was not located, which marks it as unverified.
        offset: code points into the chunk's text.
        sentence: in which it begins.
        language: of the chunk (BCP 47); None when it is unknown.
    """

    text: str
    chunk: NamedNode | None = None
    offset: int = 0
    sentence: NamedNode | None = None
    language: str | None = None


def call(c: ModelCall) -> Iterator[Quad]:
    """The activity of model calls."""
    facts = Activity(c.component, c.chunks, c.started, c.model, c.prompt_hash, c.in_tokens, c.out_tokens)
    yield from activity(c.activity, facts, Graphs.SOURCE)
    yield source(c.activity, RAG.extractor, Literal(c.key))


def generated(c: ModelCall, node: NamedNode) -> Iterator[Quad]:
    """That the calls made something of their chunks."""
    yield source(node, PROV.wasGeneratedBy, c.activity)
    for chunk in c.chunks:
        yield source(node, PROV.wasDerivedFrom, chunk)


def evidence(c: ModelCall, activity_node: NamedNode, node: NamedNode, quote: Quote) -> Iterator[Quad]:
    """A quote that shows what the calls found.

    Args:
        activity_node: the relation or claim.
        node: the evidence.
    """
    yield source(activity_node, RAG.evidence, node)
    yield source(node, RDF.type, RAG.Evidence)
    yield source(node, TG.sourceText, Literal(quote.text, language=quote.language))
    if quote.chunk is None:
        yield source(node, RAG.verified, Literal(False))
        for chunk in c.chunks:
            yield source(node, PROV.wasDerivedFrom, chunk)
        return
    yield source(node, PROV.wasDerivedFrom, quote.chunk)
    yield source(node, TG.sourceCharOffset, integer(quote.offset))
    yield source(node, TG.sourceCharLength, integer(len(quote.text)))
    if quote.sentence is not None:
        yield source(node, PROV.wasQuotedFrom, quote.sentence)


def rejected(c: ModelCall, index: int, reason: str, item: str) -> Iterator[Quad]:
    """A rejected relation or claim, or a part of one, with the reason."""
    node = iris.rejected(c.activity, index)
    yield source(node, RDF.type, RAG.RejectedCandidate)
    yield from generated(c, node)
    yield source(node, RAG.reason, Literal(reason))
    yield source(node, RAG.candidate, Literal(item))
