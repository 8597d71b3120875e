"""Splitting text into sentences by rules.

First lines are gathered into blocks (paragraphs, headings, list items, table rows), whose borders no
sentence crosses. Then each block is cut after full stops and similar marks, unless a full stop belongs to
an abbreviation, an initial or an ordinal number.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from graphrag_rdf.documents.model import Sentence, Span, trimmed
from graphrag_rdf.documents.text import read_data

_CLOSERS = r"\"'”’»«“‘›‹)\]}*_`"
_WIDE_CLOSERS = r"」』）】》〉〕”’\"'"
_END = re.compile(
    # a full stop or its like, closing quotes and brackets, note marks, then white space
    rf"(?<![.!?…؟۔])([.!?…؟۔]++)((?:[{_CLOSERS}]|\[\d{{1,3}}\]|[ \u00a0\u202f]»(?=\s|\Z))*+)(?=\s|\Z)"
    # scripts that put no space after a sentence
    rf"|[。！？｡．।॥։።။។]+[{_WIDE_CLOSERS}]*"
)
_OPENERS = re.compile(r"[\s\"'“„‘‚«»‹›¿¡(\[{*_`–—-]*")
_WORD = re.compile(r"[^\W_]+")
_ACRONYM = re.compile(r"(?:[^\W\d_]{1,2}\.-?)+[^\W\d_]{1,2}")
_ROMAN = re.compile(r"[IVXLC]+")
_LETTERED = re.compile(r"\s+\(?(?:[a-z]|[ivx]{2,4}|\d{1,2})\)\s")
"""The mark of a list item within a line: b) or (ii)."""
_EMPHASIS_ONLY = re.compile(r"[*_`]*")
_LONGEST_ABBREVIATION = 24
_QUOTE = re.compile(r"[\"“”„‟«»「」『』]")
_PAIRS = {"“": "”", "„": "“”", "‟": "”", "«": "»", "»": "«", "「": "」", "『": "』", '"': '"'}
"""Opening quotation mark → what may close it."""
_STOPS = "。！？｡．"
_SPEAKER_OR_SOURCE = re.compile(
    r"[ ]?（[^（）\n]{1,40}）[。，；]|[^。！？，；：“”「」\s]{1,8}[说說问問道答喊叫](?:道)?[。，]"
)
"""What belongs to a Chinese quotation before it: （《论语》）。 or 他问。"""
_LONGEST_QUOTATION = 250
"""Code points; a longer quotation or bracket is cut at its own sentences."""
_AN_EMOJI = r"[\u2600-\u27bf\U0001f000-\U0001faff][\ufe0f\u200d\u20e3]*"
_EMOJI = re.compile(rf"(?:[ \t]*+{_AN_EMOJI})*")
_LAST_EMOJI = re.compile(rf"(?:\s*{_AN_EMOJI})+\s*\Z")
_SPACE = re.compile(r"\s*+")
_BRACKET = re.compile(r"[()（）]")
_NUMBERED = re.compile(r"(?:(?:[^\W\d_]{3,}|[表图圖])\s+)?(?=\S*\d)[0-9A-Z]{1,3}(?:\.[0-9A-Z]{1,3})*")
"""The number of a heading or list item, perhaps with what is numbered: 2.7.1. or Note 7."""
_LONGEST_NUMBER = 12
_LONGEST_INDENT = 4096
"""White space before a sentence; behind more of it a number is not known as that of a heading."""

_LINE = re.compile(r"[^\r\n\f]+")
_SINGLE_BREAKS = frozenset({"\n", "\r\n", "\r"})
_MARKER = re.compile(
    r"[ \t]*(?:(?P<alone>#{1,6}[ \t]|\||(?:```|~~~)|(?:=+|-{3,}|\*{3,}|_{3,})[ \t]*\Z)"
    r"|(?P<item>[-*+•‣◦▪][ \t])|(?P<number>\(?\d{1,3}[.)][ \t]))"
)
# a line that leaves this share of its paragraph's width unused was ended on purpose
_SHORT = 0.6
# rows of delimited tables and JSON Lines: prose has a space after a comma, and few semicolons
_CELL_END = re.compile(r"[;}]|\S\t|,(?=[\w,-]|\"\w)")
_TABLE = 0.8
_CONTINUES = ",;-–—"


@dataclass(frozen=True, slots=True)
class _Rules:
    """The words of a language that decide whether a full stop ends a sentence; see `data/sentences.toml`."""

    never: frozenset[str]
    often: frozenset[str]
    numbered: frozenset[str]
    starters: frozenset[str]
    speech: frozenset[str]
    ordinals: bool


@lru_cache(maxsize=64)
def _rules(language: str | None) -> _Rules:
    table, primary = read_data("sentences"), (language or "en").partition("-")[0].lower()
    own = table.get(primary, table["en"])

    def words(name: str) -> frozenset[str]:
        return frozenset(f"{table['common'].get(name, '')} {own.get(name, '')}".split())

    return _Rules(
        words("never"),
        words("often"),
        words("numbered"),
        words("starters"),
        words("speech"),
        primary in table["ordinals"].split(),
    )


def split_sentences(
    text: str, language: str | None = None, *, rows: Sequence[Span] = ()
) -> tuple[Sentence, ...]:
    """Split a text into sentences, headings, list items and table rows.

    Blank lines end a sentence always; single line ends do where a Markdown heading, list item or table row
    begins or ends, between lines that look like rows of a delimited table, and where a line is
    conspicuously shorter than its paragraph is wide; page breaks do unless the next page goes on in lower
    case.

    Args:
        text: e.g. a chunk's text.
        language: BCP 47 tag that selects the abbreviations; None and unknown ones use the English ones.
        rows: spans that are one sentence each, whatever is in them, in order: rows of a table.

    Returns:
        sentences in order, not overlapping, trimmed of white space; every other character is in exactly one.
    """
    spans = _sentences_and_rows(text, language, rows) if rows else _sentences(text, language)
    return tuple(Sentence(index, start, end - start) for index, (start, end) in enumerate(spans))


def _sentences_and_rows(text: str, language: str | None, rows: Sequence[Span]) -> Iterator[Span]:
    position = 0
    for row_start, row_end in (*rows, (len(text), len(text))):
        between = text[position:row_start]
        if not between.isspace():
            yield from ((position + start, position + end) for start, end in _sentences(between, language))
        if span := trimmed(text, row_start, row_end):
            yield span
        position = row_end


def _sentences(text: str, language: str | None) -> Iterator[Span]:
    rules = _rules(language)
    for block_start, block_end, whole in _blocks(text):
        start = block_start
        quotations = deque(() if whole else _quotations(text, block_start, block_end))
        brackets = deque(() if whole else _brackets(text, block_start, block_end))
        last = next((n for n in range(block_end - 1, start, -1) if text[n].isalnum()), start)
        for match in () if whole else _END.finditer(text, block_start, block_end):
            end = match.end()
            for spans in (quotations, brackets):
                while spans and spans[0][1] <= match.start():
                    spans.popleft()
            if quotations and quotations[0][0] < match.start() and end < quotations[0][1]:
                continue
            if brackets and _within_sentence(text, start, match, brackets[0]):
                continue
            if end < block_end and _ends_sentence(text, start, block_end, match, rules, start == block_start):
                end = _EMOJI.match(text, end, block_end).end()  # type: ignore[union-attr]
                if end > last:
                    break
                if span := trimmed(text, start, end):
                    yield span
                start = end
        if span := trimmed(text, start, block_end):
            yield span


def without_emoji(sentence: str) -> str:
    """A sentence without the emoji after its full stop."""
    return _LAST_EMOJI.sub("", sentence)


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Spans that no sentence crosses, and whether they are one sentence (headings, rules, table rows)."""
    lines = [match.span() for match in _LINE.finditer(text) if not match[0].isspace()]
    widths = _widths(text, lines)  # 0 in a table
    start = previous_end = 0
    alone = in_list = False
    for number, (line_start, line_end) in enumerate(lines):
        marker = _MARKER.match(text, line_start, line_end)
        kind = marker.lastgroup if marker else None
        if number:
            gap = text[previous_end:line_start]
            hard = (
                alone
                or kind in {"alone", "item"}
                or (kind == "number" and (in_list or gap not in _SINGLE_BREAKS or _is_one(marker)))
                or _breaks(text, lines[number - 1], (line_start, line_end), gap, widths[number])
            )
            if hard:
                yield start, previous_end, alone
                start = line_start
                in_list = False
        alone = kind == "alone"
        in_list = in_list or kind in {"item", "number"}
        previous_end = line_end
    if lines:
        yield start, previous_end, alone


