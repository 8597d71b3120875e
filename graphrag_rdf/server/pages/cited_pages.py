"""The pages of a PDF as pictures, with the cited words marked on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.documents.cited_boxes import Box, cited_boxes
from graphrag_rdf.documents.page_image import DrawnPage
from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.service import Service

PDF = "application/pdf"


@dataclass(frozen=True, slots=True)
class CitedPage:
    """A page.

    Attributes:
        address: of its picture.
        page: None if it cannot be drawn.
        quote: the cited words on it; "" if none are cited.
        boxes: where these are.
        note: why there is no picture, or nothing marked; "" if there is.
    """

    number: int
    address: str
    page: DrawnPage | None
    quote: str
    boxes: Sequence[Box]
    note: str


def cited_pages(
    service: Service, document: NamedNode, numbers: Sequence[int], start: int = 0, words: str = ""
) -> Iterator[CitedPage]:
    """Pages of a PDF whose bytes are kept, as it was when it was read.

    Args:
        numbers: of the pages; those without any of the cited words are left out.
        start: offset of the cited words in the text of the document.
        words: the cited words; "" for whole pages.
    """
    rows = service.engine.store.select("provenance/kept-pages", document=document, numbers=numbers)
    for row in rows:
        first = row["offset"] - start
        quote = words[max(first, 0) : max(first + row["length"], 0)].strip()
        if words and not quote:
            continue
        address = links_of(service).page_image(document.value, row["number"])
        try:
            page = service.page_images.page(row["original"], row["number"])
        except Problem as busy:
            yield CitedPage(row["number"], address, None, quote, (), busy.detail)
            continue
        boxes = cited_boxes(page, quote, max(-first, 0) / max(row["length"], 1)) if page and quote else ()
        yield CitedPage(row["number"], address, page, quote, boxes, "" if boxes else _note(page, quote))


def _note(page: DrawnPage | None, quote: str) -> str:
    if page is None:
        return tr("This page cannot be drawn: the file is damaged, or drawing takes too much time or memory.")
    if not quote:
        return ""
    if not page.text.strip():
        return tr("This page is an image: words cannot be marked on it.")
    return tr("The words could not be located on the page.")
