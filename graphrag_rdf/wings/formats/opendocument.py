"""OpenDocument: texts, workbooks and presentations, as LibreOffice and others write them."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.content import Grid, GridCell
from graphrag_rdf.documents.tables import MOST_COLUMNS
from graphrag_rdf.i18n import tr
from graphrag_rdf.wings.formats import sheets
from graphrag_rdf.wings.formats.package import open_package, parse_part

_NAMES = "urn:oasis:names:tc:opendocument:xmlns:"
_OFFICE, _TEXT, _TABLE = f"{{{_NAMES}office:1.0}}", f"{{{_NAMES}text:1.0}}", f"{{{_NAMES}table:1.0}}"
_DRAW, _META = f"{{{_NAMES}drawing:1.0}}", f"{{{_NAMES}meta:1.0}}"
_NOTES = f"{{{_NAMES}presentation:1.0}}notes"
_DC = "{http://purl.org/dc/elements/1.1/}"
_PROPERTIES = {
    f"{_META}initial-creator": c.CREATOR,
    f"{_DC}creator": c.CREATOR,
    f"{_META}creation-date": c.CREATED,
    f"{_DC}date": c.MODIFIED,
    f"{_DC}description": c.DESCRIPTION,
    f"{_DC}subject": c.SUBJECT,
    f"{_META}keyword": c.SUBJECT,
}
# what was deleted, comments, notes, and what a program makes of the text: contents, page numbers
_SKIPPED = frozenset(
    {
        f"{_TEXT}tracked-changes",
        f"{_OFFICE}annotation",
        f"{_TEXT}note",
        f"{_TEXT}table-of-content",
        f"{_OFFICE}forms",
    }
)
_MOST_BLANKS = 1000
_PIECES = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}


def read_odt(data: bytes) -> c.Content:
    """Extract a text: headings, paragraphs, lists and tables in its order.

    Raises:
        UnreadableError: it is damaged, encrypted or unsafe.
    """

    def lay_out(body: Any) -> c.Content:
        blocks = list(_blocks(body))
        text, tables = c.layout(blocks)
        return c.Content(text, heading=c.first_heading(blocks), tables=tables)

    return _read(data, "text", lay_out)


def read_ods(data: bytes) -> c.Content:
    """Extract each sheet as a page, as of other workbooks (`readers.sheets`).

    Raises:
        UnreadableError: it is damaged, encrypted or unsafe.
    """

    def lay_out(body: Any) -> c.Content:
        budget = [sheets.MAX_CELLS]
        text, pages, tables = sheets.lay_out(
            (sheet.get(f"{_TABLE}name") or "", _rows(sheet, budget), _merged(sheet))
            for sheet in body.iterchildren(f"{_TABLE}table")
        )
        return c.Content(text, pages, tables=tables)

    return _read(data, "spreadsheet", lay_out)


def read_odp(data: bytes) -> c.Content:
    """Extract each slide as a page, with its notes.

    Raises:
        UnreadableError: it is damaged, encrypted or unsafe.
    """

    def lay_out(body: Any) -> c.Content:
        slides = []
        for slide in body.iterchildren(f"{_DRAW}page"):
            blocks = list(_blocks(slide))
            text, tables = c.layout(blocks)
            first = next((block[1] for block in blocks if not isinstance(block, Grid)), "")
            label = " ".join(first.split())[:200]
            slides.append((c.Content(text, heading=label, tables=tables), label or None))
        return c.joined(slides)

    return _read(data, "presentation", lay_out)


def _read(data: bytes, kind: str, lay_out: Callable[[Any], c.Content]) -> c.Content:
    with zipfile.ZipFile(open_package(data)) as package:
        names = package.namelist()
        if "content.xml" not in names:
            raise c.UnreadableError(tr("damaged: content.xml is missing"))
        body = parse_part(package.read("content.xml")).find(f"{_OFFICE}body/{_OFFICE}{kind}")
        meta = parse_part(package.read("meta.xml")) if "meta.xml" in names else None
    if body is None:
        raise c.UnreadableError(tr("damaged: no {kind} in it").format(kind=kind))
    properties = (
        [(element.tag, "".join(element.itertext())) for element in meta.iter()] if meta is not None else []
    )
    return replace(
        lay_out(body),
        title=next((text for tag, text in properties if tag == f"{_DC}title"), ""),
        language=next((text for tag, text in properties if tag == f"{_DC}language"), None),
        metadata=tuple(
            (iri, text) for name, iri in _PROPERTIES.items() for tag, text in properties if tag == name
        ),
    )


def _blocks(parent: Any, kind: c.BlockKind = "paragraph") -> Iterator[c.Block | Grid]:
    """The parser allows for 256 elements within each other, so recursion ends."""
    for element in parent:
        if element.tag == f"{_TEXT}h":
            yield from _block("heading", element)
        elif element.tag == f"{_TEXT}p":
            yield from _block(kind, element)
            for box in element.iter(f"{_DRAW}text-box"):
                yield from _blocks(box)
        elif element.tag == f"{_TABLE}table":
            yield _grid(element)
        elif element.tag not in _SKIPPED and len(element):
            yield from _blocks(element, "item" if element.tag == f"{_TEXT}list-item" else kind)


def _block(kind: c.BlockKind, element: Any) -> Iterator[c.Block]:
    if text := "".join(_pieces(element)).strip():
        yield kind, text


def _pieces(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag == f"{_TEXT}s":
            yield " " * min(_number(child, f"{_TEXT}c"), _MOST_BLANKS)
        elif child.tag in _PIECES:
            yield _PIECES[child.tag]
        elif child.tag not in _SKIPPED and isinstance(child.tag, str) and child.tag != f"{_DRAW}frame":
            yield from _pieces(child)
        yield child.tail or ""


def _number(element: Any, name: str) -> int:
    value = element.get(name) or "1"
    return int(value) if value.isascii() and value.isdigit() and len(value) < 9 else 1


# --- tables ------------------------------------------------------------------------------------------


def _lines(table: Any) -> Iterator[tuple[Any, bool]]:
    """The rows of a table, also those in groups, and whether they are of its header."""
    for element in table:
        if element.tag == f"{_TABLE}table-row":
            yield element, False
        elif element.tag == f"{_TABLE}table-header-rows":
            yield from ((line, True) for line, _ in _lines(element))
        elif element.tag in {f"{_TABLE}table-rows", f"{_TABLE}table-row-group"}:
            yield from _lines(element)


def _words(cell: Any) -> str:
    return " ".join(
        word for paragraph in cell.iter(f"{_TEXT}p", f"{_TEXT}h") for word in _words_of(paragraph)
    )


def _words_of(paragraph: Any) -> list[str]:
    return "".join(_pieces(paragraph)).split()


def _grid(table: Any) -> Grid:
    grid = Grid()
    for line, header in _lines(table):
        cells: list[GridCell] = []
        for cell in line.iterchildren(f"{_TABLE}table-cell"):
            grid_cell = GridCell(
                _words(cell),
                min(_number(cell, f"{_TABLE}number-columns-spanned"), MOST_COLUMNS),
                _number(cell, f"{_TABLE}number-rows-spanned"),
            )
            cells += [grid_cell] * min(_number(cell, f"{_TABLE}number-columns-repeated"), MOST_COLUMNS)
        if header:
            grid.declared = len(grid.lines) + 1
        grid.lines.append(cells)
    return grid


def _rows(sheet: Any, budget: list[int]) -> Iterator[tuple[int, list[Any]]]:
    """The filled rows of a sheet with their numbers. What is repeated without end is empty."""
    number = 0
    for line, _ in _lines(sheet):
        cells: list[Any] = []
        blanks = 0
        for cell in line.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            times = _number(cell, f"{_TABLE}number-columns-repeated")
            value = "" if cell.tag != f"{_TABLE}table-cell" else _value(cell)
            if not value:
                blanks += times
                continue
            budget[0] -= blanks + times
            _check(budget, number, sheet)
            cells += [None] * blanks + [value] * times
            blanks = 0
        repeated = _number(line, f"{_TABLE}number-rows-repeated")
        if cells:
            budget[0] -= len(cells) * (repeated - 1)
            _check(budget, number + repeated, sheet)
            yield from ((number + again, cells) for again in range(repeated))
        number += repeated


def _check(budget: list[int], number: int, sheet: Any) -> None:
    if number > sheets.MAX_ROWS or budget[0] < 0:
        name = sheet.get(f"{_TABLE}name")
        raise c.UnreadableError(
            tr("sheet {name!r} has too many rows or cells").format(name=name), tr("split the workbook")
        )


def _value(cell: Any) -> Any:
    """A number as it was calculated, a date in ISO 8601, else what the cell shows."""
    kind = cell.get(f"{_OFFICE}value-type")
    if kind in {"float", "currency"}:
        value = cell.get(f"{_OFFICE}value") or ""
        return value[:-2] if value.endswith(".0") else value
    if kind == "date":
        return (cell.get(f"{_OFFICE}date-value") or "").removesuffix("T00:00:00")
    if kind == "boolean":
        return (cell.get(f"{_OFFICE}boolean-value") or "").upper()
    return _words(cell)


def _merged(sheet: Any) -> dict[int, list[sheets.Merged]]:
    by_row: dict[int, list[sheets.Merged]] = {}
    number = 0
    for line, _ in _lines(sheet):
        column = 0
        for cell in line.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            across = _number(cell, f"{_TABLE}number-columns-spanned")
            down = _number(cell, f"{_TABLE}number-rows-spanned")
            if across > 1 or down > 1:
                merged = sheets.Merged(number, column, number + down - 1, column + across - 1)
                by_row.setdefault(number, []).append(merged)
            column += _number(cell, f"{_TABLE}number-columns-repeated")
        number += _number(line, f"{_TABLE}number-rows-repeated")
    return by_row
