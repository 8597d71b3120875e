"""Lists as tables of text, for terminals and models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from graphrag_rdf.i18n import tr
from graphrag_rdf.lists.values import NUMBERS, WHOLE
from graphrag_rdf.trace.lines import Lines, one_line

if TYPE_CHECKING:
    from graphrag_rdf.lists.declaration import Asked, Item, List

_GAP = "  "
_NARROW = 4
"""Cells below which a column is not cut."""
_WRAPPED = 80


class Heading(NamedTuple):
    """A column of a table: its name, whether it is aligned to the right, and where too long cells are cut."""

    name: str
    right: bool = False
    cut: str = "end"


def table(
    columns: Sequence[Heading],
    rows: Iterable[Sequence[object]],
    *,
    width: int | None = None,
    indents: Sequence[int] = (),
) -> list[str]:
    """A line of headings and a line for each row, safe to print.

    Args:
        width: cells to which the lines are cut, from the widest columns on; None leaves them whole.
        indents: blanks before the first cell of each row.
    """
    texts = [[one_line(column.name) for column in columns]]
    texts += [["" if cell is None else one_line(str(cell)) for cell in row] for row in rows]
    for row, indent in zip(texts[1:], indents, strict=False):
        row[0] = " " * indent + row[0]
    widths = [max(map(_cells, column)) for column in zip(*texts, strict=True)]
    if width is not None:
        _shrink(widths, [number for number, column in enumerate(columns) if column.cut], width)
    return [_GAP.join(map(_fitted, row, widths, columns)).rstrip() for row in texts]


def _shrink(widths: list[int], numbers: Sequence[int], width: int) -> None:
    """Make the widest of some columns narrower, until all fit."""
    room = width - len(_GAP) * (len(widths) - 1)
    for number in numbers:
        widths[number] = min(widths[number], width)
    while sum(widths) > room and numbers:
        widest = max(numbers, key=widths.__getitem__)
        if widths[widest] <= _NARROW:
            return
        widths[widest] -= 1


def _fitted(text: str, width: int, column: Heading) -> str:
    """A cell in exactly so many cells."""
    if _cells(text) > width:
        while _cells(text) >= width:
            text = text[1:] if column.cut == "start" else text[:-1]
        text = f"…{text}" if column.cut == "start" else f"{text}…"
    blank = " " * (width - _cells(text))
    return blank + text if column.right else text + blank


def _cells(text: str) -> int:
    """The cells that a text takes: wide characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def list_text(
    listing: List, items: Sequence[Item], asked: Asked, *, width: int | None = None, colour: bool = False
) -> str:
    """A list as a table, with longer texts below each row; ends in a line feed.

    Args:
        width: as of `table`.
    """
    shown = [
        column
        for column in listing.columns
        if column.heading and column.table and (not column.with_filter or column.with_filter in asked.values)
    ]
    columns, below = ([each for each in shown if bool(each.below) is place] for place in (False, True))
    headings = [
        Heading(
            tr(column.heading),
            column.kind in NUMBERS,
            "" if column.kind in WHOLE else "start" if column.kind == "path" else "end",
        )
        for column in columns
    ]
    depths = listing.depths(items)
    rows = [[column.text(item) for column in columns] for item in items]
    indents = [len(_GAP) * depth for depth in depths]
    heading, *lines = table(headings, rows, width=width, indents=indents)
    page = Lines(min(width or _WRAPPED, _WRAPPED), colour)
    page.line(heading, bold=True)
    for line, item, indent in zip(lines, items, indents, strict=True):
        page.line(line)
        lead = " " * indent + _GAP
        for paragraph in (each for column in below for each in column.lines(item)):
            page.paragraph(paragraph, lead, hang=lead + _GAP)
    return page.text()
