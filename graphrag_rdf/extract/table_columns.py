"""How the columns of a table are read: which one names the subject of a row, and what the others say of it.

This is decided once for the table, from all of its rows, so that a row gives the same facts wherever its
chunk begins and ends. `TableReading.signature` is the decision. If an edit does not change it, the rows
that were not edited keep their facts.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from io import StringIO
from typing import Literal

from graphrag_rdf.documents.model import Table
from graphrag_rdf.documents.table_heads import is_period, name_and_unit, period_in, stated_unit
from graphrag_rdf.documents.tables import read_row

from .lexicon import read_table
from .names import fold, is_placeholder
from .numbers import XSD, decimal_comma, find_literals, number_type, plain_number, typed_literal

Role = Literal["key", "alias", "type", "entity", "value", "text", "none"]
Kind = Literal["nothing", "number", "year", "value", "prose", "name", "code", "text"]

VALUES: tuple[Kind, ...] = ("number", "year", "value")

DISTINCT = 0.8
"""Least share of values that differ, and of rows that have one, in a column that names subjects."""
DISTINCT_OVER_TIME = 0.5
"""The same share of values where other columns are periods."""
LONGEST_TEXT = 80
"""Characters beyond which a cell is running text and no object."""
_MOST_WORDS = 12
_FEW = 3  # values that a column of types has at least room for
_MOST_TYPE_WORDS = 3

_EMPTY = frozenset({"-", "–", "—", "?", "??", ".", "...", "…", "na", "#n/a"})
_MARKS = re.compile(r"[€$£¥%()\[\].,:;*†‡'\"/–—−-]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_IN_PREDICATE = re.compile(r"[_\s]+")
_CODE = re.compile(r"[+-]?(?:0\d|\d{16}|\d+\.\d{16}).*")
_YEAR = re.compile(r"(?:1\d|20|21)\d\d")
_ACCOUNTING = re.compile(r"(?=[($€£¥])[$€£¥]?\s?(\()?\s?[$€£¥]?\s?(\d[\d.,]*)(?(1)\s?\))")
_CURRENCY = re.compile(r"[$€£¥]")
_URL = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(r"\w+_\w+|[a-z]+[A-Z]\w*")
_SMALL = 3  # letters of a word that a name may have in lower case: of, de, von

_PAIRS = (
    ("first name", "last name"), ("first name", "surname"), ("given name", "family name"),
    ("forename", "surname"), ("firstname", "lastname"), ("vorname", "nachname"), ("voornaam", "achternaam"),
    ("prénom", "nom"),
)  # fmt: skip


@cache
def _words(name: str) -> frozenset[str]:
    """A list of `data/columns.toml`."""
    return frozenset(word.replace("_", " ") for word in read_table("columns")[name].split())


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Args:
        predicate: its name in lower case words, without the unit; "" if it has none.
        role: what its cells say about the row's subject.
        comma: whether its numbers have a comma before the decimals.
        years: whether its numbers of four digits are years.
        name: as its table has it, without the unit.
        unit: of its numbers; "" if none is told.
        common: whether the table's caption tells the unit, for all columns.
    """

    predicate: str
    role: Role
    comma: bool = False
    years: bool = False
    name: str = ""
    unit: str = ""
    common: bool = False


