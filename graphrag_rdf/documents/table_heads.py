"""The head of a table: its title, the lines that name its columns, and the periods and units in these names.

Readers of all formats use it with the cells that they found. Two kinds of evidence count: a line without
values above lines of values, and words that often name columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile, pairwise, takewhile

from graphrag_rdf.documents.text import word_list

Line = Sequence[str]
"""The cells of a line, white space collapsed; "" where nothing stands."""

SAMPLE = 200
"""Lines below the head that are looked at."""

_MOST_LINES = 3  # that name columns
_LONGEST_NAME = 80
_MOSTLY = 0.8
_LONGEST_STEP = 10  # between years above columns

# the beginning of a value, which names no column
_VALUE = re.compile(
    r"[-+(–−~<>]?\s?[€$£¥]?\s?[.,]?\d|(?:true|false|yes|no|n/?a|null)\Z|[a-z]+://|\S+@\S+\Z", re.IGNORECASE
)
_NOTHING = re.compile(r"[\W_]*")
_IDENTIFIER = re.compile(r"\w_\w|[a-z][A-Z]|#\Z")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Head:
    """The lines above the rows of a table.

    Args:
        titles: lines at the beginning that hold one text each.
        lines: lines after them that name the columns, at least one.
        names: of the columns, each from all of those lines; "" for a column without a name.
        caption: the titles, one after another.
    """

    titles: int
    lines: int
    names: tuple[str, ...]
    caption: str


def find_head(lines: Sequence[Line], *, declared: int | None = None) -> Head | None:
    """The head of a table, or None if nothing names its columns.

    Args:
        lines: its cells from the top, as many as there are, `SAMPLE` are enough; what spans columns or lines
            stands in each of them.
        declared: how many lines at the top name columns, titles among them, where the format tells; None to
            find it out.
    """
    width = max(map(len, lines), default=0)
    if width < 2:
        return None
    padded = [[*line, *[""] * (width - len(line))] for line in lines[: SAMPLE + _MOST_LINES + 1]]
    titles = sum(1 for _ in takewhile(_is_title, padded))
    body = padded[titles:]
    count = _count_lines(body) if declared is None else declared - titles
    if count < 1 or len(body) <= count:
        return None
    top = [line for line in body[:count] if not (count > 1 and _is_title(line))]
    width = max(map(len, lines[titles : titles + count]))
    names = tuple(_joined([line[column] for line in _spread(top)]) for column in range(width))
    if not any(names):
        return None
    if declared is None and count == 1 and not names_columns(body[0], body[1:]):
        return None
    caption = " ".join(next(filter(None, line)) for line in padded[:titles])
    return Head(titles, count, names, caption)


def _is_title(line: Line) -> bool:
    """Whether a line holds one text only, from its first cell on."""
    return bool(line[0]) and len(set(filter(None, line))) == 1


def _count_lines(lines: Sequence[Line]) -> int:
    """How many lines name columns: those at the top in which something that is no value stands above values,
    or that tell what is below each of their spans.
    """
    if len(lines) < 2:
        return 0
    body = lines[1:]
    measures = [
        column
        for column in range(len(lines[0]))
        if _share([line[column] for line in body if not _is_nothing(line[column])], _is_value) >= 0.5
    ]
    count = int(_names(lines[0], body, measures))
    while 0 < count < min(_MOST_LINES, len(lines) - 1) and _goes_on(lines[count - 1], lines[count], measures):
        if not _names(lines[count], lines[count + 1 :], measures):
            break
        count += 1
    if count == 0 and _has_spans(lines[0]) and names_columns(lines[1], lines[2:]):
        return 2 * (not any(map(_is_value, lines[0])))
    return count or int(names_columns(lines[0], body))


def _goes_on(line: Line, below: Line, measures: Sequence[int]) -> bool:
    """Whether the names of a line need those of the line below it."""
    if not below[0] or below[0] == line[0] or _has_spans(line):
        return True
    return any(below[column] and not line[column] for column in measures)


def _names(line: Line, below: Sequence[Line], measures: Sequence[int]) -> bool:
    """Whether a line has names above columns of values, and no value.

    Args:
        line, below: it and the lines below it.
        measures: columns of values.
    """
    if not any(not _is_nothing(line[column]) for column in measures):
        return False
    numbers = [column for column, cell in enumerate(line) if _is_value(cell)]
    if not numbers:
        return True
    cells = [row[column] for column in numbers for row in below[:SAMPLE] if _is_value(row[column])]
    periods = list(dict.fromkeys(line[column] for column in numbers))
    return bool(cells) and _share(cells, is_period) < 0.5 and _are_periods(periods, sure=not line[0])


def _are_periods(periods: Sequence[str], *, sure: bool) -> bool:
    """Whether they are periods, and years among them no numbers by chance: they follow each other evenly.

    Args:
        periods: what is not a word.
        sure: whether something else speaks for it.
    """
    if not all(map(is_period, periods)):
        return False
    years = [int(period) for period in periods if re.fullmatch(r"\d{4}", period)]
    steps = {later - earlier for earlier, later in pairwise(years)}
    if sure or len(years) < len(periods):
        return all(step > 0 for step in steps) or all(step < 0 for step in steps)
    return len(steps) == 1 and 0 < abs(min(steps)) <= _LONGEST_STEP


def _has_spans(line: Line) -> bool:
    return any(cell and cell == following for cell, following in pairwise(line))


def _spread(lines: Sequence[Line]) -> list[list[str]]:
    """Lines in which a name also stands in the blank cells to its right, as far as the lines below name
    something there: what was one wide cell.
    """
    spread = []
    for number, line in enumerate(lines):
        below = lines[number + 1 :]
        cells: list[str] = []
        for column, cell in enumerate(line):
            wide = column > 0 and not cell and any(lower[column] for lower in below)
            first = not any(lower[column - 1] for lower in below) if column else True
            cells.append(cells[-1] if wide and not first else cell)
        spread.append(cells)
    return spread


def _joined(parts: Sequence[str]) -> str:
    """The name of a column from its lines, from the top; periods come after what they are periods of."""
    names = [part for part in dict.fromkeys(parts) if part]
    return " ".join(sorted(names, key=is_period)) if not is_period(" ".join(names)) else " ".join(names)


def names_columns(head: Line, rows: Sequence[Line]) -> bool:
    """Whether a first row names the columns, rather than being a row like the others.

    Nothing in it may look like a value, save periods above other values, or stand in its own column again.
    Beyond that something has to speak for it: a column of values below a word, names as programs write them,
    words that columns are often called by, or names of things below what is none.
    """
    filled = [name for name in head if not _is_nothing(name)]
    columns = [
        [row[number] for row in rows if number < len(row) and row[number]] for number in range(len(head))
    ]
    measures = [
        number
        for number, column in enumerate(columns)
        if column and _share(column, _is_value) >= _MOSTLY and head[number]
    ]
    if any(_is_value(name) for name in filled):
        return bool(measures) and _names(head, rows, measures) and any(not _is_value(c) for c in head)
    if 2 * len(filled) < len(head) or any(len(name) > _LONGEST_NAME for name in filled):
        return False
    if any(name and name in column for name, column in zip(head, columns, strict=True)):
        return False
    if measures or any(map(_IDENTIFIER.search, filled)):
        return True
    common = word_list("tables", "columns")
    common_names = sum(any(word.lower() in common for word in _WORD.findall(name)) for name in filled)
    unlike = sum(_unlike(name, column) for name, column in zip(head, columns, strict=True) if name and column)
    return 2 * common_names >= len(filled) or 2 * unlike >= len(filled)


def _unlike(name: str, column: Sequence[str]) -> bool:
    """Whether a word stands above names of several words, or one in lower case above capitals."""
    several = " " not in name and _share(column, lambda value: " " in value) >= _MOSTLY
    capitals = name[:1].islower() and _share(column, lambda value: value[:1].isupper()) >= _MOSTLY
    return several or capitals


def _is_value(cell: str) -> bool:
    return bool(_VALUE.match(cell))


def _is_nothing(cell: str) -> bool:
    return _NOTHING.fullmatch(cell) is not None


def _share(column: Sequence[str], holds: Callable[[str], bool]) -> float:
    return sum(map(holds, column)) / len(column) if column else 0.0


# --- periods -----------------------------------------------------------------------------------------


@cache
def _anchor() -> re.Pattern[str]:
    return re.compile(
        rf"(?:1[6-9]|20|21)\d\d[aef]?|fy\d{{2}}(?:\d\d)?[aef]?|q[1-4]|[1-4]q(?:\d\d)?|[hs][12]"
        rf"|{'|'.join(sorted(word_list('tables', 'months')))}|(?:1[6-9]|20|21)\d\d年(?:度)?"
    )


_PARTS = re.compile(r"[^\W_]+")
_DAY = re.compile(r"\d{1,2}(?:st|nd|rd|th)?")
_YEAR = re.compile(r"\d{4}")
_SENTENCE_END = re.compile(r"(?<=\w{3})[.!?。](?=\s+\S|[A-Z])")


def is_period(name: str) -> bool:
    """Whether a name is nothing but that of a year, quarter, month or day: `2021`, `FY22`, `Q3 2023`,
    `Three months ended 30 June 2023`, `2021/22`.
    """
    parts = _PARTS.findall(name.lower())
    return (
        has_period(name)
        and len(name) <= _LONGEST_NAME
        and all(map(_is_of_period, parts))
        and not name.startswith(("-", "+"))
    )


def has_period(name: str) -> bool:
    """Whether a name has a year, quarter or month in it."""
    return any(_anchor().fullmatch(part) for part in _PARTS.findall(name.lower()))


def period_in(title: str) -> str:
    """The period in the last sentence of a title, as it stands there: `Q1 2023` in `Q1 2023 - Income by
    segment`. "" if there is none, or several.
    """
    sentence = _SENTENCE_END.split(title)[-1]
    periods: list[list[re.Match[str]]] = [[]]
    for part in _PARTS.finditer(sentence):
        if _is_of_period(part[0].lower()):
            periods[-1].append(part)
        else:
            periods.append([])
    runs = [sentence[run[0].start() : run[-1].end()] for run in map(_bare, periods) if run]
    dated = [period for period in runs if has_period(period) and re.search(r"\d", period)]
    return dated[0] if len(dated) == 1 and len(_YEAR.findall(dated[0])) <= 1 else ""


def _bare(run: list[re.Match[str]]) -> list[re.Match[str]]:
    """The words of a period without those that lead to it or away from it."""
    leading = word_list("tables", "leading")
    run = [*dropwhile(lambda part: part[0].lower() in leading, run)]
    return [*dropwhile(lambda part: part[0].lower() in leading, reversed(run))][::-1]


def _is_of_period(part: str) -> bool:
    return part in word_list("tables", "around") or has_period(part) or _DAY.fullmatch(part) is not None


# --- units -------------------------------------------------------------------------------------------

_SCALE = (
    r"(?:thousands?|millions?|billions?|tausend|millionen|milliarden|mio\.?|mrd\.?|tsd\.?|duizend(?:en)?|miljoen|"
    r"miljard|mn|bn|000s?|百万|亿|万)(?!\w)"
)
_MONEY = (
    r"(?:u\.?s\.?\s(?:dollars?|\$)|us\$|[€$£¥]|(?:eur|usd|gbp|chf|jpy|cny|rmb|sek|nok|dkk|pln|inr)(?!\w)|"
    r"(?:euros?|dollars?|pounds?(?:\ssterling)?|yen|francs?)(?!\w))"
)
_STATED = re.compile(
    rf"(?<!\w)(?:{_MONEY}\s+in\s+{_SCALE}|(?:in\s+)?{_MONEY}\s?(?:{_SCALE}|m(?!\w))|(?:in\s+)?{_SCALE}(?:\s+of)?\s+{_MONEY}"
    rf"|in\s+{_SCALE}|in\s+{_MONEY})",
    re.IGNORECASE,
)
_LAST_BRACKET = re.compile(r"\s*[(\[]([^()\[\]]{1,24})[)\]]\s*\Z")
_AFTER = re.compile(
    r",?\s+in\s+([%°€$£¥]|[^\W\d_]{1,3}[²³]?(?:/[^\W\d_]{1,4})?)\s*\Z|,\s*([%°€$£¥]|[A-Za-z]{1,3})\s*\Z"
)
_EXCEPT = re.compile(r"except|außer|ohne|behalve|sauf", re.IGNORECASE)


def name_and_unit(name: str) -> tuple[str, str]:
    """The name of a column of numbers without the unit at its end, and the unit: `Weight [kg]`."""
    match = _LAST_BRACKET.search(name) or _AFTER.search(name)
    if match is None or not match.start():
        return name, ""
    unit = next(filter(None, match.groups())).strip()
    return name[: match.start()].strip(), re.sub(r"\Ain\s+", "", unit)


def stated_unit(caption: str) -> tuple[str, frozenset[str]]:
    """The unit that a caption gives for the numbers of its table (`in millions of euros`), and the words of
    its exceptions (`except per share data`).
    """
    match = _STATED.search(caption)
    if match is None:
        return "", frozenset()
    left_out = _EXCEPT.search(caption, match.end())
    words = _WORD.findall(caption[left_out.end() :].lower()) if left_out else []
    return re.sub(r"\Ain\s+", "", match[0], flags=re.IGNORECASE), frozenset(words)


def tells_money(unit: str) -> bool:
    """Whether a unit is one of a currency."""
    return re.search(_MONEY, unit, re.IGNORECASE) is not None
