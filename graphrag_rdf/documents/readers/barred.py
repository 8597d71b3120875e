"""Tables with bars around their cells, as in Markdown and Org."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from graphrag_rdf.documents.model import Span, Table
from graphrag_rdf.documents.tables import BARRED, MOST_COLUMNS, read_row

_LINE = re.compile(r"[^\r\n]+")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")
DASHES = re.compile(r"[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*")
FENCE = re.compile(r" {0,3}(```+|~~~+)")
"""Begins and ends code in Markdown; matched at the beginning of a line."""


def barred_tables(text: str, *, start: int = 0, dashes: re.Pattern[str] = DASHES) -> tuple[Table, ...]:
    """The tables of a text of which the columns have names: those with a line of dashes below the first.

    Args:
        text: the document's.
        start: where to begin looking, code points.
        dashes: what such a line looks like.
    """
    found = []
    for block in _blocks(text, start):
        lines = [text[slice(*span)] for span in block]
        starts = [
            n for n, line in enumerate(lines[1:]) if dashes.fullmatch(line) and not dashes.fullmatch(lines[n])
        ]
        for first, end in pairwise([*starts, len(block)]):
            found.append(_table(text, block[first:end]))
    return tuple(table for table in found if table is not None)


def _table(text: str, lines: list[Span]) -> Table | None:
    head, end = lines[0], lines[1][1]
    names = tuple(cell.text for cell in read_row(text[slice(*head)], BARRED, ()) or ())
    return (
        Table(names, BARRED, tuple(lines[2:]), (head[0], end))
        if lines[2:] and any(names) and len(names) <= MOST_COLUMNS
        else None
    )


def _blocks(text: str, start: int) -> Iterator[list[Span]]:
    """Runs of lines with bars, without blank lines between them."""
    run: list[Span] = []
    fence = ""
    for match in _LINE.finditer(text, start):
        mark = FENCE.match(match[0])
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        row = not fence and _ROW.fullmatch(match[0]) is not None
        apart = run and text[run[-1][1] : match.start()] not in {"\n", "\r\n", "\r"}
        if run and (not row or apart):
            yield run
            run = []
        if row:
            run.append(match.span())
    if run:
        yield run
