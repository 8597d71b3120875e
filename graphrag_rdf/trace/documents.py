"""The documents of a store: what `documents` and the page `/documents` list, and what people call each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, ClassVar, Literal, TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.store.base import Row, Store

_ALL = 10**9
_FEW = 100
"""Documents up to which counting is a look-up for each; of more, all are counted at once."""
_GLOB = frozenset("*?[")

SORTS: Mapping[str, Callable[[DocumentSummary], Any]] = {
    "path": lambda document: document.path,
    "title": lambda document: document.title.casefold(),
    "type": lambda document: document.mime or "",
    "size": lambda document: -(document.bytes or 0),
    "pages": lambda document: -(document.pages or 0),
    "chunks": lambda document: -document.chunks,
    "facts": lambda document: -document.facts,
    "language": lambda document: document.language or "",
    "added": lambda document: -document.added.timestamp() if document.added else 0,
    "failures": lambda document: -len(document.failures),
}
"""Orders of a list: texts from A on; largest, newest and most first."""


_ANOTHER_RUN = later("the next ingest of the file tries again; ingest -v shows the details")
_WAYS_OUT = {
    "read": later(
        "mend the file and ingest it again, or leave it out with --exclude; ingest -v shows the details"
    ),
    "relations": later("refresh relations tries again"),
    "claims": later("refresh claims tries again"),
}
"""Stage → what to do about its failures."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with a document or one of its chunks, and was not mended since.

    Attributes:
        stage: read, extract, relations …
        chunk: None where the document as a whole failed.
        path: of the file, on the computer that read it.
    """

    stage: str
    reason: str
    time: datetime | None
    chunk: str | None = None
    path: str | None = None

    @property
    def way_out(self) -> str:
        """What to do, for people."""
        return remedy(self.stage)


def remedy(stage: str) -> str:
    """What to do about the failures of a stage, for people."""
    return tr(_WAYS_OUT.get(stage, _ANOTHER_RUN))


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document, or a file that could not be read and so has neither size nor chunks.

    Attributes:
        path: the folder that was ingested and the path below it; of an unread file, its path on disk.
        facts: quotes that state a fact.
        added: when its current content was added.
        authority: 0 to 1; None if it has none.
    """

    iri: str
    title: str
    path: str
    mime: str | None = None
    bytes: int | None = None
    pages: int | None = None
    chunks: int = 0
    facts: int = 0
    language: str | None = None
    added: datetime | None = None
    failures: tuple[Failure, ...] = ()
    authority: float | None = None


SourceState: TypeAlias = Literal["current", "retired", "forgotten"]
"""Retired: the document was edited and no longer holds the chunk, whose text is kept for the trace."""


@dataclass(frozen=True, slots=True)
class Source:
    """A place that supports a fact or sentence: the exact characters, or of facts that were read from no text
    (imported, by hand) what they came from.

    Attributes:
        document, title, uri: the document; of such a fact the imported file, list of synonyms or edit. Empty
            when it is not known any more.
        chunk: None of such a fact, which then has neither page, offset nor quote.
        page_number: 1-based; None in documents without pages.
        char_offset: code points into the document's text; None when the quote was never located, or is gone.
        quote: the words; empty where a whole chunk, or no text at all, is the source.
        verified: whether the quote was located in its chunk.
        name: what to call the document: its title, with its path where others have that title too.
        authority: of the document, 0 to 1; None if it has none.
        chunk_number: 1-based position in the document.
        retired: since when the document no longer holds the chunk.
    """

    JSON: ClassVar = (
        *("chunk", "document=known_document", "title=known_title", "name", "uri=known_uri", "page"),
        *("page_number", "page_label", "chunk_number", "chunk_label", "char_offset", "char_length"),
        *("quote=words", "verified", "evidence", "subgraph", "activity", "state", "retired", "authority"),
    )

    document: str
    title: str
    uri: str
    chunk: str | None
    page_number: int | None = None
    char_offset: int | None = None
    char_length: int | None = None
    quote: str = ""
    verified: bool = False
    evidence: str | None = None
    sentence: str | None = None
    name: str | None = None
    page: str | None = None
    page_label: str | None = None
    chunk_number: int | None = None
    chunk_label: str | None = None
    subgraph: str | None = None
    activity: str | None = None
    state: SourceState = "current"
    retired: datetime | None = None
    authority: float | None = None

    @property
    def is_endpoint(self) -> bool:
        """Whether it is the address of another server, see `of_endpoint`."""
        return self.chunk is None and self.document == self.uri and self.uri.startswith("http")

    @property
    def words(self) -> str | None:
        """The quote; None of what was read from no text."""
        return None if self.chunk is None else self.quote

    @property
    def known_document(self) -> str | None:
        """The document; None when it is not known any more."""
        return self.document or None

    @property
    def known_title(self) -> str | None:
        """Its title, likewise."""
        return self.title or None

    @property
    def known_uri(self) -> str | None:
        """Where it was read from, likewise."""
        return self.uri or None

    def cited(self) -> dict[str, Any]:
        """The keys of `citations[].sources[]`."""
        keys = ("document", "title", "uri", "page_number", "chunk", "char_offset", "char_length")
        return {key: getattr(self, key) for key in keys} | {"quote": self.words, "verified": self.verified}