@dataclass(frozen=True, slots=True)
class TableReading:
    """How the rows of a table are read.

    Args:
        columns: in order.
        key: the columns that name a row's subject, together; empty if there is none.
        problem: `no_column_names` or `no_key_column` if rows give no facts, else None.
        turned: whether the key names periods: then the columns are what the rows tell of.
        ambiguous: keys, folded, of several rows that have columns for periods: which of them is meant stands
            elsewhere.
        unitless: words, without the s of a plural, of rows that are not in the unit of the columns.
        period: of what the rows tell, by the title; "" if it tells none, or rows or columns do.
    """

    table: Table
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    problem: str | None
    turned: bool = False
    ambiguous: frozenset[str] = frozenset()
    unitless: frozenset[str] = frozenset()
    period: str = ""

    @property
    def labels_lines(self) -> bool:
        """Whether the key labels lines: others are figures or periods, or it has no name but a unit."""
        roles = (column.role for number, column in enumerate(self.columns) if number not in self.key)
        figures = all(role in {"value", "none"} for role in roles)
        over_time = self.turned or any(map(is_period, self.table.names))
        called = " ".join(self.table.names[number] for number in self.key)
        return figures or over_time or not predicate_of(called) or bool(stated_unit(called)[0])

    @property
    def unit(self) -> str:
        """The unit that the table's caption tells for all of its amounts; "" if there is none."""
        return next((column.unit for column in self.columns if column.common and column.unit), "")

    @property
    def names(self) -> str:
        """The names of the columns as a record of CSV."""
        line = StringIO()
        csv.writer(line, lineterminator="").writerow(self.table.names)
        return line.getvalue()

    @property
    def signature(self) -> str:
        """Everything that the facts of a row depend on, except its own characters."""
        roles = ",".join(
            f"{c.role}{'c' * c.comma}{'y' * c.years}{c.unit}{'u' * c.common}" for c in self.columns
        )
        more = [
            *sorted(self.ambiguous),
            *sorted(self.unitless - _words("no_unit")),
            *["turned"] * self.turned,
            *[self.period] * bool(self.period),
        ]
        return f"{self.table.separator!r};{self.table.names!r};{self.key};{roles}{';'.join(['', *more])}"


def read_columns(text: str, table: Table, language: str | None) -> TableReading:
    """How the rows of a table are read.

    Args:
        text: the document's.
        table: in it.
        language: BCP 47; decides what a comma means in numbers where nothing else does.
    """
    if not table.names:
        return TableReading(table, (), (), "no_column_names")
    counts: list[Counter[str]] = [Counter() for _ in table.names]
    for start, end in table.rows:
        for number, cell in enumerate(read_row(text[start:end], table.separator, table.names) or ()):
            counts[number][cell.text] += 1
    over_time = any(map(is_period, table.names))
    seen = [
        _Seen.of(name, values, over_time=over_time) for name, values in zip(table.names, counts, strict=True)
    ]
    key = _key(seen)
    subjects = {fold(value) for value in counts[key[0]]} if len(key) == 1 else set()
    unit, left_out = stated_unit(f"{table.caption} {' '.join(table.names[number] for number in key)}")
    columns = tuple(
        Column(
            column.predicate,
            "key" if number in key else _role(column, subjects),
            _decimal_comma(column.values, language),
            column.years,
            column.name,
            column.unit or (unit if column.takes_unit else ""),
            bool(unit) and not column.unit,
        )
        for number, column in enumerate(seen)
    )
    repeated = (
        Counter(fold(value) for value, number in seen[key[0]].values.items() for _ in range(number))
        if key
        else {}
    )
    turned = len(key) == 1 and seen[key[0]].tells_periods
    return TableReading(
        table,
        columns,
        key,
        None if key else "no_key_column",
        turned=turned,
        ambiguous=frozenset(name for name, number in repeated.items() if over_time and number > 1),
        unitless=_words("no_unit") | {word.removesuffix("s") for word in left_out} if unit else frozenset(),
        period="" if turned or over_time else table.period or period_in(table.caption),
    )


def predicate_of(name: str) -> str:
    """The name of a column as a predicate: words in lower case (`born_in` and `bornIn` are one)."""
    words = _NOT_IN_PREDICATE.sub(" ", _CAMEL.sub(" ", name)).strip(" .:;?*#").lower()
    return words if _WORD.search(words) else ""


def name_in_words(name: str) -> str:
    """The name of a column as it stands; a single word, or one as programs write them (`born_in`, `bornIn`),
    in lower case words.
    """
    plain = name.strip(" :")
    word = plain.istitle() and plain.isalpha()
    return predicate_of(name) if word or _IDENTIFIER.fullmatch(plain) else plain


def is_relative(row: str) -> bool:
    """Whether what a row tells is not in the unit of its table: shares and rates, or an amount per share."""
    words = {word.removesuffix("s") for word in _WORD.findall(row.lower())}
    return not words.isdisjoint(_words("no_unit")) or ("%" in row and not _CURRENCY.search(row))


