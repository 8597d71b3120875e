"""Delimited tables and JSON: the text is kept as it is; its rows are found, and what names their columns.

Lists of plain records in JSON are tables, exported chats are text. A record is a row where its values are
short. One that holds running text is a document rather than a row, so such files stay text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from graphrag_rdf.documents.model import Span, Table
from graphrag_rdf.documents.readers.chats import read_chats
from graphrag_rdf.documents.readers.content import VARIABLE_MEASURED, Content, UnreadableError
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.table_heads import SAMPLE, find_head
from graphrag_rdf.documents.table_json import members, record_lists
from graphrag_rdf.documents.tables import MOST_COLUMNS, RECORDS, count_cells, read_row, records
from graphrag_rdf.i18n import tr

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


# --- JSON and JSON Lines -------------------------------------------------------------------------------


_TITLE_KEYS = ("title", "name", "headline")
_NAME_KEYS = frozenset({"title", "name", "label"})
_LONGEST_RECORD = 50_000
"""Characters beyond which a record is a document: each chunk of it reads all of its lists."""
_LONGEST_VALUE = 200
"""Characters beyond which a value is running text."""


def read_json(data: bytes, folder: Path | None = None) -> Content:
    """Decode a JSON file; a top-level title or name is its title. Lists of records are tables, and so is
    a record by itself that has a name. Of an exported chat the messages are read, as lines.

    Args:
        folder: where the file is, for the names of users beside an exported chat.

    Raises:
        UnreadableError: it is not text, or not JSON.
    """
    text, encoding = decode(data)
    value = _parse(text, tr("not valid JSON")) if text.strip() else None
    if chats := read_chats(value, folder):
        return replace(chats, encoding=encoding)
    if not isinstance(value, dict):
        return _content(text, encoding, record_lists(text) if value is not None else [])
    titles = [value[key] for key in _TITLE_KEYS if isinstance(value.get(key), str)]
    lists = record_lists(text)
    if not lists and any(isinstance(value.get(key), str) for key in _NAME_KEYS):
        start = text.index("{")
        lists = [[(start, text.rindex("}") + 1)]]
    return _content(text, encoding, lists, titles[0] if titles else "")


def read_json_lines(data: bytes) -> Content:
    """Decode a JSON Lines file; its objects are the rows of a table.

    Raises:
        UnreadableError: it is not text, or one of its lines is not JSON.
    """
    text, encoding = decode(data)
    spans: list[Span] = []
    start = 0
    # not splitlines: a JSON string may hold U+2028 and its like
    for number, line in enumerate(text.split("\n"), start=1):
        if record := line.strip():
            value = _parse(line, tr("line {number} is not valid JSON").format(number=number))
            if isinstance(value, dict):
                begin = start + line.index(record)
                spans.append((begin, begin + len(record)))
        start += len(line) + 1
    return _content(text, encoding, [spans] if spans else [])


def _content(text: str, encoding: str | None, lists: Iterable[list[Span]], title: str = "") -> Content:
    tables = tuple(table for spans in lists if (table := _table(text, spans)) is not None)
    rows = [span for table in tables for span in table.rows]
    return Content(text, title=title, encoding=encoding, tables=tables, unsaid=tuple(_brackets(text, rows)))


def _table(text: str, spans: Sequence[Span]) -> Table | None:
    """The table of records, or None where they are not plain ones."""
    names: dict[str, None] = {}
    prose = 0
    for start, end in spans:
        if end - start > _LONGEST_RECORD:
            return None
        row_members = members(text[start:end])
        names.update((member.name, None) for member in row_members)
        prose += any(len(member.value) > _LONGEST_VALUE for member in row_members)
        if len(names) > MOST_COLUMNS:
            return None
    if len(names) < 2 or 2 * prose >= len(spans):
        return None
    return Table(tuple(names), RECORDS, tuple(spans))


def _brackets(text: str, rows: Sequence[Span]) -> Iterable[Span]:
    """What stands around records and has no word in it."""
    for (_, start), (end, _) in pairwise([(0, 0), *rows, (len(text), len(text))] if rows else []):
        if start < end and not any(map(str.isalnum, text[start:end])):
            yield start, end


def _parse(text: str, complaint: str) -> Any:
    try:
        # numbers stay strings: only the shape is checked, and int() refuses long ones
        return json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise UnreadableError(f"{complaint}: {error}") from None
    except RecursionError:
        raise UnreadableError(tr("{complaint}: nested too deeply").format(complaint=complaint)) from None
