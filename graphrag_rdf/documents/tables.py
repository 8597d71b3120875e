"""Tables in a text: where their rows are, and the cells of a row.

A row is never changed, so its offsets are right by construction: its cells are found again in its
characters, by the separator of its table. There are four kinds: a character between cells, which may be
quoted (RFC 4180); bars around and between them (Markdown, and what readers make of HTML); "name: value;
name: value" (workbooks); keys of JSON objects (`table_json`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, zip_longest

from graphrag_rdf.documents.model import Chunk, ParsedDocument, Sentence, Span, Table, trimmed
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.documents.table_json import items, members
from graphrag_rdf.documents.text import unmarked

BARRED = " | "
"""Separator of rows with bars around them."""
LABELLED = "; "
"""Separator of rows in which each value stands behind the name of its column."""
RECORDS = "{}"
"""Separator of rows that are objects of JSON."""
LONGEST_ROW = 1_000_000
"""Characters of a row: each chunk that holds a part of a row looks at all of it."""
MOST_COLUMNS = 1000

_LONG = 20_000  # characters of a row that is read once for all of its chunks
_LONGEST_MARKED = 1000  # characters of a cell of which Markdown's marks are taken out

_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row.

    Args:
        text: its value: white space collapsed, without quotation marks and Markdown's marks; "" if empty.
        offset: of its characters in the row, code points.
        length: code points.
    """

    text: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class RowPart:
    """The part of a row in a chunk: all of it, unless the row is longer than a chunk may be.

    Args:
        table: number of its table in the document.
        separator: of its table.
        text: the document's.
        whole: where all of the row is in it.
        start: where the part begins in the row.
        offset: where the part stands in the chunk, code points.
        length: of the part, code points.
    """

    table: int
    separator: str
    text: str
    whole: Span
    start: int
    offset: int
    length: int

    @property
    def row(self) -> str:
        """The row's characters, all of them. They are not kept: a long row has hundreds of parts."""
        return self.text[slice(*self.whole)]

    def written(self, cell: Cell) -> str:
        """The characters of a cell of the row."""
        begin = self.whole[0] + cell.offset
        return self.text[begin : begin + cell.length]

    @property
    def span(self) -> Span:
        """Where the part is in the chunk."""
        return self.offset, self.offset + self.length


def read_row(row: str, separator: str, names: Sequence[str]) -> tuple[Cell, ...] | None:
    """The cells of a row, one for each column.

    Args:
        row: its characters.
        separator: of its table.
        names: of its table's columns; empty for as many as there are.

    Returns:
        the cells, or None if the row does not fit the columns.
    """
    if len(row) > _LONG:  # cut into many chunks, of which each one asks
        return _read_long(row, separator, tuple(names))
    return _read(row, separator, names)


@lru_cache(maxsize=2)
def _read_long(row: str, separator: str, names: tuple[str, ...]) -> tuple[Cell, ...] | None:
    return _read(row, separator, names)


def _read(row: str, separator: str, names: Sequence[str]) -> tuple[Cell, ...] | None:
    if separator == LABELLED:
        return _labelled(row, names)
    if separator == RECORDS:
        return _recorded(row, names)
    cells = _barred(row) if separator == BARRED else _delimited(row, separator)
    if not names:
        return cells
    if separator != BARRED:  # what is empty at the end of a line is often left out
        while len(cells) > len(names) and not cells[-1].text:
            cells = cells[:-1]
        cells += tuple(Cell("", len(row), 0) for _ in range(len(names) - len(cells)))
    return cells if len(cells) == len(names) else None


# --- a character between cells ---------------------------------------------------------------------


@lru_cache(maxsize=8)
def cell_pattern(separator: str) -> str:
    """A regular expression for a cell. A quotation mark that is not closed before a separator or a line end
    is a character like any other, so that one of them does not swallow the lines below it.
    """
    mark = re.escape(separator)
    return rf'(?:[ ]*"(?:[^"]++|"")*+"[ ]*(?={mark}|[\r\n]|\Z)|[^{mark}\r\n]*+)'


@lru_cache(maxsize=8)
def _records(separator: str) -> re.Pattern[str]:
    cell = cell_pattern(separator)
    return re.compile(rf"{cell}(?:{re.escape(separator)}{cell})*+")


