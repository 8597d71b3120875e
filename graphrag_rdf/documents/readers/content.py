"""What every reader returns, and how blocks and tables become text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from traceback import walk_tb
from typing import Literal

from graphrag_rdf.documents.model import Heading, Page, Span, Table, Turn, join_pages
from graphrag_rdf.documents.table_heads import SAMPLE, Head, find_head
from graphrag_rdf.documents.tables import BARRED, MOST_COLUMNS
from graphrag_rdf.i18n import tr

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

PROPERTIES: dict[str, str] = {
    **dict.fromkeys(("author", "authors", "creator"), CREATOR),
    "contributor": CONTRIBUTOR,
    **dict.fromkeys(("date", "created", "published_time", "publication_date"), CREATED),
    **dict.fromkeys(("modified", "updated", "lastmod", "last-modified", "modified_time"), MODIFIED),
    **dict.fromkeys(("description", "summary", "abstract"), DESCRIPTION),
    **dict.fromkeys(("tags", "tag", "keywords", "categories", "subject"), SUBJECT),
    "publisher": PUBLISHER,
    **dict.fromkeys(("rights", "copyright", "license", "licence"), RIGHTS),
    **dict.fromkeys(("id", "identifier", "doi"), IDENTIFIER),
    "url": URL,
}
"""Names that people and programs give to properties, in lower case → IRI."""

BlockKind = Literal["heading", "paragraph", "item", "row"]
Block = tuple[BlockKind, str]


_OWN = "graphrag_rdf."
_LIBRARIES = frozenset(
    {
        "codecs", "docutils", "docx", "email", "encodings", "gzip", "json", "lxml", "openpyxl", "pptx",
        "pylatexenc", "pypdfium2", "pypdfium2_raw", "striprtf", "xml", "yaml", "zipfile", "zlib",
    }
)  # fmt: skip
"""Those that read files, and find out what is wrong with them."""
# what they raise when they stumble over broken structure: the messages tell nothing about the file
_STUMBLES = (AttributeError, TypeError, LookupError, AssertionError, UnicodeError)
_LONGEST_CAUSE = 200


class UnreadableError(ValueError):
    """The bytes cannot be read; the message is the reason, without the path."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.hint = hint


def damage(error: Exception) -> UnreadableError | None:
    """What is wrong with a file of which a reader raised an exception; None if the program is at fault.

    Only a library that reads files judges them. Whatever else raises is a defect of the program.
    """
    if isinstance(error, UnreadableError):
        return error
    if isinstance(error, RecursionError):
        return UnreadableError(tr("the input is nested too deeply"))
    if isinstance(error, MemoryError) or not _is_of_library(error):
        return None
    detail = "" if isinstance(error, _STUMBLES) else " ".join(str(error).split())[:_LONGEST_CAUSE]
    return UnreadableError(tr("damaged: {cause}").format(cause=detail or tr("its structure is broken")))


def _is_of_library(error: Exception) -> bool:
    """Whether a library that reads files raised it: the one that the program called last, or that of the
    error's class if what was called is not written in Python.
    """
    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    called = list(takewhile(lambda name: not name.startswith(_OWN), reversed(modules)))
    return (called[-1] if called else type(error).__module__).partition(".")[0] in _LIBRARIES


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


Reader = Callable[..., Content]
"""A function of the bytes of a file; if it has a parameter `folder`, it gets that of the file, or None."""


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
    table = grid.head()
    if table is None:
        for cells in grid.lines:
            if block := row(cell.text for cell in cells):
                add(*block)
        return None
    head, lines = table
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
    headings: list[Heading] = []
    position = 0
    for block in blocks:
        if not isinstance(block, Grid) and (place := text.find(block[1], position)) >= 0:
            position = place + len(block[1])
            if block[0] == "heading":
                headings.append(Heading(place, 1, " ".join(block[1].split())))
    return tuple(headings)


def first_heading(blocks: Iterable[Block | Grid]) -> str:
    """Text of the first heading, or ""."""
    return next((block[1] for block in blocks if not isinstance(block, Grid) and block[0] == "heading"), "")