def _is_one(marker: re.Match[str] | None) -> bool:
    """A list may interrupt a paragraph only with its number 1, as in CommonMark."""
    return marker is not None and marker[0].strip(" \t(.)") == "1"


def _widths(text: str, lines: list[Span]) -> list[int]:
    """For each line, the length of the longest line of its paragraph, or 0 if that is a table."""
    widths: list[int] = []
    first = 0
    for number in range(len(lines) + 1):
        if number == len(lines) or (
            number and text[lines[number - 1][1] : lines[number][0]] not in _SINGLE_BREAKS
        ):
            paragraph = lines[first:number]
            cells = sum(1 for span in paragraph if _CELL_END.search(text, *span))
            table = len(paragraph) > 1 and cells >= _TABLE * len(paragraph)
            width = 0 if table else max((end - start for start, end in paragraph), default=0)
            widths += [width] * len(paragraph)
            first = number
    return widths


def _breaks(text: str, line: Span, following: Span, gap: str, width: int) -> bool:
    """Whether the gap between two lines ends a sentence, whatever the words are."""
    if not width or (gap not in _SINGLE_BREAKS and "\f" not in gap):
        return True
    opening = _OPENERS.match(text, *following)
    word_start = opening.end() if opening else following[0]
    if text[word_start : word_start + 1].islower():
        return False
    if "\f" in gap:
        return True
    last = text[line[0] : line[1]].rstrip()
    if last[-1:] in _CONTINUES:
        return False
    word = _WORD.match(text, word_start, following[1])
    needed = len(last) + 1 + (word.end() - following[0] if word else 1)
    return needed < _SHORT * width


