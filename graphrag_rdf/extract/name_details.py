"""Details of names: other names for the same thing, dates of birth and death, names within names, and the
name that a chunk is about.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal

from graphrag_rdf.documents.titles import PART

from .model import Mention
from .names import fold
from .numbers import LiteralSpan
from .tagging import tagger_for
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


# --- names that follow from others ---------------------------------------------------------------------


_OF = re.compile(r" of (?:the )?")


def with_derived_names(
    mentions: Sequence[Mention], topic: str | None, language: str | None
) -> tuple[Mention, ...]:
    """Mentions, and those derived from them at the same places.

    `Ada Moor of Blue Harbour` is also `Ada Moor` and `Blue Harbour`; `Moor` in the same text is also `Ada
    Moor`, if only one name there begins or ends with it, or that of the topic does.

    Args:
        mentions: of one chunk, in text order.
        topic: what the chunk is about.
        language: BCP 47; where it has a tagger, a word that the language has otherwise is no name by itself:
            `General Terms of Use`.
    """
    tagger = tagger_for(language)
    names = dict.fromkeys([*(m.name for m in mentions), *([topic] if topic else [])])
    called: dict[str, list[str]] = {}
    for name in names:
        words = name.split()
        if len(words) > 1 and words[-1][0].isupper():
            for word in dict.fromkeys((words[0].lower(), words[-1].lower())):
                called.setdefault(word, []).append(name)
    found: list[Mention] = []
    for mention in mentions:
        whole = _whole(mention.name, called, topic)
        parts = [
            part
            for part in (*_parts(mention.name), *_parts(whole))
            if tagger is None or not tagger.is_common(part)
        ]
        named = dict.fromkeys((mention.name, whole, *parts))
        found += [Mention(mention.offset, mention.length, name) for name in named]
    return tuple(found)


def _whole(name: str, called: dict[str, list[str]], topic: str | None) -> str:
    """The full name that a single word stands for, or the word."""
    among = called.get(name.lower(), [])
    if topic in among:
        return topic
    return among[0] if len(among) == 1 else name


def _parts(name: str) -> tuple[str, ...]:
    """Both sides of the only "of" in a name; the first only if it has several words, unlike `University`."""
    sides = _OF.split(name)
    if len(sides) != 2 or not all(side[:1].isupper() for side in sides):
        return ()
    return tuple(sides if " " in sides[0] else sides[1:])


# --- what a chunk is about -----------------------------------------------------------------------------


_BRACKETED = re.compile(r"\s*\([^()]*\)\s*$")
_ARTICLE = re.compile(r"(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_LONGEST = 12  # words of a title that can be a name


def topics_of(title: str, mentions: Sequence[Mention], *, given: bool) -> tuple[str, ...]:
    """The names of what a chunk is about: of `topic_of`, and as others write a given title - without its
    article, and without the place after a comma where the chunk names it so (`Springfield, Ohio`). Of a
    title with parts (`Halden Locks Co. — Form 10-Q — …`) the first names it.
    """
    topic = topic_of(title.partition(PART)[0] if given else title, mentions, given=given)
    if topic is None:
        return ()
    names = [topic]
    if given:
        names.append(_ARTICLE.sub("", topic, count=1) if _ARTICLE.match(topic) else topic)
        head = topic.split(", ")[0]
        if fold(head) in {fold(mention.name) for mention in mentions}:
            names.append(head)
    return tuple(dict.fromkeys(names))


def topic_of(title: str, mentions: Sequence[Mention], *, given: bool) -> str | None:
    """The name of what a chunk is about.

    Args:
        title: of its document.
        mentions: the names that the chunk has, in text order.
        given: whether the document has this title, rather than that its file is called so.

    Returns:
        the title without a bracket at its end, which tells homonyms apart, if it is given or the chunk has
        that name; of a title as long as a sentence the first name that the chunk has too; of a file's name
        that says nothing the first name of the chunk; None if there is none.
    """
    name = _BRACKETED.sub("", title).strip()
    if not given and fold(name) not in {fold(mention.name) for mention in mentions}:
        return mentions[0].name if mentions else None
    if 0 < len(_WORD.findall(name)) <= _LONGEST:
        return name
    flat = f" {' '.join(_WORD.findall(fold(title)))} "
    named = [(flat.find(f" {' '.join(_WORD.findall(fold(m.name)))} "), m.name) for m in mentions]
    inside = sorted((place, -len(found), found) for place, found in named if place >= 0)
    return inside[0][2] if inside else None
