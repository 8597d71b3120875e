"""Writes documents: their description, the places of their chunks, which chunks are left, and metadata.

Metadata of a document give facts about the thing that its title names: author, publisher, dates. Their
subgraph derives from the document itself. They have no quote, because the text need not state them. An author
or publisher is an entity if that is a plain name, else a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.documents.chunk import NO_CONTEXT, Context, contexts_of
from graphrag_rdf.documents.model import ParsedDocument
from graphrag_rdf.extract.document_dates import dates_in, dates_of
from graphrag_rdf.extract.model import RelationCandidate
from graphrag_rdf.extract.name_filter import topic_of
from graphrag_rdf.extract.names import fold
from graphrag_rdf.extract.numbers import typed_literal
from graphrag_rdf.extract.table_columns import read_columns
from graphrag_rdf.ingest.facts import FactWriter, Written, literal_of
from graphrag_rdf.ingest.names import KnownNames, unsettled
from graphrag_rdf.ingest.plan import Incoming, PlacedChunk, Task, place_chunks
from graphrag_rdf.ingest.report import Run
from graphrag_rdf.ingest.retract import retract_chunks, retract_subgraphs
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import DC, DCTERMS, METADATA, METADATA_KEY, PROV, RAG, RDF, TG
from graphrag_rdf.rdf.terms import Term, datetime_, node_of, now, text_of
from graphrag_rdf.store.base import Changes, Row

MENTIONS_KEY = "mentions/1"
"""The key of the mention layer, as an extractor has one."""


class DocumentWriter:
    """Writes documents, in the order blob store, store."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def write(self, document: Incoming, parsed: ParsedDocument) -> list[Task]:
        """Write a document, its version, pages and the places of its chunks.

        Returns:
            the chunks that are left to extract from.
        """
        plan = document.plan
        whole, dated = dates_of(parsed, plan.name)
        placed = [
            replace(each, dates=dates_in(dated, each.chunk.offset, each.chunk.offset + len(each.chunk.text)))
            for each in place_chunks(plan.iri, parsed, self._run.settings.chunks)
        ]
        contexts = chunk_contexts(parsed, placed, self._run.extractor.key)
        original = self._run.blobs.put(plan.data)
        # a plain text is its own original and is stored once
        text = original if parsed.text.encode() == plan.data else self._run.blobs.put(parsed.text)
        facts = prov.DocumentFacts(
            iri=plan.iri,
            identity=plan.stored.identity if plan.stored else plan.source.identity,
            location=plan.location,
            title=parsed.title,
            media_type=parsed.media_type,
            content_hash=plan.content_hash,
            byte_size=len(plan.data),
            chunk_count=len(placed),
            chunker=self._run.settings.chunks.key,
            language=parsed.language,
            encoding=parsed.encoding,
            page_count=len(parsed.pages),
            metadata=[
                *((name, _literal(name, value)) for name, value in parsed.metadata),
                *((DCTERMS.date.value, _literal(DCTERMS.date.value, day)) for day in [whole] if day),
            ],
            original=original,
            text=text,
        )
        wanted = list(prov.document(facts, now()))
        for page in parsed.pages:
            wanted += prov.page(plan.iri, page.number, page.offset, len(page.text), page.label)
        readings = tuple(read_columns(parsed.text, table, parsed.language) for table in parsed.tables)
        for each in {reading.signature: reading for reading in readings if reading.table.names}.values():
            wanted += prov.table(
                plan.iri, each.signature, each.names, each.table.separator, each.key, each.unit
            )
        if plan.replaces is not None:
            wanted.append(prov.source(plan.iri, DCTERMS.replaces, plan.replaces.iri))
        self._run.report.pages += len(parsed.pages)
        for kind, detail in parsed.warnings:
            self._run.report.warn(kind, f"{plan.name}: {detail}")
        known = {"document": plan.iri, "forgotten": iris.forgotten(plan.iri)}
        if plan.stored is None and not self._run.store.ask("ingest/has-document", **known):
            changes = Changes(updates=self._run.failures.of_document(plan), add=wanted)
            self._write_metadata(plan.iri, parsed, changes)
            self._run.journal.commit(changes)
            self._run.report.chunks.added += len(placed)
            return [
                Task(document, chunk, parsed, readings=readings, context=context)
                for chunk, context in zip(placed, contexts, strict=True)
            ]
        by_chunk = {chunk.iri.value: context for chunk, context in zip(placed, contexts, strict=True)}
        tasks = self._update_document(document, parsed, placed, wanted, by_chunk)
        for task in tasks:
            task.readings, task.context = readings, by_chunk[task.placed.iri.value]
        return tasks

    def _update_document(
        self,
        document: Incoming,
        parsed: ParsedDocument,
        placed: list[PlacedChunk],
        wanted: list[Quad],
        contexts: Mapping[str, Context],
    ) -> list[Task]:
        iri = document.plan.iri
        changes = Changes(updates=self._run.failures.of_document(document.plan))
        old = self._document_quads(iri)
        changes.remove, changes.add = _document_changes(iri, old, wanted)
        self._write_metadata(iri, parsed, changes)
        stands = self._places(iri)
        now_here = {chunk.iri.value for chunk in placed}
        gone = [node_of(quads[0].subject) for key, quads in stands.items() if key not in now_here]
        sentences = self._run.store.select("ingest/sentences-of", chunks=gone) if gone else []
        retract_chunks(self._run.store, gone, changes)
        fresh = [chunk for chunk in placed if chunk.iri.value not in stands]
        reused = [chunk for chunk in placed if chunk.iri.value in stands]
        for chunk in reused:
            now_there = list(place_quads(iri, chunk))
            _difference(stands[chunk.iri.value], now_there, changes)
            if _below(stands[chunk.iri.value]) != _below(now_there):
                self._run.indexer.changed(chunks=[chunk.iri])
        if parted := _parted(stands, placed):
            changes.updates.append(("derived/part", {"pairs": parted}))
        if reused and _context(old, iri) != _context(wanted, iri):
            changes.updates.append(("ingest/outdate-chunks", {"chunks": [chunk.iri for chunk in reused]}))
        self._run.indexer.removed([*gone, *(row["sentence"] for row in sentences)])
        self._run.journal.commit(changes)
        self._run.report.chunks.added += len(fresh)
        self._run.report.chunks.reused += len(reused)
        self._run.report.chunks.removed += len(gone)
        retired = {row["chunk"] for row in self._run.store.select("ingest/tombstones", document=iri)}
        return [
            *(Task(document, chunk, parsed, retired=chunk.iri.value in retired) for chunk in fresh),
            *self._unfinished(document, parsed, reused, contexts),
        ]

    def _write_metadata(self, document: NamedNode, parsed: ParsedDocument, changes: Changes) -> None:
        if not self._run.settings.metadata:
            return
        written = write_metadata(self._run, document, parsed, changes)
        if written.quads and self._run.settings.marked:
            changes.add += prov.unvalidated([written.subgraph])
        self._run.report.facts += written.new_facts(self._run.store)
        self._run.report.entities += len(written.new_entities)
        self._run.indexer.changed(entities=written.entities)

    def _unfinished(
        self,
        document: Incoming,
        parsed: ParsedDocument,
        reused: list[PlacedChunk],
        contexts: Mapping[str, Context],
    ) -> Iterator[Task]:
        """Chunks in the store that this extractor has still to read, with the subgraphs that it replaces.

        These are its own, those of its earlier versions or of another context, the mention layer, and
        outdated ones.
        """
        found: dict[str, dict[NamedNode, str | None]] = {}
        done = set()
        for row in self._run.store.select("ingest/chunk-extractors", document=document.plan.iri):
            found.setdefault(row["chunk"], {})[row["subgraph"]] = row["extractor"]
            done.add(extraction_of(row))
        family = _family(self._run.extractor.key)
        for chunk in reused:
            have = found.get(chunk.iri.value, {})
            wanted = (chunk.iri.value, self._run.extractor.key, contexts[chunk.iri.value].hash)
            if wanted in done and not self._run.settings.refresh:
                continue
            replaced = [
                subgraph
                for subgraph, key in have.items()
                if key == MENTIONS_KEY
                or (not self._run.settings.mentions_only and (key is None or _family(key) == family))
            ]
            yield Task(document, chunk, parsed, stored=True, replaces=sorted(replaced, key=str))

    def _document_quads(self, document: NamedNode) -> list[Quad]:
        in_source = self._run.store.select(
            "ingest/document-quads", document=document, forgotten=iris.forgotten(document)
        )
        in_facts = self._run.store.select("ingest/document-facts", document=document)
        return [
            *(prov.source(row["s"], row["p"], row["o"]) for row in in_source),
            *(prov.fact(document, row["p"], row["o"]) for row in in_facts),
        ]

    def _places(self, document: NamedNode) -> dict[str, list[Quad]]:
        places: dict[str, list[Quad]] = {}
        for row in self._run.store.select("ingest/chunk-places", document=document):
            quad = prov.source(row["chunk"], row["property"], row["value"])
            places.setdefault(row["chunk"].value, []).append(quad)
        return places


