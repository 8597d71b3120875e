"""Numbers and dates in running text, compared by value: 1,200 is 1200, 12% is 12 per cent, 1911-11-17 is
17 November 1911.

A claim is read as its language writes numbers. What it is held against may be in any language, so it is read
in every way: "1.200" supports both 1200 and 1.2, and "twelve" supports 12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import chain, permutations

from graphrag_rdf.extract.lexicon import base_language
from graphrag_rdf.extract.numbers import find_literals

_DATES = frozenset({"date", "month"})
_DECIMAL_POINT = frozenset({"en", "zh", "ja", "ko", "he", "hi", "th"})
_GROUPS = "\u00a0\u202f\u2009'’"  # blanks that do not break, apostrophes
_NUMBER = re.compile(
    rf"(?<![A-Za-zÀ-ɏ\d])(?P<digits>\d+(?:[.,{_GROUPS}]\d+)*)"
    r"(?:\s?(?P<percent>%|per\s?cent\b|Prozent\b|procent\b))?",
    re.IGNORECASE,
)
_PART_OF_NAME = re.compile(r"(?<!\w)[A-Z]{1,4}-$")  # T-34, SKL-42
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d.,])")
_LIST_MARK = re.compile(r"^\s*\d{1,3}[.)](?=\s|$)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]+")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_LISTED = re.compile(r",\s*(?:and|und|et|y|e|en)?\s+|\s+(?:and|und|et|y|e|en)\s+|[;、，]")
_MOST_VALUES = 40  # of which all pairs are looked at

_SCALES: Mapping[str, int] = {
    **dict.fromkeys(("thousand", "tausend", "duizend", "千"), 10**3),
    **dict.fromkeys(("万", "萬"), 10**4),
    **dict.fromkeys(("million", "millions", "millionen", "miljoen", "mio"), 10**6),
    **dict.fromkeys(("亿", "億"), 10**8),
    **dict.fromkeys(("billion", "billions", "bn", "milliarde", "milliarden", "miljard", "mrd"), 10**9),
}
_SCALE = re.compile(
    "\\s?(?P<word>" + "|".join(sorted(map(re.escape, _SCALES), key=len, reverse=True)) + ")(?![a-zäöü])",
    re.IGNORECASE,
)
_NAMED: Mapping[int, str] = {
    1: "one first eins erste erster een eerste",
    2: "two second twice zwei zweite zweiter twee tweede",
    3: "three third drei dritte dritter drie derde",
    4: "four fourth vier vierte vierde",
    5: "five fifth fünf fünfte vijf vijfde",
    6: "six sixth sechs sechste zes zesde",
    7: "seven seventh sieben siebte zeven zevende",
    8: "eight eighth acht achte achtste",
    9: "nine ninth neun neunte negen negende",
    10: "ten tenth zehn zehnte tien tiende",
    11: "eleven eleventh elf elfte elfde",
    12: "twelve twelfth dozen zwölf zwölfte dutzend twaalf twaalfde dozijn",
    13: "thirteen thirteenth dreizehn dertien",
    14: "fourteen fourteenth vierzehn veertien",
    15: "fifteen fifteenth fünfzehn vijftien",
    16: "sixteen sixteenth sechzehn zestien",
    17: "seventeen seventeenth siebzehn zeventien",
    18: "eighteen eighteenth achtzehn achttien",
    19: "nineteen nineteenth neunzehn negentien",
    20: "twenty twentieth zwanzig twintig",
    30: "thirty dreißig dertig",
    40: "forty vierzig veertig",
    50: "fifty fünfzig vijftig",
    60: "sixty sechzig zestig",
    70: "seventy siebzig zeventig",
    80: "eighty achtzig tachtig",
    90: "ninety neunzig negentig",
    100: "hundred hundert honderd",
    1000: "thousand tausend duizend",
}
_WORDS: Mapping[str, Decimal] = {
    word: Decimal(value) for value, words in _NAMED.items() for word in words.split()
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number or date of a text.

    Attributes:
        text: as it stands there.
        values: what it may mean, as a number; of a date, its day and year.
        date: a full date or month in ISO 8601, else None.
        percent: whether it is a share; `values` then have it also as a fraction.
        scale: 10**6 of "3 million", which is in `values`.
    """

    text: str
    values: frozenset[Decimal]
    date: str | None = None
    percent: bool = False
    scale: int = 1