@lru_cache(maxsize=8)
def _cells(separator: str) -> re.Pattern[str]:
    return re.compile(rf"({cell_pattern(separator)})(?:{re.escape(separator)}|\Z)")


def records(text: str, separator: str) -> Iterator[Span]:
    """Where the records of a delimited text are, blank lines left out. Quoted cells may hold line ends."""
    position, end = 0, len(text)
    pattern = _records(separator)
    while position < end:
        if text[position] in "\r\n":
            position += 1
            continue
        match = pattern.match(text, position)
        stop = match.end() if match else end
        if text[position:stop].strip(" \t\f"):
            yield position, stop
        position = max(stop, position + 1)


def _delimited(row: str, separator: str) -> tuple[Cell, ...]:
    cells = []
    position = 0
    pattern = _cells(separator)
    while match := pattern.match(row, position):
        cells.append(_cell(row, *match.span(1), quoted=True))
        if match.end() == match.end(1):  # the end of the row
            break
        position = match.end()
    return tuple(cells)


def count_cells(row: str, separator: str) -> int:
    """How many cells a record of a delimited text has."""
    return len(_delimited(row, separator)) if '"' in row else row.count(separator) + 1


def cell_ends(row: str, separator: str) -> list[int]:
    """Where a row that is too long for a chunk may be cut: after each of its cells."""
    if separator == LABELLED:
        ends = [match.end() for match in re.finditer(re.escape(LABELLED), row)]
    elif separator == RECORDS:
        ends = [member.whole for member in members(row)]
    elif separator == BARRED:
        ends = [match.end() for match in _BAR.finditer(row)][1:]
    else:
        ends = []
        position = 0
        while (match := _cells(separator).match(row, position)) and match.end() > match.end(1):
            ends.append(position := match.end())
    return [*ends, len(row)] if ends[-1:] != [len(row)] else ends


def _cell(row: str, start: int, end: int, *, quoted: bool = False) -> Cell:
    piece = row[start:end]
    inner = piece.strip()
    start += piece.find(inner) if inner else 0
    value = inner
    if quoted and len(inner) > 1 and inner[0] == inner[-1] == '"':
        value = inner[1:-1].replace('""', '"')
        inner, start = inner[1:-1], start + 1
    return Cell(" ".join(value.split()), start, len(inner))


# --- bars --------------------------------------------------------------------------------------------


def _barred(row: str) -> tuple[Cell, ...]:
    bars = [match.start() for match in _BAR.finditer(row)]
    cells = []
    for left, right in pairwise(bars):
        cell = _cell(row, left + 1, right)
        value = cell.text
        if len(value) <= _LONGEST_MARKED:
            value = unmarked(value)
        value = value.replace("\\|", "|").strip()
        cells.append(Cell(value, cell.offset, cell.length))
    return tuple(cells)


# --- names before values -----------------------------------------------------------------------------


def _labelled(row: str, names: Sequence[str]) -> tuple[Cell, ...] | None:
    """None if a value looks like a further column, so that the columns are ambiguous. A first column without
    a name has what stands before all names.
    """
    first = int(bool(names) and not names[0])
    marks = "|".join(re.escape(name) for name in sorted(set(names[first:]), key=len, reverse=True))
    labels = [(m.start(), m.end(), m[1]) for m in re.finditer(rf"(?:\A|; )({marks}): ", row)] if marks else []
    start = labels[0][0] if labels else len(row)
    if start and not first:
        return None
    cells = [Cell("", len(row), 0) for _ in names]
    if start:
        cells[0] = _cell(row, 0, start)
    column = first - 1
    for (_, start, name), following in zip_longest(labels, labels[1:]):
        column = next((n for n in range(column + 1, len(names)) if names[n] == name), -1)
        if column < 0:
            return None
        cells[column] = _cell(row, start, following[0] if following else len(row))
    return tuple(cells)


# --- objects of JSON -----------------------------------------------------------------------------------


def _recorded(row: str, names: Sequence[str]) -> tuple[Cell, ...] | None:
    """None if the object is cut off. Of a repeated key the last value counts, as in JSON."""
    try:
        by_name = {member.name: member for member in members(row)}
    except ValueError:
        return None
    cells = {
        name: Cell(" ".join(member.value.split()), member.start, member.end - member.start)
        for name, member in by_name.items()
    }
    return tuple(cells.get(name) or Cell("", len(row), 0) for name in names or by_name)


