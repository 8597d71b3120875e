"""Where facts come from: what a document gave, and what supports a fact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar, TypeAlias, cast

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.schema.proofs import prove, where_held
from graphrag_rdf.schema.reasoning import Inconsistency
from graphrag_rdf.store.base import Row, Store, in_batches
from graphrag_rdf.trace.documents import Source, read_source, with_names
from graphrag_rdf.trace.facts import Edge, decided_against, fact_of, facts_called, read_labels, with_labels
from graphrag_rdf.trace.model import DecisionNote, Fact, Inference
from graphrag_rdf.trace.values import all_as_written

Statement: TypeAlias = tuple[Term, Term, Term]
_PREVIEW = 100  # characters of a chunk's text in a tree


@dataclass(frozen=True, slots=True)
class ChunkNode:
    """A chunk: the beginning of its text, its offset in the document's text, the numbers of its pages."""

    iri: str
    number: int
    label: str
    char_offset: int
    char_length: int
    text: str
    pages: tuple[int, ...]
    retired: datetime | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class PageNode:
    """A page with the chunks that begin on it."""

    iri: str
    number: int
    label: str | None
    char_offset: int
    char_length: int
    chunks: tuple[ChunkNode, ...]


@dataclass(frozen=True, slots=True)
class SourceTree:
    """A document with its pages and chunks; `chunks` are those that stand on no page, retired ones last."""

    JSON: ClassVar = (
        *("document=iri", "title", "identity", "location", "media_type", "language", "version"),
        *("content_hash", "read", "authority", "pages", "chunks"),
    )

    iri: str
    title: str
    identity: str
    location: str
    media_type: str | None
    language: str | None
    version: str | None
    content_hash: str | None
    read: datetime | None
    authority: float | None
    pages: tuple[PageNode, ...]
    chunks: tuple[ChunkNode, ...]


@dataclass(frozen=True, slots=True)
class FactSource:
    """A place that supports a fact, with the fact.

    Attributes:
        removed: the decision of a person that the fact does not hold, where one stands.
        inferred: a fact that was inferred from this one.
        inferences: its proof, the last step first.
    """

    JSON: ClassVar = (
        *("chunk=source.chunk", "page=source.page", "document=source.document", "title=source.title"),
        *("page_number=source.page_number", "char_offset=source.char_offset"),
        *("char_length=source.char_length", "quote=source.words", "verified=source.verified"),
        "subgraph=source.subgraph",
        *("activity=source.activity", "evidence=source.evidence", "confidence", "uri=source.uri"),
        *("name=source.name", "state=source.state", "authority=source.authority", "fact", "removed"),
        *("inferred", "inferences"),
    )

    fact: Fact
    source: Source
    confidence: float | None
    removed: DecisionNote | None = None
    inferred: Fact | None = None
    inferences: tuple[Inference, ...] = ()


