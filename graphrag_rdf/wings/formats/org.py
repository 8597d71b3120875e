"""Org: the source text is kept as it is; keywords give metadata."""

from __future__ import annotations

import re

from graphrag_rdf.documents.model import Span
from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.readers.markdown import barred_tables

_KEYWORD = re.compile(
    r"[ \t]*#\+(title|author|date|description|keywords|language|filetags):[ \t]*(.*?)[ \t]*$", re.I | re.M
)
_HEADING = re.compile(
    r"^\*+[ \t]+(?:(?:TODO|DONE|NEXT|WAITING)[ \t]+)?(?:\[#[A-Z]\][ \t]+)?(.*?)(?:[ \t]+:[\w@:]+:)?[ \t]*$",
    re.M,
)
_DASHES = re.compile(r"[ \t]*\|(?:-+\+)*-+\|?[ \t]*")
# keywords, comments, drawers, plans, lines between rows, and code
_SILENT = re.compile(
    r"^[ \t]*(?:#\+begin_(?:src|example|export|comment)\b[^\r\n]*(?:[\r\n]+(?![ \t]*#\+end_)[^\r\n]*)*"
    r"[\r\n]+[ \t]*#\+end_[^\r\n]*"
    r"|#\+[^\r\n]*|#[ \t][^\r\n]*|#$|:[\w@-]+:[^\r\n]*|(?:SCHEDULED|DEADLINE|CLOSED):[^\r\n]*"
    r"|\|[-+]+\|?[ \t]*$)",
    re.I | re.M,
)


def read_org(data: bytes) -> c.Content:
    """Decode an Org file; title and metadata from its keywords, the first heading, and tables with a rule.

    Raises:
        UnreadableError: it is not text.
    """
    text, encoding = decode(data)
    keywords = [(name.lower(), value) for name, value in _KEYWORD.findall(text) if value]
    heading = _HEADING.search(text)
    tables = barred_tables(text, dashes=_DASHES)
    return c.Content(
        text,
        title=next((value for name, value in keywords if name == "title"), ""),
        heading=heading[1] if heading else "",
        language=next((value for name, value in keywords if name == "language"), None),
        encoding=encoding,
        metadata=tuple((c.PROPERTIES[name], value) for name, value in keywords if name in c.PROPERTIES),
        tables=tables,
        unsaid=_silent(text, [span for table in tables for span in (table.header, *table.rows) if span]),
    )


def _silent(text: str, tables: list[Span]) -> tuple[Span, ...]:
    """What is no sentence, beside headers and rows of tables."""
    spans = (match.span() for match in _SILENT.finditer(text))
    return tuple(span for span in spans if not any(start <= span[0] < end for start, end in tables))
