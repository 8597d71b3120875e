"""PROV-O builders: the quads of documents, pages, chunks, sentences, extractions and evidence.

Everything here goes to `urn:graph:source` unless said otherwise. What TrustGraph emits keeps its
terms; ours are added beside them. See docs/architecture/rdf-model.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DC, DCTERMS, PROV, RAG, RDF, RDFS, STORE_NODE, TG, Graphs
from graphrag_rdf.rdf.terms import Term, datetime_, double, integer

_SOURCE = Graphs.SOURCE
_FACTS = DefaultGraph()


def fact(s: NamedNode, p: NamedNode, o: NamedNode | Literal) -> Quad:
    """A plain assertion in the graph of facts."""
    return Quad(s, p, o, _FACTS)


def source(s: NamedNode, p: NamedNode, o: Term) -> Quad:
    """A quad of `urn:graph:source`."""
    return Quad(s, p, o, _SOURCE)


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """Data about a document and its current version."""

    iri: NamedNode
    identity: str
    location: str
    title: str
    media_type: str
    content_hash: str
    byte_size: int
    chunk_count: int
    chunker: str
    language: str | None
    encoding: str | None
    page_count: int
    metadata: Sequence[tuple[str, Literal]]
    original: NamedNode
    text: NamedNode


def document(d: DocumentFacts, when: datetime) -> Iterator[Quad]:
    """A document (in the source graph and, for clients that walk plain facts, its metadata in the
    graph of facts) and its current version.
    """
    yield source(d.iri, RDF.type, TG.Document)
    yield source(d.iri, RDF.type, PROV.Entity)
    yield source(d.iri, RAG.identity, Literal(d.identity))
    yield source(d.iri, RAG.location, Literal(d.location))
    yield source(d.iri, TG.mimeType, Literal(d.media_type))
    yield source(d.iri, RAG.currentVersion, iris.document_version(d.iri, d.content_hash))
    if d.page_count:
        yield source(d.iri, TG.pageCount, integer(d.page_count))
    if d.language:
        yield source(d.iri, DCTERMS.language, Literal(d.language))
    yield fact(d.iri, RDF.type, TG.Document)
    for make in (source, fact):
        yield make(d.iri, RDFS.label, Literal(d.title))
        yield make(d.iri, DC.title, Literal(d.title))
        for name, value in d.metadata:
            yield make(d.iri, NamedNode(name), value)
    version = iris.document_version(d.iri, d.content_hash)
    yield source(version, RDF.type, RAG.DocumentVersion)
    yield source(version, PROV.specializationOf, d.iri)
    yield source(version, RAG.contentHash, Literal(d.content_hash))
    yield source(version, RAG.byteSize, integer(d.byte_size))
    yield source(version, RAG.chunkCount, integer(d.chunk_count))
    yield source(version, RAG.chunkerVersion, Literal(d.chunker))
    yield source(version, RAG.originalBytes, d.original)
    yield source(version, RAG.extractedText, d.text)
    yield source(version, PROV.generatedAtTime, datetime_(when))
    if d.encoding:
        yield source(version, RAG.encoding, Literal(d.encoding))


def page(document_iri: NamedNode, number: int, offset: int, length: int, label: str | None) -> Iterator[Quad]:
    """A page: `offset` and `length` are code points of the document's text."""
    node = iris.page(document_iri, number)
    yield source(node, RDF.type, TG.Page)
    yield source(node, RDF.type, PROV.Entity)
    yield source(node, PROV.wasDerivedFrom, document_iri)
    yield source(node, RDFS.label, Literal(label or f"Page {number}"))
    yield source(node, TG.pageNumber, integer(number))
    yield source(node, TG.charOffset, integer(offset))
    yield source(node, TG.charLength, integer(length))


