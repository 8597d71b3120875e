"""Documents, pages, tables, turns, chunks and sentences.

All offsets are 0-based and count Unicode code points of the text as kept: the byte order mark is
removed, line ends and everything else stay.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

PAGE_BREAK = "\f"

Span = tuple[int, int]
"""Start and end, code points."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page, slide or sheet.

    Args:
        number: 1-based position in the document.
        text: the page's text, a slice of the document's text.
        offset: where it begins in the document's text, in code points.
        label: name of the sheet, title of the slide, or None.
    """

    number: int
    text: str
    offset: int
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table in a document's text; see `documents.tables`.

    Args:
        names: of its columns, in order; empty if it does not tell them.
        separator: what stands between two cells: a character, `tables.BARRED`, `tables.LABELLED`
            or `tables.RECORDS`.
        rows: where its rows are in the document's text, in order, without the one that names the columns.
        header: where the names of the columns are, with the line of dashes below them; None if nowhere.
        caption: its title, as far as the document tells; it may tell the unit of its numbers.
        period: that a line above tells, which is not in the caption.
    """

    names: tuple[str, ...]
    separator: str
    rows: tuple[Span, ...]
    header: Span | None = None
    caption: str = ""
    period: str = ""

    def moved(self, by: int) -> Table:
        """The table in a text where everything stands so many code points further on."""
        rows = tuple((start + by, end + by) for start, end in self.rows)
        return replace(self, rows=rows, header=self.header and (self.header[0] + by, self.header[1] + by))


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in a document's text.

    Args:
        offset: where its line begins.
        level: 1 for the highest; where the format's levels are not read, 1 for all.
        text: without marks, on one line.
        glued: whether a sentence follows on its line. Then it is as long as its text.
    """

    offset: int
    level: int
    text: str
    glued: bool = False

    def moved(self, by: int) -> Heading:
        """The heading in a text where everything stands so many code points further on."""
        return replace(self, offset=self.offset + by)


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a speaker in a chat, a transcript or a letter; see `documents.turns`.

    Args:
        speaker: name of who says it.
        listener: to whom, if there is only one other; else None.
        start: where the line begins in which the speaker is named.
        name: where the name is; of no length if it stands elsewhere.
        words: where the words begin.
        end: where they end.
        told: whether a time or a bracket next to the name shows that it is a speaker.
    """

    speaker: str
    listener: str | None
    start: int
    name: Span
    words: int
    end: int
    told: bool = False

    def moved(self, by: int) -> Turn:
        """The turn in a text where everything stands so many code points further on."""
        start, end = self.name
        return replace(
            self,
            start=self.start + by,
            name=(start + by, end + by),
            words=self.words + by,
            end=self.end + by,
        )


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A parsed document.

    Args:
        text: the page texts joined by form feeds; without pages, the text.
        pages: empty if the format has no pages.
        media_type: IANA media type.
        title: never empty.
        language: BCP 47 tag, or None if undeclared and not recognised.
        encoding: Python's name of the character encoding of a text file; None for other formats.
        metadata: (property IRI, value) pairs, e.g. `dcterms:creator`, in a fixed order, without duplicates.
        titled: whether the document has a title itself; if not, the title is made from its file's name.
        tables: those of which the columns are known, and delimited ones of which they are not; in order.
        unsaid: spans of the text that are not sentences, in order: front matter, brackets around records,
            headers and footers of pages.
        warnings: (type, detail) of parts that could not be read well.
        turns: who speaks where, in order.
        headings: in order.
        chunks: spans of its chunks, in order and without white space around them, if its source has cut it;
            None if this program is to cut it.
    """

    text: str
    pages: tuple[Page, ...]
    media_type: str
    title: str
    language: str | None
    encoding: str | None
    metadata: tuple[tuple[str, str], ...]
    titled: bool = True
    tables: tuple[Table, ...] = ()
    unsaid: tuple[Span, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    turns: tuple[Turn, ...] = ()
    headings: tuple[Heading, ...] = ()
    chunks: tuple[Span, ...] | None = None

    def headings_above(self, offset: int) -> tuple[str, ...]:
        """The headings of the section that a part of the text begins in, highest first, without the title.

        Args:
            offset: where the part begins, in code points; a heading there is the part's own.
        """
        path: list[Heading] = []
        place = bisect_left(self.headings, offset, key=lambda each: each.offset)
        while place and (not path or path[-1].level > 1):
            place -= 1
            if not path or self.headings[place].level < path[-1].level:
                path.append(self.headings[place])
        return tuple(heading.text for heading in reversed(path) if heading.text != self.title)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk: `text == document.text[offset : offset + len(text)]`.

    Args:
        index: 0-based position among the document's chunks.
        offset: in the document's text, in code points.
        text: begins and ends with something other than white space.
    """

    index: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, heading, list item or table row.

    Args:
        index: 0-based position in its chunk.
        offset: in the chunk's text, in code points.
        length: in code points.
    """

    index: int
    offset: int
    length: int


def join_pages(parts: Iterable[tuple[str, str | None]]) -> tuple[str, tuple[Page, ...]]:
    """Join page texts by form feeds.

    Args:
        parts: (text, label) of each page. Form feeds within a page become line ends, one for one, so
            that a form feed always means a page break.

    Returns:
        the document's text and its pages.
    """
    pages: list[Page] = []
    offset = 0
    for number, (raw, label) in enumerate(parts, start=1):
        text = raw.replace(PAGE_BREAK, "\n")
        pages.append(Page(number, text, offset, label))
        offset += len(text) + 1
    return PAGE_BREAK.join(page.text for page in pages), tuple(pages)


def pages_of(document: ParsedDocument, offset: int, length: int) -> tuple[Page, ...]:
    """Pages that a span of the document's text touches.

    Args:
        offset: start of the span in the document's text, in code points.
        length: of the span, in code points; 0 is treated as 1.

    Returns:
        the pages that share at least one character with the span, in order; none if the document has no
        pages or the span holds nothing but a page break.
    """
    end = offset + max(length, 1)
    first = max(bisect_right(document.pages, offset, key=lambda page: page.offset) - 1, 0)
    touched = []
    for page in document.pages[first:]:
        if page.offset >= end:
            break
        if max(offset, page.offset) < page.offset + len(page.text):
            touched.append(page)
    return tuple(touched)


def in_spans(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Whether a place is in one of the spans, which are in order."""
    number = bisect_right(spans, offset, key=lambda span: span[0]) - 1
    return number >= 0 and offset < spans[number][1]


def trimmed(text: str, start: int, end: int) -> Span | None:
    """A span without white space around it; None if there is nothing else in it."""
    piece = text[start:end]
    inner = piece.strip()
    begin = start + len(piece) - len(piece.lstrip())
    return (begin, begin + len(inner)) if inner else None