def _quotations(text: str, start: int, end: int) -> list[Span]:
    """Short quotations within a block: a quotation stays with the words that name its speaker."""
    spans: list[Span] = []
    opened: tuple[int, str] | None = None
    for match in _QUOTE.finditer(text, start, end):
        at, mark = match.start(), match[0]
        if opened and mark in opened[1] and not (mark == '"' and _opens(text, at, start)):
            if at - opened[0] <= _LONGEST_QUOTATION:
                spans.append((opened[0], at + 1))
            opened = None
        elif mark in _PAIRS and (mark not in '"»' or _opens(text, at, start)):
            opened = at, _PAIRS[mark]
    return spans


def _brackets(text: str, start: int, end: int) -> list[Span]:
    """Short brackets in a block, the outermost ones."""
    spans: list[Span] = []
    opened: list[int] = []
    for match in _BRACKET.finditer(text, start, end):
        if match[0] in "(（":
            opened.append(match.start())
        elif opened:
            at = opened.pop()
            if match.end() - at <= _LONGEST_QUOTATION:
                while spans and spans[-1][0] > at:
                    spans.pop()
                spans.append((at, match.end()))
    return spans


def _within_sentence(text: str, start: int, match: re.Match[str], bracket: Span) -> bool:
    """Whether a full stop stands in a bracket that a sentence has, or before one after which the sentence
    goes on: Help! (1965) is a film.
    """
    opened, closed = bracket
    if opened < match.start():
        space = _SPACE.match(text, start, opened)
        return match.end() < closed and space is not None and space.end() < opened
    following = text[closed : closed + 3].lstrip()[:1]
    right_before = opened - match.end() <= 1 and not text[match.end() : opened].strip()
    return right_before and (following.islower() or following in {",", ";"})