def table(
    document_iri: NamedNode, reading: str, names: str, separator: str, key: Iterable[int], unit: str
) -> Iterator[Quad]:
    """A table of a document, and how its rows are read.

    Args:
        reading: everything that the facts of a row depend on.
        names: of its columns, as a record of CSV.
        separator: text between two cells.
        key: 0-based numbers of the columns with the subject of a row.
        unit: of its amounts, or "".
    """
    node = iris.table(document_iri, reading)
    yield source(node, RDF.type, RAG.Table)
    yield source(node, RDF.type, PROV.Entity)
    yield source(node, PROV.wasDerivedFrom, document_iri)
    yield source(node, RAG.columns, Literal(names))
    yield source(node, RAG.cellSeparator, Literal(separator))
    for number in key:
        yield source(node, RAG.keyColumn, integer(number + 1))
    if unit:
        yield source(node, RAG.unit, Literal(unit))


def chunk_place(
    chunk: NamedNode,
    index: int,
    offset: int,
    parents: Iterable[NamedNode],
    headings: Sequence[str] = (),
    dates: Iterable[Literal] = (),
) -> Iterator[Quad]:
    """The position of a chunk: everything that an insertion above it changes.

    Args:
        chunk: its IRI.
        index: 0-based position in the document; `tg:chunkIndex` is 1-based as TrustGraph has it.
        offset: code points into the document's text.
        parents: its pages, or the document.
        headings: of its section, highest first.
        dates: when it was written, where that is not the date of the document.
    """
    for when in dates:
        yield source(chunk, DCTERMS.date, when)
    if headings:
        yield source(chunk, RAG.headings, Literal("\n".join(headings)))
    yield source(chunk, RDFS.label, Literal(f"Chunk {index + 1}"))
    yield source(chunk, TG.chunkIndex, integer(index + 1))
    yield source(chunk, TG.charOffset, integer(offset))
    for parent in parents:
        yield source(chunk, PROV.wasDerivedFrom, parent)


def chunk(chunk_iri: NamedNode, document_iri: NamedNode, text: str) -> Iterator[Quad]:
    """The data of a chunk that do not depend on its position."""
    yield source(chunk_iri, RDF.type, TG.Chunk)
    yield source(chunk_iri, RDF.type, PROV.Entity)
    yield source(chunk_iri, DCTERMS.isPartOf, document_iri)
    yield source(chunk_iri, TG.charLength, integer(len(text)))
    yield source(chunk_iri, TG.content, Literal(text))


def sentence(
    chunk_iri: NamedNode, index: int, offset: int, length: int, mentioned: Iterable[NamedNode]
) -> Iterator[Quad]:
    """A sentence in compact form: its text is a substring of the chunk's, a mention is one quad."""
    node = iris.sentence(chunk_iri, index)
    yield source(node, RDF.type, RAG.Sentence)
    yield source(node, RAG.sentenceOf, chunk_iri)
    yield source(node, TG.charOffset, integer(offset))
    yield source(node, TG.charLength, integer(length))
    for entity in mentioned:
        yield source(node, RAG.mentions, entity)


@dataclass(frozen=True, slots=True)
class ExtractionFacts:
    """Data about an extraction from a chunk.

    Attributes:
        extractor: the key that says name, version, model and prompt; a chunk is done when a subgraph
            with this key exists.
        asks: SHA-256 of the prompt with its data, without the chunk.
        prompt_hash: SHA-256 of the prompt about this chunk, as it is sent if no other is in its call.
        in_tokens, out_tokens: None if unknown, never zero for that; of a call about several chunks its share.
        cached_in_tokens: number of `in_tokens` from the provider's cache.
        context: SHA-256 of the text before the chunk that the extraction read; "" for none.
        parts: number of parts that the text was sent in, more than 1 after a truncated answer.
    """

    chunk: NamedNode
    component: str
    extractor: str
    started: datetime
    model: str | None = None
    asks: str | None = None
    prompt_hash: str | None = None
    in_tokens: int | None = None
    out_tokens: int | None = None
    parts: int = 1
    context: str = ""
    cached_in_tokens: int | None = None


