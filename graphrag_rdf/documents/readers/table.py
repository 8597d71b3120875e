"""Delimited tables: the text is kept as it is; its rows are found, and the column names become metadata."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice

from graphrag_rdf.documents.model import Table
from graphrag_rdf.documents.readers.content import VARIABLE_MEASURED, Content
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.tables import MOST_COLUMNS, count_cells, read_row, records

_SEPARATORS = "\t;,|"
# the line in which spreadsheet programs tell the separator
_DECLARED = re.compile(r'"?sep=([\t;,|])"?[ \t]*(?=[\r\n])', re.IGNORECASE)
_SAMPLE = 200  # records that tell the separator and whether the first one names the columns
_ALIKE = 0.8  # share of records with the same number of cells
_LONGEST_NAME = 80
_MOSTLY = 0.8

# what begins like this is a value, and no name of a column
_VALUE = re.compile(
    r"[-+(]?\s?[€$£¥]?\s?[.,]?\d|(?:true|false|yes|no|n/?a|null)\Z|[a-z]+://|\S+@\S+\Z", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"\w_\w|[a-z][A-Z]|#\Z")
_WORD = re.compile(r"[^\W\d_]+")
# words that name columns
_COMMON = """
    name title label id key code type kind category class group status date day month year time start
    end from to born birth died death birthday birthplace age sex gender occupation profession job role
    position email mail phone address street city town place country region state zip postcode
    population area height length depth weight size amount price cost total sum count number quantity
    currency value unit rate share percent author artist publisher language description comment comments
    note notes remark remarks text url link website source reference company organisation organization
    department owner customer client supplier product item model version capital founded founder members
    employees revenue alias aliases titel nom naam nombre nome nummer datum jahr jaar année ano typ art
    ort plaats lieu stadt ville stad ciudad cidade land pays país beruf beroep métier betrag preis
    bedrag prix beschreibung omschrijving vorname nachname
    """
_NAMES = frozenset(_COMMON.split())


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
    spans = [span for count, span in counted if count > 1]
    if not spans:
        return None
    sample = [
        [cell.text for cell in read_row(text[start:end], separator, ()) or ()]
        for start, end in spans[: _SAMPLE + 1]
    ]
    head = sample[0]
    if len(head) < 2:
        return None
    if len(sample) == 1 or not names_columns(head, sample[1:]):
        return Table((), separator, tuple(spans))
    return Table(tuple(head), separator, tuple(spans[1:]), spans[0])


def _separator(text: str) -> str | None:
    """The character that parts most records into equally many cells, and into most."""
    best: tuple[float, int, str] | None = None
    for separator in _SEPARATORS:
        counts = Counter(
            count_cells(text[slice(*span)], separator) for span in islice(records(text, separator), _SAMPLE)
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


def names_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a first row names the columns, rather than being a row like the others.

    Nothing in it may look like a value or stand in its own column again. Beyond that something has to speak
    for it: a column of values below a word, names as programs write them, words that columns are often
    called by, or names of things below what is none.
    """
    filled = [name for name in head if name]
    if 2 * len(filled) < len(head) or any(_VALUE.match(name) or len(name) > _LONGEST_NAME for name in filled):
        return False
    columns = [
        [row[number] for row in rows if number < len(row) and row[number]] for number in range(len(head))
    ]
    if any(name and name in column for name, column in zip(head, columns, strict=True)):
        return False
    if any(
        _share(column, lambda value: bool(_VALUE.match(value))) >= _MOSTLY for column in columns if column
    ):
        return True
    if any(map(_IDENTIFIER.search, filled)):
        return True
    known = sum(any(word.lower() in _NAMES for word in _WORD.findall(name)) for name in filled)
    unlike = sum(_unlike(name, column) for name, column in zip(head, columns, strict=True) if name and column)
    return 2 * known >= len(filled) or 2 * unlike >= len(filled)


def _unlike(name: str, column: Sequence[str]) -> bool:
    """Whether a word stands above names of several words, or one in lower case above capitals."""
    several = " " not in name and _share(column, lambda value: " " in value) >= _MOSTLY
    capitals = name[:1].islower() and _share(column, lambda value: value[:1].isupper()) >= _MOSTLY
    return several or capitals


def _share(column: Sequence[str], holds: Callable[[str], bool]) -> float:
    return sum(map(holds, column)) / len(column)