def of_endpoint(address: NamedNode) -> Source:
    """What another server returned, as a source."""
    return Source(address.value, address.value, address.value, None, name=address.value)


def read_source(row: Row) -> Source:
    """A source from a row of a template that leads to places in documents, as `trace/evidence` does."""
    quote, chunk = row.get("quote"), row.get("chunk")
    base, offset = row.get("chunk_offset"), row.get("offset")
    located = quote is not None and offset is not None
    whole_chunk = quote is None and chunk is not None
    retired = row.get("retired")
    return Source(
        chunk=chunk,
        document=row["document"] or "",
        title=row["title"] or "",
        uri=row.get("location") or "",
        page=row.get("page"),
        page_number=row.get("page_number"),
        page_label=row.get("page_label"),
        chunk_number=row.get("chunk_number"),
        chunk_label=row.get("chunk_label"),
        char_offset=(base or 0) + (offset or 0) if located or whole_chunk else None,
        char_length=row.get("length") if located or whole_chunk else None,
        quote=quote or "",
        verified=located,
        evidence=row.get("evidence"),
        sentence=row.get("sentence"),
        subgraph=row.get("subgraph"),
        activity=row.get("activity"),
        state="retired" if retired else "current",
        retired=retired,
        authority=row.get("authority"),
    )


