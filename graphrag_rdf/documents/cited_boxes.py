"""Where cited words are seen on a page of a PDF.

Text and page are compared by their letters and digits only: hyphens, spaces, line ends and the bars between
cells differ, as readers add them and leave them out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from graphrag_rdf.documents.page_image import UNITS, DrawnPage

_GAP = UNITS // 25
"""The widest gap inside a box."""
_SHORT = 4
"""Fewer letters than this occur by chance, and count only on a line with more of the quote."""
_MOST = 200
"""Occurrences of a run that are compared."""
_LEAST = 0.5
"""The share of a quote that must be there."""


class Box(NamedTuple):
    """A part of a line, in `UNITS` of the page: its left and upper edge, its right and lower edge."""

    x0: int
    y0: int
    x1: int
    y1: int


def cited_boxes(page: DrawnPage, quote: str, place: float) -> list[Box]:
    """The boxes of a quote, one for each line; [] if too little of it is on the page.

    Words that are not drawn one after the other, as in the cells of some tables, are searched in runs.

    Args:
        place: where the quote begins in the text of the page, from 0 to 1; it tells equal words apart.
    """
    letters, origins = _letters_of(page.text)
    wanted = "".join(_letters_of(quote)[0])
    near = place * len(letters)
    if starts := list(_occurrences(letters, wanted)):
        start = min(starts, key=lambda each: abs(each - near))
        return _lines(page, origins[start : start + len(wanted)])[0]
    runs = _runs(page, letters, origins, [_letters_of(word)[0] for word in re.findall(r"\w+", quote)])
    if sum(length for length, _ in runs) < _LEAST * max(len(wanted), 1):
        return []
    return _placed(page, origins, runs, near)


def _placed(
    page: DrawnPage, origins: Sequence[int], runs: Sequence[tuple[int, list[int]]], near: float
) -> list[Box]:
    """The boxes of runs: of the longest one the nearest, of the others what stands nearest to its line."""
    by_length = sorted(range(len(runs)), key=lambda number: -runs[number][0])
    length, starts = runs[by_length[0]]
    start = min(starts, key=lambda each: abs(each - near))
    first, turned = _lines(page, origins[start : start + length])
    placed = {by_length[0]: first}
    for number in by_length[1:]:
        length, starts = runs[number]
        choices = (_lines(page, origins[start : start + length])[0] for start in starts)
        choice = min(choices, key=lambda boxes: _distance(boxes[0], first[0], turned))
        beside = any(_distance(choice[0], box, turned)[0] == 0 for boxes in placed.values() for box in boxes)
        if length >= _SHORT or beside:
            placed[number] = choice
    return [box for number in sorted(placed) for box in placed[number]]


def _letters_of(text: str) -> tuple[str, list[int]]:
    """Letters and digits in their simplest form, and the index in the text that each comes from."""
    letters: list[str] = []
    origins: list[int] = []
    for index, letter in enumerate(text):
        for simple in letter if letter.isascii() else unicodedata.normalize("NFKD", letter):
            if simple.isalnum():
                folded = simple.casefold()
                letters.append(folded)
                origins.extend([index] * len(folded))
    return "".join(letters), origins


def _occurrences(text: str, words: str) -> Iterator[int]:
    start = text.find(words) if words else -1
    while start >= 0:
        yield start
        start = text.find(words, start + 1)


def _runs(
    page: DrawnPage, letters: str, origins: Sequence[int], words: Sequence[str]
) -> list[tuple[int, list[int]]]:
    """The longest runs of whole words on the page: the number of letters, and where each run begins."""
    edges = {0, len(letters)}
    for number, (first, second) in enumerate(pairwise(origins), 1):
        # the library also puts single digits together that stand below each other
        if second - first > 1 or not _continues(_box(page, first), _box(page, second)):
            edges.add(number)

    def places(run: str) -> list[int]:
        whole = (n for n in _occurrences(letters, run) if n in edges and n + len(run) in edges)
        return list(islice(whole, _MOST))

    runs: list[tuple[int, list[int]]] = []
    run = ""
    for word in filter(None, words):
        if run and (starts := places(run + word)):
            run += word
            runs[-1] = len(run), starts
        elif starts := places(word):
            run = word
            runs.append((len(run), starts))
        else:
            run = ""
    return runs


def _lines(page: DrawnPage, indexes: Sequence[int]) -> tuple[list[Box], bool]:
    """The boxes of characters, joined to lines, and whether these run upwards or downwards."""
    boxes = [_box(page, index) for index in dict.fromkeys(indexes)]
    steps = [
        abs(second.x0 - first.x0) * page.width < abs(second.y0 - first.y0) * page.height
        for first, second in pairwise(boxes)
    ]
    turned = 2 * sum(steps) > len(steps)
    lines: list[Box] = []
    for box in map(_swapped, boxes) if turned else boxes:
        if lines and _continues(lines[-1], box):
            last = lines[-1]
            lines[-1] = Box(*map(min, last[:2], box[:2]), *map(max, last[2:], box[2:]))
        else:
            lines.append(box)
    return [_swapped(line) for line in lines] if turned else lines, turned


def _box(page: DrawnPage, index: int) -> Box:
    return Box(*page.boxes[4 * index : 4 * index + 4])


def _swapped(box: Box) -> Box:
    return Box(box.y0, box.x0, box.y1, box.x1)


def _continues(line: Box, box: Box) -> bool:
    """Whether a character stands beside what is on the line."""
    shared = min(line.y1, box.y1) - max(line.y0, box.y0)
    gap = max(box.x0 - line.x1, line.x0 - box.x1)
    return 2 * shared >= min(line.y1 - line.y0, box.y1 - box.y0) and gap < _GAP


def _distance(box: Box, anchor: Box, turned: bool) -> tuple[float, int]:
    """How far a box is from the line of another one (0: on it), and from the box itself."""
    if turned:
        box, anchor = _swapped(box), _swapped(anchor)
    away = abs(box.y0 + box.y1 - anchor.y0 - anchor.y1) / 2
    height = min(box.y1 - box.y0, anchor.y1 - anchor.y0)
    return max(away - height / 2, 0), abs(box.x0 - anchor.x0)
