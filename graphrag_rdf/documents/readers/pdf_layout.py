"""From the rows of PDF pages to text: headers and footers, columns, paragraphs, divided words."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from graphrag_rdf.documents.readers.pdf_words import HYPHEN, Row, Rule, rows_of, usual_height

MAYBE_HYPHEN = "\u0001"
"""Stands for a hyphen at the end of a line, until it is known whether to keep it."""

_NARROWEST_GUTTER = 0.8  # heights of a line
_FEWEST_LINES = 4  # of a column
_WORDS = 4  # of a line in a column of prose
_NARROWEST_COLUMN = 0.2  # of the width of the text
_NEW_BLOCK = 1.45  # usual distances of lines
_OTHER_SIZE = 0.12
_CELLS_APART = 1.5  # heights of a line
_INDENT = 0.7  # heights of a line
_ITEM = re.compile(
    r"[•●○◦▪■□▫‣⁃∙·–—*➢✓o]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxlc]{1,6})[.)]|\d{1,2}(?:\.\d{1,2}){1,3}\.?"
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_A_WORD = re.compile(r"[^\W\d_]{3,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_SOFT_HYPHEN = "\xad"

Interval = tuple[float, float]


def columns(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Components of a page in reading order; each is one column of rows."""
    plain: list[Row] = []
    start = 0
    while start < len(rows):
        end, gutter = _band(rows, start)
        if gutter is None:
            plain.append(rows[start])
            start += 1
            continue
        if plain:
            yield plain
            plain = []
        words = [word for row in rows[start:end] for word in row.words]
        middle = (gutter[0] + gutter[1]) / 2
        bold = {word.first for row in rows[start:end] if row.bold for word in row.words}
        for side in ([w for w in words if w.x1 <= middle], [w for w in words if w.x1 > middle]):
            part = rows_of(side)
            for row in part:
                row.bold = row.words[0].first in bold
            yield from columns(part)
        start = end
    if plain:
        yield plain


def _band(rows: Sequence[Row], start: int) -> tuple[int, Interval | None]:
    """How far down from a row columns of prose reach, and what is between the first and the second."""
    gaps = _gaps(rows[start])
    if not gaps:
        return start + 1, None
    end = start
    free = [(float("-inf"), float("inf"))]
    for row in rows[start:]:
        needed = _NARROWEST_GUTTER * row.height
        edges = [(float("-inf"), row.x0), *_gaps(row), (row.x1, float("inf"))]
        free_here = [
            (max(a, c), min(b, d)) for a, b in free for c, d in edges if min(b, d) - max(a, c) >= needed
        ]
        inner = [gap for gap in free_here if any(gap[0] < b and a < gap[1] for a, b in gaps)]
        if not inner:
            break
        free = inner
        end += 1
    band = rows[start:end]
    left_edge, right_edge = min(row.x0 for row in band), max(row.x1 for row in band)
    for gutter in sorted(free):
        if left_edge < gutter[0] and gutter[1] < right_edge and _prose_beside(band, gutter):
            return end, gutter
    return start + 1, None


def _gaps(row: Row) -> list[Interval]:
    needed = _NARROWEST_GUTTER * row.height
    return [(a.x1, b.x0) for a, b in pairwise(row.words) if b.x0 - a.x1 >= needed]


def _prose_beside(rows: Sequence[Row], gutter: Interval) -> bool:
    """Whether on both sides of a gutter there are lines of words, and not cells of a table."""
    middle = (gutter[0] + gutter[1]) / 2
    width = max(row.x1 for row in rows) - min(row.x0 for row in rows)
    for right in (False, True):
        lines = [[w for w in row.words if (w.x1 > middle) == right] for row in rows]
        lines = [line for line in lines if line]
        if len(lines) < _FEWEST_LINES:
            return False
        if median(sum(1 for word in line if _LETTERS.search(word.text)) for line in lines) < _WORDS:
            return False
        edges = max(line[-1].x1 for line in lines) - min(line[0].x0 for line in lines)
        if edges < _NARROWEST_COLUMN * width:
            return False
        # a gap within a line of prose is narrow; cells of a table beside it are not
        wide = sum(1 for line in lines for a, b in pairwise(line) if b.x0 - a.x1 > 2 * a.height)
        if wide > 0.5 * len(lines):
            return False
    return True