def chunk_contexts(parsed: ParsedDocument, placed: Sequence[PlacedChunk], extractor: str) -> list[Context]:
    """The text of the document before each chunk that a model sees; empty for other extractors.

    Args:
        extractor: the extractor's key.
    """
    if _family(extractor) != "llm":
        return [NO_CONTEXT] * len(placed)
    return contexts_of(parsed, [chunk.chunk.offset for chunk in placed])


def extraction_of(row: Row) -> tuple[str, str, str]:
    """(chunk, key of the extractor, hash of its context) of a row of `ingest/chunk-extractors`."""
    return row["chunk"], row["extractor"] or "", row["context"] or ""


def place_quads(document: NamedNode, placed: PlacedChunk) -> Iterator[Quad]:
    """The place of a chunk: number, offset, pages, headings and dates."""
    parents = [iris.page(document, page.number) for page in placed.pages] or [document]
    dates = [_literal(DCTERMS.date.value, day) for day in placed.dates]
    return prov.chunk_place(
        placed.iri, placed.chunk.index, placed.chunk.offset, parents, placed.headings, dates
    )


def _below(place: Sequence[Quad]) -> set[Term]:
    """The headings above a chunk."""
    return {quad.object for quad in place if quad.predicate == RAG.headings}


def _parted(
    stands: dict[str, list[Quad]], placed: Sequence[PlacedChunk]
) -> list[tuple[NamedNode, NamedNode]]:
    """Pairs of chunks that stay and no longer follow each other: (later, earlier)."""
    places = (quad for quads in stands.values() for quad in quads if quad.predicate == TG.chunkIndex)
    before = [node_of(quad.subject) for quad in sorted(places, key=lambda quad: int(text_of(quad.object)))]
    after = [chunk.iri for chunk in placed]
    gone, kept = set(before).difference(after), set(pairwise(after))
    return [
        (late, early)
        for early, late in pairwise(before)
        if (early, late) not in kept and gone.isdisjoint((early, late))
    ]


