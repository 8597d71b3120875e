"""Tables on pages of a PDF: rows of a label and values that stand below each other.

Most tables of reports have no borders. Their rows are found by values that stand apart from the text before
them, their columns by what stands below each other, and the names of columns by what stands above, in one
line or several; a rule drawn below a name tells which columns it spans. What cannot be aligned with
certainty is text: a table without names of columns, a column whose name another one has, a row whose label
another one has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from graphrag_rdf.documents.model import Span, Table
from graphrag_rdf.documents.readers.content import barred
from graphrag_rdf.documents.readers.pdf_cells import Cell, cells_of
from graphrag_rdf.documents.readers.pdf_words import Row, Rule
from graphrag_rdf.documents.table_heads import is_period, period_in
from graphrag_rdf.documents.tables import BARRED, MOST_COLUMNS

Extent = tuple[float, float]
"""Where a column is, from the left."""

_FEWEST_ROWS = 2
_FAR = 3.6  # heights of a line between two rows of a table
_MOST_HEAD_LINES = 8
_HEAD_APART = 0.55  # heights between the names of two columns
_NEAR_MARGIN = 3.0  # heights from the left edge within which labels begin
_LONGEST_NAME = 8  # words of a line of a column's name
_NEAR_COLUMN = 2.5  # heights of a line between the values of a column and its name
_OVERLAP = 0.35  # of the width of a column or of its name
_LINES_WITH_UNIT = 6  # above a table
_LINE_WITH_UNIT = 10  # words
_LINES_OF_TITLE = 3  # above a table, which may tell its period
_LONG_TEXT = 8  # words of a cell behind a value: a sentence with a number before it
_LONGEST_HEADING = 14  # words of one that reaches over columns
_TIGHT = 1.35  # heights between lines of one name
_INDENT = 0.25  # heights of a line

_IN_UNIT = re.compile(r"\bin (?:\S+ )?(?:thousands|millions|billions)\b", re.IGNORECASE)
_UNIT_ALONE = re.compile(r"\(?\s*((?:thousands|millions|billions)\b[^()]*)\)?", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\(([^()]*\b(?:thousands?|millions?|billions?)\b[^()]*)\)", re.IGNORECASE)
_SPANNING = re.compile(
    r"\b(?:ended|ending|fiscal|years?|quarters?|months|weeks|as of|as at|q[1-4]|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_PERIOD_BEFORE_YEAR = re.compile(
    r"\b(?:months|weeks|years?|quarters?)\s+(?:ended|ending)\b|\bas (?:of|at)\b", re.I
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_MEASURE = re.compile(
    r"[-–−+(]?[$€£¥]?\d[\d.,]*\)? (?:years?|months?|weeks?|days?|hours?|times|points?|basis points)"
)
_TEXT_AND_YEAR = re.compile(r"\s(?:19|20)\d\d\Z")
# labels that say nothing without the heading above them
_BARE = frozenset({"other", "basic", "diluted", "total", "net", "current", "noncurrent", "non-current"})


@dataclass(slots=True)
class FoundTable:
    """A table as it stands in its text: a line of names, and one for each row and each heading between rows.

    Args:
        text: of the table.
        table: with places in that text; of the rows those that can be read by the names of the columns.
    """

    text: str
    table: Table


@dataclass(slots=True)
class _Line:
    """A row of the page within a table.

    Args:
        label: the text before the values; "" if there is none.
        x0, x1: where it begins and ends.
        cells: values, and texts among them.
    """

    row: Row
    label: str
    x0: float
    x1: float
    cells: list[Cell] = field(default_factory=list)


def looks_tabular(rows: Sequence[Row]) -> bool:
    """Whether a page may have a table."""
    return sum(1 for row in rows if _values(cells_of(row))) >= _FEWEST_ROWS


def find_tables(rows: Sequence[Row], rules: Sequence[Rule]) -> Iterator[FoundTable | list[Row]]:
    """The tables of a column of the page, and the rows between them, from top to bottom."""
    cells = [cells_of(row) for row in rows]
    done = number = 0
    while number < len(rows):
        if not _values(cells[number]):
            number += 1
            continue
        end = _end(rows, cells, number)
        table_at = _table(rows, cells, number, end, rules, done)
        if table_at is not None:
            start, table = table_at
            if start > done:
                yield list(rows[done:start])
            yield table
            done = end
        number = end
    if done < len(rows):
        yield list(rows[done:])


def _values(cells: Sequence[Cell]) -> bool:
    """Whether a row has values behind a label, and no sentence behind them."""
    if len(cells) < 2 or cells[0].value or all(map(_like_year, cells[1:])):
        return False
    if all(c.value or _MEASURE.fullmatch(c.text) for c in cells[1:]):
        return True
    return any(c.value and not c.year for c in cells[1:]) and all(
        c.text.count(" ") < _LONG_TEXT for c in cells[1:]
    )


def _bare(cells: Sequence[Cell]) -> bool:
    """Whether a row has values only, as sums without a label."""
    return all(c.value for c in cells) and not all(c.year for c in cells)


# --- where a table ends and begins ---------------------------------------------------------------------


def _end(rows: Sequence[Row], cells: Sequence[Sequence[Cell]], start: int) -> int:
    """The row after the last one of a table whose first row with values is at `start`."""
    left = min(cell.x0 for cell in cells[start][1:])
    right = max(cell.x1 for cell in cells[start])
    last = start
    for number in range(start + 1, len(rows)):
        row, above = rows[number], rows[number - 1]
        if row.y - above.y > _FAR * max(row.height, above.height):
            break
        row_cells = cells[number]
        if _values(row_cells):
            last = number
            left = min([left, *(c.x0 for c in row_cells[1:] if c.value)])
            right = max(right, row_cells[-1].x1)
        elif _bare(row_cells):
            last = number
        elif not _heads_rows(row_cells, left, right) or number - last > 4:
            break
    return last + 1


def _heads_rows(cells: Sequence[Cell], left: float, right: float) -> bool:
    """Whether a row without values may be a heading between rows, or a part of a label."""
    if len(cells) != 1 or cells[0].x0 > left or cells[0].x1 > right:
        return False
    return cells[0].x1 <= left or len(cells[0].text.split()) <= _LONGEST_HEADING


def _table(
    rows: Sequence[Row],
    cells: Sequence[Sequence[Cell]],
    first: int,
    end: int,
    rules: Sequence[Rule],
    done: int,
) -> tuple[int, FoundTable] | None:
    """A table and its first row; None if its rows, columns or names are not certain."""
    lines = [_line(rows[n], cells[n]) for n in range(first, end)]
    full = [line for line in lines if line.cells]
    if sum(1 for line in full if line.label) < _FEWEST_ROWS:
        return None
    columns = _columns(full)
    if len(columns) >= MOST_COLUMNS:
        return None
    labels = min(max(line.x1 for line in full if line.label), columns[0][0])
    head, start = _head(rows, first, done, columns, labels)
    while start < first and head and rows[first - 1] not in head:  # headings below the head
        above = first - 1
        if len(cells[above]) != 1 or cells[above][0].x1 > columns[-1][0] or cells[above][0].value:
            return None
        lines.insert(0, _line(rows[above], cells[above]))
        first = above
    if not head:
        return None
    names, stub = _names(head, columns, rules, labels, min(line.x0 for line in full))
    names = _certain(names, _columns_of_shares(full, columns))
    over = rows[max(start - _LINES_WITH_UNIT, done) : start]
    text, header, spans = _written(lines, columns, stub, names)
    if len(spans) < _FEWEST_ROWS or not any(names[n] for n in _columns_of_values(full, columns)):
        return None
    table = Table((stub, *names), BARRED, spans, header, _caption(over, stub), _period(over, names))
    return start, FoundTable(text, table)


def _line(row: Row, cells: Sequence[Cell]) -> _Line:
    if cells and not cells[0].value:
        return _Line(row, cells[0].text, cells[0].x0, cells[0].x1, list(cells[1:]))
    return _Line(row, "", row.x0, row.x0, list(cells))


def _columns(lines: Sequence[_Line]) -> list[Extent]:
    """Where the columns are: what overlaps stands in one."""
    spans: list[Extent] = []
    for x0, x1 in sorted((cell.x0, cell.x1) for line in lines for cell in line.cells):
        if spans and x0 < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], x1))
        else:
            spans.append((x0, x1))
    return spans


def _columns_of_values(lines: Sequence[_Line], columns: Sequence[Extent]) -> set[int]:
    return {
        n for n, cells in _by_column(lines, columns).items() if 2 * sum(c.value for c in cells) > len(cells)
    }


def _columns_of_shares(lines: Sequence[_Line], columns: Sequence[Extent]) -> set[int]:
    return {n for n, cells in _by_column(lines, columns).items() if all("%" in c.text for c in cells)}


def _by_column(lines: Sequence[_Line], columns: Sequence[Extent]) -> dict[int, list[Cell]]:
    by_column: dict[int, list[Cell]] = {}
    for cell in (cell for line in lines for cell in line.cells):
        number = next(n for n, (x0, x1) in enumerate(columns) if x0 <= cell.middle <= x1)
        by_column.setdefault(number, []).append(cell)
    return by_column


# --- names of columns ------------------------------------------------------------------------------------


def _head(
    rows: Sequence[Row],
    first: int,
    done: int,
    columns: Sequence[Extent],
    labels: float,
) -> tuple[list[Row], int]:
    """The rows that name the columns, and the number of the first of them."""
    margin = min((row.x0 for row in rows[first : first + 6]), default=0.0)
    head: list[Row] = []
    start = first
    for number in range(first - 1, max(done, first - 1 - _MOST_HEAD_LINES - 4) - 1, -1):
        row, below = rows[number], rows[number + 1]
        if below.y - row.y > _FAR * max(row.height, below.height) or len(head) == _MOST_HEAD_LINES:
            break
        parts = cells_of(row, _HEAD_APART)
        over = [cell for cell in parts if cell.middle > labels]
        titles = [cell for cell in parts if _is_title(cell, row, labels, margin)]
        if titles:
            if head and any(cell not in titles for cell in over):  # names, perhaps, beside a sentence
                return [], first
            break
        if len(parts) == 1 and _is_centred(parts[0], row, columns, margin):
            break
        if not over:
            if head or parts[0].x0 > margin + _NEAR_MARGIN * row.height:
                break
            continue  # a heading between the head and the first row
        labelled = parts[0] not in over and not _IN_BRACKETS.fullmatch(parts[0].text)
        if any(_is_amount(cell, labelled=labelled) for cell in over):
            break
        head.insert(0, row)
        start = number
    return head, start


def _is_title(cell: Cell, row: Row, labels: float, margin: float) -> bool:
    """Whether it is a title or a sentence: long, or begins at the margin and reaches over columns."""
    if cell.text.count(" ") >= _LONGEST_NAME:
        return True
    if cell.x0 >= labels - 1.5 * row.height or cell.middle <= labels:
        return False
    return cell.x0 < margin + _NEAR_MARGIN * row.height


def _is_centred(cell: Cell, row: Row, columns: Sequence[Extent], margin: float) -> bool:
    """Whether a text stands in the middle of labels and columns, rather than in that of the columns."""
    right = columns[-1][1]
    away = abs(cell.middle - (margin + right) / 2)
    return away < 2 * row.height and away < abs(cell.middle - (columns[0][0] + right) / 2)


def _is_amount(cell: Cell, *, labelled: bool) -> bool:
    """Whether a text names no column: a value that is no period, or behind a label a number of something."""
    if cell.value:
        return not _like_year(cell)
    return labelled and _MEASURE.fullmatch(cell.text) is not None


def _like_year(cell: Cell) -> bool:
    return cell.year or is_period(cell.text)


def _names(
    head: Sequence[Row], columns: Sequence[Extent], rules: Sequence[Rule], labels: float, margin: float
) -> tuple[list[str], str]:
    """The names of the columns, and what stands above the labels."""
    extents = list(columns)
    spread: list[tuple[Cell, float, list[int]]] = []  # names of several columns: which, how high, of which
    parts: list[list[str]] = [[] for _ in columns]
    stub: list[str] = []
    doubtful: set[int] = set()
    for number in range(len(head) - 1, -1, -1):  # from below: names may stand beside right-aligned values
        row = head[number]
        below = head[number + 1].y if number + 1 < len(head) else row.y + 1.5 * row.height
        cells = cells_of(row, _HEAD_APART)
        over = [cell for cell in cells if cell.middle > labels]
        stub[:0] = [cell.text for cell in cells if cell.middle <= labels]
        if any(_like_year(c) and margin + _NEAR_MARGIN * row.height < c.x0 <= labels for c in cells):
            doubtful.add(0)  # it may be the first column's
        if len(over) == 1 and _IN_BRACKETS.fullmatch(over[0].text):
            stub.append(over[0].text)  # a unit
            continue
        shares = _shares(over, extents, named=all(parts))
        beside = _beside(head, number, rules)
        reached = [
            _under(cell, [*over, *beside], row, below, extents, rules)
            or shares.get(place)
            or _line_below(cell, row, spread)
            or _overlapped(cell, extents, _NEAR_COLUMN * row.height)
            for place, cell in enumerate(over)
        ]
        spread += [
            (c, row.y, reached_columns)
            for c, reached_columns in zip(over, reached, strict=True)
            if len(reached_columns) > 1
        ]
        for cell, reached_columns in zip(over, reached, strict=True):
            if not reached_columns:
                doubtful.update(_touched(cell, extents))
            for column in reached_columns:
                parts[column].insert(0, cell.text)
            if len(reached_columns) == 1:
                x0, x1 = extents[reached_columns[0]]
                extents[reached_columns[0]] = (min(x0, cell.x0), max(x1, cell.x1))
    names = ["" if number in doubtful else _joined(part) for number, part in enumerate(parts)]
    label = _joined(stub)
    if _PERIOD_BEFORE_YEAR.search(label) and any(_YEAR.fullmatch(name) for name in names):
        period, unit = _without_unit(label)
        names = [f"{period} {name}" if _YEAR.fullmatch(name) else name for name in names]
        label = unit
    return names, label


def _beside(head: Sequence[Row], number: int, rules: Sequence[Rule]) -> list[Cell]:
    """Texts in lines of a head near a line, with no rule between: names have as many lines as they need."""
    row = head[number]
    beside = []
    for neighbour in head:
        if neighbour is row or abs(neighbour.y - row.y) >= _TIGHT * row.height:
            continue
        above, below = sorted((row.y, neighbour.y))
        beside += [
            cell
            for cell in cells_of(neighbour, _HEAD_APART)
            if not any(above - 1 < y < below and x0 <= cell.middle <= x1 for x0, x1, y in rules)
        ]
    return beside


def _line_below(cell: Cell, row: Row, spread: Sequence[tuple[Cell, float, list[int]]]) -> list[int]:
    """The columns of the line below, where a text is the line above in the same name of several columns."""
    for below, y, columns in spread:
        if y - row.y < _TIGHT * row.height and abs(below.middle - cell.middle) < 0.5 * row.height:
            return columns
    return []


def _without_unit(text: str) -> tuple[str, str]:
    match = _IN_BRACKETS.search(text)
    return (text.replace(match[0], "").strip(), match[0]) if match else (text, "")


def _certain(names: Sequence[str], shares: Collection[int]) -> list[str]:
    """The names without those of several columns, and without mere years among names that say more: what
    stands above those years may not have been found.

    Args:
        shares: columns that only have per cents; such a one beside amounts of the same name is told by them.
    """
    twice = {name for name, count in Counter(names).items() if name and count == 2}
    beside = {
        n for n in shares if n and names[n] in twice and names[n] == names[n - 1] and n - 1 not in shares
    }
    names = [f"{name} (%)" if n in beside else name for n, name in enumerate(names)]
    often = Counter(names)
    more = any(_TEXT_AND_YEAR.search(name) and not is_period(name) for name in names)
    return ["" if often[name] > 1 or (more and _YEAR.fullmatch(name)) else name for name in names]


def _under(
    cell: Cell,
    neighbours: Sequence[Cell],
    row: Row,
    below: float,
    columns: Sequence[Extent],
    rules: Sequence[Rule],
) -> list[int]:
    """The columns above which a rule is drawn below the middle of a name, and below no other one.

    Args:
        neighbours: names in the same line and in lines that may belong to it.
        below: where the line below is.
    """
    widths = [
        (x1 - x0, x0, x1)
        for x0, x1, y in rules
        if row.y - 0.1 * row.height < y < min(below, row.y + row.height)
        and x0 <= cell.middle <= x1
        and all(
            abs(neighbour.middle - cell.middle) < row.height
            for neighbour in neighbours
            if x0 <= neighbour.middle <= x1
        )
    ]
    if not widths:
        return []
    width, x0, x1 = min(widths)
    if x0 < columns[0][0] - 4 * row.height:  # it is drawn below the labels, too
        return []
    reached = [n for n, column in enumerate(columns) if x0 <= (column[0] + column[1]) / 2 <= x1]
    centred = abs(cell.middle - (x0 + x1) / 2) < 0.1 * width + 0.3 * row.height
    return reached if centred or len(reached) == 1 else []


def _shares(over: Sequence[Cell], columns: Sequence[Extent], *, named: bool) -> dict[int, list[int]]:
    """The columns of each name, if the names stand in the middle of equal shares of them.

    Args:
        named: whether each column has a name of its own below; else only periods stand above several.
    """
    count = len(over)
    if not count or len(columns) % count or len(columns) == count:
        return {}
    each = len(columns) // count
    shares = {}
    for number, cell in enumerate(over):
        first, last = columns[number * each], columns[(number + 1) * each - 1]
        away = abs(cell.middle - (first[0] + last[1]) / 2) / (last[1] - first[0])
        period = _SPANNING.search(cell.text) is not None
        if away > (0.15 if period else 0.05) or not (period or (named and count > 1)):
            return {}
        shares[number] = list(range(number * each, (number + 1) * each))
    return shares


def _overlapped(cell: Cell, columns: Sequence[Extent], near: float) -> list[int]:
    """The columns below a name, else the one column that it is near to, points."""
    reached = [
        n
        for n, (x0, x1) in enumerate(columns)
        if min(x1, cell.x1) - max(x0, cell.x0) > _OVERLAP * min(x1 - x0, cell.x1 - cell.x0)
    ]
    if len(reached) > 1 and not _SPANNING.search(cell.text):
        return [n for n in reached if columns[n][0] <= cell.middle <= columns[n][1]]
    if reached:
        return reached
    distances = [max(x0 - cell.x1, cell.x0 - x1, 0.0) for x0, x1 in columns]
    best = min(distances)
    nearest = [n for n, distance in enumerate(distances) if distance == best]
    return nearest if best < min(near, cell.x1 - cell.x0) and len(nearest) == 1 else []


def _touched(cell: Cell, columns: Sequence[Extent]) -> list[int]:
    return [n for n, (x0, x1) in enumerate(columns) if x0 < cell.x1 and cell.x0 < x1]


def _joined(parts: Sequence[str]) -> str:
    text = ""
    for part in parts:
        text += part if not text or text.endswith("-") else f" {part}"
    return text.strip()


def _caption(above: Sequence[Row], stub: str) -> str:
    """What tells the unit: above the labels, else nearest above the table."""
    for text in (stub, *(row.text for row in reversed(above))):
        if match := _UNIT_ALONE.fullmatch(text):
            return f"in {match[1].lower()}"
        if match := _IN_BRACKETS.search(text):
            return match[1]
        if _IN_UNIT.search(text) and len(text.split()) <= _LINE_WITH_UNIT:
            return text
    return ""


def _period(above: Sequence[Row], names: Sequence[str]) -> str:
    """What the title above the table tells, or the name of a column that begins with the title: the title
    `First Quarter` above `First Quarter April 2, 2023 GAAP`.
    """
    title = above[-1].text if above else ""
    named = [period_in(name) for name in names if title and name.startswith(title)]
    return period_in(" ".join(row.text for row in above[-_LINES_OF_TITLE:])) or "".join(named[:1])


# --- rows ------------------------------------------------------------------------------------------------


def _written(
    lines: Sequence[_Line], columns: Sequence[Extent], stub: str, names: Sequence[str]
) -> tuple[str, Span, tuple[Span, ...]]:
    """The text of a table, where its head is, and the rows that can be read."""
    merged = list(_whole_labels(lines))
    headings = _headings(merged)
    labels = [line.label for line in merged]
    often = Counter(label for label, line in zip(labels, merged, strict=True) if line.cells)
    row_labels = [
        f"{heading}: {label}" if heading and label and (often[label] > 1 or label.lower() in _BARE) else label
        for label, heading in zip(labels, headings, strict=True)
    ]
    again = Counter(label for label, line in zip(row_labels, merged, strict=True) if line.cells)
    parts = [barred([stub, *names])]
    header = (0, len(parts[0]))
    position = len(parts[0]) + 1
    spans = []
    for line, label in zip(merged, row_labels, strict=True):
        placed = _placed(line.cells, columns)
        if not line.cells:
            text = line.label
        elif placed is None:
            text = " ".join([line.label, *(cell.text for cell in line.cells)]).strip()
        else:
            text = barred([label, *placed])
            if label and again[label] == 1:
                spans.append((position, position + len(text)))
        parts.append(text)
        position += len(text) + 1
    return "\n".join(parts), header, tuple(spans)


def _placed(cells: Sequence[Cell], columns: Sequence[Extent]) -> list[str] | None:
    """The cells of a row by columns; None if two of them are in one."""
    placed = [""] * len(columns)
    for cell in cells:
        number = next((n for n, (x0, x1) in enumerate(columns) if x0 <= cell.middle <= x1), None)
        if number is None or placed[number]:
            return None
        placed[number] = cell.text
    return placed


def _whole_labels(lines: Sequence[_Line]) -> Iterator[_Line]:
    """Lines with labels of several lines put together: what is closer than rows usually are, or goes on in
    lower case."""
    steps = [b.row.y - a.row.y for a, b in pairwise(lines) if a.cells and b.cells]
    usual = median(steps) if steps else 0.0
    waiting: list[_Line] = []
    previous: _Line | None = None
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else None
        if not line.cells:
            if previous is not None and not waiting and _goes_on(previous, line, following, usual):
                previous.label = f"{previous.label} {line.label}"
                continue
            waiting.append(line)
            continue
        if previous is not None:
            yield previous
        previous = None
        kept, label = list(waiting), line.label
        above = line
        while kept and label and _wrapped(kept[-1], above, label, usual):
            above = kept.pop()
            label = f"{above.label} {label}"
        yield from _whole_headings(kept, usual)
        waiting = []
        previous = replace(line, label=label, x0=min(line.x0, above.x0))
    if previous is not None:
        yield previous
    yield from _whole_headings(waiting, usual)


def _wrapped(above: _Line, line: _Line, label: str, usual: float) -> bool:
    """Whether a line without values is the beginning of the label below it."""
    if above.label.endswith(":") or above.row.bold != line.row.bold:
        return False
    return label[:1].islower() or _close(above.row, line.row, usual)


def _goes_on(line: _Line, below: _Line, following: _Line | None, usual: float) -> bool:
    """Whether a line without values is the end of the label above it."""
    if not line.label or below.label.endswith(":") or line.row.bold != below.row.bold:
        return False
    if not (below.label[:1].islower() or _close(line.row, below.row, usual)):
        return False
    return following is None or below.row.y - line.row.y <= following.row.y - below.row.y


def _close(upper: Row, lower: Row, usual: float) -> bool:
    return 0 < lower.y - upper.y < min(0.85 * usual, 1.3 * upper.height)


def _whole_headings(lines: Sequence[_Line], usual: float) -> Iterator[_Line]:
    """Headings of several lines put together."""
    heading: _Line | None = None
    last: _Line | None = None
    for line in lines:
        if heading is not None and last is not None and _wrapped(last, line, line.label, usual):
            heading.label = f"{heading.label} {line.label}"
        else:
            if heading is not None:
                yield heading
            heading = replace(line)
        last = line
    if heading is not None:
        yield heading


def _headings(lines: Sequence[_Line]) -> list[str]:
    """For each line the heading that it stands below, without a colon; "" if there is none.

    A heading reaches down to what is not indented more than itself; if already its first row is not
    indented, down to the next heading or to a total.
    """
    headings = []
    open_: list[tuple[float, bool, str]] = []  # where each heading begins, whether its rows are not indented
    flat: bool | None = None
    for line in lines:
        indent = _INDENT * line.row.height
        if not line.cells:
            while open_ and open_[-1][0] >= line.x0 - indent:
                open_.pop()
            open_.append((line.x0, False, line.label.rstrip(": ")))
            flat = None
            headings.append("")
            continue
        if flat is None:
            flat = bool(open_) and line.x0 <= open_[-1][0] + indent
            if flat:
                open_[-1] = (open_[-1][0], True, open_[-1][2])
        while open_ and not open_[-1][1] and open_[-1][0] >= line.x0 - indent:
            open_.pop()
        headings.append(open_[-1][2] if open_ and line.label else "")
        if open_ and open_[-1][1] and line.label.lower().startswith("total"):
            open_.pop()
    return headings
