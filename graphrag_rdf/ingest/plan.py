"""What a run has to do for each document, before anything is written; and its settings and tasks."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlparse
from urllib.request import url2pathname

from pyoxigraph import NamedNode

from graphrag_rdf.documents.chunk import NO_CONTEXT, Context, chunk_text
from graphrag_rdf.documents.discover import Source, location_of
from graphrag_rdf.documents.model import Chunk, Page, ParsedDocument, Sentence, pages_of
from graphrag_rdf.documents.readers import MAX_TITLE, load_bytes, read_bytes
from graphrag_rdf.documents.text import one_line
from graphrag_rdf.errors import DocumentError, UsageError, alternatives
from graphrag_rdf.extract.model import NO_CHUNK_CONTEXT, ChunkContext
from graphrag_rdf.extract.names import fold
from graphrag_rdf.extract.table_columns import TableReading
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.facts import FactSettings
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.store.base import Row, Store, select_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.ingest.extractors import Extracted

_NEAR = 3  # documents that a message about an unknown name suggests
Fate = Literal["added", "updated", "unchanged", "moved"]


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How documents are cut. See `documents.chunk.chunk_text`."""

    size: int = 2000
    overlap: int = 0
    unit: Literal["characters", "tokens"] = "characters"

    @property
    def key(self) -> str:
        """What a chunk's text depends on besides the document."""
        return f"sentences/3;{self.size};{self.overlap};{self.unit}"


@dataclass(frozen=True, slots=True)
class GivenChunks(ChunkSettings):
    """Documents come with their chunks.

    Attributes:
        digest: of how they are cut.
    """

    digest: str = ""

    @property
    def key(self) -> str:
        """See `ChunkSettings`."""
        return f"given/1;{self.digest}"


@dataclass(frozen=True, slots=True)
class Stored:
    """A document as the store has it."""

    iri: NamedNode
    identity: str
    location: str
    title: str
    content_hash: str
    chunker: str
    chunks: int
    objects: tuple[str, ...] = ()
    """Blobs that hold its bytes and its text."""


@dataclass(frozen=True, slots=True)
class PlacedChunk:
    """A chunk with its IRI, the pages it touches and the headings above it, highest first.

    Attributes:
        dates: when it was written, where that is not the date of the document (`extract.document_dates`).
    """

    iri: NamedNode
    chunk: Chunk
    pages: tuple[Page, ...]
    headings: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentPlan:
    """What to do for a document: its place, its state in the store, and whether its bytes changed.

    Attributes:
        stored: the document as it stands; None when it is new.
        replaces: the document that this one was before its file was moved.
        title: that it has; "" if it is read from the document.
    """

    source: Source
    iri: NamedNode
    data: bytes
    content_hash: str
    stored: Stored | None
    fate: Fate
    replaces: Stored | None = None
    title: str = ""

    @property
    def is_new_content(self) -> bool:
        """Whether the store has no document with this content under its name."""
        return self.replaces is None and (
            self.stored is None or self.stored.content_hash != self.content_hash
        )

    @property
    def is_here(self) -> bool:
        """Whether it is a file of this computer, not something that was sent."""
        return self.source.path != Path()

    @property
    def name(self) -> str:
        """The name for people: its path, or its identity if it is not a file of this computer."""
        return str(self.source.path) if self.is_here else self.source.identity

    @property
    def folder(self) -> Path | None:
        """The folder of its file; None if it is not a file of this computer."""
        return self.source.path.parent if self.is_here else None

    @property
    def location(self) -> str:
        """The file's IRI, or the document's own if it is not a file of this computer."""
        return self.source.location if self.is_here else self.iri.value


def stored_documents(store: Store, documents: Iterable[NamedNode] | None = None) -> dict[str, Stored]:
    """Documents of the store, by IRI.

    Args:
        documents: only these; None for all.
    """
    rows: Iterable[Row] = (
        store.select("ingest/documents", documents=[])
        if documents is None
        else select_in_batches(store, "ingest/documents", "documents", documents)
    )
    return {stored.iri.value: stored for stored in map(_stored, rows)}


def find_documents(store: Store, names: Sequence[str]) -> list[NamedNode]:
    """Documents by IRI, identity, path or title, or by the last parts of a path.

    Raises:
        UsageError: when a name is unknown, or names several.
    """
    known = stored_documents(store)
    found: list[NamedNode] = []
    for name in names:
        matches = [
            stored.iri
            for stored in known.values()
            if name in (stored.iri.value, stored.identity, stored.location, stored.title)
            or _same_file(name, stored.location)
        ] or [stored.iri for stored in known.values() if name and stored.identity.endswith(f"/{name}")]
        if not matches:
            raise UsageError(
                tr("no document is called {name!r}").format(name=name), hint=_near(name, known.values())
            )
        if len(matches) > 1:
            listed = ", ".join(sorted(match.value for match in matches))
            raise UsageError(
                tr("{name!r} names several documents: {listed}").format(name=name, listed=listed),
                hint=tr("use the IRI"),
            )
        found += matches
    return found