def items_of(row: str, separator: str, cell: Cell) -> tuple[Cell, ...]:
    """The items of a cell that is a list in a record, each as a cell; else the cell itself."""
    if separator != RECORDS or row[cell.offset : cell.offset + 1] != "[" or cell.text[:1] == "[":
        return (cell,)
    values = items(row, cell.offset)
    return tuple(Cell(" ".join(value.split()), start, end - start) for value, start, end in values)


# --- rows in a document and its chunks -------------------------------------------------------------


def row_spans(tables: Sequence[Table]) -> list[Span]:
    """The places of rows in the document's text, in order, with those that name the columns."""
    spans = [span for table in tables for span in table.rows]
    headers = [table.header for table in tables if table.header]
    return sorted(spans + headers)


def _near(document: ParsedDocument, chunk: Chunk) -> Iterator[tuple[int, Table]]:
    """The tables that may overlap a chunk, with their numbers. A document may have thousands."""
    end = chunk.offset + len(chunk.text)
    tables = document.tables
    first = max(bisect_right(tables, chunk.offset, key=lambda table: table.rows[0][0]) - 1, 0)
    for number in range(first, len(tables)):
        table = tables[number]
        if (table.header or table.rows[0])[0] >= end:
            return
        yield number, table


def rows_in(document: ParsedDocument, chunk: Chunk) -> tuple[RowPart, ...]:
    """The rows in a chunk, or parts of rows, in order."""
    end = chunk.offset + len(chunk.text)
    parts = []
    for number, table in _near(document, chunk):
        first = max(bisect_right(table.rows, (chunk.offset, 0)) - 1, 0)
        for place in range(first, len(table.rows)):
            whole = table.rows[place]
            if whole[0] >= end:
                break
            start, stop = max(whole[0], chunk.offset), min(whole[1], end)
            if start < stop and (span := trimmed(document.text, start, stop)):
                begin, offset, length = span[0] - whole[0], span[0] - chunk.offset, span[1] - span[0]
                parts.append(RowPart(number, table.separator, document.text, whole, begin, offset, length))
    return tuple(sorted(parts, key=lambda part: part.offset))


def sentences_in(document: ParsedDocument, chunk: Chunk) -> tuple[Sentence, ...]:
    """The sentences of a chunk, also rows and headings; not headers of tables and spans that say nothing."""
    rows = [(part.offset, part.offset + part.length) for part in rows_in(document, chunk)]
    silent = list(_within(chunk, _silent(document, chunk)))
    end = chunk.offset + len(chunk.text)
    cuts = [turn.start for turn in document.turns]
    glued = (head for head in document.headings if head.glued)
    cuts += [place for head in glued for place in (head.offset, head.offset + len(head.text))]
    begun = [(cut - chunk.offset,) * 2 for cut in cuts if chunk.offset <= cut < end]
    sentences = split_sentences(chunk.text, document.language, rows=sorted({*rows, *silent, *begun}))
    starts = {start for start, _ in silent}
    kept = [s for s in sentences if s.offset not in starts]
    return tuple(Sentence(index, s.offset, s.length) for index, s in enumerate(kept))


def _silent(document: ParsedDocument, chunk: Chunk) -> Iterator[Span]:
    """Spans of the document's text, near a chunk, that are not sentences."""
    yield from (table.header for _, table in _near(document, chunk) if table.header)
    unsaid = document.unsaid
    first = max(bisect_right(unsaid, (chunk.offset, 0)) - 1, 0)
    for number in range(first, len(unsaid)):
        if unsaid[number][0] >= chunk.offset + len(chunk.text):
            return
        yield unsaid[number]


def _within(chunk: Chunk, spans: Iterable[Span]) -> Iterator[Span]:
    """The parts of spans in a chunk, without blanks around them."""
    end = len(chunk.text)
    for start, stop in spans:
        if span := trimmed(chunk.text, max(start - chunk.offset, 0), min(max(stop - chunk.offset, 0), end)):
            yield span


def columns_above(document: ParsedDocument, chunk: Chunk) -> tuple[str, ...]:
    """The columns of the table that a chunk begins in, if the chunk does not hold their names itself."""
    parts = rows_in(document, chunk)
    if not parts:
        return ()
    table = document.tables[parts[0].table]
    above = table.header is not None and table.header[0] < chunk.offset
    return table.names if above and table.separator != LABELLED else ()
