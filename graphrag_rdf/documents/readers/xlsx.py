"""Workbooks: a page per sheet, a line per row."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.package import metadata, open_package
from graphrag_rdf.documents.readers.sheets import MAX_CELLS, MAX_ROWS, Merged, lay_out

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
    found: dict[int, list[Merged]] = {}
    rest = b""
    with sheet._get_source() as part:
        while piece := part.read(_PIECE):
            rest += piece
            end = max(len(rest) - _LONGEST_MARK, 0)
            for match in _MERGE.finditer(rest):
                left, top, right, bottom = match.groups()
                found.setdefault(int(top) - 1, []).append(
                    Merged(int(top) - 1, _column(left), int(bottom) - 1, _column(right))
                )
                end = max(end, match.end())
            rest = rest[end:]
    return found


def _column(letters: bytes) -> int:
    return reduce(lambda number, letter: 26 * number + letter - 64, letters, 0) - 1


def _rows(sheet: Any, budget: list[int]) -> Iterator[tuple[int, Sequence[Any]]]:
    sheet.reset_dimensions()  # declared sizes are often wrong, and rows would be padded to them
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        budget[0] -= len(row)
        if number >= MAX_ROWS or budget[0] < 0:
            raise c.UnreadableError(f"sheet {sheet.title!r} has too many rows or cells", "split the workbook")
        if any(value not in (None, "") for value in row):
            yield number, row