def _opens(text: str, at: int, start: int) -> bool:
    """Whether a quotation mark that may stand at either end begins a quotation."""
    before, after = text[at - 1 : at] if at > start else "", text[at + 1 : at + 2]
    return (not before or before.isspace() or before in "([—–-:") and not (not after or after.isspace())


def _ends_sentence(
    text: str, start: int, block_end: int, match: re.Match[str], rules: _Rules, begins: bool
) -> bool:
    """Whether a full stop or its like ends a sentence.

    Args:
        start: of the sentence.
        begins: whether it is the first one of its block.
    """
    marks: str | None = match[1]
    if marks is None:  # a full stop of a script without capitals
        return _SPEAKER_OR_SOURCE.match(text, match.end(), block_end) is None or match[0][-1] in _STOPS
    opening = _OPENERS.match(text, match.end(), block_end)
    next_start = opening.end() if opening else match.end()
    initial, second = text[next_start : next_start + 1], text[next_start + 1 : next_start + 2]
    if initial in ".!?…":  # ". . ."; also the end of the block
        return False
    lettered = _LETTERED.match(text, match.end(), block_end)
    if initial.islower() and not second.isupper() and not lettered:  # but a sentence may begin with "iPhone"
        return False
    if rules.speech and match[2] and _says(text, next_start, block_end, rules):
        return False
    if marks != "." or not _EMPHASIS_ONLY.fullmatch(match[2]):
        return True
    stop = match.start()
    token = text[max(start, stop - _LONGEST_ABBREVIATION) : stop]
    if not token or token[-1].isspace():
        return True
    token = token.split()[-1].lstrip("\"'“„‘‚«»([{*_`")
    if token.endswith(("'s", "’s")):
        return True
    token = token.rpartition("'")[2] if "'" in token else token.rpartition("’")[2]  # l'avv.
    word = _WORD.match(text, next_start, block_end)
    following = word[0] if word else ""
    starts = following.lower() in rules.starters and not (
        (len(following) == 1 and text[next_start + 1 : next_start + 2] == ".")  # an initial
        or (len(following) > 1 and following.isupper() and token.isupper())  # MOOR INC. AND OTHERS
    )
    # a long sentence is not copied for each of its full stops
    before = text[start:stop].strip() if stop - start <= _LONGEST_INDENT else ""
    if (before == token or begins) and len(token) < _LONGEST_NUMBER and _NUMBERED.fullmatch(before):
        return False
    return _stop_ends(token, following, starts, rules)


def _says(text: str, start: int, end: int, rules: _Rules) -> bool:
    """Whether the words after a quotation name its speaker: ("Why?") Mary Hale asked."""
    words = [match[0] for match in islice(_WORD.finditer(text, start, min(end, start + 80)), 4)]
    spoken = next((number for number, word in enumerate(words) if word in rules.speech), 0)
    between = text[start : start + 80].partition(words[spoken])[0] if spoken else ""
    return spoken > 0 and not any(mark in between for mark in ',.;:!?"”“')


def _stop_ends(token: str, following: str, starts: bool, rules: _Rules) -> bool:
    """Whether a full stop after `token` ends the sentence.

    Args:
        token: what stands before the full stop, back to white space.
        following: the next word.
        starts: whether that is a word that begins sentences.
    """
    lower = token.lower()
    if token.isdigit():
        return starts or not (rules.ordinals and len(token) <= 2)
    if rules.ordinals and len(token) > 1 and _ROMAN.fullmatch(token):  # Ludwig XIV.
        return starts
    initial = len(token) == 1 and token.isupper()
    if (token if len(token) == 1 else lower) in rules.never:
        return False
    if lower in rules.numbered and not initial:
        return not (following[:1].isdigit() or (_ROMAN.fullmatch(following) and not starts))
    letter = len(token) == 1 and token.isalpha()
    if letter or lower in rules.often or _ACRONYM.fullmatch(token):
        return starts
    return True