def paragraphs(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """The text of a column.

    Args:
        rows: of the column, from top to bottom.

    Yields:
        what parts it from the text before it (a line end, or two where a block begins), and a paragraph.
        Hyphens at line ends are `MAYBE_HYPHEN`.
    """
    if not rows:
        return
    right = max(row.x1 for row in rows)
    leading = _leading(rows)
    text, gap = rows[0].text, "\n\n"
    first = rows[0]
    for above, row in pairwise(rows):
        if _new_block(above, row, leading):
            yield gap, text
            text, gap, first = row.text, "\n\n", row
        elif _goes_on(above, row, first, right):
            text = join_lines(text, row.text)
        else:
            yield gap, text
            text, gap, first = row.text, "\n", row
    yield gap, text


def largest(rows: Sequence[Row]) -> str:
    """The largest lines of a page that stand below each other and have a word in them; "" where all lines are
    of one size.

    Args:
        rows: of the page, from top to bottom.
    """
    least = (1 + _OTHER_SIZE) * usual_height(rows)
    groups: list[list[Row]] = []
    for row in rows:
        if row.height < least:
            continue
        above = groups[-1][-1] if groups else None
        if above is None or row.y - above.y > 2 * row.height or _new_block(above, row, 2.0):
            groups.append([])
        groups[-1].append(row)
    texts = {" ".join(row.text for row in group): group[0].height for group in groups}
    return max(filter(_A_WORD.search, texts), key=lambda text: texts[text], default="")


def _leading(rows: Sequence[Row]) -> float:
    """The usual distance of lines, in heights."""
    usual = usual_height(rows)
    steps = [
        (b.y - a.y) / usual
        for a, b in pairwise(rows)
        if abs(a.height - usual) < _OTHER_SIZE * usual and 0 < b.y - a.y < 2 * usual
    ]
    return min(median(steps), 1.6) if steps else 1.2


def _new_block(above: Row, row: Row, leading: float) -> bool:
    if above.bold != row.bold:
        return True
    if abs(above.height - row.height) > _OTHER_SIZE * max(above.height, row.height):
        return True
    return row.y - above.y > _NEW_BLOCK * leading * row.height


def _goes_on(above: Row, row: Row, first: Row, right: float) -> bool:
    """Whether a line goes on with the paragraph of the line above.

    It does if its first word had no room above, unless it is indented, begins as items of lists do, or one of
    the two has a gap as rows of tables have.
    """
    if any(b.x0 - a.x1 > _CELLS_APART * b.height for line in (above, row) for a, b in pairwise(line.words)):
        return False
    indent = _INDENT * row.height
    item = _ITEM.fullmatch(row.words[0].text)
    if item and len(row.words) > 1 and row.x0 <= first.x0 + indent:
        return False
    hanging = len(first.words) > 1 and _ITEM.fullmatch(first.words[0].text) is not None
    if row.x0 > above.x0 + indent and not (hanging and above is first):
        return False
    if row.x0 < first.x0 - 4 * indent and above is not first:
        return False
    space = 0.3 * row.height
    return above.x1 + space + row.words[0].x1 - row.words[0].x0 > right - space


def join_lines(text: str, line: str) -> str:
    """A line joined to the text above it, with `MAYBE_HYPHEN` where a word may be divided."""
    if text[-1:] in {_SOFT_HYPHEN, HYPHEN, "-"} and text[-2:-1].isalpha() and line[:1].islower():
        return text[:-1] + ("" if text[-1] == _SOFT_HYPHEN else MAYBE_HYPHEN) + line
    if text[-1:] in {HYPHEN, "-"} and text[-2:-1].isalnum() and line[:1].isalnum():
        return text + line  # "Anglo-Saxon", "2020-21": the hyphen is the word's
    return f"{text} {line}"


# --- headers and footers -------------------------------------------------------------------------------


NEAR = 6
"""Pages before and after in which a header comes again: it may change with the chapter."""
_FEWEST = 3  # pages
_EDGE = 3  # rows at the top and at the bottom
_SAME_PLACE = 3.0  # points
_PAGE_NUMBER = re.compile(r"\W*(\d{1,5})\W*(?:\d{1,5})?\W*")
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")


@dataclass(slots=True)
class PageRows:
    """The rows of a page, before it is known which are headers and footers.

    Args:
        number: from 1.
        rows: of the main direction of writing, from top to bottom.
        others: of each other direction.
        tabular: whether it may have tables.
        rules: horizontal lines drawn on it.
        scan: of an image without text, whether it could be read; None for other pages.
        ends: rows at the edges, as they are compared: (text without numbers, distance from the top). Of a
            page number the place is what it adds to the page's number: it may stand below the last line.
    """

    number: int
    rows: list[Row]
    others: list[list[Row]] = field(default_factory=list)
    tabular: bool = False
    rules: list[Rule] = field(default_factory=list)
    scan: bool | None = None
    ends: dict[int, tuple[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = len(self.rows)
        marks = [_NUMBER.sub("#", row.text) for row in self.rows]
        within = set(marks[_EDGE : count - _EDGE])  # "Item 1", "Item 2": a list that fills the page
        for place in {*range(min(_EDGE, count)), *range(max(count - _EDGE, 0), count)}:
            row, mark = self.rows[place], marks[place]
            outermost = place in {0, count - 1}
            if any(map(str.isalpha, mark)) and mark not in within:
                self.ends[place] = (mark, row.y)
            # numbers alone are a page's only at its edge; elsewhere they are a table's
            elif outermost and (numbers := _PAGE_NUMBER.fullmatch(row.text)):
                self.ends[place] = ("number", float(int(numbers[1]) - self.number))


def find_running(pages: Iterable[PageRows], *, total: int) -> Iterator[tuple[PageRows, list[Row]]]:
    """Take headers and footers out of the rows of pages.

    Args:
        pages: in order; only the nearest are held in memory.
        total: how many there are.

    Yields:
        each page without them, and what was taken out.
    """
    fewest = min(_FEWEST, max(total, 2))
    near: deque[PageRows] = deque()
    waiting: deque[PageRows] = deque()
    for page in pages:
        near.append(page)
        waiting.append(page)
        if len(waiting) > NEAR:
            yield _part(waiting.popleft(), near, fewest)
        if len(near) > 2 * NEAR:
            near.popleft()
    for page in waiting:
        yield _part(page, near, fewest)


def _part(page: PageRows, near: Iterable[PageRows], fewest: int) -> tuple[PageRows, list[Row]]:
    again = {
        place
        for place, (mark, y) in page.ends.items()
        if sum(_has(neighbour, mark, y) for neighbour in near if abs(neighbour.number - page.number) <= NEAR)
        >= fewest
    }
    if not again:
        return page, []
    kept = [row for place, row in enumerate(page.rows) if place not in again]
    return replace(page, rows=kept, ends={}), [page.rows[place] for place in sorted(again)]


def _has(page: PageRows, mark: str, y: float) -> bool:
    close = 0.0 if mark == "number" else _SAME_PLACE
    return any(mark == end_mark and abs(y - at) <= close for end_mark, at in page.ends.values())


# --- words divided at the end of a line ----------------------------------------------------------------


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
    words = {word for part in parts for word in _WORD.findall(_DIVIDED.sub(" ", part).lower())}

    def whole(match: re.Match[str]) -> str:
        left, right = match[1], match[2]
        first, second = left.lower(), right.lower()
        compound = f"{first}-{second}" in words or (first in words and second in words)
        return left + ("-" if first + second not in words and compound else "") + right

    # thrice: a long compound may be divided more than once
    for _ in range(3):
        parts = [_DIVIDED.sub(whole, part) for part in parts]
    return [part.replace(MAYBE_HYPHEN, "-") for part in parts]
