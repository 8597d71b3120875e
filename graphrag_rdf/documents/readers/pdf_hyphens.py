"""Words divided at the end of a line, mended by what the same document says elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable

from graphrag_rdf.documents.readers.pdf_layout import MAYBE_HYPHEN
from graphrag_rdf.documents.readers.pdf_words import HYPHEN

_DIVIDED = re.compile(rf"([^\W\d_]+){MAYBE_HYPHEN}([^\W\d_]+)")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def mend(texts: Iterable[str]) -> list[str]:
    """Decide for each `MAYBE_HYPHEN` whether it belongs to its word.

    It does not if the word stands undivided elsewhere in the document. Else it does if the document has the
    word with a hyphen, or both halves as words of their own ("well-known"). Otherwise it is left out.
    """
    parts = [text.replace(HYPHEN, "-") for text in texts]
    if not any(MAYBE_HYPHEN in part for part in parts):
        return parts
    known = {word for part in parts for word in _WORD.findall(_DIVIDED.sub(" ", part).lower())}

    def whole(match: re.Match[str]) -> str:
        left, right = match[1], match[2]
        first, second = left.lower(), right.lower()
        compound = f"{first}-{second}" in known or (first in known and second in known)
        return left + ("-" if first + second not in known and compound else "") + right

    # thrice: a long compound may be divided more than once
    for _ in range(3):
        parts = [_DIVIDED.sub(whole, part) for part in parts]
    return [part.replace(MAYBE_HYPHEN, "-") for part in parts]
