"""Characters that a text may hold and RDF's formats cannot."""

from __future__ import annotations

import re

# what XML 1.0, and so SPARQL's and RDF's XML formats, cannot carry; form feeds stay, they part the pages
_UNCARRIED = re.compile("[\x00-\x08\x0b\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def carried(text: str) -> str:
    """A text with U+FFFD in the place of each character that cannot be carried."""
    return _UNCARRIED.sub("\ufffd", text)


def one_line(text: str | None) -> str:
    """A text without characters that cannot be carried, its white space collapsed."""
    return " ".join(_UNCARRIED.sub("", text or "").split())