def _near(name: str, known: Iterable[Stored]) -> str:
    """Documents whose path or title has the name in it, or is much like it."""
    called = {text: stored.identity for stored in known for text in (stored.identity, stored.title)}
    near = [text for text in called if name and fold(name) in fold(text)]
    near += difflib.get_close_matches(name, called, n=_NEAR)
    found = list(dict.fromkeys(called[text] for text in near))[:_NEAR]
    if not found:
        return tr("list them with: graphrag-rdf queries run ingest/documents")
    return tr("did you mean {names}?").format(names=alternatives(found))


def _same_file(name: str, location: str) -> bool:
    return os.path.exists(name) and location_of(name) == location  # noqa: PTH110 - it may be no path


def documents_at(store: Store, locations: Iterable[str]) -> dict[str, NamedNode]:
    """The documents that were read from these files, by the files' IRIs."""
    return {
        row["location"]: row["document"]
        for row in select_in_batches(store, "ingest/locations", "locations", locations)
    }


def _stored(row: Row) -> Stored:
    return Stored(
        iri=row["document"],
        identity=row["identity"],
        location=row["location"],
        title=row["title"],
        content_hash=row["hash"],
        chunker=row["chunker"],
        chunks=row["chunks"],
        objects=tuple(row[name].value for name in ("original", "text") if row[name] is not None),
    )


class Planner:
    """Compares each source with the store as it is when the planner is made.

    Args:
        extractor: the extractor's key.
        chunker: key of the chunk settings.
        max_bytes: larger files are refused.
        sources: the files to plan. Only their documents are read from the store.
        namespace: of the IRIs of new documents.
    """

    def __init__(
        self,
        store: Store,
        extractor: str,
        chunker: str,
        max_bytes: int,
        sources: Sequence[Source],
        namespace: str,
    ) -> None:
        self._namespace = namespace
        there = documents_at(store, (source.location for source in sources if source.path != Path()))
        named = (iri for source in sources for iri in self._names(source.identity))
        self._known = stored_documents(store, dict.fromkeys((*there.values(), *named)))
        self._by_location = {stored.location: stored for stored in self._known.values()}
        known = [stored.iri for stored in self._known.values()]
        self._done = {
            row["document"]: row["done"]
            for row in select_in_batches(store, "ingest/extracted", "documents", known, extractor=extractor)
        }
        self._chunker = chunker
        self._max_bytes = max_bytes
        self._gone: dict[str, list[Stored]] = {}

    def follow(self, gone: Iterable[Stored]) -> None:
        """Take a new file with the content of one of these, which are gone from disk, for a moved one."""
        for stored in gone:
            self._gone.setdefault(stored.content_hash, []).append(stored)

    def plan(self, source: Source) -> DocumentPlan:
        """The plan for one file.

        Raises:
            DocumentError: when the file cannot be read, or another file has its identity.
        """
        location = source.location
        stored = self._by_location.get(location)
        iri = stored.iri if stored else self._iri(source.identity)
        if stored is None and (stored := self._known.get(iri.value)) is not None:
            self._check_same_source(source, stored)
        data = load_bytes(source.path, max_bytes=self._max_bytes)
        content_hash = iris.digest(data)
        if stored is None and (moved := self._gone.get(content_hash)):
            return DocumentPlan(source, iri, data, content_hash, None, "moved", moved.pop(0))
        fate = self._fate(stored, content_hash, location)
        return DocumentPlan(source, iri, data, content_hash, stored, fate)

    def plan_upload(self, identity: str, data: bytes, title: str = "") -> DocumentPlan:
        """The plan for bytes that a client sent: the new content of the document of that identity."""
        iri = self._iri(identity)
        stored = self._known.get(iri.value)
        content_hash = iris.digest(data)
        fate = self._fate(stored, content_hash, iri.value)
        title = one_line(title)[:MAX_TITLE]
        if fate == "unchanged" and stored and title not in ("", stored.title):
            fate = "updated"
        return DocumentPlan(Source(Path(), identity), iri, data, content_hash, stored, fate, title=title)

    def _names(self, identity: str) -> tuple[NamedNode, ...]:
        """The IRI of a document; and the one that it had before documents followed the namespace."""
        return iris.document(identity, self._namespace), iris.document(identity)

    def _iri(self, identity: str) -> NamedNode:
        names = self._names(identity)
        return next((iri for iri in names if iri.value in self._known), names[0])

    def _fate(self, stored: Stored | None, content_hash: str, location: str) -> Fate:
        if stored is None:
            return "added"
        whole = self._done.get(stored.iri.value, 0) == stored.chunks
        same = (stored.content_hash, stored.chunker) == (content_hash, self._chunker)
        return "unchanged" if same and whole and stored.location == location else "updated"

    @staticmethod
    def _check_same_source(source: Source, stored: Stored) -> None:
        """The same path under another root is the same document only if the first is gone."""
        if is_there(stored.location):
            raise DocumentError(
                source.path,
                tr("another file, {location}, is already in the store as {identity}").format(
                    location=_path(stored.location), identity=stored.identity
                ),
                hint=tr("ingest the folder that holds both, so that their paths differ"),
            )


