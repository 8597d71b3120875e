"""PDF: a page per page, from the text layer."""

from __future__ import annotations

import ctypes
import re
import threading
import time
import zlib
from collections.abc import Container, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from graphrag_rdf.documents.model import PAGE_BREAK, Page, Span, Table
from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.content import UnreadableError
from graphrag_rdf.documents.readers.pdf_layout import (
    PageRows,
    columns,
    find_running,
    largest,
    mend,
    paragraphs,
)
from graphrag_rdf.documents.readers.pdf_ocr import INSTALL, has_ocr, is_scan, picture_of, read_picture
from graphrag_rdf.documents.readers.pdf_tables import FoundTable, find_tables, looks_tabular
from graphrag_rdf.documents.readers.pdf_words import mark_bold, read_rules, read_words, rows_of
from graphrag_rdf.errors import defect_in_words
from graphrag_rdf.i18n import tr

MAX_PAGES = 20_000
MAX_CHARACTERS = 50_000_000
MAX_SECONDS = 600.0
"""Of processor time for a document: a page takes some 10 ms."""

_DATE = re.compile(
    r"D?:?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?\s*(?:(Z)|([+-])(\d\d)'?(\d\d)?)?", re.ASCII
)
_FINISHED = re.compile(r"[.!?:;…。！？][\"'”’)\]]*\Z")

# PDFium is not made for threads: one call at a time in the whole process
_PDFIUM = threading.RLock()


def read_pdf(data: bytes) -> c.Content:
    """Extract the text layer, page by page; a file that opens without a password counts as open.

    Words are put together from where their letters stand, lines are joined to paragraphs, and columns are
    read one after the other. Headers and footers that come again on each page stand at the end of the
    page's text as `unsaid`; where its last paragraph goes on on the next page, before that paragraph.

    Raises:
        UnreadableError: it is damaged, encrypted, has no text (also none that can be recognised), or is too
            large.
    """
    import pypdfium2

    check_streams(data)
    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            raise _why(error, data) from None
    try:
        return _read(document)
    finally:
        with _PDFIUM:
            document.close()


def _why(error: Exception, data: bytes) -> c.UnreadableError:
    if "assword" in str(error):
        return c.UnreadableError("encrypted", tr("save it without a password"))
    if b"%PDF-" not in data[:1024]:
        return c.UnreadableError(
            tr("damaged: it does not begin as a PDF does"), tr("is it another kind of file?")
        )
    return c.UnreadableError(
        tr("damaged: its structure is broken or cut off"),
        tr("fetch it again, or open it in a viewer and save it as a new file"),
    )


def _read(document: Any) -> c.Content:
    with _PDFIUM:
        count = len(document)
        if count > MAX_PAGES:
            raise c.UnreadableError(
                tr("{count:,} pages, more than {max_pages:,}").format(count=count, max_pages=MAX_PAGES),
                tr("split it"),
            )
        outline = _outline(document)
        info = document.get_metadata_dict()
        language = _language(document)
    parts: list[list[Part]] = []
    running: list[str] = []
    scans: dict[bool, list[int]] = {True: [], False: []}
    defects: list[str] = []
    heading = ""
    for page, taken in find_running(_pages(document), total=count):
        if page.number == 1 and not page.scan:
            heading = largest(page.rows)
        try:
            parts.append(list(_parts(page, outline.get(page.number, ()))))
        except Exception as error:  # noqa: BLE001 - a defect of the program: its text is kept line by line
            defects.append(_defect(page.number, error))
            parts.append([Part("\n", row.text) for row in page.rows])
        running.append(" ".join(row.text for row in taken))
        if page.scan is not None:
            scans[page.scan].append(page.number)
    text, pages, tables, unsaid = _joined(parts, running)
    if not text.strip():
        if scans[False] and not has_ocr():
            raise c.UnreadableError(
                tr("no text layer (scanned?)"), tr("{install}, then ingest it again").format(install=INSTALL)
            )
        raise c.UnreadableError(tr("no text found"), tr("export its text"))
    return c.Content(
        text,
        pages,
        title=info.get("Title", ""),
        heading=heading,
        language=language,
        metadata=tuple(_metadata(info)),
        tables=tables,
        unsaid=unsaid,
        warnings=(*_warnings(scans), *(("unexpected_error", defect) for defect in defects)),
    )


def _defect(number: int, error: Exception) -> str:
    return tr("page {number} is read without its layout and tables: {error}. Report it").format(
        number=number, error=defect_in_words(error)
    )


