"""When a document, or a part of it, was written: by its file's name, its first lines, and lines of time.

A line of time is one that tells a date and little else: `Time: 20260408_08:38`, `12.03.23, 10:15 - Ada: …`,
`## 12 May 2023`. A text that follows it is of that date, up to the next one. A date that a sentence tells is
not looked at: it is of what the text is about.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from itertools import pairwise

from graphrag_rdf.documents.model import ParsedDocument

from .lexicon import read_table
from .numbers import find_literals, month_words

_FIRST_LINES = 10  # that may tell the date of the whole document
_MOST = 40  # characters of a date with its time
_MOST_DATES = 31  # of a chunk
_CENTURIES = ("15", "16", "17", "18", "19", "20")
_DIGITS = re.compile(
    r"(?P<year>(?:19|20)\d\d)(?:(?P<sep>[-_./])(?P<month>\d{1,2})(?:(?P=sep)(?P<day>\d{1,2}))?"
    r"|(?P<month8>\d\d)(?P<day8>\d\d))(?![\d])"
)
_EITHER = re.compile(r"(?P<a>\d{1,2})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<year>(?:19|20)\d\d|\d\d)(?!\d)")
_END = re.compile(r"[\s,;)\]]*$|[\])]|[,T_ \u202f]*(?:at |um )?\d{1,2}[:.h]\d\d")
_IN_NAME = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d\d)(?:(?P<sep>[-_.]?)(?P<month>\d\d)(?P=sep)(?P<day>\d\d)"
    r"|[-_.](?P<only>\d\d))(?!\d)"
)

Dated = tuple[int, str]
"""Place in the text, and a date or month in ISO form."""


@cache
def _line() -> re.Pattern[str]:
    labels = "|".join(read_table("dates")["other"]["labels"].split())
    words = "|".join(sorted(map(re.escape, month_words() | _short_days()), key=len, reverse=True))
    return re.compile(
        rf"^[ \t\u200e\ufeff]*"
        rf"(?P<marked>#{{1,6}}[ \t]+|\*{{0,2}}(?:{labels})\*{{0,2}}[ \t]*[:：]\*{{0,2}}[ \t]*)?[\[(*]{{0,2}}"
        rf"(?P<rest>(?=\d|(?:{words})\b)[^\r\n\f]{{4,90}})",
        re.IGNORECASE | re.MULTILINE,
    )


def _short_days() -> frozenset[str]:
    return frozenset(read_table("dates")["other"]["short_weekdays"].split())


def dates_of(parsed: ParsedDocument, name: str) -> tuple[str | None, tuple[Dated, ...]]:
    """The date of a document, and where in its text another date begins; none of these if one date is all.

    Args:
        name: the path of its file.
    """
    dates = [*_lines(parsed)]
    head = _end_of_head(parsed.text)
    first = next((day for place, day in dates if place < head), None) or _of_letter(parsed.text[:head])
    lines = () if parsed.pages else tuple(dates)  # a page repeats dates of its tables
    whole = first or _of_name(name.rsplit("/", 1)[-1])
    return whole, () if {day for _, day in lines} <= {whole} else lines


def dates_in(lines: Sequence[Dated], start: int, end: int) -> tuple[str, ...]:
    """The dates of a part of a text, each once: those of its lines, and of the line before it if it does not
    begin with one.
    """
    first, last = (bisect_right(lines, place, key=lambda line: line[0]) for place in (start - 1, end - 1))
    if first and (first == len(lines) or lines[first][0] > start):
        first -= 1
    return tuple(dict.fromkeys(day for _, day in lines[first:last]))[:_MOST_DATES]


def _end_of_head(text: str) -> int:
    lines = [match.end() for match in re.finditer(r"[^\n]*\S[^\n]*", text[:4000])][:_FIRST_LINES]
    return lines[-1] if lines else 0


@cache
def _letter_line() -> re.Pattern[str]:
    """A line with a place and a date, or with a date in Chinese digits: “Berlin, den 17. März 1934”."""
    table = read_table("dates")["other"]
    no_place = "|".join(table["no_places"].split())
    place = rf"(?!(?:{no_place})\b)[^\W\d_](?:[^\W\d_]|[.'’ -]){{1,30}}"
    han = r"[\u4e00-\u9fff]{2,12}(?:[（(][^（()）]{1,40}[）)])?"
    weekday = rf"(?:(?:{'|'.join([*table['weekdays'].split(), *_short_days()])})\.?,?\s+)?"
    return re.compile(
        rf"[ \t*_>#]*(?:(?P<place>{place}(?:, {place})?), *|{han}[，, ])?(?:den |the |le |im )?{weekday}"
        rf"(?P<date>\w[^\r\n]{{3,30}}?)(?: ?[于於在]{han})?[ \t*_.。]*",
        re.IGNORECASE,
    )


def _of_letter(head: str) -> str | None:
    """The date of the line that is a place and a date, or a date alone, and nothing else."""
    for line in head.splitlines():
        match = _letter_line().fullmatch(line)
        if match is None or (match["place"] and not _is_place(match["place"])):
            continue
        literals = find_literals(match["date"])
        whole = len(literals) == 1 and literals[0].length == len(match["date"])
        if whole and literals[0].kind in ("date", "month") and literals[0].lexical[:2] in _CENTURIES:
            return literals[0].lexical
    return None


def _is_place(text: str) -> bool:
    """Whether each word of a text begins with a capital, but for those within names of places."""
    small = read_table("dates")["other"]["in_places"].split()
    return all(word[0].isupper() or word in small for word in re.findall(r"[\w.'’]+", text))


def _of_name(name: str) -> str | None:
    match = _IN_NAME.search(name)
    return match and _iso(match["year"], match["month"] or match["only"], match["day"])


def _lines(parsed: ParsedDocument) -> Iterator[Dated]:
    """Lines of time, in order. Dates like 03/04/2023 count if others of the text show which is the month."""
    candidates = sorted(
        [
            *(
                (match.start(), match["rest"], bool(match["marked"]))
                for match in _line().finditer(parsed.text)
            ),
            *(
                (turn.start, text, True)
                for turn in parsed.turns
                if turn.told and (text := parsed.text[turn.name[1] : turn.words].strip(" \t,([—–|-"))
            ),
        ]
    )
    plain = [
        (int(either["a"]), int(either["b"]), int(either["year"]), either["sep"])
        for _, text, _ in candidates
        if (either := _EITHER.match(text))
    ]
    day_first = _day_first(plain)
    for place, text, marked in candidates:
        day = _date_at(text, day_first, marked=marked)
        if day and day[:2] in _CENTURIES and (marked or not _goes_on(parsed.text[:place])):
            yield place, day


def _goes_on(before: str) -> bool:
    """Whether the next line goes on with a sentence: “packaged by Ada Venn on”."""
    last = re.search(r"(\w+)[ \t]*\r?\n[ \t]*$", before[-80:])
    return last is not None and last[1] in read_table("dates")["other"]["no_places"].split()


def _date_at(text: str, day_first: bool | None, *, marked: bool) -> str | None:
    """The date that a text begins with, if nothing but a time follows, or a mark stands before it."""
    day: str | None = None
    if match := _DIGITS.match(text):
        end, day = (
            match.end(),
            _iso(match["year"], match["month"] or match["month8"], match["day"] or match["day8"]),
        )
    elif match := _EITHER.match(text):
        end = match.end()
        a, b = int(match["a"]), int(match["b"])
        if day_first is not None or a == b:
            year = match["year"] if len(match["year"]) == 4 else f"20{match['year']}"
            day = _iso(year, *((b, a) if day_first else (a, b)))
    else:
        literal = next(iter(find_literals(text[:_MOST])), None)
        if literal is None or literal.kind not in ("date", "month"):
            return None
        before = re.findall(r"\w+", text[: literal.offset].casefold())
        if not (month_words() | _short_days()).issuperset(before):
            return None
        end, day = literal.offset + literal.length, literal.lexical
    month_alone = day is not None and len(day) == 7
    return day if _END.match(text[end:]) or (marked and not month_alone) else None


def _day_first(plain: Sequence[tuple[int, int, int, str]]) -> bool | None:
    """Whether dates like 03/04/2023 begin with the day; None if nothing shows it."""
    if any(a > 12 or sep == "." for a, _, _, sep in plain):
        return True
    if any(b > 12 for _, b, _, _ in plain):
        return False
    rising = [
        all(
            earlier <= later for earlier, later in pairwise([(year, x[1 - i], x[i]) for *x, year, _ in plain])
        )
        for i in (0, 1)
    ]
    return rising[0] if rising[0] != rising[1] else None


def _iso(year: str | int, month: str | int | None, day: str | int | None) -> str | None:
    try:
        return date(int(year), int(month or 1), int(day or 1)).isoformat()[: 10 if day else 7]
    except ValueError:
        return None