def place_chunks(document: NamedNode, parsed: ParsedDocument, settings: ChunkSettings) -> list[PlacedChunk]:
    """Cut a document that has not been cut, and name its chunks: by text and, where a text repeats, by
    occurrence.
    """
    seen: dict[str, int] = {}
    placed = []
    for chunk in _cut(parsed, settings):
        text_hash = iris.digest(chunk.text)
        occurrence = seen.get(text_hash, 0)
        seen[text_hash] = occurrence + 1
        pages = tuple(pages_of(parsed, chunk.offset, len(chunk.text)))
        headings = parsed.headings_above(chunk.offset)
        placed.append(PlacedChunk(iris.chunk(document, text_hash, occurrence), chunk, pages, headings))
    return placed


def _cut(parsed: ParsedDocument, settings: ChunkSettings) -> Iterable[Chunk]:
    if parsed.chunks is not None:
        return (
            Chunk(index, start, parsed.text[start:end]) for index, (start, end) in enumerate(parsed.chunks)
        )
    return chunk_text(
        parsed.text,
        size=settings.size,
        overlap=settings.overlap,
        unit=settings.unit,
        language=parsed.language,
        tables=parsed.tables,
    )


def missing_documents(store: Store, sources: Sequence[Source], paths: Sequence[str | Path]) -> list[Stored]:
    """Documents below the folders among `paths` that are in the store and no longer on disk.

    Files in a folder that cannot be read, or has become a link, do not count as missing.
    """
    folders = [path for path in paths if os.path.isdir(path)]  # noqa: PTH112 - Path.is_dir raises
    if not folders:
        return []
    present = {source.location for source in sources}
    prefixes = tuple(location_of(folder) + "/" for folder in folders)
    gone = [
        row["document"]
        for row in store.select("ingest/locations")
        if (location := row["location"]).startswith(prefixes)
        and location not in present
        and not is_there(location)
    ]
    return list(stored_documents(store, gone).values())


def is_there(location: str) -> bool:
    """Whether the file of an IRI exists, or may exist: False only if it is surely missing."""
    if not location.startswith("file:"):
        return False
    parts = urlparse(location)
    if parts.netloc or parts.path.startswith("//"):
        return True  # on another computer: Windows would log in there because of a path in a store
    try:
        _path(location).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _path(location: str) -> Path:
    return Path(url2pathname(urlparse(location).path))


@dataclass(frozen=True, slots=True)
class Incoming:
    """A document to ingest, wherever it comes from.

    Attributes:
        plan: its state in the store.
        parse: reads its text. Raises DocumentError.
    """

    plan: DocumentPlan
    parse: Callable[[], ParsedDocument]


def incoming(
    plans: Iterable[DocumentPlan | DocumentError], max_bytes: int
) -> Iterator[Incoming | DocumentError]:
    """Planned files as documents to ingest, none larger than `max_bytes`."""
    for plan in plans:
        if isinstance(plan, DocumentError):
            yield plan
        else:
            yield Incoming(plan, partial(_parsed, plan, max_bytes))


def _parsed(plan: DocumentPlan, max_bytes: int) -> ParsedDocument:
    parsed = read_bytes(plan.data, plan.name, max_bytes=max_bytes, folder=plan.folder)
    if plan.title in ("", parsed.title):
        return parsed
    return replace(parsed, title=plan.title, titled=True)


@dataclass(slots=True)
class Task:
    """A chunk that waits for its extraction.

    Attributes:
        stored: the chunk itself is in the store already.
        retired: it is there as a tombstone.
        replaces: subgraphs that this extraction takes the place of.
        readings: how the tables of its document are read.
        context: the text of the document before the chunk that a model sees.
        sentences, chunk_context, started: known once its extraction has begun.
        answer: waits for what a worker finds in it; None if it is read here.
    """

    incoming: Incoming
    placed: PlacedChunk
    parsed: ParsedDocument
    stored: bool = False
    retired: bool = False
    replaces: list[NamedNode] = field(default_factory=list)
    readings: tuple[TableReading, ...] = ()
    context: Context = NO_CONTEXT
    sentences: tuple[Sentence, ...] = ()
    chunk_context: ChunkContext = NO_CHUNK_CONTEXT
    started: datetime = field(default_factory=now)
    answer: Callable[[], Extracted] | None = None


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """How an ingest runs.

    Attributes:
        jobs: extractor calls at once, when the extractor waits for a model.
        refresh: extract everything again.
        mentions_only: extract only the names in sentences.
        metadata: whether facts are stated from the metadata of documents.
        marked: whether what is written is marked for validation.
        version: of the settings kept in the store, which the run is linked to.
    """

    chunks: ChunkSettings = field(default_factory=ChunkSettings)
    facts: FactSettings = field(default_factory=FactSettings)
    jobs: int = 4
    refresh: bool = False
    mentions_only: bool = False
    metadata: bool = True
    marked: bool = False
    version: NamedNode | None = None