def _warnings(scans: dict[bool, list[int]]) -> Iterator[tuple[str, str]]:
    if scans[True]:
        yield (
            "pages_read_by_ocr",
            tr("{pages}: a scan; check what is quoted from there").format(pages=_listed(scans[True])),
        )
    if scans[False]:
        way_out = (
            tr("its text cannot be recognised")
            if has_ocr()
            else tr("{install}, then ingest with --refresh").format(install=INSTALL)
        )
        yield (
            "pages_without_text",
            tr("{pages}: an image without text; {way_out}").format(
                pages=_listed(scans[False]), way_out=way_out
            ),
        )


def _listed(numbers: Sequence[int]) -> str:
    """Numbers of pages: "pages 1, 3-5"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"page{'s' * (len(numbers) > 1)} {', '.join(parts)}"


def _pages(document: Any) -> Iterator[PageRows]:
    characters = 0
    started = time.thread_time()
    for index in range(len(document)):
        number = index + 1
        try:
            page = _rows_of_page(document, index)
        except c.UnreadableError as error:
            raise c.UnreadableError(
                tr("page {number}: {error}").format(number=number, error=error),
                tr("split it, or export its text"),
            ) from None
        characters += sum(len(word.text) for row in page.rows for word in row.words)
        if characters > MAX_CHARACTERS:
            raise c.UnreadableError(
                tr("more than {max_characters:,} characters by page {number}").format(
                    max_characters=MAX_CHARACTERS, number=number
                ),
                tr("split it"),
            )
        if time.thread_time() - started > MAX_SECONDS:
            raise c.UnreadableError(
                tr("pages 1 to {number} took more than {max_seconds:.0f} s to read").format(
                    number=number, max_seconds=MAX_SECONDS
                ),
                tr("split it"),
            )
        yield page


def _rows_of_page(document: Any, index: int) -> PageRows:
    import pypdfium2

    picture = scan = None
    tabular, rules = False, []
    with _PDFIUM:
        try:
            with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
                main, *columns = [rows_of(words) for words in read_words(text_page)] or [[]]
                mark_bold(text_page, main)
                tabular = looks_tabular(main)
                rules = read_rules(page) if tabular else []
                if not main and is_scan(page):
                    scan = False
                    picture = picture_of(page) if has_ocr() else None
        except pypdfium2.PdfiumError:
            raise c.UnreadableError("damaged") from None
    if picture is not None:
        main = rows_of(read_picture(picture))
        scan, tabular = bool(main), looks_tabular(main)
    return PageRows(index + 1, main, columns, tabular, rules, scan)


@dataclass(slots=True)
class Part:
    """A paragraph or a table of a page.

    Args:
        gap: what parts it from the one before it.
    """

    gap: str
    text: str
    table: FoundTable | None = None


def _parts(page: PageRows, headings: Container[str]) -> Iterator[Part]:
    for column in (*columns(page.rows), *page.others):
        for part in find_tables(column, page.rules) if page.tabular else [column]:
            if isinstance(part, FoundTable):
                yield Part("\n\n", part.text, part)
                continue
            alone = True  # what begins a column, and what stands after a heading
            for gap, text in paragraphs(part):
                heading = _squeezed(text) in headings
                yield Part("\n\n" if alone or heading else gap, text)
                alone = heading


# --- outline -----------------------------------------------------------------------------------------


def _outline(document: Any) -> dict[int, set[str]]:
    """Titles of sections by the number of the page where they begin."""
    titles: dict[int, set[str]] = {}
    for bookmark in document.get_toc(max_depth=15):
        destination = bookmark.get_dest()
        index = destination.get_index() if destination else None
        if index is not None:
            titles.setdefault(index + 1, set()).add(_squeezed(bookmark.get_title()))
    return titles


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


# --- text --------------------------------------------------------------------------------------------


def _joined(
    parts: Sequence[Sequence[Part]], running: Sequence[str]
) -> tuple[str, tuple[Page, ...], tuple[Table, ...], tuple[Span, ...]]:
    """The document's text, its pages and tables, and where headers and footers are."""
    mended = iter(mend(part.text for page in parts for part in page))
    pages: list[Page] = []
    tables: list[Table] = []
    unsaid: list[Span] = []
    offset = 0
    for number, (page, header) in enumerate(zip(parts, running, strict=True), start=1):
        pieces: list[str] = []
        length = 0
        aside = _where_it_goes_on(page) if number < len(parts) else len(page)
        for place in range(len(page) + 1):
            if place == aside and header:
                start = offset + length + (2 if pieces else 0)
                unsaid.append((start, start + len(header)))
                pieces += ["\n\n" if pieces else "", header]
                length = start + len(header) - offset
            if place < len(page):
                gap = page[place].gap if place != aside else "\n\n"
                gap, text = gap if pieces else "", next(mended)
                if table := page[place].table:
                    tables.append(table.table.moved(offset + length + len(gap)))
                pieces += [gap, text]
                length += len(gap) + len(text)
        pages.append(Page(number, "".join(pieces), offset))
        offset += length + 1
    return PAGE_BREAK.join(page.text for page in pages), tuple(pages), tuple(tables), tuple(unsaid)