def _difference(old: Sequence[Quad], new: Sequence[Quad], changes: Changes) -> None:
    before, after = set(old), set(new)
    changes.remove += [quad for quad in old if quad not in after]
    changes.add += [quad for quad in new if quad not in before]


_OWN = frozenset((DCTERMS.replaces, RAG.authority, RAG.assignedAuthority))
"""What a document keeps, whatever its content."""


def _document_changes(
    document: NamedNode, old: list[Quad], wanted: list[Quad]
) -> tuple[list[Quad], list[Quad]]:
    """The quads to remove and to add so that a document is described as wanted.

    Earlier versions stay, and so do its authority and the link to the document that was moved here. The
    version that was current is marked as superseded. A version that returns (an edit that is undone) keeps
    its first time.
    """
    current = next(quad.object for quad in wanted if quad.predicate == RAG.currentVersion)
    before = next((quad.object for quad in old if quad.predicate == RAG.currentVersion), None)
    versions = {quad.subject for quad in old if quad.predicate == PROV.specializationOf}
    kept = {PROV.wasRevisionOf, PROV.generatedAtTime}

    def stays(quad: Quad) -> bool:
        if quad.subject == current:
            return quad.predicate in kept
        return quad.subject in versions or (quad.subject == document and quad.predicate in _OWN)

    standing, target = set(old), set(wanted)
    remove = [quad for quad in old if quad not in target and not stays(quad)]
    add = [quad for quad in wanted if quad not in standing]
    if current in versions:
        add = [q for q in add if not (q.subject == current and q.predicate == PROV.generatedAtTime)]
    if isinstance(before, NamedNode) and before != current:
        add.append(prov.source(before, PROV.invalidatedAtTime, datetime_(now())))
        if isinstance(current, NamedNode) and current not in versions:
            add.append(prov.source(current, PROV.wasRevisionOf, before))
    return remove, add


def _context(quads: Iterable[Quad], document: NamedNode) -> set[tuple[NamedNode, Term]]:
    """What the extraction of a chunk depends on besides its text: title, language, speakers and tables of
    its document. A table whose rows are read in another way has another IRI.
    """
    quads = list(quads)
    tables = {(RDF.type, quad.subject) for quad in quads if quad.object == RAG.Table}
    return tables | {
        (quad.predicate, quad.object)
        for quad in quads
        if quad.subject == document and quad.predicate in (DC.title, DCTERMS.language, DCTERMS.contributor)
    }


def _family(key: str) -> str:
    """The kind of extractor. Newer versions, models and prompts replace results of the same kind."""
    return key.split("/", 1)[0]


# --- metadata ---


_COMPONENT = "graphrag-rdf-metadata"
_VERSION = "1"
_RELATIONS = {label: relation for relation, label in METADATA.items()}
_DATES = (DCTERMS.created, DCTERMS.date, DCTERMS.modified)
_MOST_WORDS = 6  # of a plain name
_LONGEST_WORD = 8  # of a name that is written without spaces
_ADDRESS = re.compile(r"\s*<[^<>]*@[^<>]*>$")
_BETWEEN = re.compile(r",\s*(?:and\s+)?|\s+(?:and|und|en|et|y|e|&)\s+")
_WORD = re.compile(r"[^\W\d_][\w.'’-]*")
_SMALL = frozenset(
    "al bin da de del della den der di do dos du el ibn la le van von y zu zum zur".split()  # noqa: SIM905
)
_OF_BODIES = frozenset({"for", "of", "the"})  # "Ministry of Fish and Game" is one
# names that programs write by default
_NOBODY = frozenset(
    {
        "admin", "administrator", "anonymous", "author", "default user", "microsoft office user", "openpyxl",
        "owner", "python-docx", "root", "unknown", "unknown author", "user", "windows user",
    }
)  # fmt: skip


