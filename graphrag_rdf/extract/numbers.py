"""Numbers and dates in digits, as each language writes them, and in words; values with XSD datatypes.

Extraction, tables and the checks of answers ask here. In extraction a full date becomes xsd:date, a month
xsd:gYearMonth, a year xsd:gYear, a bare number xsd:integer or xsd:decimal. Quantities keep their unit and
stay strings ("12 km", "40%", "$3 million"): no XSD type carries a unit, and one without it would be wrong.
Dates before the year 1 stay strings too, because XSD 1.0 and 1.1 count them differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from graphrag_rdf import han

from .lexicon import base_language, read_table, stopwords

XSD = "http://www.w3.org/2001/XMLSchema#"
Kind = Literal["date", "month", "year", "number", "quantity"]

_DATATYPES: dict[Kind, str | None] = {
    "date": XSD + "date",
    "month": XSD + "gYearMonth",
    "year": XSD + "gYear",
    "quantity": None,
}
_DECIMAL_COMMA = frozenset(
    {
        "bg", "ca", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hr", "hu", "id", "is", "it", "lt", "lv",
        "nb", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr", "uk", "vi",
    }
)  # fmt: skip
_BLANKS = "\u00a0\u202f"  # that do not break a line, between groups of digits
_NUMBER = re.compile(
    r"(?<![A-Za-zÀ-ɏ\d])"
    rf"(?P<digits>\d{{1,3}}(?: \d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,{_BLANKS}\u2009'’]\d+)*)"
    r"(?:\s?(?P<percent>%|(?:p[eo]r\s?|pour )(?:cent|ciento|cento)\b|pro[cz]ent\b))?",
    re.IGNORECASE,
)
_PART_OF_NAME = re.compile(r"(?<!\w)[A-Z]{1,4}-$")  # T-34, SKL-42


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
    literals = []
    for match in _pattern().finditer(text):
        span = _read(match, text, language)
        if span:
            literals.append(span)
    return tuple(literals)


_DIGIT = re.compile(rf"\d|[{han.DIGITS}十百元][ ]?年")


# --- numbers in digits -------------------------------------------------------------------------------


def decimal_comma(language: str | None) -> bool:
    """Whether a language writes a comma before the decimals.

    Args:
        language: BCP 47; None and unknown ones write a full stop.
    """
    return base_language(language) in _DECIMAL_COMMA


@lru_cache(maxsize=2)
def _written(comma: bool) -> re.Pattern[str]:
    point, group = (",", r"\.") if comma else (r"\.", ",")
    return re.compile(
        rf"[+-]?(?:\d{{1,3}}(?:(?P<group>[{group}{_BLANKS}])\d{{3}}(?:(?P=group)\d{{3}})*)?|\d+"
        rf"|\d{{1,3}}(?:{group}\d\d)+{group}\d{{3}})(?:{point}\d+)?"  # 1,20,000 in India
    )


def plain_number(written: str, *, comma: bool) -> str | None:
    """The lexical form of a number: "1200.5" of "1,200.5"; None if it is not written so.

    Args:
        written: digits with a sign, groups and decimals, if there are any.
        comma: whether a comma stands before the decimals, and full stops between groups; else the reverse.
    """
    if not _written(comma).fullmatch(written):
        return None
    if comma:
        written = written.replace(".", "").replace(",", ".")
    return re.sub(f"[,{_BLANKS}]", "", written)


def number_type(lexical: str) -> str:
    """The IRI of the datatype of a number in its lexical form."""
    return XSD + ("decimal" if "." in lexical else "integer")


class NumberSpan(NamedTuple):
    """A number in digits.

    Attributes:
        start, end: in the text, code points, with a word or sign for its scale or per cent.
        digits: as written.
        percent: whether it is a share.
        scale: what a word behind it multiplies it by; 1 without one.
    """

    start: int
    end: int
    digits: str
    percent: bool
    scale: int

    def values(self, language: str | None) -> frozenset[Decimal]:
        """What the digits mean, before they are scaled. Those of a date, a version or a section are numbers
        each for itself.

        Args:
            language: BCP 47; None for what they mean in any.
        """
        with_point, with_comma = _values(self.digits)
        if language is None:
            return with_point | with_comma
        return with_comma if decimal_comma(language) else with_point


def numbers_in(text: str) -> Iterator[NumberSpan]:
    """The numbers of a text that are written in digits, without those that are part of a name (H2O, T-34)."""
    for match in _NUMBER.finditer(text):
        if _PART_OF_NAME.search(text, max(0, match.start() - 6), match.start()):
            continue
        scale = _scale().match(text, match.end())
        factor = scales()[scale["word"].casefold()] if scale else 1
        end = scale.end() if scale else match.end()
        yield NumberSpan(match.start("digits"), end, match["digits"], match["percent"] is not None, factor)


@lru_cache(maxsize=4096)
def _values(digits: str) -> tuple[frozenset[Decimal], frozenset[Decimal]]:
    """What digits mean where a full stop stands before the decimals, and where a comma does."""
    plain = re.sub(f"[ {_BLANKS}\u2009'’]", "", digits)
    readings = [plain_number(plain, comma=comma) for comma in (False, True)]
    parts = frozenset(map(Decimal, re.findall(r"\d+", plain)))
    with_point, with_comma = (frozenset([Decimal(reading)]) if reading else parts for reading in readings)
    return with_point, with_comma


@cache
def _scale() -> re.Pattern[str]:
    return re.compile(rf"\)?\s?(?P<word>{_any(map(re.escape, scales()))})(?![a-zäöü])", re.IGNORECASE)


# --- dates and quantities in running text ------------------------------------------------------------


@lru_cache(maxsize=1)
def months() -> dict[str, int]:
    """Name of a month, case folded → its number."""
    return {
        name: int(number) for number, names in read_table("dates")["months"].items() for name in names.split()
    }


@lru_cache(maxsize=1)
def month_words() -> frozenset[str]:
    """Names of months and days of the week, case folded."""
    return frozenset(months()) | frozenset(read_table("dates")["other"]["weekdays"].split())


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    words = read_table("dates")["other"]
    month = "(?:" + "|".join(sorted(map(re.escape, months()), key=len, reverse=True)) + r")\b\.?"
    units = "|".join(sorted(map(re.escape, words["units"].split()), key=len, reverse=True))
    money = "|".join(sorted(map(re.escape, words["currencies"].split()), key=len, reverse=True))
    number = r"\d{1,3}(?:[,.\u00a0\u202f]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?"
    year = r"(?:1\d|20|21)\d\d"
    ordinal = r"(?:st|nd|rd|th|\.|er|º)?"
    large = r"(?:\s(?:thousand|million|billion|trillion|Millionen|Milliarden|miljoen|miljard)\b)?"
    unit = rf"(?:\s?[%€£°]|\s?(?:{units})\b|-(?:{units})\b)(?:\s(?:dollars|euros|pounds|km|miles|people)\b)?"
    return re.compile(
        rf"""(?P<cjk>{han.DATE})
        | (?<![\w.,])(?:
          (?P<iso>\d{{4}}-\d\d-\d\d)(?![\w-])
        | (?P<dmy>\d{{1,2}}{ordinal}\s+(?:of\s+|de\s+)?(?P<dmy_month>{month}),?\s+(?:de\s+)?{year})(?!\w)
        | (?P<mdy>(?P<mdy_month>{month})\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+{year})(?!\w)
        | (?P<dotted>\d{{1,2}}\.\s?\d{{1,2}}\.\s?{year})(?!\w)
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
        if form not in {"number", "quantity", "money", "cjk"}
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
        year, month, day = [*han.date_parts(surface), 0, 0][:3]
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
    return months()[name.lower().rstrip(".")]


def _date(surface: str, offset: int, year: int, month: int, day: int) -> LiteralSpan | None:
    kind: Kind = "date" if day else "month" if month else "year"
    try:
        date(year, month or 1, day or 1)
    except ValueError:  # 31 February: the words stay words
        return None
    lexical = f"{year:04d}" + (f"-{month:02d}" if month else "") + (f"-{day:02d}" if day else "")
    return LiteralSpan(offset, len(surface), lexical, _DATATYPES[kind], kind)


def _number(surface: str, offset: int, language: str | None) -> LiteralSpan:
    lexical = plain_number(surface, comma=decimal_comma(language))
    if lexical is None:  # "3,5" in English: not a number of that language
        return LiteralSpan(offset, len(surface), surface, None, "quantity")
    return LiteralSpan(offset, len(surface), lexical, number_type(lexical), "number")


_NEXT_WORD = re.compile(r"[ \u00a0]([^\W\d_]+)")


def _counts_something(text: str, end: int, language: str | None) -> bool:
    """Whether a four-digit number is followed by what it counts ("1500 people") and so is no year."""
    following = _NEXT_WORD.match(text, end)
    if not following:
        return False
    word = following.group(1)
    return word.endswith("s") and word.islower() and len(word) > 3 and word not in stopwords(language)


# --- numbers in words -------------------------------------------------------------------------------

_HAN = "\u3400-\u9fff〇"
_TOKEN = re.compile(rf"quatre-vingts?|[{_HAN}]|[^\W\d_{_HAN}]+")
_JOINT = re.compile(r"[ \-\u00a0]?")
_AFTER_DIGITS = re.compile(r"\d\)?\s?$")
_DIGIT_RUN = re.compile(f"[{han.DIGITS}]{{2,}}")
_LEAST = 4  # letters of a word before an ending


def worded_numbers(text: str) -> Iterator[Decimal]:
    """The numbers that a text has in words of any language."""
    row: list[str] = []
    end = 0
    for token in _TOKEN.finditer(text.casefold()):
        words = _parts(token[0])
        if words and words[0] in scales() and _AFTER_DIGITS.search(text, end, token.start()):
            words = []  # 3 million
        if not words or not _JOINT.fullmatch(text, end, token.start()):
            yield from _read_row(row)
            row = []
        row += words
        end = token.end()
    yield from _read_row(row)
    yield from (Decimal(han.in_digits(run[0])) for run in _DIGIT_RUN.finditer(text))


@cache
def scales() -> dict[str, int]:
    """Words that multiply a number in digits: 3 million, 1.2万; in lower case."""
    return {
        word: int(value)
        for kind in ("hundreds", "thousands")
        for word, value in _words(kind).items()
        if value >= 1000
    }


def _read_row(row: list[str]) -> Iterator[Decimal]:
    """The numbers of words in a row."""
    units, hundreds, thousands = _words("units"), _words("hundreds"), _words("thousands")
    total = section = unit = Decimal()
    for word in row:
        if word in units:
            value = units[word]
            if unit > 1 and 0 < value < 1:  # three quarters
                yield unit * value
            if not _add_up(unit, value):
                yield total + section + unit
                total = section = unit = Decimal()
            unit += value
        elif word in hundreds:
            section += (unit or 1) * hundreds[word]
            unit = Decimal()
        elif word in thousands:
            total += (section + unit or 1) * thousands[word]
            section = unit = Decimal()
    if any(word not in _between() for word in row):
        yield total + section + unit


def _add_up(a: Decimal, b: Decimal) -> bool:
    """Whether two numbers below a hundred are parts of one: twenty-one, einundzwanzig, dix-sept."""
    return not a or (1 <= b < 20 <= a) or (1 <= a < 10 and b >= 20) or (a == 10 and 7 <= b <= 9)


@cache
def _words(kind: str) -> dict[str, Decimal]:
    return {
        word: Decimal(value)
        for value, words in read_table("number_words")[kind].items()
        for word in words.split()
    }


@cache
def _between() -> frozenset[str]:
    return frozenset(read_table("number_words")["other"]["and"].split())


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A number word, or several written together, one of them long; and the words of such a number."""
    numbers = {*_words("units"), *_words("hundreds"), *_words("thousands")}
    number = _any(numbers)
    long = _any(word for word in numbers if len(word) >= _LEAST)
    between = _any(_between())
    endings = "|".join(read_table("number_words")["other"]["endings"].split())
    some = f"(?:{number}{between}?)*"
    whole = re.compile(rf"{number}|{some}{long}(?:{between}?{number})*|{some}{long}(?P<ending>{endings})")
    return whole, re.compile(_any(numbers | _between()))


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


@lru_cache(maxsize=4096)
def _parts(token: str) -> list[str]:
    """The words for numbers of a token, "and" among them; other words have none."""
    if token in _between():
        return [token]
    whole, words = _patterns()
    match = whole.fullmatch(token)
    return words.findall(token, 0, match.start("ending") if match["ending"] else len(token)) if match else []


# --- values --------------------------------------------------------------------------------------------


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


def read_date(text: str) -> tuple[str, str] | None:
    """(lexical form, XSD IRI) of a value that is a date, a month or a year in words or digits; else None.

    Args:
        text: such as "Monday, 13 December 1967", "December 1967", "1967年12月13日", "一九六七年", "1967".
    """
    literals = find_literals(text)
    if len(literals) != 1 or (literal := literals[0]).datatype is None or literal.kind == "number":
        return None
    beside = re.findall(r"\w+", f"{text[: literal.offset]} {text[literal.offset + literal.length :]}".lower())
    whole = (_BESIDE | month_words() - {"bc", "bce"}).issuperset(beside)
    return (literal.lexical, str(literal.datatype)) if whole else None


_HAN_NUMBER = re.compile("[〇零一二两兩三四五六七八九十百千万萬亿億]+")


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
    day = read_date(text) if not wanted or "date" in wanted else None
    if day and (wanted or day[1] != XSD + "gYear"):  # four digits alone may count something
        return *day, True
    if not wanted:
        return text, None, wanted is not None
    value = text.lower() if wanted == ("boolean",) else text
    if (
        wanted[0] == "integer"
        and _HAN_NUMBER.fullmatch(text)
        and len(counted := [*worded_numbers(text)]) == 1
    ):
        value = f"{counted[0]:f}"
    for kind in wanted:
        if _FORMS[kind](value):
            return value, XSD + kind, True
    return text, None, False
