"""JSON and JSON Lines: the text is kept as it is; its records are found.

Lists of plain records are tables, exported chats are text. A record is a row where its values are short. One
that holds running text is a document rather than a row, so such files stay text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from graphrag_rdf.documents.model import Span, Table
from graphrag_rdf.documents.readers.content import Content, UnreadableError
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.table_json import members, record_lists
from graphrag_rdf.documents.tables import MOST_COLUMNS, RECORDS
from graphrag_rdf.i18n import tr
from graphrag_rdf.wings.formats.chats import read_chats

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
