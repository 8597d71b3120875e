"""Delimited tables: the text is kept as it is; its rows are found, and what names their columns."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

from graphrag_rdf.documents.model import Table
from graphrag_rdf.documents.readers.content import VARIABLE_MEASURED, Content
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.table_heads import SAMPLE, find_head
from graphrag_rdf.documents.tables import MOST_COLUMNS, count_cells, read_row, records

_SEPARATORS = "\t;,|"
# the line in which spreadsheet programs tell the separator
_DECLARED = re.compile(r'"?sep=([\t;,|])"?[ \t]*(?=[\r\n])', re.IGNORECASE)
_ALIKE = 0.8  # share of records with the same number of cells


def read_table(data: bytes) -> Content:
    """Decode a CSV or TSV file, and find its rows and the names of its columns.

    Raises:
        UnreadableError: it is not text.
    """
    text, encoding = decode(data)
    declared = _DECLARED.match(text)
    unsaid = (declared.span(),) if declared else ()
    table = find_table(text)
    if table is None:
        return Content(text, encoding=encoding, unsaid=unsaid)
    names = tuple((VARIABLE_MEASURED, name) for name in table.names if name)
    return Content(text, encoding=encoding, metadata=names, tables=(table,), unsaid=unsaid)


def find_table(text: str) -> Table | None:
    """The rows of a delimited text, or None if it has no two columns.

    Records with one cell only, such as a title above the table or a note below it, are no rows, and neither
    is a first line that tells the separator (`sep=;`).
    """
    declared = _DECLARED.match(text)
    separator = declared[1] if declared else _separator(text)
    if separator is None:
        return None
    start = declared.end() if declared else 0
    spans = [span for span in records(text, separator) if span[0] >= start]
    counted = [(count_cells(text[slice(*span)], separator), span) for span in spans]
    if any(count > MOST_COLUMNS for count, _ in counted):
        return None
    above = "" if not counted or counted[0][0] > 1 else text[slice(*counted[0][1])].strip(' "\t')
    spans = [span for count, span in counted if count > 1]
    if not spans:
        return None
    sample = [
        [cell.text for cell in read_row(text[start:end], separator, ()) or ()]
        for start, end in spans[: SAMPLE + 1]
    ]
    head = find_head(sample)
    if head is None:
        return Table((), separator, tuple(spans))
    first, last = head.titles, head.titles + head.lines
    return Table(
        head.names,
        separator,
        tuple(spans[last:]),
        (spans[first][0], spans[last - 1][1]),
        " ".join(filter(None, (above, head.caption))),
    )


def _separator(text: str) -> str | None:
    """The character that parts most records into equally many cells, and into most."""
    best: tuple[float, int, str] | None = None
    for separator in _SEPARATORS:
        counts = Counter(
            count_cells(text[slice(*span)], separator) for span in islice(records(text, separator), SAMPLE)
        )
        whole = counts.total()
        del counts[1]  # titles and notes, or rows that something else parts
        if 2 * counts.total() < max(whole, 1):
            continue
        cells, number = max(counts.items(), key=lambda item: (item[1], item[0]))
        rank = number / whole, cells
        if number >= _ALIKE * counts.total() and (best is None or rank > best[:2]):
            best = *rank, separator
    return best[2] if best else None
