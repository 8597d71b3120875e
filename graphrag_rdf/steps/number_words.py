"""Numbers in words: twenty-one, zweitausend, quatre mille deux cents, 一千二百."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path

_TABLE = Path(__file__).with_name("number_words.toml")
_CJK = "\u3400-\u9fff〇"
_TOKEN = re.compile(rf"quatre-vingts?|[{_CJK}]|[^\W\d_{_CJK}]+")
_JOINT = re.compile(r"[ \-\u00a0]?")
_AFTER_DIGITS = re.compile(r"\d\)?\s?$")
_DIGITS = "〇一二三四五六七八九"
_DIGIT_RUN = re.compile(f"[{_DIGITS}]{{2,}}")
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
            yield from _read(row)
            row = []
        row += words
        end = token.end()
    yield from _read(row)
    yield from (Decimal("".join(str(_DIGITS.index(c)) for c in run[0])) for run in _DIGIT_RUN.finditer(text))


@cache
def scales() -> dict[str, int]:
    """Words that multiply a number in digits: 3 million, 1.2万; in lower case."""
    return {
        word: int(value)
        for kind in ("hundreds", "thousands")
        for word, value in _words(kind).items()
        if value >= 1000
    }


def _read(row: list[str]) -> Iterator[Decimal]:
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
    """Whether two numbers below a hundred make one: twenty-one, einundzwanzig, soixante-quinze, dix-sept."""
    return not a or (1 <= b < 20 <= a) or (1 <= a < 10 and b >= 20) or (a == 10 and 7 <= b <= 9)


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(_TABLE.read_text("utf-8"))


@cache
def _words(kind: str) -> dict[str, Decimal]:
    return {word: Decimal(value) for value, words in _table()[kind].items() for word in words.split()}


@cache
def _between() -> frozenset[str]:
    return frozenset(_table()["other"]["and"].split())


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A word for a number, or several written together, one of them long; and the words of such a one."""
    numbers = {*_words("units"), *_words("hundreds"), *_words("thousands")}
    number = _any(numbers)
    long = _any(word for word in numbers if len(word) >= _LEAST)
    between = _any(_between())
    endings = "|".join(_table()["other"]["endings"].split())
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
    found = whole.fullmatch(token)
    return words.findall(token, 0, found.start("ending") if found["ending"] else len(token)) if found else []