def list_documents(
    store: Store,
    *,
    match: str = "",
    failed: bool = False,
    sort: str | None = None,
    reverse: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> list[DocumentSummary]:
    """Documents with their sizes, counts and failures; files that could not be read come first.

    Without the first four parameters, documents come in the order of their IRIs, and only those of the part
    are looked up.

    Args:
        match: a glob or a text, compared with paths and titles without regard to case; empty for all.
        failed: only documents with failures.
        sort: one of `SORTS`.
        reverse: the other way round.
        limit, offset: which part of the list; all without a limit.
    """
    end = _ALL if limit is None else offset + limit
    failures = _failures(store)
    unread = _unread(store, failures)
    chosen = bool(match or failed or sort or reverse)
    if chosen:
        documents = [*unread, *_read(store, 0, _ALL)]
    else:
        start = max(0, offset - len(unread))
        documents = [*unread[offset:end], *_read(store, start, max(0, end - len(unread)))]
    documents = [replace(document, failures=tuple(failures[document.iri])) for document in documents]
    if chosen:
        documents = [
            document
            for document in documents
            if (document.failures or not failed) and _matches(document, match.casefold())
        ]
        if sort == "facts":
            documents = _with_facts(store, documents)
        if sort is not None:
            documents.sort(key=SORTS[sort])
        documents = (documents[::-1] if reverse else documents)[offset:end]
    return documents if sort == "facts" else _with_facts(store, documents)


def shown_names(store: Store, documents: Iterable[str | None]) -> dict[str, str]:
    """What to call documents that share their title with others: `Title (path)`, by IRI; others are absent.

    Args:
        documents: IRIs; None and what is no document are passed over.
    """
    nodes = [NamedNode(iri) for iri in dict.fromkeys(documents) if iri]
    return names_of(store.select("documents/named-alike", documents=nodes)) if nodes else {}


def names_of(found: Iterable[Row]) -> dict[str, str]:
    """What the rows of `documents/named-alike` call documents, by IRI."""
    return {row["document"]: f"{row['title']} ({row['path']})" for row in found}


def with_names(store: Store, sources: Iterable[Source]) -> list[Source]:
    """Sources with what to call their documents, and the authority of these."""
    listed = list(sources)
    names = shown_names(store, (source.document for source in listed if source.title))
    authority = read_authorities(store, (source.document for source in listed))
    return [
        replace(
            source,
            name=names.get(source.document, source.title),
            authority=authority.get(source.document),
        )
        for source in listed
    ]


def read_authorities(store: Store, documents: Iterable[str]) -> dict[str, float]:
    """The authority of documents, by IRI; those that have none are absent."""
    nodes = [NamedNode(iri) for iri in dict.fromkeys(documents) if iri]
    rows = store.select("documents/authorities", documents=nodes) if nodes else []
    return {row["document"]: row["authority"] for row in rows}


def read_failures(store: Store, document: str) -> tuple[Failure, ...]:
    """What failed of a document and was not mended since."""
    return tuple(_failures(store)[document])


def _failures(store: Store) -> defaultdict[str, list[Failure]]:
    """Failures by document; those of a file that is no document yet by what they are about."""
    found: defaultdict[str, list[Failure]] = defaultdict(list)
    for row in store.select("ingest/failures"):
        about = row["about"].value
        chunk = about if row["document"] is not None else None
        failure = Failure(
            row["stage"],
            row["reason"],
            row["time"],
            chunk,
            row["path"],
        )
        found[row["document"] or about].append(failure)
    return found


def _unread(store: Store, failures: Mapping[str, Sequence[Failure]]) -> list[DocumentSummary]:
    """Files that could not be read and never were."""
    about = [NamedNode(iri) for iri in failures]
    rows = store.select("documents/list", documents=about, limit=0, offset=0) if about else ()
    read = {row["document"] for row in rows}
    paths = {iri: own[0].path or iri for iri, own in failures.items() if iri not in read}
    return [DocumentSummary(iri, PurePath(path).name, path) for iri, path in paths.items()]


def _read(store: Store, start: int, end: int) -> list[DocumentSummary]:
    if end <= start:
        return []
    return [
        _summary(row) for row in store.select("documents/list", documents=[], limit=end - start, offset=start)
    ]


def _summary(row: Row) -> DocumentSummary:
    iri = row["document"]
    return DocumentSummary(
        iri=iri,
        title=row["title"] or iri,
        path=row["path"] or iri,
        mime=row["mime"],
        bytes=row["bytes"],
        pages=row["pages"],
        chunks=row["chunks"] or 0,
        language=row["language"],
        added=row["added"],
        authority=row["authority"],
    )


def _with_facts(store: Store, documents: Sequence[DocumentSummary]) -> list[DocumentSummary]:
    """Documents with their facts counted."""
    if not documents:
        return []
    few = len(documents) <= _FEW
    wanted = [NamedNode(document.iri) for document in documents] if few else []
    rows = store.select("documents/fact-counts", documents=wanted)
    counts = {row["document"]: row["facts"] for row in rows}
    return [replace(document, facts=counts.get(document.iri, 0)) for document in documents]


def _matches(document: DocumentSummary, pattern: str) -> bool:
    texts = (document.path.casefold(), document.title.casefold())
    if _GLOB & set(pattern):
        return any(fnmatchcase(text, pattern) for text in texts)
    return any(pattern in text for text in texts)
