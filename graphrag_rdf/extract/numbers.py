"""Dates, numbers and quantities in running text, as typed literals.

A full date becomes xsd:date, a month xsd:gYearMonth, a year xsd:gYear, a bare number xsd:integer or
xsd:decimal. Quantities keep their unit and stay strings ("12 km", "40%", "$3 million"): no XSD type
carries a unit, and one without it would be wrong. Dates before the year 1 stay strings too, because
XSD 1.0 and 1.1 count them differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Literal

from .lexicon import base_language, read_table, stopwords

XSD = "http://www.w3.org/2001/XMLSchema#"
Kind = Literal["date", "month", "year", "number", "quantity"]

_DATATYPES: dict[Kind, str | None] = {
    "date": XSD + "date",
    "month": XSD + "gYearMonth",
    "year": XSD + "gYear",
    "quantity": None,
}
DECIMAL_COMMA = frozenset(
    {"de", "nl", "fr", "es", "it", "pt", "da", "sv", "pl", "cs", "fi", "ru", "uk", "tr"}
)


@dataclass(frozen=True, slots=True)
class LiteralSpan:
    """A date, number or quantity.

    Args:
        offset: start in the text, code points.
        length: code points.
        lexical: lexical form; the text itself for strings.
        datatype: XSD IRI; None stands for xsd:string.
        kind: what was recognised.
    """

    offset: int
    length: int
    lexical: str
    datatype: str | None
    kind: Kind


def find_literals(text: str, language: str | None = None) -> tuple[LiteralSpan, ...]:
    """All dates, numbers and quantities of a text, in text order, not overlapping.

    Args:
        text: running text.
        language: BCP 47; decides what comma and full stop mean inside a number.
    """
    if not _DIGIT.search(text):
        return ()
    found = []
    for match in _pattern().finditer(text):
        span = _read(match, text, language)
        if span:
            found.append(span)
    return tuple(found)


_DIGIT = re.compile(r"\d")


@lru_cache(maxsize=1)
def _months() -> dict[str, int]:
    return {
        name: int(number) for number, names in read_table("dates")["months"].items() for name in names.split()
    }


@lru_cache(maxsize=1)
def month_words() -> frozenset[str]:
    """Names of months and days of the week, case folded."""
    return frozenset(_months()) | frozenset(read_table("dates")["other"]["weekdays"].split())


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    other = read_table("dates")["other"]
    month = "(?:" + "|".join(sorted(map(re.escape, _months()), key=len, reverse=True)) + r")\b\.?"
    units = "|".join(sorted(map(re.escape, other["units"].split()), key=len, reverse=True))
    money = "|".join(sorted(map(re.escape, other["currencies"].split()), key=len, reverse=True))
    number = r"\d{1,3}(?:[,.\u00a0\u202f]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?"
    year = r"(?:1\d|20|21)\d\d"
    ordinal = r"(?:st|nd|rd|th|\.|er|º)?"
    large = r"(?:\s(?:thousand|million|billion|trillion|Millionen|Milliarden|miljoen|miljard)\b)?"
    unit = rf"(?:\s?[%€£°]|\s?(?:{units})\b|-(?:{units})\b)(?:\s(?:dollars|euros|pounds|km|miles|people)\b)?"
    return re.compile(
        rf"""(?<![\w.,])(?:
          (?P<iso>\d{{4}}-\d\d-\d\d)(?![\w-])
        | (?P<dmy>\d{{1,2}}{ordinal}\s+(?:of\s+|de\s+)?(?P<dmy_month>{month}),?\s+(?:de\s+)?{year})(?!\w)
        | (?P<mdy>(?P<mdy_month>{month})\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+{year})(?!\w)
        | (?P<dotted>\d{{1,2}}\.\s?\d{{1,2}}\.\s?{year})(?!\w)
        | (?P<cjk>\d{{4}}年(?:\d{{1,2}}月(?:\d{{1,2}}日)?)?)
        | (?P<my>(?P<my_month>{month}),?\s+(?:de\s+)?{year})(?!\w)
        | (?P<money>(?:{money})\s?(?:{number}){large})
        | (?P<quantity>(?:{number})(?:\s?[-\u2013]\s?(?:{number}))?{unit})
        | (?P<year>{year})(?![\w%]|[.,:]\d)
        | (?P<number>{number})(?![\w%]|[.,]\d)
        )""",
        re.VERBOSE | re.IGNORECASE,
    )


def _read(match: re.Match[str], text: str, language: str | None) -> LiteralSpan | None:
    form = match.lastgroup or ""
    # lastgroup is the last *closed* group: the inner month groups close first, so it is the outer form
    surface = match.group(form).rstrip()
    offset = match.start(form)
    digits = (
        [int(part) for part in re.findall(r"\d+", surface)]
        if form not in {"number", "quantity", "money"}
        else []
    )
    year, month, day = 0, 0, 0
    if form == "iso":
        year, month, day = digits
    elif form == "dmy":
        day, year, month = digits[0], digits[-1], _month(match.group("dmy_month"))
    elif form == "mdy":
        day, year, month = digits[0], digits[-1], _month(match.group("mdy_month"))
    elif form == "dotted":
        day, month, year = digits
    elif form == "cjk":
        year, month, day = [*digits, 0, 0][:3]
    elif form == "my":
        year, month = digits[-1], _month(match.group("my_month"))
    elif form == "year":
        if _counts_something(text, match.end(), language):
            return LiteralSpan(offset, len(surface), surface, XSD + "integer", "number")
        year = digits[0]
    elif form == "number":
        return _number(surface, offset, language)
    if year:
        return _date(surface, offset, year, month, day)
    return LiteralSpan(offset, len(surface), surface, None, "quantity")


def _month(name: str) -> int:
    return _months()[name.lower().rstrip(".")]


def _date(surface: str, offset: int, year: int, month: int, day: int) -> LiteralSpan | None:
    kind: Kind = "date" if day else "month" if month else "year"
    try:
        date(year, month or 1, day or 1)
    except ValueError:  # 31 February: the words stay words
        return None
    lexical = f"{year:04d}" + (f"-{month:02d}" if month else "") + (f"-{day:02d}" if day else "")
    return LiteralSpan(offset, len(surface), lexical, _DATATYPES[kind], kind)


def _number(surface: str, offset: int, language: str | None) -> LiteralSpan:
    point = "," if base_language(language) in DECIMAL_COMMA else "."
    grouping = "." if point == "," else ","
    plain = re.sub(r"[\u00a0\u202f]", "", surface)
    grouped = re.fullmatch(rf"\d{{1,3}}(?:{re.escape(grouping)}\d{{3}})+(?:{re.escape(point)}\d+)?", plain)
    if grouped:
        plain = plain.replace(grouping, "")
    elif grouping in plain:  # "3,5" in English: not a number of that language
        return LiteralSpan(offset, len(surface), surface, None, "quantity")
    plain = plain.replace(point, ".")
    return LiteralSpan(
        offset, len(surface), plain, XSD + ("decimal" if "." in plain else "integer"), "number"
    )


_NEXT_WORD = re.compile(r"[ \u00a0]([^\W\d_]+)")


def _counts_something(text: str, end: int, language: str | None) -> bool:
    """Whether a four-digit number is followed by what it counts ("1500 people") and so is no year."""
    following = _NEXT_WORD.match(text, end)
    if not following:
        return False
    word = following.group(1)
    return word.endswith("s") and word.islower() and len(word) > 3 and word not in stopwords(language)


# --- values of models ----------------------------------------------------------------------------------


_XSD = "http://www.w3.org/2001/XMLSchema#"


def _form(pattern: str, read: Callable[[str], object] = str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)

    def fits(text: str) -> bool:
        if compiled.fullmatch(text) is None:
            return False
        try:
            read(text)
        except ValueError:
            return False
        return True

    return fits


# the lexical forms of XSD 1.1 part 2 (dates without time zones); days also have to be in the calendar
_FORMS: dict[str, Callable[[str], bool]] = {
    "dateTime": _form(
        r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?", datetime.fromisoformat
    ),
    "date": _form(r"\d{4}-\d{2}-\d{2}", date.fromisoformat),
    "gYearMonth": _form(r"-?\d{4}-(0[1-9]|1[0-2])"),
    "gYear": _form(r"-?\d{4}"),
    "integer": _form(r"[+-]?\d+"),
    "decimal": _form(r"[+-]?(\d+(\.\d*)?|\.\d+)"),
    "boolean": _form("true|false"),
}

# a name that a model gives -> XSD types to try, the first that fits; none for a string
_TYPES: dict[str, tuple[str, ...]] = {
    "string": (),
    "text": (),
    "": (),
    **dict.fromkeys(
        ("date", "datetime", "gyearmonth", "gyear", "year"), ("date", "gYearMonth", "gYear", "dateTime")
    ),
    **dict.fromkeys(("integer", "int", "long", "nonnegativeinteger", "positiveinteger"), ("integer",)),
    **dict.fromkeys(("decimal", "number", "float", "double"), ("integer", "decimal")),
    **dict.fromkeys(("boolean", "bool"), ("boolean",)),
}


_BESIDE = frozenset(("on", "in", "the", "of", "am", "im", "den", "vom", "op", "de", "le", "el", "il", "em"))
"""Words that may stand beside a date that is the whole of a value."""


def dated(text: str) -> tuple[str, str] | None:
    """(lexical form, XSD IRI) of a value that is a date, a month or a year in words or digits; else None.

    Args:
        text: such as "Monday, 13 December 1967", "December 1967", "1967年12月13日", "1967".
    """
    found = find_literals(text)
    if len(found) != 1 or (one := found[0]).datatype is None or one.kind == "number":
        return None
    beside = re.findall(r"\w+", f"{text[: one.offset]} {text[one.offset + one.length :]}".lower())
    whole = (_BESIDE | month_words() - {"bc", "bce"}).issuperset(beside)
    return (one.lexical, str(one.datatype)) if whole else None


def typed_literal(text: str, datatype: str | None) -> tuple[str, str | None, bool]:
    """A value in the form of its datatype.

    Args:
        text: as the model wrote it.
        datatype: as the model named it: a short name, with `xsd:` or as an IRI.

    Returns:
        (lexical form, absolute XSD IRI or None for a string, whether the value has the datatype asked
        for). A value that does not have it is a string.
    """
    name = re.split(r"[#:/]", datatype or "")[-1].strip().lower()
    wanted = _TYPES.get(name)
    found = dated(text) if not wanted or "date" in wanted else None
    if found and (wanted or found[1] != _XSD + "gYear"):  # four digits alone may count something
        return *found, True
    if not wanted:
        return text, None, wanted is not None
    value = text.lower() if wanted == ("boolean",) else text
    for kind in wanted:
        if _FORMS[kind](value):
            return value, _XSD + kind, True
    return text, None, False
