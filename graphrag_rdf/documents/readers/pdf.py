"""PDF: a page per page, from the text layer."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

from graphrag_rdf.documents.model import join_pages
from graphrag_rdf.documents.readers import content as c

if TYPE_CHECKING:
    from pypdf import DocumentInformation, PageObject

# bytes of drawing instructions: a dense page of text has some 50 kB, a map 5 MB
MAX_PAGE_CONTENT = 20_000_000
MAX_CONTENT = 500_000_000
# titles that word processors make up
_MADE_UP = re.compile(r"(?:microsoft \w+ - |untitled\b|.*\.(?:docx?|pptx?|tex|indd|qxd|dvi)$)", re.I)


def read_pdf(data: bytes) -> c.Content:
    """Extract the text layer, page by page; a file that opens without a password counts as open.

    Raises:
        UnreadableError: it is damaged, encrypted, has no text layer, or pages with an absurd amount of
            drawing instructions.
    """
    from pypdf import DocumentInformation, PdfReader
    from pypdf.errors import DependencyError

    # pypdf reports each oddity of a damaged file as a log message: none of them helps a reader
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted:
        try:
            opened = bool(reader.decrypt(""))
        except DependencyError:
            opened = False  # AES: even an empty password needs the package `cryptography`
        if not opened:
            raise c.UnreadableError("encrypted", "save it without a password")
    budget = MAX_CONTENT
    pages: list[tuple[str, str | None]] = []
    for number, page in enumerate(reader.pages, start=1):
        size = _content_size(page)
        budget -= size
        if size > MAX_PAGE_CONTENT or budget < 0:
            raise c.UnreadableError(f"page {number} has too much content ({size} bytes)")
        pages.append((page.extract_text().strip(), None))
    text, parsed = join_pages(pages)
    if not text.strip():
        raise c.UnreadableError(
            "no text layer (scanned?)", "run optical character recognition (OCR) on it first"
        )
    info = reader.metadata or DocumentInformation()
    title = _string(info.get("/Title"))
    return c.Content(
        text,
        parsed,
        title="" if _MADE_UP.match(title) else title,
        language=_string(reader.root_object.get("/Lang")),
        metadata=tuple(_metadata(info)),
    )


def _content_size(page: PageObject) -> int:
    contents = page.get_contents()
    return len(contents.get_data()) if contents is not None else 0


def _metadata(info: DocumentInformation) -> Iterator[tuple[str, str]]:
    yield c.CREATOR, _string(info.get("/Author"))
    yield c.DESCRIPTION, _string(info.get("/Subject"))
    for keyword in re.split("[,;]", _string(info.get("/Keywords"))):
        yield c.SUBJECT, keyword
    for iri, name in ((c.CREATED, "creation_date"), (c.MODIFIED, "modification_date")):
        try:
            moment = getattr(info, name)
        except (ValueError, TypeError):  # not a PDF date
            continue
        if moment is not None:
            yield iri, moment.isoformat()


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