@dataclass(frozen=True, slots=True)
class Known:
    """The numbers and dates of a text that others are held against."""

    values: frozenset[Decimal]
    dates: frozenset[str]

    def supports(self, figure: Figure) -> bool:
        """Whether the text says it: a month or year also by a date in it, a date also by its parts."""
        if figure.date is None:
            return not figure.values.isdisjoint(self.values)
        return any(date.startswith(figure.date) for date in self.dates) or figure.values <= self.values


def follows(figure: Figure, texts: Iterable[str], language: str | None) -> bool:
    """Whether a number is one of some texts in other words, or the result of simple arithmetic with them.

    In other words: rounded, or with the thousand, million or billion of a table's head. Arithmetic: sums,
    differences, products, quotients and changes in per cent of two amounts; differences of years; the sum of
    all; how many texts there are, or how many things one of them lists.

    Args:
        language: BCP 47, see `figures`.
    """
    if figure.date is not None:
        return False
    told = list(texts)
    claimed = {max(figure.values)} if figure.percent else figure.values
    counts = {len(told), *(len(_LISTED.split(line)) for text in told for line in text.splitlines())}
    years, amounts = _operands(told, language)
    if not claimed.isdisjoint({*map(Decimal, counts), *(abs(a - b) for a, b in permutations(years, 2))}):
        return True
    units = {value / figure.scale for value in claimed}
    decimals = max(0, *(-int(unit.normalize().as_tuple().exponent) for unit in units))
    exact = not decimals and not figure.percent and figure.scale == 1
    found = chain(
        amounts,
        (sum(amounts, Decimal()),),
        *(_results(a, b, exact=exact) for a, b in permutations(amounts, 2)),
    )
    factors = [Decimal(10**power) / figure.scale for power in ((0, 3, 6, 9) if figure.scale > 1 else (0,))]
    return any(round(value * factor, decimals) in units for value in found for factor in factors)


def _operands(texts: Sequence[str], language: str | None) -> tuple[list[Decimal], list[Decimal]]:
    """The years and the other numbers of texts, each read in one way if the language tells which."""
    years: set[Decimal] = set()
    amounts: set[Decimal] = set()
    for text in texts:
        for figure in figures(text, language):
            if figure.date is not None:
                years.add(Decimal(figure.date[:4]))
            elif _YEAR.fullmatch(figure.text):
                years |= figure.values
            else:
                amounts |= {value / figure.scale for value in figure.values} | figure.values
        amounts.update(_worded(text))
    return sorted(years), sorted(amounts)[:_MOST_VALUES]


def _results(a: Decimal, b: Decimal, *, exact: bool) -> Iterator[Decimal]:
    """Of two numbers; quotients that are not whole only where they are asked for rounded."""
    yield from (a + b, abs(a - b), a * b)
    if b and (not exact or not a % b):
        yield a / b
    if b and not exact:
        yield from (100 * a / b, 100 * abs(a - b) / b)


