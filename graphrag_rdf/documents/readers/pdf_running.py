"""Running headers and footers: rows that come again at the same place of pages, whatever their numbers."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from graphrag_rdf.documents.readers.pdf_words import Row, Rule

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
        if sum(_has(other, mark, y) for other in near if abs(other.number - page.number) <= NEAR) >= fewest
    }
    if not again:
        return page, []
    kept = [row for place, row in enumerate(page.rows) if place not in again]
    return replace(page, rows=kept, ends={}), [page.rows[place] for place in sorted(again)]


def _has(page: PageRows, mark: str, y: float) -> bool:
    close = 0.0 if mark == "number" else _SAME_PLACE
    return any(mark == other and abs(y - at) <= close for other, at in page.ends.values())