def _where_it_goes_on(page: Sequence[Part]) -> int:
    """The place before the last paragraph of a page if that is not finished, else the end of the page."""
    unfinished = len(page) > 1 and page[-1].table is None and not _FINISHED.search(page[-1].text)
    return len(page) - 1 if unfinished else len(page)


# --- metadata ----------------------------------------------------------------------------------------


def _metadata(info: dict[str, str]) -> Iterator[tuple[str, str]]:
    yield c.CREATOR, info.get("Author", "")
    yield c.DESCRIPTION, info.get("Subject", "")
    for keyword in re.split("[,;]", info.get("Keywords", "")):
        yield c.SUBJECT, keyword
    for iri, name in ((c.CREATED, "CreationDate"), (c.MODIFIED, "ModDate")):
        if moment := _date(info.get(name, "")):
            yield iri, moment.isoformat()


def _language(document: Any) -> str | None:
    import pypdfium2.raw as pdfium

    buffer = (ctypes.c_ushort * 50)()
    size = pdfium.FPDFCatalog_GetLanguage(document.raw, buffer, ctypes.sizeof(buffer))
    return bytes(buffer)[:size].decode("utf-16-le", "replace").rstrip("\0") if size > 2 else None


def _date(value: str) -> datetime | None:
    """A date as PDF writes it (ISO 32000-1, 7.9.4): D:YYYYMMDDHHmmSSOHH'mm."""
    match = _DATE.match(value.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    zone = None
    if match[7]:
        zone = UTC
    elif match[8]:
        away = timedelta(hours=int(match[9]), minutes=int(match[10] or 0))
        zone = timezone(away if match[8] == "+" else -away)
    try:
        return datetime(year, month or 1, day or 1, hour, minute, second, tzinfo=zone)
    except ValueError:
        return None


# --- compressed parts, looked at before a library unpacks them -----------------------------------------


MAX_PAGE_CONTENT = 20_000_000
"""Bytes of drawing instructions: a dense page of text has some 50 kB, a map 5 MB."""
MAX_STREAM = 200_000_000
"""Bytes of any other stream: fonts, tables of objects."""
MAX_ALL = 1_000_000_000

_STREAM = re.compile(rb"stream\r?\n")
_LONGEST_HEAD = 2000  # characters of what describes a stream
_OTHER = re.compile(rb"/(?:Type|Subtype|Length[1-3]|FunctionType|N)\b")  # drawing instructions have none
_PIECE = 1 << 20
_ZLIB = 0x78


def check_streams(data: bytes) -> None:
    """Unpack each compressed stream piece by piece, without keeping it. Images are not looked at.

    Raises:
        UnreadableError: a stream has an absurd size, or all of them together.
    """
    total = 0
    for match in _STREAM.finditer(data):
        start = match.end()
        head = data[max(match.start() - _LONGEST_HEAD, 0) : match.start()]
        head = head[head.rfind(b"obj") + 1 :]
        if data[start : start + 1] != bytes([_ZLIB]) or b"/Image" in head:
            continue
        limit = MAX_STREAM if _OTHER.search(head) else MAX_PAGE_CONTENT
        size = _unpacked(data, start, limit)
        total += size
        if size > limit or total > MAX_ALL:
            raise UnreadableError(
                tr(
                    "the content at byte {start:,} is too large when it is unpacked (more than "
                    "{limit:,} bytes)"
                ).format(start=start, limit=min(limit, MAX_ALL)),
                tr("print it to a new PDF, or export its text"),
            )


def _unpacked(data: bytes, start: int, limit: int) -> int:
    """The size of a stream, at most a little beyond the limit; the inner size if it is packed twice."""
    outer, inner = zlib.decompressobj(), zlib.decompressobj()
    twice: bool | None = None
    size = 0
    waiting = data[start : start + _PIECE]
    position = start + len(waiting)
    try:
        while size <= limit and not outer.eof:
            piece = outer.decompress(waiting, _PIECE)
            waiting = outer.unconsumed_tail
            if not waiting:
                waiting = data[position : position + _PIECE]
                position += len(waiting)
                if not piece and not waiting:
                    break
            if twice is None and piece:
                twice = piece[0] == _ZLIB and piece[1:2] in {b"\x01", b"\x5e", b"\x9c", b"\xda"}
            size += _inner_size(inner, piece, limit - size) if twice else len(piece)
    except zlib.error:  # damaged, or encrypted: the library will tell
        pass
    return size


def _inner_size(inner: zlib._Decompress, piece: bytes, limit: int) -> int:
    size = 0
    while piece and size <= limit and not inner.eof:
        size += len(inner.decompress(piece, _PIECE))
        piece = inner.unconsumed_tail
    return size
