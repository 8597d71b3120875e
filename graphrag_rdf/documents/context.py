"""What stands before a chunk in its document: headings and sentences that help to resolve names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphrag_rdf.documents.model import Heading, ParsedDocument
from graphrag_rdf.documents.sentences import split_sentences

_MARK = re.compile(r"#{1,6}[ \t]")
_ALONE = re.compile(
    r"(?:\A|\n[ \t]*\n|\f)[ \t]*([^\W_][^\n\f]{1,98}[^\n\f.!?…:;,。！？|])[ \t]*(?=\n[ \t]*\n)"
)
"""A line by itself that does not end like a sentence: taken as a heading if the reader reports none."""
_SENTENCES, _LENGTH = 3, 400
"""Largest number of sentences before a chunk, and of their characters."""


@dataclass(frozen=True, slots=True)
class Context:
    """What stands before a chunk.

    Attributes:
        headings: of its sections, the outermost first, without the document's title.
        before: the last sentences.
    """

    headings: tuple[str, ...] = ()
    before: str = ""

    @property
    def hash(self) -> str:
        """SHA-256 of it; "" if there is nothing."""
        if self == NO_CONTEXT:
            return ""
        return hashlib.sha256(
            "\0".join((*self.headings, "", self.before)).encode("utf-8", "replace")
        ).hexdigest()


NO_CONTEXT = Context()


def contexts_of(document: ParsedDocument, offsets: Sequence[int]) -> list[Context]:
    """The context of each chunk.

    Args:
        offsets: where the chunks begin in the document's text, in order; code points.
    """
    if not document.headings:
        alone = _ALONE.finditer(document.text)
        found = tuple(Heading(match.start(1), 1, match[1].strip()) for match in alone)
        document = replace(document, headings=found)
    return [
        Context(document.headings_above(offset), sentences_before(document.text, offset, document.language))
        for offset in offsets
    ]


def sentences_before(text: str, offset: int, language: str | None) -> str:
    """The last whole sentences before a place, as many as the limits allow."""
    start = max(0, offset - 2 * _LENGTH)
    tail = text[start:offset]
    kept = ""
    for number, sentence in enumerate(reversed(split_sentences(tail, language))):
        begun = tail[sentence.offset :].rstrip()
        cut = sentence.offset == 0 and start
        if number == _SENTENCES or len(begun) > _LENGTH or cut or _MARK.match(begun):
            break
        kept = begun
    return kept