def joined(parts: Iterable[tuple[Content, str | None]], *, paged: bool = True) -> Content:
    """Contents one after another.

    Args:
        parts: each with a label for its page.
        paged: whether each is a page; else a blank line stands between them, and empty ones are left out.
    """
    kept = [(content, label) for content, label in parts if paged or content.text]
    text, pages = join_pages((content.text, label) for content, label in kept)
    starts = [page.offset for page in pages]
    if not paged:
        text, pages = "\n\n".join(content.text for content, _ in kept), ()
        starts = [
            start + number for number, start in enumerate(starts)
        ]  # a blank line is one character longer
    placed = [(content, start) for (content, _), start in zip(kept, starts, strict=True)]
    return Content(
        text,
        pages,
        heading=next((content.heading for content, _ in kept if content.heading), ""),
        tables=tuple(table.moved(by) for content, by in placed for table in content.tables),
        unsaid=tuple((start + by, end + by) for content, by in placed for start, end in content.unsaid),
        turns=tuple(turn.moved(by) for content, by in placed for turn in content.turns),
        headings=tuple(head.moved(by) for content, by in placed for head in content.headings),
    )


# --- tables --------------------------------------------------------------------------------------------


MOST_CELLS = 5_000_000
"""Of a table, once each cell stands in all columns and lines that it spans."""
_LONGEST_REPEATED = 200  # characters of a cell that is written in each line that it spans
_LINES_OF_HEAD = 10


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell.

    Args:
        text: white space collapsed.
        across, down: columns and lines that it spans.
        continues: whether it goes on with the cell above it.
    """

    text: str
    across: int = 1
    down: int = 1
    continues: bool = False


@dataclass(slots=True)
class Grid:
    """A table as a format has it.

    Args:
        lines: its cells.
        declared: how many lines at the top name the columns or the table; None if the format does not tell.
        caption: its title, where that stands elsewhere.
    """

    lines: list[list[GridCell]] = field(default_factory=list)
    declared: int | None = None
    caption: str = ""

    def head(self) -> tuple[Head, list[list[str]]] | None:
        """What names the columns, and all lines with as many cells as there are columns; None if nothing
        does. What spans lines stands in each of them.
        """
        if self.declared == 0 or not self.lines:
            return None
        plain = list(self._spread())
        if not plain:
            return None
        top = [
            self._across(number, plain[number]) for number in range(min(len(plain), SAMPLE + _LINES_OF_HEAD))
        ]
        head = find_head(top, declared=self.declared)
        return (head, plain) if head else None

    def _spread(self) -> Iterator[list[str]]:
        width = max(sum(cell.across for cell in line) for line in self.lines)
        if width > MOST_COLUMNS or width * len(self.lines) > MOST_CELLS:
            return
        from_above: dict[int, tuple[str, int]] = {}
        before = [""] * width
        for line in self.lines:
            cells = [""] * width
            column = 0
            for cell in line:
                while column in from_above and column < width:
                    column += 1
                if column >= width:
                    break
                cells[column] = before[column] if cell.continues else cell.text
                if cell.down > 1:
                    repeated = cell.text if len(cell.text) <= _LONGEST_REPEATED else ""
                    for place in range(column, min(column + cell.across, width)):
                        from_above[place] = (repeated if place == column else "", cell.down)
                column += cell.across
            for place, (text, remaining) in list(from_above.items()):
                if not cells[place]:
                    cells[place] = text
                if remaining > 1:
                    from_above[place] = text, remaining - 1
                else:
                    del from_above[place]
            yield cells
            before = [cell if len(cell) <= _LONGEST_REPEATED else "" for cell in cells]

    def _across(self, number: int, cells: Sequence[str]) -> list[str]:
        """A line in which what spans columns stands in each of them."""
        spread = list(cells)
        wide = {cell.text: cell.across for cell in self.lines[number] if cell.across > 1 and cell.text}
        for column, text in enumerate(cells):
            for place in range(column + 1, min(column + wide.get(text, 1), len(spread))):
                if not spread[place]:
                    spread[place] = text
        return spread


def barred(cells: Sequence[str]) -> str:
    """A line of cells with bars around them."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
