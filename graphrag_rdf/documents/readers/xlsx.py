"""Workbooks: a page per sheet, a line per row."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any

from graphrag_rdf.documents.model import Page, Table, join_pages
from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.package import metadata, open_package
from graphrag_rdf.documents.tables import LABELLED, MOST_COLUMNS

# a sheet has at most 1,048,576 rows; blank cells before a far one are made up while reading
MAX_ROWS = 1 << 20
MAX_CELLS = 20_000_000

# the warning filters are the process's, not the thread's
_WARNINGS = threading.Lock()


def read_xlsx(data: bytes) -> c.Content:
    """Extract each sheet as a page, each row as "Header: value; Header: value".

    The first filled row is the header if it has several cells, all of them text; without a header, values
    are joined by "; ". Formulas give the value that was last calculated, or nothing if none was saved.

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
            sheets = [(*_page(sheet, budget), sheet.title) for sheet in book.worksheets]
        finally:
            book.close()
    text, parsed = join_pages((text, title) for text, _, title in sheets)
    tables = (_table(page, names) for page, (_, names, _) in zip(parsed, sheets, strict=True))
    core = book.properties
    return c.Content(
        text,
        parsed,
        title=core.title or "",
        language=core.language,
        metadata=tuple(metadata(core, core.creator, core.description or core.subject)),
        tables=tuple(table for table in tables if table),
    )


def _page(sheet: Any, budget: list[int]) -> tuple[str, tuple[str, ...]]:
    """The text of a sheet, and the names of its columns if each one has a name and something below it has."""
    rows = _rows(sheet, budget)
    first = next(rows, None)
    if first is None:
        return "", ()
    filled = [value for value in first if value not in (None, "")]
    header = (
        [_text(value) for value in first]
        if len(filled) > 1 and all(isinstance(v, str) for v in filled)
        else []
    )
    lines: list[str] = []
    named = bool(header)
    for row in rows:
        named = named and not any(_text(v) for n, v in enumerate(row) if not "".join(header[n : n + 1]))
        lines.append(_line(row, header))
    if header and lines:
        return "\n".join(lines), tuple(filter(None, header)) if named else ()
    return "\n".join([_line(first, []), *lines]), ()  # a header that nothing follows is still text


def _table(page: Page, names: tuple[str, ...]) -> Table | None:
    rows = []
    position = page.offset
    for line in page.text.split("\n"):
        rows.append((position, position + len(line)))
        position += len(line) + 1
    return Table(names, LABELLED, tuple(rows)) if 0 < len(names) <= MOST_COLUMNS else None


def _rows(sheet: Any, budget: list[int]) -> Iterator[Sequence[Any]]:
    sheet.reset_dimensions()  # declared sizes are often wrong, and rows would be padded to them
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        budget[0] -= len(row)
        if number >= MAX_ROWS or budget[0] < 0:
            raise c.UnreadableError(f"sheet {sheet.title!r} has too many rows or cells", "split the workbook")
        if any(value not in (None, "") for value in row):
            yield row


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