@dataclass(frozen=True, slots=True)
class Premise:
    """A premise of a contradiction.

    Attributes:
        held: `fact`, `ontology` or `inferred`.
        inferences: the proof of an inferred one, the last step first.
        sources: of the fact, or of those that it was inferred from.
    """

    JSON: ClassVar = ("fact", "held", "inferences", "sources")

    fact: Fact
    held: str
    inferences: tuple[Inference, ...] = ()
    sources: tuple[FactSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What contradicts an ontology, with its justification.

    Attributes:
        rule: see `schema.reasoning.INCONSISTENCIES`.
        focus: IRI of the thing.
        message: what is wrong with it.
        premises: the axiom and the facts that contradict it.
    """

    rule: str
    focus: str
    message: str
    premises: tuple[Premise, ...]


def source_tree(store: Store, document: str) -> SourceTree:
    """A document, its pages, its chunks, and the facts that each gave.

    Args:
        document: IRI, identity (path under the ingest root), path of the file on disk, place (a URI), or
            title if it is unique.

    Raises:
        UsageError: when nothing, or more than one document, is called so.
    """
    row = _find(store, document)
    iri: NamedNode = row["document"]
    facts = _document_facts(store, iri)
    chunks: dict[str, ChunkNode] = {}
    for chunk_row in store.select("provenance/document-chunks", document=iri, shown=_PREVIEW):
        before = chunks.get(chunk_row["chunk"])
        chunk = _chunk(chunk_row, facts, before.pages if before is not None else ())
        chunks[chunk.iri] = chunk
    by_page: dict[int | None, list[ChunkNode]] = defaultdict(list)
    pages = store.select("provenance/document-pages", document=iri)
    numbers = {page["number"] for page in pages}
    for chunk in chunks.values():
        on_page = chunk.pages[0] if chunk.pages and chunk.retired is None else None
        by_page[on_page if on_page in numbers else None].append(chunk)
    return SourceTree(
        iri=iri.value,
        title=row["title"],
        identity=row["identity"],
        location=row["location"],
        media_type=row["media_type"],
        language=row["language"],
        version=row["version"],
        content_hash=row["hash"],
        read=row["read"],
        authority=row["authority"],
        pages=tuple(_page(page, by_page) for page in pages),
        chunks=tuple(by_page[None]),
    )


def find_document(store: Store, name: str, *, ends: bool = False) -> NamedNode:
    """The document of a name; see `source_tree`.

    Args:
        ends: whether the end of its identity or title will do, if only one has it.

    Raises:
        UsageError: when nothing, or more than one document, is called so.
    """
    document: NamedNode = _find(store, name, ends=ends)["document"]
    return document


def source_fact(store: Store, s: str, p: str, o: str) -> list[FactSource]:
    """Every chunk, page, document and quote that supports a fact, in the order of the documents' titles, then
    what it came from that is no text. Of a fact that was inferred, those of the facts that it follows from.

    Args:
        s, p, o: terms or labels, as `facts.facts_called` takes them. Labels that several things have
            give the sources of every fact that matches.

    Raises:
        UsageError: when a term is malformed, nothing is called so, or there is no such fact.
    """
    edges = facts_called(store, s, p, o, inferred=True)
    sources = _supporting(store, edges) + _inferred_sources(store, edges)
    if not sources:
        raise UsageError(
            tr("there is no fact ({s}, {p}, {o})").format(s=s, p=p, o=o),
            hint=tr("nothing that is stored says so"),
        )
    return sources


def supporting(store: Store, facts: Iterable[Statement]) -> dict[Statement, list[FactSource]]:
    """What supports each of some facts, as `source_fact` lists it. Facts without any support are left out."""
    by_fact: defaultdict[Statement, list[FactSource]] = defaultdict(list)
    for batch in in_batches(dict.fromkeys(cast("Iterable[Edge]", facts))):
        for source in _supporting(store, batch) + _inferred_sources(store, batch):
            fact = source.inferred or source.fact
            by_fact[fact.s, fact.p, fact.o].append(source)
    return dict(by_fact)


def proofs(store: Store, facts: Iterable[Edge]) -> dict[Edge, list[Inference]]:
    """The proofs of those facts that were inferred, with labels (see `schema.proofs.prove`)."""
    by_fact = prove(store, facts)
    steps = [step for proof in by_fact.values() for step in proof]
    labels = read_labels(store, [t for step in steps for fact in (step.fact, *step.premises) for t in fact])
    return {
        fact: [
            Inference(
                step.fact,
                step.rule,
                step.premises,
                index,
                with_labels(step.fact, labels),
                tuple(with_labels(premise, labels) for premise in step.premises),
            )
            for index, step in enumerate(proof)
        ]
        for fact, proof in by_fact.items()
    }


def asserted_premises(proof: Iterable[Inference]) -> list[Edge]:
    """The facts and axioms from which a proof starts."""
    steps = list(proof)
    own = {step.triple for step in steps}
    return list(dict.fromkeys(fact for step in steps for fact in step.premises if fact not in own))


def premises(store: Store, facts: Iterable[Edge]) -> dict[Edge, Premise]:
    """Premises with their sources, in one query for each kind of source."""
    wanted = list(dict.fromkeys(facts))
    held, proved = where_held(store, wanted), proofs(store, wanted)
    labels = read_labels(store, [term for fact in wanted for term in fact])
    start = {fact: asserted_premises(proved[fact]) if fact in proved else [fact] for fact in wanted}
    sources: defaultdict[Edge, list[FactSource]] = defaultdict(list)
    for source in _supporting(
        store, list(dict.fromkeys(statement for own in start.values() for statement in own))
    ):
        sources[source.fact.s, source.fact.p, source.fact.o].append(source)
    return {
        fact: Premise(
            with_labels(fact, labels),
            min(held[fact], default="inferred"),
            tuple(proved.get(fact, ())),
            tuple(source for statement in start[fact] for source in sources[statement]),
        )
        for fact in wanted
    }


def contradictions(store: Store, inconsistencies: Sequence[Inconsistency]) -> list[Contradiction]:
    """Inconsistencies with the sources of their premises."""
    premise_of = premises(
        store, (fact for inconsistency in inconsistencies for fact in inconsistency.statements)
    )
    return [
        Contradiction(
            inconsistency.rule,
            inconsistency.focus,
            inconsistency.message,
            tuple(premise_of[fact] for fact in inconsistency.statements),
        )
        for inconsistency in inconsistencies
    ]


def _inferred_sources(store: Store, edges: Sequence[Edge]) -> list[FactSource]:
    return [
        replace(source, inferred=proof[0].fact, inferences=tuple(proof))
        for proof in proofs(store, edges).values()
        for source in _supporting(store, asserted_premises(proof))
    ]


def _supporting(store: Store, edges: Sequence[Edge]) -> list[FactSource]:
    templates = ("provenance/fact-evidence", "provenance/fact-containers", "provenance/origins")
    rows = [row for name in templates for row in store.select(name, edges=edges)] if edges else []
    labels = read_labels(store, [row[name] for row in rows for name in "spo"])
    removed = decided_against(store, edges)
    sources = with_names(store, map(read_source, rows))
    return [
        FactSource(
            fact_of(row, labels),
            source,
            row.get("confidence"),
            removed.get((row["s"], row["p"], row["o"])),
        )
        for row, source in zip(rows, sources, strict=True)
    ]


# --- documents -------------------------------------------------------------------------------------


def _find(store: Store, name: str, *, ends: bool = True) -> Row:
    rows = store.select("provenance/find-document", name=name.strip().strip("<>"))
    if not rows and (place := _place_of(name)) is not None:
        rows = store.select("provenance/find-document", name=place)
    if not rows and ends:
        rows = store.select("provenance/find-document", name=name.strip(), ends=True)
    exact = [row for row in rows if row["exact"]]
    matches = exact or rows
    if not matches:
        raise UsageError(
            tr("no document is called {name!r}").format(name=name),
            hint=tr("give its path, IRI or title; graphrag-rdf documents WORD finds it"),
        )
    if len(matches) > 1:
        listed = ", ".join(row["document"].value for row in matches)
        raise UsageError(
            tr("{name!r} names several documents: {listed}").format(name=name, listed=listed),
            hint=tr("use the IRI"),
        )
    return matches[0]


def _place_of(name: str) -> str | None:
    """The place of a file on disk, as documents have it; it need not be there any more."""
    try:
        return Path(name).expanduser().resolve().as_uri()
    except (OSError, ValueError, RuntimeError):  # no path: a NUL, a home of nobody
        return None


def _document_facts(store: Store, document: NamedNode) -> dict[str, tuple[Fact, ...]]:
    rows = store.select("provenance/document-facts", document=document)
    labels = read_labels(store, [row[name] for row in rows for name in "spo"])
    facts: dict[str, dict[Fact, None]] = defaultdict(dict)
    for row, fact in zip(rows, all_as_written(store, [fact_of(row, labels) for row in rows]), strict=True):
        facts[row["chunk"]][fact] = None
    return {chunk: tuple(facts_of_chunk) for chunk, facts_of_chunk in facts.items()}


def _chunk(row: Row, facts: dict[str, tuple[Fact, ...]], pages: tuple[int, ...] = ()) -> ChunkNode:
    iri, page = row["chunk"], row["page_number"]
    return ChunkNode(
        iri=iri,
        number=row["number"],
        label=row["label"],
        char_offset=row["offset"] or 0,
        char_length=row["length"] or 0,
        text=row["text"],
        pages=pages if page is None else (*pages, page),
        retired=row["retired"],
        facts=facts.get(iri, ()),
    )


def _page(row: Row, by_page: dict[int | None, list[ChunkNode]]) -> PageNode:
    number = row["number"]
    return PageNode(
        iri=row["page"],
        number=number,
        label=row["label"],
        char_offset=row["offset"] or 0,
        char_length=row["length"] or 0,
        chunks=tuple(by_page[number]),
    )