def agent(component: str, version: str) -> Iterator[Quad]:
    """A software agent."""
    node = iris.agent(component)
    yield source(node, RDF.type, PROV.SoftwareAgent)
    yield source(node, RDF.type, PROV.Agent)
    yield source(node, RDFS.label, Literal(component))
    yield source(node, TG.componentVersion, Literal(version))


def extraction(e: ExtractionFacts) -> Iterator[Quad]:
    """The subgraph of an extraction, and its activity."""
    subgraph = iris.subgraph(e.chunk, e.extractor, e.context)
    activity = iris.activity(subgraph)
    yield source(subgraph, RDF.type, TG.Subgraph)
    yield source(subgraph, RDF.type, PROV.Entity)
    yield source(subgraph, PROV.wasDerivedFrom, e.chunk)
    yield source(subgraph, PROV.wasGeneratedBy, activity)
    yield source(subgraph, RAG.extractor, Literal(e.extractor))
    if e.context:
        yield source(subgraph, RAG.contextHash, Literal(e.context))
    yield source(activity, RDF.type, PROV.Activity)
    yield source(activity, PROV.used, e.chunk)
    yield source(activity, PROV.wasAssociatedWith, iris.agent(e.component))
    yield source(activity, PROV.startedAtTime, datetime_(e.started))
    if e.model:
        yield source(activity, TG.llmModel, Literal(e.model))
    if e.asks:
        yield source(activity, RAG.usedPrompt, iris.prompt(e.asks))
    if e.prompt_hash:
        yield source(activity, RAG.promptHash, Literal(e.prompt_hash))
    if e.in_tokens is not None:
        yield source(activity, TG.inToken, integer(e.in_tokens))
    if e.out_tokens is not None:
        yield source(activity, TG.outToken, integer(e.out_tokens))
    if e.cached_in_tokens is not None:
        yield source(activity, RAG.cachedInToken, integer(e.cached_in_tokens))
    if e.parts > 1:
        yield source(activity, RAG.parts, integer(e.parts))


def mention_subgraph(subgraph: NamedNode, chunk: NamedNode, component: str, extractor: str) -> Iterator[Quad]:
    """The subgraph of a chunk's mention layer: names in sentences, found without a model."""
    yield source(subgraph, RDF.type, TG.Subgraph)
    yield source(subgraph, PROV.wasDerivedFrom, chunk)
    yield source(subgraph, PROV.wasAttributedTo, iris.agent(component))
    yield source(subgraph, RAG.extractor, Literal(extractor))


def metadata_subgraph(
    subgraph: NamedNode, document_iri: NamedNode, component: str, when: datetime
) -> Iterator[Quad]:
    """The subgraph of facts from the metadata of a document, and its activity."""
    activity = iris.activity(subgraph)
    yield source(subgraph, RDF.type, TG.Subgraph)
    yield source(subgraph, RDF.type, PROV.Entity)
    yield source(subgraph, PROV.wasDerivedFrom, document_iri)
    yield source(subgraph, PROV.wasGeneratedBy, activity)
    yield source(activity, RDF.type, PROV.Activity)
    yield source(activity, PROV.used, document_iri)
    yield source(activity, PROV.wasAssociatedWith, iris.agent(component))
    yield source(activity, PROV.startedAtTime, datetime_(when))


def contained(subgraph: NamedNode, s: NamedNode, p: NamedNode, o: NamedNode | Literal) -> Iterator[Quad]:
    """A fact, asserted and contained in a subgraph."""
    yield fact(s, p, o)
    yield contains(subgraph, s, p, o)


def contains(subgraph: NamedNode, s: NamedNode, p: NamedNode, o: NamedNode | Literal) -> Quad:
    """Containment without assertion, for names: the graph of facts asserts only one as label."""
    return source(subgraph, TG.contains, Triple(s, p, o))


