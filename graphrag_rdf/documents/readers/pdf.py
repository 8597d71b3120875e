"""PDF: a page per page, from the text layer."""

from __future__ import annotations

import ctypes
import re
import threading
import time
from collections.abc import Container, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from graphrag_rdf.documents.model import PAGE_BREAK, Page, Span
from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.pdf_hyphens import mend
from graphrag_rdf.documents.readers.pdf_layout import columns, paragraphs
from graphrag_rdf.documents.readers.pdf_running import PageRows, find_running
from graphrag_rdf.documents.readers.pdf_streams import check_streams
from graphrag_rdf.documents.readers.pdf_words import mark_bold, read_words, rows_of

MAX_PAGES = 20_000
MAX_CHARACTERS = 50_000_000
MAX_SECONDS = 600.0
"""Of processor time for a document: a page takes some 10 ms."""

# titles that word processors make up
_MADE_UP = re.compile(r"(?:microsoft \w+ - |untitled\b|.*\.(?:docx?|pptx?|tex|indd|qxd|dvi)$)", re.I)
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
        UnreadableError: it is damaged, encrypted, has no text layer, or is too large.
    """
    import pypdfium2

    check_streams(data)
    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            raise _why(error, data) from None
        with closing(document):
            return _read(document)


def _why(error: Exception, data: bytes) -> c.UnreadableError:
    if "assword" in str(error):
        return c.UnreadableError("encrypted", "save it without a password")
    if b"%PDF-" not in data[:1024]:
        return c.UnreadableError("damaged: it does not begin as a PDF does", "is it another kind of file?")
    return c.UnreadableError(
        "damaged: its structure is broken or cut off",
        "fetch it again, or open it in a viewer and save it as a new file",
    )


def _read(document: Any) -> c.Content:
    count = len(document)
    if count > MAX_PAGES:
        raise c.UnreadableError(f"{count:,} pages, more than {MAX_PAGES:,}", "split it")
    headings = _outline(document)
    texts: list[tuple[str, str]] = []  # the text of each page, and its headers and footers
    for page, running in find_running(_pages(document), total=count):
        texts.append((_page_text(page, headings.get(page.number, ())), " ".join(row.text for row in running)))
    text, pages, unsaid = _joined(texts)
    if not text.strip():
        raise c.UnreadableError(
            "no text layer (scanned?)", "run optical character recognition (OCR) on it first"
        )
    info = document.get_metadata_dict()
    title = info.get("Title", "")
    return c.Content(
        text,
        pages,
        title="" if _MADE_UP.match(title) else title,
        language=_language(document),
        metadata=tuple(_metadata(info)),
        unsaid=unsaid,
    )


def _pages(document: Any) -> Iterator[PageRows]:
    characters = 0
    started = time.thread_time()
    for index in range(len(document)):
        number = index + 1
        try:
            page = _rows_of_page(document, index)
        except c.UnreadableError as error:
            raise c.UnreadableError(f"page {number}: {error}", "split it, or export its text") from None
        characters += sum(len(word.text) for row in page.rows for word in row.words)
        if characters > MAX_CHARACTERS:
            raise c.UnreadableError(f"more than {MAX_CHARACTERS:,} characters by page {number}", "split it")
        if time.thread_time() - started > MAX_SECONDS:
            raise c.UnreadableError(
                f"pages 1 to {number} took more than {MAX_SECONDS:.0f} s to read", "split it"
            )
        yield page


def _rows_of_page(document: Any, index: int) -> PageRows:
    import pypdfium2

    try:
        with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
            main, *others = [rows_of(words) for words in read_words(text_page)] or [[]]
            mark_bold(text_page, main)
    except pypdfium2.PdfiumError:
        raise c.UnreadableError("damaged") from None
    return PageRows(index + 1, main, others)


def _page_text(page: PageRows, headings: Container[str]) -> str:
    parts: list[str] = []
    for column in (*columns(page.rows), *page.others):
        alone = True  # what begins a column, and what stands after a heading
        for gap, text in paragraphs(column):
            heading = _squeezed(text) in headings
            parts += ["\n\n" if alone or heading else gap, text]
            alone = heading
    return "".join(parts[1:])


# --- outline -----------------------------------------------------------------------------------------


def _outline(document: Any) -> dict[int, set[str]]:
    """Titles of sections by the number of the page where they begin."""
    found: dict[int, set[str]] = {}
    for bookmark in document.get_toc(max_depth=15):
        destination = bookmark.get_dest()
        index = destination.get_index() if destination else None
        if index is not None:
            found.setdefault(index + 1, set()).add(_squeezed(bookmark.get_title()))
    return found


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


# --- text --------------------------------------------------------------------------------------------


def _joined(texts: Sequence[tuple[str, str]]) -> tuple[str, tuple[Page, ...], tuple[Span, ...]]:
    """The document's text, its pages, and where headers and footers are."""
    mended = mend(body for body, _ in texts)
    pages: list[Page] = []
    unsaid: list[Span] = []
    offset = 0
    for number, (body, (_, running)) in enumerate(zip(mended, texts, strict=True), start=1):
        before, after = _where_it_goes_on(body) if number < len(texts) else (body, "")
        text = "\n\n".join(part for part in (before, running, after) if part)
        if running:
            start = offset + (len(before) + 2 if before else 0)
            unsaid.append((start, start + len(running)))
        pages.append(Page(number, text, offset))
        offset += len(text) + 1
    return PAGE_BREAK.join(page.text for page in pages), tuple(pages), tuple(unsaid)


def _where_it_goes_on(body: str) -> tuple[str, str]:
    """The text of a page before and from its last paragraph, if that is not finished."""
    before, gap, last = body.rpartition("\n\n")
    return (before, last) if gap and last and not _FINISHED.search(last) else (body, "")


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
