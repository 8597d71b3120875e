"""Source code: the text is kept as it is; comments and documentation in it are sentences, code is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from graphrag_rdf.documents.model import Span
from graphrag_rdf.documents.readers.content import Content, Reader
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.wings.formats.wing import LANGUAGES

LONGEST, LONGEST_LINE = 2_000_000, 20_000
"""Characters of a file, and of its lines, in which comments are looked for; what is longer was written by a
program, and some lexers take time that grows with the square of a line."""

# what begins a line of a comment, and what ends one
_LEAD = re.compile(
    r"[ \t]*(?:///?!?|/\*+!?|\*+/|\*(?=[ \t]|$)|#+!?|--+|;+|%+|<!--|[rRuU]?(?:\"\"\"|''')|=begin|=end)?[ \t]*"
)
_TAIL = re.compile(r"[ \t]*(?:\*+/|-->|\"\"\"|''')?[ \t]*$")
_LINE = re.compile(r"[^\n]+")
_ENDS = re.compile(r"[.!?:]['\")\]]*\s*$")


def __getattr__(name: str) -> Reader:
    """The reader of a language, such as `code:python`."""
    if name not in LANGUAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(read_code, name)


def read_code(language: str, data: bytes) -> Content:
    """Decode a file of source code, and find the comments and documentation in it.

    A sentence that goes over several lines with a mark before each (`// …`) is left out: cut at the marks,
    its parts would say something else.

    Raises:
        UnreadableError: it is not text.
    """
    text, encoding = decode(data)
    written = len(text) <= LONGEST and all(len(line) <= LONGEST_LINE for line in text.split("\n"))
    sentences = list(_sentences(text, language)) if written else []
    unsaid: list[Span] = []
    position = 0
    for start, end in [*sentences, (len(text), len(text))]:
        if text[position:start].strip():
            unsaid.append((position, start))
        position = end
    return Content(text, encoding=encoding, unsaid=tuple(unsaid))


def _sentences(text: str, language: str) -> Iterator[Span]:
    for start, end in _comments(text, language):
        lines = [match.span() for match in _LINE.finditer(text, start, end)]
        inner = [span for line in lines if (span := _inner(text, *line))]
        marked = _is_marked(text[start:end])
        if not marked:
            if inner:
                yield inner[0][0], inner[-1][1]
            continue
        for number, (first, last) in enumerate(inner):
            before = number == 0 or _ENDS.search(text, *inner[number - 1])
            if before and (len(inner) == 1 or _ENDS.search(text, first, last)):
                yield first, last


def _inner(text: str, start: int, end: int) -> Span | None:
    """A line of a comment without its marks."""
    lead = _LEAD.match(text, start, end)
    start = lead.end() if lead else start
    tail = _TAIL.search(text, start, end)
    end = tail.start() if tail else end
    return (start, end) if any(map(str.isalpha, text[start:end])) else None


def _is_marked(comment: str) -> bool:
    """Whether each line of a comment has a mark, rather than only its ends."""
    lines = [line.lstrip() for line in comment.split("\n")[1:] if line.strip()]
    return bool(lines) and all(line[:1] in "#/-;%*" for line in lines)


def _comments(text: str, language: str) -> Iterator[Span]:
    """Comments and documentation; comments in lines below each other are one."""
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Comment, String

    start = end = -1
    before = None
    for place, kind, value in get_lexer_by_name(language).get_tokens_unprocessed(text):
        if kind in Comment.Preproc or kind in Comment.PreprocFile or kind in Comment.Hashbang:
            continue
        if kind not in Comment and kind not in String.Doc:
            continue
        below = kind == before and not text[end:place].strip() and text.count("\n", end, place) <= 1
        if start >= 0 and not below:
            yield start, end
        start, end, before = start if below else place, place + len(value), kind
    if start >= 0:
        yield start, end