def evidence(
    subgraph: NamedNode,
    triple: tuple[NamedNode, NamedNode, NamedNode | Literal],
    quote: str,
    offset: int | None,
    confidence: float | None,
    sentence: NamedNode | None = None,
    qualifiers: Sequence[tuple[NamedNode, Literal]] = (),
    *,
    by_content: bool = False,
    language: str | None = None,
) -> Iterator[Quad]:
    """One quote that supports a fact.

    Args:
        subgraph: the extraction that found it.
        triple: the fact.
        quote: its text; that of the chunk if it was located.
        offset: code points into the chunk's text; None when the quote is not in it, which marks the
            evidence as unverified.
        confidence: 0 to 1, if the extractor gave one.
        sentence: the sentence in which the quote begins.
        qualifiers: properties and values of the fact in the text, such as its time and amount. With
            other qualifiers it is other evidence.
        by_content: the quote was located by its content, not by the words that the extractor gave.
        language: of the quote (BCP 47); None when it is unknown.
    """
    s, p, o = triple
    place: int | str = offset if offset is not None else iris.digest(quote)
    if qualifiers:
        place = ";".join([str(place), *(f"{prop.value}={value}" for prop, value in qualifiers)])
    node = iris.evidence(subgraph, s, p, o, place)
    yield source(node, RDF.type, RAG.Evidence)
    for prop, value in qualifiers:
        yield source(node, prop, value)
    yield source(node, RDF.reifies, Triple(s, p, o))
    yield source(node, PROV.wasDerivedFrom, subgraph)
    yield source(node, TG.sourceText, Literal(quote, language=language))
    if offset is None:
        yield source(node, RAG.verified, Literal(False))
    else:
        yield source(node, TG.sourceCharOffset, integer(offset))
        yield source(node, TG.sourceCharLength, integer(len(quote)))
    if by_content:
        yield source(node, RAG.foundByContent, Literal(True))
    if sentence is not None:
        yield source(node, PROV.wasQuotedFrom, sentence)
    if confidence is not None:
        yield source(node, RAG.confidence, double(confidence))


def rejected(
    subgraph: NamedNode, index: int | str, reason: str, item: str, breaks: NamedNode | None = None
) -> Iterator[Quad]:
    """A rejected candidate, with the reason, and the property whose axiom or the shape that it breaks."""
    node = iris.rejected(subgraph, index)
    yield source(node, RDF.type, RAG.RejectedCandidate)
    yield source(node, PROV.wasDerivedFrom, subgraph)
    yield source(node, RAG.reason, Literal(reason))
    yield source(node, RAG.candidate, Literal(item))
    if breaks is not None:
        yield source(node, RAG.breaks, breaks)


def unvalidated(subgraphs: Iterable[NamedNode]) -> Iterator[Quad]:
    """The marks of subgraphs whose facts are to be validated."""
    for subgraph in subgraphs:
        yield Quad(STORE_NODE, RAG.unvalidated, subgraph, Graphs.SYSTEM)


def failure(
    about: NamedNode, stage: str, reason: str, when: datetime, path: str | None = None
) -> Iterator[Quad]:
    """A failure of a chunk or document; the next run tries again and removes it."""
    yield from failure_of(iris.failure(about, stage), (about,), stage, reason, when, path)


def failure_of(
    node: NamedNode,
    about: Iterable[NamedNode],
    stage: str,
    reason: str,
    when: datetime,
    path: str | None = None,
) -> Iterator[Quad]:
    """A failure of several things together, such as a pair of chunks."""
    yield source(node, RDF.type, RAG.Failure)
    for thing in about:
        yield source(node, RAG.failureOf, thing)
    yield source(node, RAG.stage, Literal(stage))
    yield source(node, RAG.reason, Literal(reason))
    yield source(node, PROV.generatedAtTime, datetime_(when))
    if path is not None:
        yield source(node, RAG.path, Literal(path))
