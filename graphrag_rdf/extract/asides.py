"""What stands beside a name: other names (`ESA`, `also known as`) and dates of birth and death."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal

from .numbers import LiteralSpan
from .units import Unit, kinds

LifeEvent = Literal["born", "died"]

_ALSO = re.compile(
    r"\s*[,(]?\s*(?:"
    r"(?:which is |who is |was )?"
    r"(?:also |formerly |previously |better |originally |commonly |often |sometimes |popularly )+"
    r"(?:known as|called|named|published as|spelled|titled|referred to as)"
    r"|abbreviated(?: as| to)?|a\.k\.a\.|aka|née|born|or simply"
    r"|kurz|auch|eigentlich|genannt|ook wel(?: bekend als)?|afgekort(?: als)?)"
    r"\s+(?:the\s+)?[\"“„']?"
)
_DATED = frozenset({"date", "month", "year"})
_BRACKET = re.compile(r"\s?\([^()]{4,80}\)")
_BORN = re.compile(r"(?:\bborn|\bb\.|\bgeboren|\bgeb\.|\*)[^;,†]{0,12}$", re.IGNORECASE)
_DIED = re.compile(r"(?:\bdied|\bd\.|\bgestorben|\bgest\.|\boverleden|†)[^;,]{0,12}$", re.IGNORECASE)
_RANGE = re.compile(r"\s*[-–—]+\s*")
_OPENS_WITH_DATE = re.compile(r"\s?\((?:[^()]*[;,]\s*)?(?:c\.\s*)?(?:\d|[A-Z][a-z]+ \d)")


def other_names(units: Sequence[Unit], text: str) -> Iterator[tuple[Unit, str]]:
    """Names with other names for the same thing, as (name, other).

    Args:
        units: of one sentence.
        text: the chunk's text.
    """
    for index, unit in enumerate(units):
        if unit.kind != "P":
            continue
        after = units[index + 1 : index + 4]
        if kinds(after) == "(P)" and is_short_form(after[1].text, unit.text):
            yield unit, after[1].text
            continue
        between = _ALSO.match(text, unit.end)
        if between:
            target = next((other for other in units[index + 1 :] if other.start == between.end()), None)
            if target is not None and target.kind == "P":
                yield unit, target.text


def life_dates(
    units: Sequence[Unit], literals: Sequence[LiteralSpan], text: str
) -> Iterator[tuple[Unit, LifeEvent, LiteralSpan]]:
    """Dates of birth and death in brackets after names.

    `(born 3 May 1871)` and `(1871-1930)`; the latter may also be the years of something else than a person.

    Args:
        units: of one sentence.
        literals: of the chunk, in text order.
        text: the chunk's text.
    """
    for unit in units:
        bracket = _BRACKET.match(text, unit.end) if unit.kind == "P" else None
        if bracket is None:
            continue
        low = bisect_left(literals, bracket.start(), key=lambda item: item.offset)
        dates = [d for d in literals[low : low + 4] if d.offset < bracket.end() and d.kind in _DATED]
        events = [_event(text[bracket.start() : date.offset]) for date in dates]
        if len(dates) == 2 and events[0] is None and _is_range(text, dates):
            events = ["born", "died"] if _OPENS_WITH_DATE.match(text, bracket.start()) else []
        for event, date in zip(events, dates, strict=False):
            if event is not None:
                yield unit, event, date


def is_short_form(short: str, name: str) -> bool:
    """Whether the letters of an abbreviation occur in the name in order, beginning with its first."""
    letters = [character.lower() for character in short if character.isalnum()]
    if not letters or len(short) >= len(name) or " " in short or short.islower():
        return False
    rest = iter(name.lower())
    return name[0].lower() == letters[0] and all(letter in rest for letter in letters)


def _event(before: str) -> LifeEvent | None:
    """Whether a date that these words lead to is one of birth or death."""
    return "died" if _DIED.search(before) else "born" if _BORN.search(before) else None


def _is_range(text: str, dates: Sequence[LiteralSpan]) -> bool:
    return _RANGE.fullmatch(text[dates[0].offset + dates[0].length : dates[1].offset]) is not None