@dataclass(frozen=True, slots=True)
class _Seen:
    """The values of a column."""

    name: str
    unit: str
    predicate: str
    values: Mapping[str, int]
    kinds: Mapping[Kind, int]
    rows: int
    distinct: int
    over_time: bool

    @classmethod
    def of(cls, name: str, values: Mapping[str, int], *, over_time: bool) -> _Seen:
        kinds: Counter[Kind] = Counter()
        filled = {value: number for value, number in values.items() if kind_of(value) != "nothing"}
        for value, number in filled.items():
            kinds[kind_of(value)] += number
        numbers = 2 * sum(kinds[kind] for kind in VALUES) > kinds.total()
        plain, unit = name_and_unit(name) if numbers else (name, "")
        predicate = plain.strip() if is_period(plain) else predicate_of(plain)
        return cls(
            _NOT_IN_PREDICATE.sub(" ", plain).strip(" :"),
            unit,
            predicate,
            filled,
            kinds,
            sum(values.values()),
            len(filled),
            over_time,
        )

    @property
    def takes_unit(self) -> bool:
        """Whether its numbers can be in the unit of the table: no years, shares or rates."""
        words = {word.removesuffix("s") for word in _WORD.findall(self.name.lower())}
        relative = "%" in self.name or not words.isdisjoint(_words("no_unit"))
        return self.kind == "value" and not self.years and not relative

    @property
    def filled(self) -> int:
        return sum(self.kinds.values())

    @property
    def kind(self) -> Kind:
        """The kind of most values; `text` if no kind has a majority."""
        nothing: Kind = "nothing"
        best = max(self.kinds, key=lambda kind: (self.kinds[kind], kind), default=nothing)
        numbers = sum(self.kinds[kind] for kind in VALUES if kind in self.kinds)
        if 2 * numbers > self.filled:
            return "value"
        return best if 2 * self.kinds.get(best, 0) > self.filled else "text"

    @property
    def names_rows(self) -> bool:
        """Whether it could name the subjects: nearly each row has a value, and nearly each its own. Where
        columns are periods, what has several rows is left out, so that half of them are enough.
        """
        return (
            self.kind in {"name", "text", "code"}
            and self.filled >= DISTINCT * self.rows
            and self.distinct >= (DISTINCT if not self.over_time else DISTINCT_OVER_TIME) * self.filled
        )

    @property
    def tells_periods(self) -> bool:
        """Whether its name says so, and each row has a year, quarter or month of its own."""
        return (
            predicate_of(self.name) in _words("periods") | {""}
            and 0 < self.filled == self.distinct >= DISTINCT * self.rows
            and sum(map(is_period, self.values)) >= DISTINCT * self.filled
        )

    @property
    def years(self) -> bool:
        words = set(self.predicate.split())
        if is_period(self.name):
            return False
        return (
            self.kinds.get("year", 0) > 0
            and not self.kinds.get("number", 0)
            and words.isdisjoint(_words("counts"))
        )


def _key(columns: Sequence[_Seen]) -> tuple[int, ...]:
    """A column that is called so; else one of periods before all others; else the first of names or text;
    else the first of codes; else one of periods.
    """
    fit = [number for number, column in enumerate(columns) if column.names_rows]
    predicates = [column.predicate for column in columns]
    for number in fit:
        words = predicates[number].split()
        if (
            words
            and words[-1] in _words("names")
            and words[0] not in _words("no_names")
            and columns[number].kind != "code"
        ):
            pair = next((p for p in _PAIRS if predicates[number] == p[1] and p[0] in predicates), None)
            return (predicates.index(pair[0]), number) if pair else (number,)
    for first, last in _PAIRS:
        if first in predicates and last in predicates:
            return predicates.index(first), predicates.index(last)
    if columns[0].tells_periods:
        return (0,)
    for kinds in ({"name", "text"}, {"code"}):
        for number in fit:
            if columns[number].kind in kinds:
                return (number,)
    return next(((number,) for number, column in enumerate(columns) if column.tells_periods), ())