def write_metadata(run: Run, document: NamedNode, parsed: ParsedDocument, changes: Changes) -> Written:
    """Add to a transaction what changes among the facts that the metadata of a document give.

    Returns:
        what was written; nothing if the facts are contained already.
    """
    store, subgraph = run.store, iris.subgraph(document, METADATA_KEY)
    names = KnownNames(store)
    written = Written(subgraph)
    if stated := list(statements_of(parsed)):
        refused = store.refused(filter(None, map(literal_of, stated)))
        stated = [replace(each, datatype=None) if literal_of(each) in refused else each for each in stated]
        writer = FactWriter(names, run.settings.facts, *run.decisions())
        written = writer.metadata(subgraph, stated, _RELATIONS, parsed.language)
    rows = store.select("ingest/contained-in-subgraphs", subgraphs=[subgraph])
    before = {(row["s"], row["p"], row["o"]) for row in rows}
    wanted = [quad.object for quad in written.quads if isinstance(quad.object, Triple)]
    if before == {(fact.subject, fact.predicate, fact.object) for fact in wanted}:
        return Written(subgraph)
    if before:
        retract_subgraphs(store, [subgraph], changes)
    if wanted:
        changes.add += prov.agent(_COMPONENT, _VERSION)
        changes.add += prov.metadata_subgraph(subgraph, document, _COMPONENT, now())
        changes.add += written.quads
        changes.add += unsettled(names.take_contested())
    return written


def statements_of(parsed: ParsedDocument) -> Iterator[RelationCandidate]:
    """The statements in the metadata of a document about its topic; predicates are labels of `METADATA`.

    A document without a title has its file's name as title, which counts only if it has an author: the date
    of "Scan 0001" is of no use.
    """
    given = [(NamedNode(iri), value) for iri, value in parsed.metadata]
    named = (who for relation, value in given if relation == DCTERMS.creator for who in _who(value))
    if not parsed.titled and not any(named):
        return
    title = topic_of(parsed.title, (), titled=True) or parsed.title
    for relation, value in given:
        if relation not in METADATA:
            continue
        said = _who(value) if relation in (DCTERMS.creator, DCTERMS.publisher) else [_when(value)]
        for text, is_entity, datatype in said:
            yield RelationCandidate(
                subject=title,
                predicate=METADATA[relation],
                object=text,
                object_is_entity=is_entity,
                datatype=datatype,
                quote=None,
                confidence=None,
                span=None,
            )


def _literal(name: str, value: str) -> Literal:
    """A value of the metadata: of dates, in the XSD type of its form."""
    if NamedNode(name) not in _DATES:
        return Literal(value)
    text, datatype, _ = typed_literal(value, "date")
    return Literal(text, datatype=NamedNode(datatype)) if datatype else Literal(value)


def _when(value: str) -> tuple[str, bool, str | None]:
    """A date without its time, which is when the file was saved; a text if it is not a date."""
    text, datatype, _ = typed_literal(value[:10] if value[10:11] in ("T", " ") else value, "date")
    return text, False, datatype


def _who(value: str) -> Iterator[tuple[str, bool, None]]:
    """The people or bodies of a value, and whether that is a plain name."""
    for part in filter(None, map(str.strip, value.split(";"))):
        several = _BETWEEN.split(part)
        for name in several if all(map(_is_one_of_several, several)) else [part]:
            called = _ADDRESS.sub("", name)
            if fold(called) not in _NOBODY:
                yield called, is_plain_name(called), None


def _is_one_of_several(name: str) -> bool:
    """Whether it is a name by itself, of two words at least, unlike "Venn" in "Venn, Ada"."""
    words = name.split()
    return len(words) > 1 and is_plain_name(name) and _OF_BODIES.isdisjoint(words)


def is_plain_name(text: str) -> bool:
    """Whether a text is a name and nothing else: some words with capitals, small ones ("van") between or
    before them, or one word of a script that has neither capitals nor spaces.
    """
    words = text.split()
    if not all(map(_WORD.fullmatch, words)):
        return False
    if len(words) == 1:
        return text.lower() == text.upper() and len(text) <= _LONGEST_WORD
    named = [word for word in words if word not in _SMALL | _OF_BODIES]
    return 0 < len(words) <= _MOST_WORDS and words[-1] in named and not any(w[0].islower() for w in named)
