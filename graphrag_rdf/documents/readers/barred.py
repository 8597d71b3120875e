"""Tables with bars around their cells: those of Markdown, and what HTML's become."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from graphrag_rdf.documents.model import Span, Table
from graphrag_rdf.documents.tables import BARRED, MOST_COLUMNS, read_row

_LINE = re.compile(r"[^\r\n]+")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")
_DASHES = re.compile(r"[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*")
FENCE = re.compile(r" {0,3}(```+|~~~+)")
"""Begins and ends code in Markdown; matched at the beginning of a line."""


def barred_tables(text: str, heads: Mapping[str, bool] | None = None, *, start: int = 0) -> tuple[Table, ...]:
    """The tables of a text of which the columns have names.

    Args:
        text: the document's.
        heads: lines that begin tables, and whether they name columns; None where a line of dashes below them
            tells that, as in Markdown.
        start: where to begin looking, code points.
    """
    found = []
    for block in _blocks(text, start, fences=heads is None):
        lines = [text[slice(*span)] for span in block]
        if heads is None:
            starts = [n for n, line in enumerate(lines[1:]) if _DASHES.fullmatch(line)]
        else:
            starts = [n for n, line in enumerate(lines) if line in heads]
        for first, end in pairwise([*starts, len(block)]):
            if heads is None or heads[lines[first]]:
                found.append(_table(text, block[first:end], dashes=heads is None))
    return tuple(table for table in found if table is not None)


def _table(text: str, lines: list[Span], *, dashes: bool) -> Table | None:
    rows = lines[2 if dashes else 1 :]
    head, end = lines[0], lines[1 if dashes else 0][1]
    names = tuple(cell.text for cell in read_row(text[slice(*head)], BARRED, ()) or ())
    return (
        Table(names, BARRED, tuple(rows), (head[0], end))
        if rows and any(names) and len(names) <= MOST_COLUMNS
        else None
    )


def _blocks(text: str, start: int, *, fences: bool) -> Iterator[list[Span]]:
    """Runs of lines with bars, without blank lines between them."""
    run: list[Span] = []
    fence = ""
    for match in _LINE.finditer(text, start):
        mark = FENCE.match(match[0]) if fences else None
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
