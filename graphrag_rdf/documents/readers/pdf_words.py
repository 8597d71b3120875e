"""The words of a PDF page and where they stand, turned so that the page's text runs from left to right."""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from graphrag_rdf.documents.readers.content import UnreadableError
from graphrag_rdf.i18n import tr

MAX_PAGE_CHARACTERS = 1_000_000
"""A dense page has some 10,000."""

MAX_DRAWN = 50_000
"""Shapes on a page among which lines are looked for."""

Rule = tuple[float, float, float]
"""A horizontal line: from, to, from the top; points."""

HYPHEN = "\u2010"
"""Stands for a hyphen that the library recognised at the end of a line."""

_SPACES = frozenset({0, 9, 10, 11, 12, 13, 32, 0xA0, *range(0x2000, 0x200C), 0x202F, 0x205F, 0x3000})
_END_HYPHENS = frozenset({2, 0xFFFE})  # what the library puts in the place of a hyphen at the end of a line
_LIGATURES = {
    0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st",
}  # fmt: skip
_WIDEST = 1.6  # of a letter, in heights of its line: a wider word holds a gap that the library missed
_THIN = 2.5  # points
_SHORTEST_RULE = 8.0  # points
_TOUCHING = 1.0  # points
_DARK = 600  # of 765: sum of red, green and blue
_BOLD = (b"Bold", b"Black", b"Heavy", b"Semibold", b"Demi")


@dataclass(slots=True)
class Word:
    """A word.

    Args:
        text: without white space.
        x0, x1: from the left, points.
        y: of its base line, from the top, points (of any origin).
        height: from the deepest to the highest letters of its font, points.
        first: index of its first character on the page.
    """

    text: str
    x0: float
    x1: float
    y: float
    height: float
    first: int


@dataclass(slots=True)
class Row:
    """Words on one base line, from left to right."""

    words: list[Word]
    bold: bool = False

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def x0(self) -> float:
        return self.words[0].x0

    @property
    def x1(self) -> float:
        return self.words[-1].x1

    @property
    def y(self) -> float:
        return self.main.y

    @property
    def height(self) -> float:
        return self.main.height

    @property
    def main(self) -> Word:
        """Of the largest font: notes set high are smaller."""
        return max(self.words, key=lambda word: word.height)


def read_words(text_page: Any) -> list[list[Word]]:
    """The words of a page in the order in which they were drawn, a list for each direction of writing.

    Args:
        text_page: of pypdfium2.

    Returns:
        the direction with most characters first; text that runs upwards or downwards is turned.

    Raises:
        UnreadableError: the page has too many characters.
    """
    import pypdfium2.raw as pdfium

    count = pdfium.FPDFText_CountChars(text_page)
    if count > MAX_PAGE_CHARACTERS:
        raise UnreadableError(
            tr("{count:,} characters, more than {max_page_characters:,}").format(
                count=count, max_page_characters=MAX_PAGE_CHARACTERS
            )
        )
    unicode_of = pdfium.FPDFText_GetUnicode
    turned: dict[int, list[Word]] = {}
    letters: list[str] = []
    first = last = 0
    for number in range(count + 1):
        code = unicode_of(text_page, number) if number < count else 32
        if code not in _SPACES:
            if not letters:
                first = number
            last = number
            letters.append(_letter(code))
        elif letters:
            _place(text_page, "".join(letters), first, last, turned)
            letters = []
    return sorted(turned.values(), key=lambda words: -sum(len(word.text) for word in words))


def _letter(code: int) -> str:
    if code in _END_HYPHENS:
        return HYPHEN
    if code in _LIGATURES:
        return _LIGATURES[code]
    # halves of surrogate pairs come one by one on some systems
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _place(text_page: Any, text: str, first: int, last: int, turned: dict[int, list[Word]]) -> None:
    import pypdfium2.raw as pdfium

    quarter = -round(pdfium.FPDFText_GetCharAngle(text_page, first) / (math.pi / 2)) % 4  # it turns clockwise
    start, end = _box(text_page, first, quarter), _box(text_page, last, quarter)
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text_page, first, x, y)
    _, base = _turn(x.value, y.value, quarter)
    height = max(start[3] - start[1], 0.1)
    length = last - first + 1
    if length > 1 and not -1 < end[2] - start[0] < _WIDEST * height * length:
        middle = (first + last) // 2  # the library put no space between parts far from each other
        cut = max(1, round(len(text) * (middle - first + 1) / length))
        _place(text_page, text[:cut], first, middle, turned)
        if text[cut:]:
            _place(text_page, text[cut:], middle + 1, last, turned)
        return
    word = Word(text, start[0], max(end[2], start[0]), -base, height, first)
    turned.setdefault(quarter, []).append(word)


