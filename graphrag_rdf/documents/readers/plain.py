"""Plain text: kept as it is."""

from __future__ import annotations

from graphrag_rdf.documents.readers.content import Content
from graphrag_rdf.documents.readers.encoding import decode


def read_plain(data: bytes) -> Content:
    """Decode a text file.

    Raises:
        UnreadableError: it is not text.
    """
    text, encoding = decode(data)
    return Content(text, encoding=encoding)
