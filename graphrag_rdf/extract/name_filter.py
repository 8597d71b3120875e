"""Which mentions are names, by parts of speech, and what follows from names: other names for the same thing,
dates of birth and death, names within names, and the name that a chunk is about.

A capital means nothing at the beginning of a sentence, in German, in headings and in labels. There a name
needs a word that is not in the language's vocabulary, or it has to occur within a sentence too. In
languages without a tagger all mentions stay.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from graphrag_rdf.documents.model import Sentence, Turn, in_spans
from graphrag_rdf.documents.text import PART
from graphrag_rdf.documents.turns import turn_at

from .lexicon import lexicon
from .model import Mention
from .names import OPENING, WORD, Word, fold, words_of
from .numbers import LiteralSpan, find_literals, month_words
from .tagging import FINITE, Tagger, Unit, build_units, kinds, tagger_for

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
            target = next((later for later in units[index + 1 :] if later.start == between.end()), None)
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
    remaining = iter(name.lower())
    return name[0].lower() == letters[0] and all(letter in remaining for letter in letters)


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
    derived: list[Mention] = []
    for mention in mentions:
        whole = _whole(mention.name, called, topic)
        parts = [
            part
            for part in (*_parts(mention.name), *_parts(whole))
            if tagger is None or not tagger.is_common(part)
        ]
        named = dict.fromkeys((mention.name, whole, *parts))
        derived += [Mention(mention.offset, mention.length, name) for name in named]
    return tuple(derived)


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


def topics_of(title: str, mentions: Sequence[Mention], *, titled: bool) -> tuple[str, ...]:
    """The names of what a chunk is about: of `topic_of`, and as others write a given title - without its
    article, and without the place after a comma where the chunk names it so (`Springfield, Ohio`). Of a
    title with parts (`Halden Locks Co. — Form 10-Q — …`) the first names it.
    """
    topic = topic_of(title.partition(PART)[0] if titled else title, mentions, titled=titled)
    if topic is None:
        return ()
    names = [topic]
    if titled:
        names.append(_ARTICLE.sub("", topic, count=1) if _ARTICLE.match(topic) else topic)
        head = topic.split(", ")[0]
        if fold(head) in {fold(mention.name) for mention in mentions}:
            names.append(head)
    return tuple(dict.fromkeys(names))


def topic_of(title: str, mentions: Sequence[Mention], *, titled: bool) -> str | None:
    """The name of what a chunk is about.

    Args:
        title: of its document.
        mentions: the names that the chunk has, in text order.
        titled: whether the document has this title, rather than that its file is called so.

    Returns:
        the title without a bracket at its end, which tells homonyms apart, if it is given or the chunk has
        that name; of a title as long as a sentence the first name that the chunk has too; of a file's name
        that says nothing the first name of the chunk; None if there is none.
    """
    name = _BRACKETED.sub("", title).strip()
    if not titled and fold(name) not in {fold(mention.name) for mention in mentions}:
        return mentions[0].name if mentions else None
    if 0 < len(_WORD.findall(name)) <= _LONGEST:
        return name
    flat = f" {' '.join(_WORD.findall(fold(title)))} "
    named = [(flat.find(f" {' '.join(_WORD.findall(fold(m.name)))} "), m.name) for m in mentions]
    inside = sorted((place, -len(part), part) for place, part in named if place >= 0)
    return inside[0][2] if inside else None


# --- filter --------------------------------------------------------------------------------------------


_NUMBER = re.compile(r"\d+[A-Z]?")
_STOPS = frozenset(".,;:!?")
_SPEECH = re.compile(r"(?<=[,:—])\s+[\"“„'‘]+(?=\w)")
_GOES_ON = re.compile(r" [a-z]")
_LINE = re.compile(r"[^\r\n]+")


def _known_words(
    mentions: Sequence[Mention], text: str, starts: Collection[int], title: str | None, tagger: Tagger
) -> frozenset[str]:
    """Words of names, in lower case, that occur elsewhere than at the beginning of a sentence.

    A word that the language has otherwise counts if the text has it with a capital twice and never without.
    """
    lower = lower_words(text)
    inside = Counter(m.name.lower() for m in mentions if " " not in m.name and m.offset not in starts)
    single = {
        name
        for name, times in inside.items()
        if not tagger.is_common(name) or (times > 1 and name not in lower)
    }
    longer = {word for m in mentions if " " in m.name for word in m.name.lower().split()}
    rare = {word for word in longer if not tagger.is_common(word)}
    return frozenset({*single, *rare, *(word.lower for word in words_of(title or ""))})


def lower_words(text: str) -> frozenset[str]:
    """The words that a text has without a capital."""
    return frozenset(filter(str.islower, WORD.findall(text)))


def is_plain(name: str, lower: Collection[str], tagger: Tagger | None) -> bool:
    """Whether all words of a name are also ordinary words, in the language or in the text: `Cost of Sales`.

    Args:
        name: as written.
        lower: words that the text has without a capital.
        tagger: of its language; None for none, which has no such names.
    """
    words = WORD.findall(name)
    return tagger is not None and all(word.lower() in lower or tagger.is_common(word) for word in words)


def _is_word(name: str, trusted: Collection[str], tagger: Tagger) -> bool:
    """Whether a name is only an ordinary word, alone or with a number: `Section 4`, `Ltd`."""
    first, *following = name.split()
    if first.lower() in lexicon(tagger.language).name_types:
        return not following
    return all(map(_NUMBER.fullmatch, following)) and tagger.is_common(first) and first.lower() not in trusted


def _sentence_starts(text: str, sentences: Sequence[Sentence], turns: Sequence[Turn]) -> frozenset[int]:
    """Where sentences begin, and their first words; also behind the names of speakers, and in speech."""
    starts = {*(sentence.offset for sentence in sentences), *(turn.words for turn in turns)}
    words = (OPENING.match(text, start).end() for start in starts)  # type: ignore[union-attr]
    return frozenset({*starts, *words, *(match.end() for match in _SPEECH.finditer(text))})


class NameFilter:
    """Reads the units of a text's sentences, and decides by them which of its mentions are names.

    Args:
        text: a chunk's.
        sentences: those of its sentences that are no rows of tables.
        mentions: in text order.
        tagger: of the text's language.
        title: of its document; what it names is a name.
        certain: names that are names whatever the tags say.
        turns: who speaks where; their labels are names.

    Attributes:
        literals: dates and numbers of the text, in its order.
    """

    def __init__(
        self,
        text: str,
        sentences: Sequence[Sentence],
        mentions: Sequence[Mention],
        tagger: Tagger,
        *,
        title: str | None,
        certain: Collection[str] = (),
        turns: Sequence[Turn] = (),
    ) -> None:
        self._text = text
        self._mentions = mentions
        self._tagger = tagger
        self._certain = certain
        self._starts = _sentence_starts(text, sentences, turns)
        self._labels = {turn.name[0] for turn in turns if turn.name[0] < turn.name[1]}
        self._title = frozenset(WORD.findall((title or "").lower()))
        self._known = _known_words(mentions, text, self._starts, title, tagger)
        self._lower = lower_words(text)
        self._types = lexicon(tagger.language).name_types
        self._whole = lexicon(tagger.language).keeps_case  # names may be parts of mentions: "Stadt Kelm"
        self.literals = find_literals(text, tagger.language)
        self._judged: list[tuple[int, int]] = []
        self._lines: list[tuple[int, int]] = []
        self._names: dict[int, Unit] = {}

    def read(self, span: tuple[int, int]) -> list[Unit]:
        """The units of a sentence; none if it is too long, and then it may be a list or a table."""
        units = build_units(self._text, span, self._tagger, self._mentions, self.literals, self._known)
        words = [] if units else WORD.findall(self._text, *span)
        prose = self._text[span[1] - 1 : span[1]] == "." and sum(map(str.islower, words)) * 2 > len(words)
        if not self._whole and not is_clause(units) and not prose:
            self._lines.append(span)
        elif units:
            first = next((unit.start for unit in units if unit.kind not in "Q(."), span[0])
            # a name in the middle of an English sentence stays, also that of "a Dutch engineer"
            self._judged.append(span if self._whole else (span[0], first + 1))
            self._names.update({unit.start: unit for unit in units if unit.kind == "P"})
        return units

    def names(self) -> tuple[Mention, ...]:
        """The mentions that are names by the sentences read so far, in text order."""
        mentions = self._mentions
        places = {mention.offset for mention in mentions}
        inside = {fold(m.name) for m in mentions if m.offset not in self._starts}
        parts = self._names.values() if self._whole else ()
        sure = [Mention(u.start, u.end - u.start, u.text) for u in parts if u.start not in places]
        lines = []
        for mention in mentions:
            if self._is_certain(mention):
                sure.append(mention)
            elif in_spans(self._lines, mention.offset):
                lines.append(mention)
            elif (mention.offset in self._names or not in_spans(self._judged, mention.offset)) and (
                self._whole or self._is_sure(mention, inside)
            ):
                sure.append(mention)
        named = {fold(mention.name) for mention in sure}
        sure += [part for mention in lines for part in self._in_line(mention, named)]
        return tuple(sorted(sure, key=lambda mention: mention.offset))

    def _is_certain(self, mention: Mention) -> bool:
        """Whether a mention is a name whatever the tags say."""
        words = mention.name.lower().split()
        return (
            mention.offset in self._labels or mention.name in self._certain or self._title.issuperset(words)
        )

    def _is_sure(self, mention: Mention, inside: Collection[str]) -> bool:
        """Whether a mention in a sentence is a name, and not an ordinary word, part of a word, or an ordinary
        phrase or exclamation that opens the sentence.
        """
        end = mention.offset + mention.length
        words = mention.name.lower().split()
        if mention.offset in self._starts and fold(mention.name) not in inside:
            if words[1:] and self._known.isdisjoint(words) and is_plain(mention.name, (), self._tagger):
                return False
            if not words[1:] and self._text[end : end + 1] in _STOPS and not self._tagger.is_name(words[0]):
                return False
        return not _is_word(mention.name, self._known, self._tagger)

    def _in_line(self, mention: Mention, named: Collection[str]) -> Iterator[Mention]:
        """The name in a mention on a line where capitals mean nothing: at most the words before a number or a
        month.
        """
        if fold(mention.name) in named:
            yield mention
            return
        for line in _LINE.finditer(self._text, mention.offset, mention.offset + mention.length):
            words = words_of(self._text, *line.span())
            ends = (index for index, word in enumerate(words) if index and _ends_name(word.text))
            words = words[: next(ends, len(words))]
            twice = words[1:] and (words[0].text == words[1].text or words[0].text.isupper())
            if twice and is_short_form(words[0].text, " ".join(word.text for word in words[1:])):
                del words[0]  # of two cells, or in a list of abbreviations
            alone = line.start() in self._starts and self._text[line.end() : line.end() + 1] in _STOPS
            while words and words[0].lower in self._lower:
                del words[0]
                alone = True
            while words and words[-1].text.islower():
                del words[-1]
            labels = [self._is_common(word) and word.lower not in self._types for word in words]
            rare = labels.index(True) if True in labels else len(words)
            later = _GOES_ON.match(self._text, line.end()) or all(w.lower in self._lower for w in words[1:])
            if (rare > 1 and len(words[rare - 1].text) > 1 and all(labels[rare:])) or (rare == 1 and later):
                del words[rare:]  # "Ada Venn Director", "Orrin Replacement of pumps"
            elif labels and labels[-1] and (labels[0] or words[0].text.isupper()):
                continue
            if words:
                start, stop = words[0].start, words[-1].end
                name = " ".join(self._text[start:stop].split())
                doubtful = all(map(self._is_common, words)) or (alone and len(words) == 1)
                if fold(name) in named or not doubtful:
                    yield Mention(start, stop - start, name)

    def _is_common(self, word: Word) -> bool:
        """Whether the text also has a word without a capital, or the language does not have it as a name."""
        tagger = self._tagger
        return word.lower in self._lower or tagger.is_common(word.text) or not tagger.may_name(word.text)


def _ends_name(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None or word.casefold() in month_words()


def is_clause(units: Sequence[Unit]) -> bool:
    """Whether a sentence has a verb that is not capitalised as in a heading."""
    whole = bool(units) and units[-1].text in {".", "!", "?"}
    verbs = FINITE | {"E", "G", "I"} if whole else FINITE
    return any(
        unit.kind in verbs and (not unit.text[0].isupper() or (whole and not index))
        for index, unit in enumerate(unit for unit in units if unit.kind not in "Q(")
    )


def filter_mentions(
    mentions: Sequence[Mention],
    text: str,
    sentences: Sequence[Sentence],
    *,
    language: str | None,
    title: str | None,
    certain: Collection[str] = (),
    turns: Sequence[Turn] = (),
) -> tuple[Mention, ...]:
    """The mentions of a text that are names by their parts of speech.

    Args:
        mentions: in text order.
        text: a chunk's.
        sentences: those of its sentences that are no rows of tables.
        language: BCP 47.
        title: of its document.
        certain: names that are names whatever the tags say.
        turns: who speaks where in it.
    """
    tagger = tagger_for(language)
    if tagger is None:
        return tuple(mentions)
    names = NameFilter(text, sentences, mentions, tagger, title=title, certain=certain, turns=turns)
    for sentence in sentences:
        turn = turn_at(turns, sentence.offset)
        span = (max(sentence.offset, turn.words if turn else 0), sentence.offset + sentence.length)
        names.read(span)
    return names.names()