def _turn(x: float, y: float, quarter: int) -> tuple[float, float]:
    return ((x, y), (y, -x), (-x, -y), (-y, x))[quarter]


def _box(text_page: Any, number: int, quarter: int) -> tuple[float, float, float, float]:
    left, bottom, right, top = text_page.get_charbox(number, loose=True)
    xs, ys = zip(_turn(left, bottom, quarter), _turn(right, top, quarter), strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def rows_of(words: Iterable[Word]) -> list[Row]:
    """Words of one direction gathered into rows, from top to bottom."""
    rows: list[Row] = []
    for word in sorted(words, key=lambda w: (w.y, w.x0)):
        for row in reversed(rows[-3:]):
            if _together(row.main, word) and not any(
                _overlap(word, word_of_row) for word_of_row in row.words
            ):
                row.words.append(word)
                break
        else:
            rows.append(Row([word]))
    for row in rows:
        row.words.sort(key=lambda w: w.x0)
    return rows


def _together(first: Word, second: Word) -> bool:
    """Whether two words stand in a row: the smaller one is beside the larger one for half of its height."""
    top = max(first.y - 0.75 * first.height, second.y - 0.75 * second.height)
    bottom = min(first.y + 0.25 * first.height, second.y + 0.25 * second.height)
    return bottom - top >= 0.5 * min(first.height, second.height)


def _overlap(first: Word, second: Word) -> bool:
    """Whether two words stand above each other: lines of cells may be set off by half a line."""
    shared = min(first.x1, second.x1) - max(first.x0, second.x0)
    return shared > 0.3 * min(first.x1 - first.x0, second.x1 - second.x0)


def mark_bold(text_page: Any, rows: Sequence[Row]) -> None:
    """Note which rows begin and end in a bold font, if other rows do not."""
    import pypdfium2.raw as pdfium

    buffer = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()

    def bold(word: Word) -> bool:
        pdfium.FPDFText_GetFontInfo(text_page, word.first, buffer, len(buffer), flags)
        return any(name in buffer.value for name in _BOLD)

    for row in rows:
        row.bold = bold(row.words[0]) and (len(row.words) == 1 or bold(row.words[-1]))


def read_rules(page: Any) -> list[Rule]:
    """The horizontal lines that are seen on a page; what is drawn piece by piece is one."""
    import pypdfium2.raw as pdfium

    pieces = []
    for drawn in drawn_on(page, pdfium.FPDF_PAGEOBJ_PATH):
        left, bottom, right, top = drawn.get_bounds()
        if top - bottom < _THIN and _is_dark(drawn):
            pieces.append((round(-(top + bottom) / 2), left, right))
    rules: list[Rule] = []
    for y, x0, x1 in sorted(pieces):
        if rules and rules[-1][2] == y and x0 <= rules[-1][1] + _TOUCHING:
            rules[-1] = (rules[-1][0], max(rules[-1][1], x1), float(y))
        else:
            rules.append((x0, x1, float(y)))
    return [rule for rule in rules if rule[1] - rule[0] > _SHORTEST_RULE]


def drawn_on(page: Any, *kinds: int) -> Iterator[Any]:
    """The objects of some types on a page, not those in forms; of a crowded page only the first ones."""
    return islice(page.get_objects(kinds, max_depth=1), MAX_DRAWN)


def _is_dark(drawn: Any) -> bool:
    """Whether a shape is seen on white paper: some programs also draw the borders of cells in white."""
    import pypdfium2.raw as pdfium

    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(drawn, fill, stroke)
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    colour_of = pdfium.FPDFPageObj_GetStrokeColor if stroke.value else pdfium.FPDFPageObj_GetFillColor
    colour_of(drawn, red, green, blue, alpha)
    return alpha.value > 0 and red.value + green.value + blue.value < _DARK


def usual_height(rows: Iterable[Row]) -> float:
    """The height of most characters, points."""
    counts: Counter[float] = Counter()
    for row in rows:
        for word in row.words:
            counts[round(word.height, 1)] += len(word.text)
    return max(counts, key=lambda height: (counts[height], height), default=10.0)
