"""Documents and chunks from documents and text units.

Text units have no offsets: each is searched in the text of its document. Microsoft GraphRAG may write lines
with metadata before the text, and cut a character at the end, so these are left out where the rest is found.
If the text of a document is missing, or does not have all its units, it is made of the units.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pyoxigraph import NamedNode

from graphrag_rdf.documents.discover import Source
from graphrag_rdf.documents.model import ParsedDocument, Span
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.plan import Incoming, Planner
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DCTERMS
from graphrag_rdf.wings.msgraphrag.report import TablesReport
from graphrag_rdf.wings.msgraphrag.rows import DocumentRow, TextUnitRow
from graphrag_rdf.wings.msgraphrag.tables import Tables

FOLDER = "ms-graphrag"
"""Documents of tables are named as if they were in this folder, so they replace no other document."""
_MARK = "\ufeff"
_METADATA = re.compile(r"[^\n:]{1,200}: [^\n]*\n")
_MOST_METADATA = 50  # lines
_BETWEEN = "\n\n"  # text units that make a text
_SUFFIX = re.compile(r"\.\w{1,8}")


@dataclass(frozen=True, slots=True)
class GivenChunk:
    """A chunk: where it is in the text of its document, and the ids of the text units that it is."""

    iri: NamedNode
    span: Span
    units: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class GivenText:
    """A document with its chunks, in order.

    Attributes:
        id: of its row.
    """

    id: str
    identity: str
    title: str
    text: str
    created: str | None
    namespace: str
    chunks: tuple[GivenChunk, ...] = ()

    @property
    def iri(self) -> NamedNode:
        """The document."""
        return iris.document(self.identity, self.namespace)

    def parse(self, max_bytes: int) -> ParsedDocument:
        """The document as plain text with these chunks. Raises DocumentError."""
        name = f"{self.identity}.txt"
        data = self.text.encode()
        read = read_bytes(data, name, media_type="text/plain", max_bytes=max_bytes)
        if read.text != self.text:
            raise DocumentError(self.identity, tr("its text is not plain text"))
        given = [(DCTERMS.identifier.value, self.id), (DCTERMS.created.value, self.created)]
        return replace(
            read,
            title=self.title,
            titled=_SUFFIX.fullmatch(Path(self.title).suffix) is None,
            metadata=tuple((name, value) for name, value in given if value),
            chunks=tuple(chunk.span for chunk in self.chunks),
        )

    def text_of(self, chunk: GivenChunk) -> str:
        """The text of one of its chunks."""
        return self.text[slice(*chunk.span)]


def chunks_of_units(texts: Sequence[GivenText]) -> dict[str, list[NamedNode]]:
    """Text unit → its chunks: a text unit of several documents is a chunk of each."""
    found: dict[str, list[NamedNode]] = defaultdict(list)
    for each in texts:
        for chunk in each.chunks:
            for unit in chunk.units:
                found[unit].append(chunk.iri)
    return dict(found)


def read_texts(tables: Tables, report: TablesReport, namespace: str) -> list[GivenText]:
    """The documents of the tables, in their order, with all text units; their IRIs are in the namespace."""
    units, rows = _units_of(tables, report), dict[str, DocumentRow]()
    for row in tables.documents:
        if row.id in rows:
            report.note("documents", row.name, "duplicate", row.id)
        else:
            rows[row.id] = row
    titles = Counter(row.title or row.id for row in rows.values())
    found = []
    for id_ in dict.fromkeys((*rows, *units)):
        row = rows.get(id_) or DocumentRow.model_validate({"id": id_ or "text units"})
        found.append(_given(row, _identity(row, titles), units.get(id_, []), report, namespace))
    return found


def _identity(row: DocumentRow, titles: Counter[str]) -> str:
    """The name of a document below `FOLDER`; a title that is an IRI stays below it, too."""
    title = row.title or row.id
    name = title.replace("://", ":/")
    return f"{FOLDER}/{name}" if titles[title] < 2 else f"{FOLDER}/{name}/{row.id[:16]}"


def incoming(texts: Sequence[GivenText], planner: Planner, max_bytes: int) -> Iterator[Incoming]:
    """Documents to ingest."""
    for each in texts:
        plan = planner.plan_upload(each.identity, each.text.encode())
        yield Incoming(plan, partial(each.parse, max_bytes))


def sources(texts: Sequence[GivenText]) -> list[Source]:
    """The documents for a planner."""
    return [Source(Path(), each.identity) for each in texts]


def key_of(texts: Sequence[GivenText]) -> str:
    """A hash of how the documents are cut."""
    spans = "\n".join(f"{each.identity} {[chunk.span for chunk in each.chunks]}" for each in texts)
    return hashlib.sha256(spans.encode()).hexdigest()


def _units_of(tables: Tables, report: TablesReport) -> dict[str, list[TextUnitRow]]:
    """Document → its text units. Units without a known document are those of a document of their own."""
    known = {row.id for row in tables.documents}
    found: dict[str, list[TextUnitRow]] = defaultdict(list)
    for unit in tables.text_units:
        for document in unit.document_ids or ("",):
            if document not in known and tables.documents:
                report.note("text_units", unit.name, "unknown_document", document)
            found[document].append(unit)
    return found


def _given(
    row: DocumentRow, identity: str, units: Sequence[TextUnitRow], report: TablesReport, namespace: str
) -> GivenText:
    given = GivenText(row.id, identity, row.title or row.id, "", row.created, namespace)
    text = (row.text or "").removeprefix(_MARK)
    if not units:
        report.note("documents", row.name, "no_text_units", given.title)
        return replace(given, text=text)
    spans = place_units([unit.text for unit in units], text)
    if None in spans:
        report.note("documents", row.name, "text_from_text_units", given.title)
        text, spans = _joined(units)
    placed = [(span, unit) for span, unit in zip(spans, units, strict=True) if span is not None]
    placed.sort(key=lambda one: one[0])
    seen: Counter[str] = Counter()
    chunks: dict[Span, GivenChunk] = {}
    for span, unit in placed:
        if span not in chunks:
            digest = iris.digest(text[slice(*span)])
            chunks[span] = GivenChunk(iris.chunk(given.iri, digest, seen[digest]), span)
            seen[digest] += 1
        chunks[span].units.append(unit.id)
    return replace(given, text=text, chunks=tuple(chunks.values()))


def _joined(units: Sequence[TextUnitRow]) -> tuple[str, list[Span | None]]:
    parts, spans, offset = [], [], 0
    for unit in units:
        part = unit.text.removeprefix(_MARK).strip().replace("\f", "\n")
        parts.append(part)
        spans.append((offset, offset + len(part)) if part else None)
        offset += len(part) + len(_BETWEEN)
    return _BETWEEN.join(parts), spans


def place_units(units: Sequence[str], text: str) -> list[Span | None]:
    """Where text units are in the text of their document, without white space around them; None if nowhere.

    Equal units are placed one after the other, as far as the text repeats them.
    """
    last: dict[str, int] = {}
    found: list[Span | None] = []
    for unit in units:
        span = None
        for part in _readings(unit):
            start = text.find(part, last.get(part, -1) + 1)
            start = text.find(part) if start < 0 else start
            if part and start >= 0:
                last[part] = start
                span = (start, start + len(part))
                break
        found.append(span)
    return found


def _readings(unit: str) -> Iterator[str]:
    """A unit as it is, and without the first lines as long as these look like metadata."""
    left = unit
    for _ in range(_MOST_METADATA):
        yield left.removeprefix(_MARK).strip().strip("\ufffd").strip()
        head = _METADATA.match(left)
        if head is None:
            return
        left = left[head.end() :]
