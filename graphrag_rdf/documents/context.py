"""What stands in a document before a passage: headings and sentences, by which names are resolved."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_rdf.documents.model import ParsedDocument
from graphrag_rdf.documents.sentences import split_sentences

_MARKED = re.compile(r"^(#{1,6})[ \t]+(.{1,200}?)[ \t]*#*[ \t]*$", re.MULTILINE)
_ALONE = re.compile(
    r"(?:\A|\n[ \t]*\n|\f)[ \t]*([^\W_][^\n\f]{1,98}[^\n\f.!?…:;,。！？|])[ \t]*(?=\n[ \t]*\n)"
)
"""A line by itself that does not end like a sentence: a heading of a format without marks for them."""
_SENTENCES, _LENGTH = 3, 400
"""Of the sentences before a passage: as many at most, and of so many characters together."""


@dataclass(frozen=True, slots=True)
class Context:
    """What stands before a passage.

    Attributes:
        headings: under which it stands, from the outermost on; without the document's title.
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
    """The context of each passage.

    Args:
        offsets: where the passages begin in the document's text, in order; code points.
    """
    text = document.text
    found = [(match.start(), len(match[1]), match[2]) for match in _MARKED.finditer(text)]
    alone = [(match.start(1), 7, match[1].strip()) for match in _ALONE.finditer(text)]
    headings = sorted(found + [each for each in alone if not each[2].startswith("#")])
    contexts: list[Context] = []
    path: list[tuple[int, int, str]] = []
    position = 0
    for offset in offsets:
        while position < len(headings) and headings[position][0] < offset:
            level = headings[position][1]
            path = [each for each in path if each[1] < level] + [headings[position]]
            position += 1
        names = tuple(name for _, _, name in path if name != document.title)
        contexts.append(Context(names, sentences_before(text, offset, document.language)))
    return contexts


def sentences_before(text: str, offset: int, language: str | None) -> str:
    """The last sentences before a place, as many whole ones as fit."""
    start = max(0, offset - 2 * _LENGTH)
    tail = text[start:offset]
    kept = ""
    for number, sentence in enumerate(reversed(split_sentences(tail, language))):
        begun = tail[sentence.offset :].rstrip()
        cut = sentence.offset == 0 and start
        if number == _SENTENCES or len(begun) > _LENGTH or cut or _MARKED.match(begun):
            break
        kept = begun
    return kept