def figures(text: str, language: str | None) -> list[Figure]:
    """The numbers and dates that a text claims, in order, without the numbers of a list and those that are
    part of a name (H2O, T-34).

    Args:
        language: BCP 47; decides what comma and full stop mean in a number. None allows both.
    """
    text = _LIST_MARK.sub(lambda mark: " " * len(mark[0]), text)
    found: list[tuple[int, Figure]] = []
    dated: list[tuple[int, int]] = []
    for span in find_literals(text, language):
        if span.kind in _DATES:
            end = span.offset + span.length
            dated.append((span.offset, end))
            year, *rest = span.lexical.split("-")
            parts = frozenset(map(Decimal, (year, *rest[1:])))
            found.append((span.offset, Figure(text[span.offset : end], parts, span.lexical)))
    for start, end, digits, percent in _numbers(text):
        if any(begin <= start < stop for begin, stop in dated):
            continue
        scale = _SCALE.match(text, end)
        readings = _readings(digits, language)
        factor = _SCALES[scale["word"].casefold()] if scale else 1
        readings = {value * factor for value in readings}
        if percent:
            readings |= {value / 100 for value in readings}
        surface = text[start : scale.end() if scale else end]
        found.append((start, Figure(surface, frozenset(readings), None, percent, factor)))
    return [figure for _, figure in sorted(found, key=lambda item: item[0])]


def known_figures(text: str) -> Known:
    """All that a text says in numbers, dates and number words, read in every way."""
    values: set[Decimal] = set()
    for _, end, digits, _ in _numbers(text):
        readings = _readings(digits, None)
        values |= readings
        if scale := _SCALE.match(text, end):
            values |= {value * _SCALES[scale["word"].casefold()] for value in readings}
    values.update(Decimal(match[0].replace(" ", "")) for match in _SPACED.finditer(text))
    values.update(_worded(text))
    dates = {span.lexical for span in find_literals(text, None) if span.kind in _DATES}
    return Known(frozenset(values), frozenset(dates))


def _worded(text: str) -> Iterator[Decimal]:
    """Number words, and two of them in a row: twenty-one, three hundred."""
    before: tuple[int, Decimal] | None = None
    for match in _WORD.finditer(text):
        value = _WORDS.get(match[0].casefold())
        if value is None:
            before = None
            continue
        yield value
        if before is not None and match.start() - before[0] == 1:
            yield before[1] * value if value >= 100 else before[1] + value
        before = match.end(), value


def _numbers(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """(start, end, digits, whether it is a share in per cent) of each number."""
    for match in _NUMBER.finditer(text):
        if _PART_OF_NAME.search(text, max(0, match.start() - 6), match.start()):
            continue
        yield match.start("digits"), match.end(), match["digits"], match["percent"] is not None


@lru_cache(maxsize=4096)
def _all_readings(digits: str) -> tuple[frozenset[Decimal], frozenset[Decimal]]:
    """What digits mean where a full stop begins the decimals, and where a comma does."""
    plain = re.sub(f"[{_GROUPS}]", "", digits)
    return frozenset(_as_number(plain, ".", ",")), frozenset(_as_number(plain, ",", "."))


def _as_number(plain: str, point: str, group: str) -> Iterator[Decimal]:
    whole, _, decimals = plain.rpartition(point) if plain.count(point) == 1 else (plain, "", "")
    # a date, a version, a number of a section, or 2,000.00 where commas begin decimals: each part for itself
    if point in whole or group in decimals:
        yield from map(Decimal, re.findall(r"\d+", plain))
        return
    groups = whole.split(group)
    grouped = (
        all(len(part) == 3 for part in groups[1:])
        or (  # 1,20,000 in India
            len(groups) > 2 and len(groups[-1]) == 3 and all(len(part) == 2 for part in groups[1:-1])
        )
    )
    if grouped and len(groups[0]) <= (3 if len(groups) > 1 else len(whole)):
        yield Decimal(f"{whole.replace(group, '')}.{decimals or 0}")
    else:
        yield from map(Decimal, re.findall(r"\d+", plain))


def _readings(digits: str, language: str | None) -> set[Decimal]:
    pointed, with_comma = _all_readings(digits)
    if language is None:
        return {*pointed, *with_comma}
    return {*(pointed if base_language(language) in _DECIMAL_POINT else with_comma)}
