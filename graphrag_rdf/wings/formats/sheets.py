"""Workbooks: a line per row, with the names of the columns before the values."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from functools import reduce
from itertools import chain, islice
from typing import Any, NamedTuple

from graphrag_rdf.documents.model import Page, Table, join_pages
from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.table_heads import SAMPLE, find_head
from graphrag_rdf.documents.tables import LABELLED, MOST_COLUMNS
from graphrag_rdf.i18n import tr
from graphrag_rdf.wings.formats.package import metadata, open_package

# a sheet has at most 1,048,576 rows; blank cells before a far one are made up while reading
MAX_ROWS = 1 << 20
MAX_CELLS = 20_000_000

_LINES_OF_HEAD = 10
_LONGEST_REPEATED = 200  # characters of a value that is written in each row that it spans


class Merged(NamedTuple):
    """Cells that are one: the first row and column, the last ones; from 0."""

    top: int
    left: int
    bottom: int
    right: int


def lay_out(
    sheets: Iterable[tuple[str, Iterable[tuple[int, Sequence[Any]]], Mapping[int, list[Merged]]]],
) -> tuple[str, tuple[Page, ...], tuple[Table, ...]]:
    """The text of a workbook, its sheets as pages, and its tables.

    Args:
        sheets: of each one its name, its filled rows with their numbers from 0, and its merged cells by their
            first row.
    """
    read = [(_page(rows, merged), name) for name, rows, merged in sheets]
    text, pages = join_pages((sheet.text, name) for sheet, name in read)
    tables = (_table(page, sheet) for page, (sheet, _) in zip(pages, read, strict=True))
    return text, pages, tuple(table for table in tables if table)


class _Sheet(NamedTuple):
    """A sheet: its text, and where each column has a name and something below it has: the names, how many
    lines stand above the rows, and what they say.
    """

    text: str
    names: tuple[str, ...] = ()
    above: int = 0
    caption: str = ""


def _page(filled: Iterable[tuple[int, Sequence[Any]]], merged: Mapping[int, list[Merged]]) -> _Sheet:
    rows = _spread(filled, merged)
    top = list(islice(rows, SAMPLE + _LINES_OF_HEAD))
    head = find_head([[_text(value) for value in _across(number, row, merged)] for number, row in top])
    titles, lines, header = (head.titles, head.lines, list(head.names)) if head else _first_of_text(top)
    below = [row for _, row in top[titles + lines :]]
    if not header or not below:
        return _Sheet("\n".join(_line(row, []) for _, row in chain(top, rows)))
    above = [_line(list(dict.fromkeys(row)), []) for _, row in top[:titles]]
    written: list[str] = []
    named = True
    for row in chain(below, (row for _, row in rows)):
        # the first column may have no name: what the rows are called stands there
        named = named and not any(_text(v) for n, v in enumerate(row) if n and not "".join(header[n : n + 1]))
        written.append(_line(row, header))
    while header and not header[-1]:
        header.pop()
    first = int(bool(header) and not header[0] and any(_text(row[0]) for row in below))
    names = (*header[:first], *filter(None, header))
    return _Sheet("\n".join([*above, *written]), names if named else (), len(above), " ".join(above))


def _first_of_text(rows: Sequence[tuple[int, Sequence[Any]]]) -> tuple[int, int, list[str]]:
    """The first row with several cells, if all of them are text: titles above it, lines of it, names."""
    for number, (_, row) in enumerate(rows):
        filled = [value for value in row if value not in (None, "")]
        if len(set(filled)) > 1:
            whole = all(isinstance(value, str) for value in filled)
            return (number, 1, [_text(value) for value in row]) if whole else (0, 0, [])
    return 0, 0, []


def _table(page: Page, sheet: _Sheet) -> Table | None:
    rows = []
    position = page.offset
    for line in page.text.split("\n"):
        rows.append((position, position + len(line)))
        position += len(line) + 1
    fits = 0 < len(sheet.names) <= MOST_COLUMNS
    return Table(sheet.names, LABELLED, tuple(rows[sheet.above :]), caption=sheet.caption) if fits else None


def _spread(
    rows: Iterable[tuple[int, Sequence[Any]]], merged: Mapping[int, list[Merged]]
) -> Iterator[tuple[int, list[Any]]]:
    """Rows in which what spans several of them stands in each."""
    open_: dict[int, tuple[int, Any]] = {}
    for number, values in rows:
        row = list(values)
        for column, (bottom, value) in list(open_.items()):
            if bottom < number:
                del open_[column]
            elif column < len(row) and row[column] in (None, ""):
                row[column] = value
        for cells in merged.get(number, ()):
            if (
                cells.bottom > number
                and cells.left < len(row)
                and len(str(row[cells.left])) <= _LONGEST_REPEATED
            ):
                open_[cells.left] = cells.bottom, row[cells.left]
        yield number, row


def _across(number: int, row: Sequence[Any], merged: Mapping[int, list[Merged]]) -> list[Any]:
    """A row in which what spans columns stands in each of them."""
    spread = list(row)
    for cells in merged.get(number, ()):
        for column in range(cells.left + 1, min(cells.right + 1, len(spread))):
            if spread[column] in (None, ""):
                spread[column] = spread[cells.left]
    return spread


def _line(row: Sequence[Any], header: Sequence[str]) -> str:
    parts = []
    for column, value in enumerate(row):
        if text := _text(value):
            name = header[column] if column < len(header) else ""
            parts.append(f"{name}: {text}" if name else text)
    return "; ".join(parts)


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime() | date() | time():
            return value.isoformat()
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return " ".join(str(value).split())


# --- Office Open XML -----------------------------------------------------------------------------------


_MERGE = re.compile(rb'mergeCell\s[^<>]{0,40}?ref="\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})"')
_LONGEST_MARK = 120
_PIECE = 1 << 18

# the warning filters are the process's, not the thread's
_WARNINGS = threading.Lock()


def read_xlsx(data: bytes) -> c.Content:
    """Extract each sheet as a page, each row as "Header: value; Header: value".

    Above the header may stand titles; it may have several rows (`table_heads`). Failing that, the first row
    with several cells is the header if all of them are text; without a header, values are joined by "; ".
    Formulas give the value that was last calculated, or nothing if none was saved.

    Raises:
        UnreadableError: it is damaged, encrypted or unsafe.
    """
    import openpyxl

    stream = open_package(data, row_by_row="xl/worksheets/")
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions that hold no text
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        try:
            budget = [MAX_CELLS]
            # chart sheets have no cells
            text, pages, tables = lay_out(
                (sheet.title, _rows(sheet, budget), _merged(sheet)) for sheet in book.worksheets
            )
        finally:
            book.close()
    core = book.properties
    return c.Content(
        text,
        pages,
        title=core.title or "",
        language=core.language,
        metadata=tuple(metadata(core, core.creator, core.description or core.subject)),
        tables=tables,
    )


def _merged(sheet: Any) -> dict[int, list[Merged]]:
    """The merged cells of a sheet, by their first row. The library does not tell them when it reads row by
    row, and they stand behind the rows.
    """
    by_row: dict[int, list[Merged]] = {}
    buffer = b""
    with sheet._get_source() as part:
        while piece := part.read(_PIECE):
            buffer += piece
            end = max(len(buffer) - _LONGEST_MARK, 0)
            for match in _MERGE.finditer(buffer):
                left, top, right, bottom = match.groups()
                by_row.setdefault(int(top) - 1, []).append(
                    Merged(int(top) - 1, _column(left), int(bottom) - 1, _column(right))
                )
                end = max(end, match.end())
            buffer = buffer[end:]
    return by_row


def _column(letters: bytes) -> int:
    return reduce(lambda number, letter: 26 * number + letter - 64, letters, 0) - 1


def _rows(sheet: Any, budget: list[int]) -> Iterator[tuple[int, Sequence[Any]]]:
    sheet.reset_dimensions()  # declared sizes are often wrong, and rows would be padded to them
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        budget[0] -= len(row)
        if number >= MAX_ROWS or budget[0] < 0:
            raise c.UnreadableError(
                tr("sheet {name!r} has too many rows or cells").format(name=sheet.title),
                tr("split the workbook"),
            )
        if any(value not in (None, "") for value in row):
            yield number, row
