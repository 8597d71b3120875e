"""Comparing numbers and dates by value: 1,200 is 1200, 12% is 12 per cent, 1911-11-17 is 17 November 1911,
18:30 is half past six.

A claim is read as its language writes numbers. Evidence may be in any language, so it is read in every way:
"1.200" supports both 1200 and 1.2, and "twelve" supports 12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import permutations

from graphrag_rdf.extract.numbers import LiteralSpan, find_literals, numbers_in, worded_numbers

_DATES = frozenset({"date", "month"})
_GLUED = re.compile(r"(?<=[A-Za-z'’])(?:19|20)\d\d(?!\d)")  # FY2024, Q2'2023
_HAN_MONTH = re.compile(r"(\d{1,2}) ?月")
_STAMP = re.compile(r"(?<!\d)((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?!\d)")  # 20260814
_CLOCK = re.compile(r"(?<![\d:.])([01]?\d|2[0-3])(?::|\s?h\s?)([0-5]\d)(?![\d:])")
_LIST_MARK = re.compile(r"^\s*\d{1,3}[.)](?=\s|$)", re.MULTILINE)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_LISTED = re.compile(r",\s*(?:and|und|et|y|e|en)?\s+|\s+(?:and|und|et|y|e|en)\s+|[;、，]")
_MOST_VALUES = 80  # of which all pairs are looked at
_SPAN = 10  # years: fewer lead from any year to too many
_ROUNDED = 40  # a number that ends in zeros differs from what it stands for by a fortieth at most


@dataclass(frozen=True, slots=True)
class Figure:
    """A number or date of a text.

    Attributes:
        text: as it stands there.
        values: what it may mean, as a number; of a date, its day and year; of a time, its hour (of
            twelve) and its minute.
        date: a full date or month in ISO 8601, a time of twelve hours (T6:30), else None.
        percent: whether it is a share; `values` then have it also as a fraction.
        scale: 10**6 of "3 million", which is in `values`.
    """

    text: str
    values: frozenset[Decimal]
    date: str | None = None
    percent: bool = False
    scale: int = 1

    @property
    def whole(self) -> bool:
        """Whether it has no decimals."""
        return any(value == value.to_integral_value() for value in self.values)


@dataclass(frozen=True, slots=True)
class Known:
    """The numbers and dates of a text that serves as evidence."""

    values: frozenset[Decimal]
    dates: frozenset[str]

    def supports(self, figure: Figure, beside: Known | None = None) -> bool:
        """Whether the text supports a figure: a month or year also by a date in it, a date also by its parts,
        and half past six by six and a half.

        Args:
            beside: figures that may give a date its year.
        """
        if figure.date is None:
            return not figure.values.isdisjoint(self.values)
        years = {value for value in beside.values if value > 31} if beside else set()
        return any(date.startswith(figure.date) for date in self.dates) or all(
            value in self.values or value in years or value / 60 in self.values for value in figure.values
        )


def follows(
    figure: Figure, texts: Iterable[str], language: str | None, stated: Iterable[Figure] = ()
) -> bool:
    """Whether a number is one of some texts in other words, or the result of simple arithmetic with them.

    In other words: rounded, or with the thousand, million or billion of a table's head. Arithmetic: sums,
    differences, products, quotients and changes in per cent of two amounts; what is missing to 100 %; years
    and days between two dates; a year some years before or after one; the sum of all; how many texts there
    are, or how many things one of them lists.

    Args:
        language: BCP 47, see `figures`.
        stated: figures that the answer states before, which are known. A quotient of two of them may be
            rounded to a whole number: whoever reads them sees of what it is one.
    """
    if figure.date is not None:
        return False
    evidence_texts = list(texts)
    claimed = {max(figure.values)} if figure.percent else figure.values
    if _is_quotient(figure, claimed, stated):
        return True
    years, times, amounts = _operands(evidence_texts, language)
    if any(abs(to - year) in amounts for to in claimed for year in years if abs(to - year) >= _SPAN):
        return True
    counts = {
        len(evidence_texts),
        *(len(_LISTED.split(line)) for text in evidence_texts for line in text.splitlines()),
    }
    if not claimed.isdisjoint({*map(Decimal, counts), *times}):
        return True
    units = {value / figure.scale for value in claimed}
    decimals = max(0, *(-int(unit.normalize().as_tuple().exponent) for unit in units))
    exact = not decimals and not figure.percent and figure.scale == 1
    shares = figure.percent or (decimals > 0 and figure.scale == 1)
    factors = [Decimal(10**power) / figure.scale for power in ((0, 3, 6, 9) if figure.scale > 1 else (0,))]
    some = amounts[:_MOST_VALUES]
    results = [value for a, b in permutations(some, 2) for value in _results(a, b, exact, shares)]
    values = [value * factor for value in (*amounts, sum(amounts, Decimal()), *results) for factor in factors]
    if any(round(value, decimals) in units for value in values):
        return True
    return not _YEAR.fullmatch(figure.text) and any(
        _rounds(value, to, digits)
        for to in claimed
        for digits, listed in ((1, amounts), (3, results))
        for value in listed
    )


def _is_quotient(figure: Figure, claimed: AbstractSet[Decimal], stated: Iterable[Figure]) -> bool:
    """Whether a number is one stated number by another, rounded as it is written. A stated number that looks
    like a year counts as a number here.
    """
    values = {
        value for stated_figure in stated if stated_figure.date is None for value in stated_figure.values
    }
    quotients = [a / b for a, b in permutations(values, 2) if b]
    return any(
        abs(quotient * (100 if figure.percent else 1) - to) * 2 <= _last_place(to)
        for quotient in quotients
        for to in claimed
    )


def _last_place(value: Decimal) -> Decimal:
    """The unit of the last digit of a number, zeros of a whole number included."""
    return Decimal(1).scaleb(min(0, int(value.as_tuple().exponent)))


def _operands(texts: Sequence[str], language: str | None) -> tuple[set[Decimal], set[Decimal], list[Decimal]]:
    """The years of texts, the times between years and dates, and the other numbers, each read in one way if
    the language tells which.
    """
    years: set[Decimal] = set()
    days: set[date] = set()
    amounts: set[Decimal] = set()
    for text in texts:
        for figure in figures(text, language):
            if figure.date is not None and figure.date[0] != "T":
                years.add(Decimal(figure.date[:4]))
                days |= {date.fromisoformat(figure.date)} if len(figure.date) == 10 else set()
            elif _YEAR.fullmatch(figure.text):
                years |= figure.values
            else:
                amounts |= figure.values | {value / figure.scale for value in figure.values}
                if figure.percent:
                    amounts |= {whole - share for share in figure.values for whole in (1, 100)}
        amounts.update(worded_numbers(text))
    times = {abs(a - b) for a, b in permutations(years, 2)}
    between = [abs(a - b).days for a, b in permutations(days, 2)]
    times.update(
        Decimal(span) for each in between for span in (each, each + 1, each // 7, int(each / 365.25))
    )
    return years, times, sorted(amounts)


def _results(a: Decimal, b: Decimal, exact: bool, shares: bool) -> Iterator[Decimal]:
    """Of two numbers; small quotients that are not whole only where they are asked for rounded."""
    yield from (a + b, abs(a - b), a * b)
    if b and (not exact or not a % b or abs(a) >= 10 * abs(b)):
        yield a / b
    if b and shares:
        yield from (100 * a / b, 100 * abs(a - b) / b)


def _rounds(value: Decimal, to: Decimal, digits: int) -> bool:
    """Whether a number that ends in zeros stands for a value: 59,000 for 59,100.

    Args:
        digits: that it must have before the zeros, at least.
    """
    _, significant, exponent = to.normalize().as_tuple()
    return (
        len(significant) >= digits
        and int(exponent) > 0
        and round(value, -int(exponent)) == to
        and abs(value - to) <= abs(to) / _ROUNDED
    )


def figures(text: str, language: str | None) -> list[Figure]:
    """The numbers and dates that a text claims, in order, without the numbers of a list and those that are
    part of a name (H2O, T-34).

    Args:
        language: BCP 47; decides what comma and full stop mean in a number. None allows both.
    """
    text = _LIST_MARK.sub(lambda mark: " " * len(mark[0]), text)
    by_offset: list[tuple[int, Figure]] = []
    dated: list[tuple[int, int]] = []
    for span in find_literals(text, language):
        if span.kind in _DATES:
            end = span.offset + span.length
            dated.append((span.offset, end))
            by_offset.append((span.offset, Figure(text[span.offset : end], _parts(span), span.lexical)))
    for clock in _CLOCK.finditer(text):
        time, values = _time(clock)
        dated.append(clock.span())
        by_offset.append((clock.start(), Figure(clock[0], values, time)))
    for number in numbers_in(text):
        if any(begin <= number.start < stop for begin, stop in dated):
            continue
        read = {value * number.scale for value in number.values(language)}
        if number.percent:
            read |= {value / 100 for value in read}
        surface = text[number.start : number.end]
        figure = Figure(surface, frozenset(read), None, number.percent, number.scale)
        by_offset.append((number.start, figure))
    return [figure for _, figure in sorted(by_offset, key=lambda item: item[0])]


def known_figures(text: str) -> Known:
    """All numbers, dates and number words of a text, read in every way."""
    values: set[Decimal] = set()
    dates = {span.offset: span for span in find_literals(text, None) if span.kind in _DATES}
    inside = {place for span in dates.values() for place in range(span.offset, span.offset + span.length)}
    for span in dates.values():
        values |= _parts(span)
    for number in numbers_in(text):
        if number.start not in inside:
            spans = (number, *(number._replace(digits=part) for part in number.digits.split(" ")))
            read = {value for span in spans for value in span.values(None)}
            values |= read | {value * number.scale for value in read}
    values.update(worded_numbers(text))
    lexical_forms = {span.lexical for span in dates.values()}
    for clock in _CLOCK.finditer(text):
        time, parts = _time(clock)
        lexical_forms.add(time)
        values |= parts
    values.update(map(Decimal, [*_GLUED.findall(text), *_HAN_MONTH.findall(text)]))
    for stamp in _STAMP.finditer(text):
        lexical_forms.add("-".join(stamp.groups()))
        values |= {Decimal(stamp[1]), Decimal(stamp[3])}
    return Known(frozenset(values), frozenset(lexical_forms))


def _parts(span: LiteralSpan) -> frozenset[Decimal]:
    """The year of a date, and its day."""
    year, *parts = span.lexical.split("-")
    return frozenset(map(Decimal, (year, *parts[1:])))


def _time(clock: re.Match[str]) -> tuple[str, frozenset[Decimal]]:
    """A time of the day by the twelve hours of a clock's face, and its hour and minutes."""
    hour, minute = int(clock[1]) % 12 or 12, int(clock[2])
    return f"T{hour}:{minute:02}", frozenset(Decimal(part) for part in (hour, minute) if part)