def _role(column: _Seen, subjects: set[str]) -> Role:
    if not column.predicate:
        return "none"
    if column.predicate in _words("aliases"):
        return "alias"
    if column.kind == "value":
        return "value"
    short = all(len(value.split()) <= _MOST_TYPE_WORDS for value in column.values)
    few = column.distinct <= max(_FEW, column.filled // 2)
    if column.predicate in _words("types") and short and few and column.kind in {"name", "text"}:
        return "type"
    subject_rows = (
        sum(number for value, number in column.values.items() if fold(value) in subjects) if subjects else 0
    )
    return "entity" if column.kind == "name" or 2 * subject_rows > column.filled else "text"


# --- values ------------------------------------------------------------------------------------------


def kind_of(value: str) -> Kind:
    """The kind of a cell's value."""
    return _kind_known(value) if len(value) <= LONGEST_TEXT else _kind_of(value)  # long ones do not recur


def _kind_of(value: str) -> Kind:
    if not value or value.lower() in _EMPTY or is_placeholder(value) or _MARKS.fullmatch(value):
        return "nothing"
    if len(value) > LONGEST_TEXT or value.count(" ") >= _MOST_WORDS:
        return "prose"
    if not value[0].isalpha() and any(_number(value, comma=comma) for comma in (False, True)):
        return "year" if _YEAR.fullmatch(value) else "number"
    if literal_of(value, Column("", "value"), None):
        return "value"
    if not any(map(str.isalpha, value)):
        return "value"
    if looks_like_name(value):
        return "name"
    return "code" if " " not in value and _DIGIT.search(value) else "text"


_kind_known = lru_cache(maxsize=65_536)(_kind_of)


def looks_like_name(value: str) -> bool:
    """Whether all words of a value have a capital, save small ones; scripts without capitals are names."""
    words = _WORD.findall(value)
    if not words or not words[0][0].isalpha() or words[0][0].islower() or len(value) > LONGEST_TEXT:
        return False
    if " " not in value and _DIGIT.search(value):
        return False
    return all(not word[0].islower() or len(word) <= _SMALL for word in words) and value[-1] not in ".!?:;"


def _decimal_comma(values: Mapping[str, int], language: str | None) -> bool:
    """Whether numbers have a comma before the decimals: some can only be read so, and none otherwise."""
    only_comma = only_point = both = False
    for value in values:
        if "," in value or "." in value:
            comma, point = (_number(value, comma=comma) is not None for comma in (True, False))
            only_comma = only_comma or (comma and not point and "," in value)
            only_point = only_point or (point and not comma)
            both = both or (comma and point and "," in value)
    if only_comma or only_point:
        return not only_point
    return both and decimal_comma(language)


def literal_of(value: str, column: Column, language: str | None) -> tuple[str, str] | None:
    """(lexical form, datatype IRI) of a number, date, year, truth value or address; None for a string.

    Numbers with leading zeros, and very long ones, are codes and stay strings, as do those with a unit.
    """
    number = _amount(value, comma=column.comma)
    if number is not None:
        if column.years and _YEAR.fullmatch(value):
            return value, f"{XSD}gYear"
        return number, number_type(number)
    if value.lower() in {"true", "false"}:
        return value.lower(), f"{XSD}boolean"
    if _URL.fullmatch(value):
        return value, f"{XSD}anyURI"
    if not _DIGIT.search(value):
        return None
    if "-" in value:
        lexical, datatype, _ = typed_literal(value, "date")
        if datatype is not None:
            return lexical, datatype
    for literal in find_literals(value, language):
        if literal.length == len(value) and literal.datatype and literal.kind in {"date", "month"}:
            return literal.lexical, literal.datatype
    return None


def currency_of(value: str) -> str:
    """The sign of currency of a number, or ""."""
    sign = _CURRENCY.search(value)
    return sign[0] if sign else ""


def _amount(value: str, *, comma: bool) -> str | None:
    """The lexical form of a number as tables write it: with a sign of currency, losses in brackets."""
    if accounting := _ACCOUNTING.fullmatch(value):
        number = _number(accounting[2], comma=comma)
        return f"-{number}" if number and accounting[1] else number
    return _number(value, comma=comma)


def _number(value: str, *, comma: bool) -> str | None:
    number = plain_number(value, comma=comma)
    return None if number is None or _CODE.fullmatch(number) else number
