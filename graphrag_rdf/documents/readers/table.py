"""Delimited tables: kept as they are; the column names become metadata."""

from __future__ import annotations

import csv

from graphrag_rdf.documents.readers.content import VARIABLE_MEASURED, Content
from graphrag_rdf.documents.readers.encoding import decode

_SAMPLE = 1 << 14
_MAX_COLUMNS = 200


def read_table(data: bytes) -> Content:
    """Decode a CSV or TSV file; the delimiter is sniffed to find the column names.

    Raises:
        UnreadableError: it is not text.
    """
    text, encoding = decode(data)
    names = tuple((VARIABLE_MEASURED, name) for name in column_names(text))
    return Content(text, encoding=encoding, metadata=names)


def column_names(text: str) -> list[str]:
    """Names in the first row, if it looks like a header: distinct, filled, none a number; else none."""
    try:
        dialect = csv.Sniffer().sniff(text[:_SAMPLE], delimiters=",;\t|")
        cells = [cell.strip() for cell in next(csv.reader(text[:_SAMPLE].splitlines(), dialect), [])]
    except csv.Error:
        return []
    if not 1 < len(cells) <= _MAX_COLUMNS or len(set(cells)) < len(cells):
        return []
    return [] if any(not cell or cell[0].isdigit() for cell in cells) else cells
