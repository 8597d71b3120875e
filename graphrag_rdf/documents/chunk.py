"""Cutting a document into chunks; the headings and sentences before each, which help to resolve names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Literal
from zlib import crc32

from graphrag_rdf.documents.model import Chunk, Heading, ParsedDocument, Span, Table, trimmed
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.documents.tables import cell_ends, row_spans
from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import tr

Unit = Literal["characters", "tokens"]

DEFAULT_SIZE = 2000
FULL_ENOUGH = 0.6  # of the size: a chunk is not cut before

# how good a place is for a cut: within a long sentence or right after a heading is worst
_WORST, _SENTENCE, _LINE, _PARAGRAPH, _PAGE, _HEADING = range(6)
_BLANK_LINE = re.compile(r"(?:\r\n|\n|\r)[^\S\r\n\f]*(?:\r\n|\n|\r)")
_MARKED_HEADING = re.compile(r"#{1,6}[ \t]")
_NO_HEADING_END = ".!?…:;,。！？"
_LONGEST_HEADING = 100
_AT_ONCE = 1 << 16
"""Characters, or 32 chunks, for the splitter: its time grows with the square of the length."""

Measure = Callable[[int, int], int]


def chunk_text(
    text: str,
    *,
    size: int = DEFAULT_SIZE,
    overlap: int = 0,
    unit: Unit = "characters",
    language: str | None = None,
    tables: Sequence[Table] = (),
) -> tuple[Chunk, ...]:
    """Cut a text into chunks of whole sentences.

    Sentences are packed in order until `size` is reached; the cut is then put at the best place in the last
    part of the chunk (above FULL_ENOUGH): before a heading, else at a page break, else between
    paragraphs, else between lines, else between sentences. A heading stays with what follows it. Of equal
    places the last is taken; but between mere sentences and lines a checksum of the sentence that follows
    decides, not position: so after an insertion or deletion the cuts soon fall into step again, and chunks
    further on stay what they were (content-defined chunking, as in Muthitacharoen et al., 2001).

    A sentence longer than `size` is cut at word ends (semantic-text-splitter); only then a chunk ends
    within a sentence. A single grapheme may be longer than a tiny `size`.

    Args:
        text: the document's text.
        size: upper bound of a chunk, in units.
        overlap: a chunk may begin with whole sentences of its predecessor up to this length, in units.
        unit: code points, or tokens as `count_tokens` estimates them.
        language: BCP 47 tag, for the sentence splitter.
        tables: in the text: a row is a sentence; one that is too long is cut between its cells.

    Returns:
        chunks in order; with overlap 0 every character that is not white space is in exactly one.

    Raises:
        ConfigError: size is not positive, or overlap not in 0 … size - 1.
    """
    if size < 1:
        raise ConfigError(tr("chunk size must be at least 1, not {size}").format(size=size))
    if not 0 <= overlap < size:
        raise ConfigError(
            tr("chunk overlap must be between 0 and the size minus 1 ({most}), not {overlap}").format(
                most=size - 1, overlap=overlap
            )
        )
    if unit not in ("characters", "tokens"):
        raise ConfigError(tr("chunk unit must be characters or tokens, not {unit!r}").format(unit=unit))
    whole = text.strip()
    if unit == "characters" and len(whole) <= size:  # nothing to cut, so no sentence is looked for
        return (Chunk(0, len(text) - len(text.lstrip()), whole),) if whole else ()
    spans: list[Span] = []
    strengths: list[int] = []  # of the cut before each span
    rows = row_spans(tables)
    separators = {start: table.separator for table in tables for start, _ in row_spans([table])}
    sentences = [(s.offset, s.offset + s.length) for s in split_sentences(text, language, rows=rows)]
    for strength, sentence in zip(_strengths(text, sentences), sentences, strict=True):
        fits = (_length(text, *sentence, unit)) <= size
        separator = None if fits else separators.get(sentence[0])
        if separator is None:
            pieces = [sentence] if fits else list(_pieces(text, sentence, size, unit))
        else:
            pieces = list(_cells_together(text, sentence, separator, size, unit))
        spans += pieces
        strengths += [strength] + [_WORST] * (len(pieces) - 1)
    measure = _measure(text, spans, unit)
    places = [
        (strength, 0 if strength > _LINE else crc32(text[start:end].encode("utf-8", "surrogatepass")))
        for strength, (start, end) in zip(strengths, spans, strict=True)
    ]
    return tuple(
        Chunk(index, spans[first][0], text[spans[first][0] : spans[last][1]])
        for index, (first, last) in enumerate(_pack(places, measure, size, overlap))
    )


def _strengths(text: str, sentences: Sequence[Span]) -> list[int]:
    gaps = [text[a_end:b_start] for (_, a_end), (b_start, _) in pairwise(sentences)]
    kinds = [_PAGE, *map(_gap_strength, gaps), _PAGE]  # the text's ends cut like page breaks
    headings = [
        _is_heading(text[start:end], min(kinds[number], kinds[number + 1]))
        for number, (start, end) in enumerate(sentences)
    ]
    return [
        _WORST if number and headings[number - 1] else _HEADING if headings[number] else kinds[number]
        for number in range(len(sentences))
    ]


def _gap_strength(gap: str) -> int:
    if "\f" in gap:
        return _PAGE
    if _BLANK_LINE.search(gap):
        return _PARAGRAPH
    return _LINE if "\n" in gap or "\r" in gap else _SENTENCE


def _is_heading(sentence: str, isolation: int) -> bool:
    """Whether a line is a marked heading, or a short line on its own that does not end like a sentence."""
    if _MARKED_HEADING.match(sentence):
        return True
    return (
        isolation >= _PARAGRAPH
        and len(sentence) <= _LONGEST_HEADING
        and sentence[0].isalnum()
        and sentence[-1] not in _NO_HEADING_END
        and "\n" not in sentence
    )


def _length(text: str, start: int, end: int, unit: Unit) -> int:
    return end - start if unit == "characters" else count_tokens(text[start:end])


def _cells_together(text: str, row: Span, separator: str, size: int, unit: Unit) -> Iterator[Span]:
    """A long row in pieces that end where cells end; a cell that is too long itself is cut."""
    begin, last = row[0], row[0]
    for end in (row[0] + place for place in cell_ends(text[slice(*row)], separator)):
        if _length(text, begin, end, unit) > size:
            if piece := trimmed(text, begin, last):
                yield piece
            begin = last
            if _length(text, begin, end, unit) > size:
                yield from _pieces(text, (begin, end), size, unit)
                begin = end
        last = end
    if piece := trimmed(text, begin, last):
        yield piece


def _pieces(text: str, sentence: Span, size: int, unit: Unit) -> Iterator[Span]:
    """A long sentence in pieces that end where words end.

    A very long one is read in windows: the last piece of a window, which its end may have cut, begins the
    next.
    """
    start, end = sentence
    from semantic_text_splitter import TextSplitter

    splitter = TextSplitter(size) if unit == "characters" else TextSplitter.from_callback(count_tokens, size)
    window = max(_AT_ONCE, 32 * size)
    while start < end:
        stop = min(start + window, end)
        pieces = splitter.chunk_indices(text[start:stop])
        next_start = start + pieces[-1][0] if stop < end and len(pieces) > 1 else stop
        for offset, piece in pieces:
            begin = start + offset
            # its definition of white space differs from Python's
            if begin < next_start and (span := trimmed(text, begin, begin + len(piece))):
                yield span
        start = next_start


def _measure(text: str, spans: Sequence[Span], unit: Unit) -> Measure:
    """A function for the length of the spans from first to last, in units."""
    if unit == "characters":
        return lambda first, last: spans[last][1] - spans[first][0]
    sums = [0, *accumulate(count_tokens(text[start:end]) for start, end in spans)]
    return lambda first, last: sums[last + 1] - sums[first]


def _pack(
    places: Sequence[tuple[int, int]], measure: Measure, size: int, overlap: int
) -> Iterator[tuple[int, int]]:
    """Runs (first, last) of spans, each within the size if its spans are.

    Args:
        places: how good it is to cut before each span; of equals the last is taken.
    """
    count = len(places)
    first = done = 0  # spans before `done` are already in a chunk
    while done < count:
        last = done
        while last + 1 < count and measure(first, last + 1) <= size:
            last += 1
        if last + 1 < count:
            cuts = [cut for cut in range(done, last) if measure(first, cut) >= FULL_ENOUGH * size]
            last = max((*cuts, last), key=lambda cut: (places[cut + 1], cut))
        yield first, last
        first = done = last + 1
        if done < count:
            while first and measure(first - 1, last) <= overlap and measure(first - 1, done) <= size:
                first -= 1


# --- what stands before a chunk ------------------------------------------------------------------------


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
        headings = tuple(Heading(match.start(1), 1, match[1].strip()) for match in alone)
        document = replace(document, headings=headings)
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
