"""The days that a question is about, in its own words: “on 24 June”, “last month”, “im Mai 2023”, “五月”.

A date without a year is of each year that the documents are from. “Last month” is the one before that of the
newest document, because nobody says when a question about old documents is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from graphrag_rdf import han

from .numbers import find_literals, months

_MOST_YEARS = 60  # that a date without a year may be of
_FIRST, _LAST = date.min, date.max
_HAN_NUMBER = r"[\d一二三四五六七八九十]{1,3}"
_ORDINALS = {
    **dict.fromkeys(("first", "1st", "q1", "1", "一", "ersten", "erstes", "erste", "eerste"), 1),
    **dict.fromkeys(("second", "2nd", "q2", "2", "二", "zweiten", "zweites", "zweite", "tweede"), 2),
    **dict.fromkeys(("third", "3rd", "q3", "3", "三", "dritten", "drittes", "dritte", "derde"), 3),
    **dict.fromkeys(("fourth", "4th", "q4", "4", "四", "vierten", "viertes", "vierte", "vierde"), 4),
    **dict.fromkeys(("last", "final", "letzten", "letztes", "letzte", "laatste", "最后一个"), 4),
}
_UNITS = {
    **dict.fromkeys(("day", "days", "tag", "tage", "tagen", "dag", "dagen", "天"), "day"),
    **dict.fromkeys(("week", "weeks", "woche", "wochen", "weken", "周", "週", "星期"), "week"),
    **dict.fromkeys(
        ("month", "months", "monat", "monate", "monaten", "monats", "maand", "maanden", "月"), "month"
    ),
    **dict.fromkeys(("quarter", "quarters", "quartal", "quartale", "kwartaal", "季度"), "quarter"),
    **dict.fromkeys(("year", "years", "jahr", "jahre", "jahren", "jahres", "jaar", "年"), "year"),
}
_NUMBERS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "six": 6,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "sechs": 6,
    "twee": 2,
    "drie": 3,
}
_DAYS_BACK = {
    **dict.fromkeys(("today", "heute", "vandaag", "今天"), 0),
    **dict.fromkeys(("yesterday", "gestern", "gisteren", "昨天"), 1),
}
# before a month that stands alone; after those of the second a month needs its capital ("to march")
_BEFORE_MONTH = "in|during|im|seit|since|last|this|early|late|mid|anfang|ende|mitte"
_BEFORE_CAPITAL = (
    "of|on|from|until|till|by|before|after|between|and|or|to|bis|vor|nach|und|oder|zwischen|von|sinds|tot|en"
)
_RANGE = re.compile(
    r"\W*(?:and|to|until|till|through|und|bis|en|tot|到|至|和|[-–—])\W*(?:the\W+)?", re.IGNORECASE
)
_FROM = re.compile(
    r"(?:between|from|zwischen|vom?|tussen|van|从|從|自|于|於)\W*(?:the\W+|dem\W+)?$", re.IGNORECASE
)
_OPEN = {
    "since": re.compile(r"\b(?:since|seit|sinds|ab)\W*(?:the\W+|dem\W+)?$|自从?$", re.IGNORECASE),
    "after": re.compile(r"\b(?:after|nach|na)\W*(?:the\W+|dem\W+)?$", re.IGNORECASE),
    "before": re.compile(r"\b(?:before|vor|voor)\W*(?:the\W+|dem\W+)?$", re.IGNORECASE),
    "until": re.compile(r"\b(?:until|till|up to|bis|tot)\W*(?:the\W+|zum\W+)?$", re.IGNORECASE),
}
_BEHIND = {
    "after": re.compile(r"\W*(?:以后|之后|後|后)"),
    "before": re.compile(r"\W*(?:以前|之前|前)"),
    "since": re.compile(r"\W*以来"),
}

Span = tuple[date, date]


@dataclass(frozen=True, slots=True)
class Period:
    """What a question says of days.

    Attributes:
        words: those of the question that say it.
        spans: first and last day of each part.
        relative: whether it is counted from the newest document.
    """

    words: str
    spans: tuple[Span, ...]
    relative: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    start: int
    end: int
    spans: tuple[Span, ...]
    relative: bool = False


def find_period(question: str, oldest: date, newest: date) -> Period | None:
    """The days that a question is about; None if it names none.

    Args:
        oldest, newest: dates of documents.
    """
    parts = _apart(
        [
            *_dates(question),
            *_quarters(question),
            *_yearless(question, oldest, newest),
            *_relative(question, newest),
        ]
    )
    words, spans = _joined(question, parts)
    relative = any(part.relative for part in parts)
    return Period(", ".join(words), tuple(dict.fromkeys(spans)), relative) if spans else None


def lasting_spans(text: str) -> list[Span]:
    """First and last day of what a text says to last for years: “from 1889 to 1907”, “until 1934”."""
    _, spans = _joined(text, _apart([*_dates(text)]))
    return [(first, last) for first, last in spans if first.year < last.year]


def _joined(question: str, parts: Sequence[_Part]) -> tuple[list[str], list[Span]]:
    """The words and spans of parts, with two of “from May to June” as one."""
    spans: list[Span] = []
    words: list[str] = []
    number = 0
    while number < len(parts):
        part = parts[number]
        before = question[: part.start]
        if number + 1 < len(parts):
            following = parts[number + 1]
            if _FROM.search(before) and _RANGE.fullmatch(question[part.end : following.start]):
                for _, last in following.spans:  # each with the nearest beginning: “from May to June 2023”
                    spans += [(first, last) for first, _ in part.spans if first <= last][-1:]
                words.append(question[part.start : following.end])
                number += 2
                continue
        spans += _opened(part, before, question[part.end :])
        words.append(question[part.start : part.end])
        number += 1
    return words, spans


def _opened(part: _Part, before: str, behind: str) -> Iterator[Span]:
    """The spans of a part, without an end after “since”, and so on."""
    how = next((how for how, pattern in _OPEN.items() if pattern.search(before)), None)
    how = how or next((how for how, pattern in _BEHIND.items() if pattern.match(behind)), None)
    for first, last in part.spans:
        match how:
            case "since":
                yield first, _LAST
            case "after":
                yield min(last, _LAST - timedelta(1)) + timedelta(1), _LAST
            case "before":
                yield _FIRST, max(first, _FIRST + timedelta(1)) - timedelta(1)
            case "until":
                yield _FIRST, last
            case _:
                yield first, last


def _apart(parts: Sequence[_Part]) -> list[_Part]:
    """Parts that do not overlap, the longest of those that do, in order."""
    kept: list[_Part] = []
    for part in sorted(parts, key=lambda part: (part.start - part.end, part.start)):
        if part.spans and all(part.end <= longer.start or longer.end <= part.start for longer in kept):
            kept.append(part)
    return sorted(kept, key=lambda part: part.start)


def _dates(question: str) -> Iterator[_Part]:
    """Days, months and years with their year."""
    for literal in find_literals(question):
        if literal.kind in ("date", "month", "year") and literal.lexical[:1] != "-":
            yield _Part(literal.offset, literal.offset + literal.length, (span_of(literal.lexical),))
    for match in re.finditer(r"(?<![\d-])((?:19|20)\d\d)(?:-(\d\d)(?![\d-])|(\d\d)(\d\d)(?!\d))", question):
        year, month, month8, day = match.groups()
        if span := _span(int(year), int(month or month8), int(day or 0)):
            yield _Part(*match.span(), (span,))


def _quarters(question: str) -> Iterator[_Part]:
    names = "|".join(sorted(map(re.escape, _ORDINALS), key=len, reverse=True))
    patterns = (
        rf"\b(?P<nth>{names})\W(?:quarter|quartals?|kwartaal)(?:\W(?:of|in|des jahres|van))?\W"
        r"(?P<year>(?:19|20)\d\d)\b",
        r"\b(?P<nth>q[1-4])\W?(?P<year>(?:19|20)\d\d)\b",
        r"\b(?P<year>(?:19|20)\d\d)\W?(?P<nth>q[1-4])\b",
        rf"(?P<year>(?:19|20)\d\d)年?(?:的)?第?(?P<nth>{names})(?:个)?季度",
    )
    for pattern in patterns:
        for match in re.finditer(pattern, question, re.IGNORECASE):
            yield _Part(*match.span(), (_quarter(int(match["year"]), _ORDINALS[match["nth"].lower()]),))


@cache
def _month_patterns() -> tuple[re.Pattern[str], ...]:
    month = rf"(?P<month>{'|'.join(sorted(map(re.escape, months()), key=len, reverse=True))})\b\.?"
    patterns = (
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?{month}",
        rf"\b{month}\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)",
        rf"(?<=\b)(?:{_BEFORE_MONTH}|(?P<capital>{_BEFORE_CAPITAL}))[\s-]+(?P<only>{month})",
        rf"(?<![{han.DIGITS}十\d年])(?P<hmonth>{_HAN_NUMBER})月(?:份|(?P<hday>{_HAN_NUMBER})[日号號])?(?!\d)",
    )
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


def _yearless(question: str, oldest: date, newest: date) -> Iterator[_Part]:
    """Days and months without a year: of each year that has documents."""
    years = range(max(oldest.year, newest.year - _MOST_YEARS), newest.year + 1)
    for match in (match for pattern in _month_patterns() for match in pattern.finditer(question)):
        groups = match.groupdict()
        if groups.get("hmonth"):
            (month,), day = (
                han.date_parts(f"{match['hmonth']}月"),
                [*han.date_parts(f"{match['hday']}日"), 0][0] if match["hday"] else 0,
            )
        else:
            month, day = months()[match["month"].lower()], int(groups.get("day") or 0)
            if groups.get("capital") and not match["month"][0].isupper():
                continue
        spans = tuple(span for year in years if (span := _span(year, month, day)))
        start = match.start("only") if groups.get("only") else match.start()
        yield _Part(start, match.end(), spans)


@cache
def _relative_pattern() -> re.Pattern[str]:
    units = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
    words = "|".join(map(re.escape, _DAYS_BACK))
    numbers = "|".join(_NUMBERS)
    return re.compile(
        rf"\b(?P<last>last|previous|past|letzte[nrms]?|vorige[nrms]?|vergangene[nrms]?|vorige|afgelopen)\s+"
        rf"(?:(?P<count>\d{{1,2}}|{numbers})\s+)?(?P<unit>{units})\b(?!\s+of\b)"
        rf"|\b(?P<this>this|current|diese[nrms]?|deze|dit)\s+(?P<unit2>{units})\b"
        rf"|(?P<hlast>上个?|过去)(?P<hcount>\d{{1,2}})?个?(?P<hunit>月|季度|周|週|星期|年|天)|(?P<hyear>去年|今年)|(?P<hthis>这个?|本)(?P<hunit2>月|季度|周|年)"
        rf"|(?:\b|(?=[今昨]))(?P<word>{words})(?:\b|(?<=天))",
        re.IGNORECASE,
    )


def _relative(question: str, newest: date) -> Iterator[_Part]:
    for match in _relative_pattern().finditer(question):
        unit = match["unit"] or match["unit2"] or match["hunit"] or match["hunit2"]
        count = (match["count"] or match["hcount"] or "1").lower()
        number = _NUMBERS.get(count) or int(count)
        if match["word"]:
            first = last = newest - timedelta(_DAYS_BACK[match["word"].lower()])
        elif match["hyear"]:
            first, last = _whole("year", newest, int(match["hyear"] == "去年"))
        elif match["count"] or match["hcount"]:  # the last three weeks end with the newest document
            first, last = _whole(_UNITS[unit.lower()], newest, number)[1] + timedelta(1), newest
            first = min(first, last)
        else:
            first, last = _whole(_UNITS[unit.lower()], newest, int(bool(match["last"] or match["hlast"])))
        yield _Part(*match.span(), ((first, last),), relative=True)


def _whole(unit: str, newest: date, back: int) -> Span:
    """The day, week, month, quarter or year so many before that of the newest document."""
    if unit == "day":
        return (newest - timedelta(back),) * 2
    if unit == "week":
        monday = newest - timedelta(newest.weekday() + 7 * back)
        return monday, monday + timedelta(6)
    if unit == "year":
        return date(newest.year - back, 1, 1), date(newest.year - back, 12, 31)
    if unit == "quarter":
        year, quarter = divmod(newest.year * 4 + (newest.month - 1) // 3 - back, 4)
        return _quarter(year, quarter + 1)
    year, month = divmod(newest.year * 12 + newest.month - 1 - back, 12)
    return _month(year, month + 1)


def span_of(lexical: str) -> Span:
    """First and last day of a day, month or year in ISO form. Raises ValueError for another text."""
    year, month, day = [*map(int, lexical.split("-")), 0, 0][:3]
    if (span := _span(year, month, day)) is None:
        raise ValueError(lexical)
    return span


def _span(year: int, month: int, day: int) -> Span | None:
    try:
        if day:
            return (date(year, month, day),) * 2
        return _month(year, month) if month else (date(year, 1, 1), date(year, 12, 31))
    except ValueError:
        return None


def _month(year: int, month: int) -> Span:
    after = date(year + month // 12, month % 12 + 1, 1) if (year, month) != (9999, 12) else _LAST
    return date(year, month, 1), after - timedelta(after != _LAST)


def _quarter(year: int, quarter: int) -> Span:
    return date(year, 3 * quarter - 2, 1), _month(year, 3 * quarter)[1]
