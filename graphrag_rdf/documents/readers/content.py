"""What a reader returns, the properties it may fill, and the layout that all extracted text shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from graphrag_rdf.documents.model import Heading, Page, Span, Table, Turn
from graphrag_rdf.documents.readers.grid import Grid, barred
from graphrag_rdf.documents.tables import BARRED

DCTERMS = "http://purl.org/dc/terms/"
SCHEMA = "https://schema.org/"

CREATOR = DCTERMS + "creator"
CONTRIBUTOR = DCTERMS + "contributor"
CREATED = DCTERMS + "created"
MODIFIED = DCTERMS + "modified"
LANGUAGE = DCTERMS + "language"
DESCRIPTION = DCTERMS + "description"
SUBJECT = DCTERMS + "subject"
PUBLISHER = DCTERMS + "publisher"
IDENTIFIER = DCTERMS + "identifier"
ALTERNATIVE = DCTERMS + "alternative"
RIGHTS = DCTERMS + "rights"
URL = SCHEMA + "url"
VARIABLE_MEASURED = SCHEMA + "variableMeasured"

BlockKind = Literal["heading", "paragraph", "item", "row"]
Block = tuple[BlockKind, str]


class UnreadableError(ValueError):
    """The bytes cannot be read; the message is the reason, without the path."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Content:
    """What a reader found; everything but the text may be missing.

    Args:
        text: as in ParsedDocument, before characters that RDF cannot carry are replaced.
        pages: as in ParsedDocument.
        title: the title that the file declares, or "".
        heading: the first heading in the text, or the largest line of the first page; or "".
        language: the language that the file declares, unchecked.
        encoding: for text formats.
        metadata: (property IRI, value) pairs, unchecked.
        tables, unsaid, turns, headings: as in ParsedDocument; found before characters are replaced, one for
            one.
    """

    text: str
    pages: tuple[Page, ...] = ()
    title: str = ""
    heading: str = ""
    language: str | None = None
    encoding: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    tables: tuple[Table, ...] = ()
    unsaid: tuple[Span, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    turns: tuple[Turn, ...] = ()
    headings: tuple[Heading, ...] = ()


Reader = Callable[[bytes], Content]


def layout(blocks: Iterable[Block | Grid]) -> tuple[str, tuple[Table, ...]]:
    """Lay blocks out as text: one blank line between them, none within a list or a table.

    List items begin with "- ", cells of a row are joined by " | " between two bars: the marks that raw
    Markdown has as well, so that sentences are found alike in every format.

    Returns:
        the text, and the tables in it of which the columns have names.
    """
    parts: list[str] = []
    tables: list[Table] = []
    previous: BlockKind | None = None
    length = 0

    def add(kind: BlockKind, text: str) -> Span:
        nonlocal previous, length
        if previous is not None:
            parts.append("\n" if kind == previous and kind in {"item", "row"} else "\n\n")
            length += len(parts[-1])
        parts.append(f"- {text}" if kind == "item" else text)
        length += len(parts[-1])
        previous = kind
        return length - len(parts[-1]), length

    for block in blocks:
        if not isinstance(block, Grid):
            add(*block)
            continue
        if previous == "row":  # another table
            previous = "paragraph"
        if table := _table(block, add):
            tables.append(table)
    return "".join(parts), tuple(tables)


def _table(grid: Grid, add: Callable[[BlockKind, str], Span]) -> Table | None:
    found = grid.head()
    if found is None:
        for cells in grid.lines:
            if block := row(cell.text for cell in cells):
                add(*block)
        return None
    head, lines = found
    for line in lines[: head.titles]:
        add("paragraph", next(filter(None, line)))
    below = head.titles + head.lines
    spans = [add("row", barred(line)) for line in lines[head.titles : below]]
    rows = tuple(add("row", barred(line)) for line in lines[below:] if any(line))
    caption = " ".join(filter(None, (grid.caption, head.caption)))
    return Table(head.names, BARRED, rows, (spans[0][0], spans[-1][1]), caption) if rows else None


def row(cells: Iterable[str]) -> Block | None:
    """A table row as a block, or None if all cells are empty; a row of one cell is a paragraph.

    White space in a cell is collapsed.
    """
    texts = [" ".join(cell.split()) for cell in cells]
    if not any(texts):
        return None
    return ("row", f"| {' | '.join(texts)} |") if len(texts) > 1 else ("paragraph", texts[0])


def headings_in(text: str, blocks: Iterable[Block | Grid]) -> tuple[Heading, ...]:
    """The headings among the blocks that `layout` made a text of."""
    found: list[Heading] = []
    position = 0
    for block in blocks:
        if not isinstance(block, Grid) and (place := text.find(block[1], position)) >= 0:
            position = place + len(block[1])
            if block[0] == "heading":
                found.append(Heading(place, 1, " ".join(block[1].split())))
    return tuple(found)


def first_heading(blocks: Iterable[Block | Grid]) -> str:
    """Text of the first heading, or ""."""
    return next((block[1] for block in blocks if not isinstance(block, Grid) and block[0] == "heading"), "")


def moved(tables: Iterable[Table], by: int) -> Iterator[Table]:
    """Tables in a text that stands behind another."""
    for table in tables:
        rows = tuple((start + by, end + by) for start, end in table.rows)
        header = table.header and (table.header[0] + by, table.header[1] + by)
        yield replace(table, rows=rows, header=header)
