"""The reader of Gemtext: preformatted lines are not sentences."""

import re

from graphrag_rdf.documents.readers.content import Content
from graphrag_rdf.documents.readers.encoding import decode

_PREFORMATTED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def read_gemtext(data: bytes) -> Content:
    """Decode a file; its text stays as it is."""
    text, encoding = decode(data)
    return Content(text, encoding=encoding, unsaid=tuple(m.span() for m in _PREFORMATTED.finditer(text)))
