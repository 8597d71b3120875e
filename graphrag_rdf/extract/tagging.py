"""Parts of speech by HanTa (LGPL-3.0-or-later; English, German, Dutch), and the units of a sentence.

HanTa: C. Wartena (2019), "A Probabilistic Morphology Model for German Lemmatization", KONVENS. A model is
loaded once per process, at first use, in about 0.15 s; tagging only reads it, so threads share it.

A unit is a name, a date or a word with a class letter; phrases are regular expressions over these letters:

| | | | | | |
|---|---|---|---|---|---|
| P | name | N | noun | J | adjective, ordinal |
| D | article, demonstrative | S | possessive pronoun | O | personal pronoun |
| W | relative pronoun | U | subordinator | C | coordinator |
| B | finite "be" | b | other "be" | H | finite "have" |
| h | other "have" | X | modal, "do" | V | finite verb |
| E | past participle | G | present participle | I | infinitive |
| T | "to" before a verb | L | verb particle | n | negation |
| A | preposition | F | "of", genitive | ' | possessive mark |
| R | adverb | M | number | Y | date, quantity |
| K | comma, dash | . | other stop | ( ) | brackets |
| Q | quotation mark | x | "there" | Z | anything else |
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from .lexicon import TAGGED_LANGUAGES, Lexicon, base_language, lexicon
from .model import Mention
from .names import OPENING
from .numbers import LiteralSpan, month_words

_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz", "nl": "morphmodel_dutch.pgz"}
# the analysis of an unknown word takes time that grows with the square of its length
_LONGEST_WORD = 32
_CACHED_WORDS = 50_000
_NAME_TAGS = ("NP0", "NE", "N(eigen", "SPEC", "UNKNOWN")  # English, German, Dutch
_HARDLY = 4.0  # by how much the logarithm of another tag is greater than that of a name
_GUESSED = -20.0  # the logarithm is less if the model guesses by the letters alone
_DERIVED = 8
_SUFFIXES = ("tion", "tions", "ment", "ments", "ness", "ity", "ities", "ology", "ism", "ive", "ives", "able")
_START = 1  # the model's number for the state before a sentence
_BEAM = 5  # states followed beyond the best ones, as in HanTa's decoder
_FLOOR = -1e6

_TOKEN = re.compile(
    r"(?:[A-Z]\.){2,}"  # U.S.
    r"|\d+(?:[.,:]\d+)*(?:st|nd|rd|th|s)?(?![^\W\d_])"
    r"|[^\W\d_]+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b"
    r"|[ODLodl]['’][^\W\d_]{3,}"  # O'Brien, d'Artagnan, o'clock
    r"|[^\W_]+(?:[-‐‑&./_][^\W_]+)*"
    r"|--+|\.{3}|[^\w\s]|_"
)
_QUOTE_MARKS = str.maketrans("’‘“”„«»–", '\'\'"""""-')


class Tagger:
    """A part-of-speech tagger of one language; get it from `tagger_for`.

    Args:
        language: one of `TAGGED_LANGUAGES`.
    """

    def __init__(self, language: str) -> None:
        from HanTa.HanoverTagger import HanoverTagger

        self.language = language
        self._model: Any = HanoverTagger(_MODELS[language])
        # words recur: what each can be is worked out once
        self._model.analyze_forward = lru_cache(maxsize=_CACHED_WORDS)(self._model.analyze_forward)
        self._candidates = lru_cache(maxsize=_CACHED_WORDS)(self._tags_of)
        self._common = lru_cache(maxsize=_CACHED_WORDS)(self._is_common)

    def tag_words(self, tokens: Sequence[str]) -> list[str]:
        """The part of speech of each word.

        Args:
            tokens: the words and marks of one sentence, none empty.

        Returns:
            a tag of the model's tag set for each token.
        """
        words = [token[-_LONGEST_WORD:].translate(_QUOTE_MARKS) for token in tokens]
        return self._best_path(words) if words else []

    def is_common(self, word: str) -> bool:
        """Whether a word is hardly ever a name in the language, so that its capital alone means nothing.

        Args:
            word: as written; of a compound with hyphens, the last part counts.
        """
        month = word.lower().removesuffix("s") in month_words()
        return word.isdigit() or month or self._common(word.rsplit("-", 1)[-1])

    def is_name(self, word: str) -> bool:
        """Whether the model knows a word as a name."""
        tags = self._model.cache.get(self._model.normalize(word), ())
        return any(self._model.int2tag[tag].startswith(_NAME_TAGS) for tag, _ in tags)

    def may_name(self, word: str) -> bool:
        """Whether the model knows a word as a name, or does not know it."""
        if self.is_name(word) or not word.isalpha():
            return True
        return all(p < _GUESSED for _, p in self._candidates(word[-_LONGEST_WORD:], False))

    def _is_common(self, word: str) -> bool:
        cache, plain = self._model.cache, self._model.normalize(word)
        tags = cache.get(plain) or cache.get(plain.removesuffix("s"), ())
        if not tags and self.language == "en":
            return self._is_derived(word)
        least = max((p for _, p in tags), default=0.0) - _HARDLY
        return bool(tags) and not any(
            p > least and self._model.int2tag[tag].startswith(_NAME_TAGS) for tag, p in tags
        )

    def _is_derived(self, word: str) -> bool:
        """Whether a word that is unknown to the model is an adjective, or derived from known words."""
        candidates = sorted(self._candidates(word[-_LONGEST_WORD:], False), key=lambda item: -item[1])
        if not candidates or not word.isalpha():
            return False
        tag, guessed = str(self._model.int2tag[candidates[0][0]]), candidates[0][1] < _GUESSED
        long = len(word) >= _DERIVED and (word.endswith(_SUFFIXES) or (tag.startswith("VV") and not guessed))
        return tag != "UNC" and not tag.startswith(_NAME_TAGS) and (long or (tag == "AJ0" and not guessed))

    def _tags_of(self, word: str, inner: bool) -> list[tuple[int, float]]:
        """The tags that a word can have, with log-probabilities; none if the model knows nothing of it.

        Args:
            inner: it does not begin its sentence, so a capital tells something.
        """
        tags = self._model._tag_word(word, cutoff=5, casesensitive=inner, conditional=True)
        unknown = self._model.tag2int["UNKNOWN"]
        return [(tag, p) for tag, p in tags if tag != unknown]

    def _best_path(self, words: Sequence[str]) -> list[str]:
        """Viterbi decoding of the model's second-order HMM.

        Gives the tags that HanTa's own decoder gives, four times faster: it tries the few tags that a word
        can have rather than all of the tag set. A state is the pair (tag before, tag).
        """
        model = self._model
        start = (model.tag2int["EMPTY"], _START)
        row: dict[tuple[int, int], float] = {start: 0.0}
        back: list[dict[tuple[int, int], tuple[int, int]]] = []
        all_transitions = model.LP_trans_word
        for position, word in enumerate(words):
            candidates = self._candidates(word, position > 0)
            bound = sorted(row.values(), reverse=True)[_BEAM] - 1 if len(row) > _BEAM else _FLOOR
            following: dict[tuple[int, int], float] = {}
            origin: dict[tuple[int, int], tuple[int, int]] = {}
            for state, score in row.items():
                if score < bound:
                    continue
                transitions = all_transitions[state]
                before = state[1]
                for tag, p in candidates:
                    if tag not in transitions:
                        continue
                    total = score + transitions[tag] + p
                    target = (before, tag)
                    if total > following.get(target, _FLOOR):
                        following[target] = total
                        origin[target] = state
            if not following:  # a word that the model can say nothing about: every tag is possible
                return list(model.tag_sent(words, taglevel=0))
            back.append(origin)
            row = following
        end = model.tag2int["END"]
        state = max(row, key=lambda item: row[item] + model.LP_trans_word[item].get(end, _FLOOR))
        path = []
        for origin in reversed(back):
            path.append(model.int2tag[state[1]])
            state = origin[state]
        return path[::-1]


_LOCK = Lock()
_TAGGERS: dict[str, Tagger] = {}


def tagger_for(language: str | None) -> Tagger | None:
    """The tagger of a language, loaded at first use; None if there is none.

    Args:
        language: BCP 47; only the primary subtag counts.
    """
    base = base_language(language)
    if base not in TAGGED_LANGUAGES:
        return None
    with _LOCK:
        if base not in _TAGGERS:
            _TAGGERS[base] = Tagger(base)
    return _TAGGERS[base]


def tokenise(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Words and marks as (start, end) in `text`; clitics such as `'s` and `n't` stand alone.

    Args:
        text: running text.
        start: where to begin.
        end: where to stop; the end of the text if None.
    """
    return [match.span() for match in _TOKEN.finditer(text, start, len(text) if end is None else end)]


# --- units ---------------------------------------------------------------------------------------------


_MARKS = {
    ",": "K",
    "-": ".",  # alone, it is a dash that may stand for anything
    "–": "K",
    "—": "K",
    "--": "K",
    "(": "(",
    "[": "(",
    ")": ")",
    "]": ")",
    '"': "Q",
    "“": "Q",
    "”": "Q",
    "„": "Q",
    "«": "Q",
    "»": "Q",
    "'": "Q",
    "‘": "Q",
    "’": "Q",
    "``": "Q",
    "`": "Q",
}
FINITE = frozenset("BHXV")
"""Classes of finite verbs."""
LONGEST_SENTENCE = 120
"""Tokens; longer ones are tables or lists without stops, which have no grammar."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A word, name, date or mark.

    Args:
        start: in the chunk's text.
        end: in the chunk's text.
        kind: class letter.
        text: as written; for a name the name.
        tag: the tagger's tag of its last token.
        literal: the date, number or quantity that it is.
    """

    start: int
    end: int
    kind: str
    text: str
    tag: str = ""
    literal: LiteralSpan | None = None

    @property
    def lower(self) -> str:
        """Its text in lower case."""
        return self.text.lower()


def build_units(
    text: str,
    span: tuple[int, int],
    tagger: Tagger,
    mentions: Sequence[Mention],
    literals: Sequence[LiteralSpan],
    trusted: frozenset[str],
) -> list[Unit]:
    """The units of one sentence; none if it is too long to be one.

    Args:
        text: the chunk's text.
        span: (start, end) of the sentence in it.
        tagger: of the text's language.
        mentions: names in the chunk, in text order.
        literals: dates and numbers in the chunk, in text order.
        trusted: lower-case words that are names elsewhere in the chunk or in the title.
    """
    words = lexicon(tagger.language)
    tokens = tokenise(text, *span)
    if not tokens or len(tokens) > LONGEST_SENTENCE:
        return []
    names = {m.offset: m for m in _within(mentions, span)}
    tags = tagger.tag_words(_with_stand_ins(text, tokens, names, words.known_name))
    dates = {item.offset: item for item in _within(literals, span)}
    starts = [start for start, _ in tokens]
    first = OPENING.match(text, *span).end()  # type: ignore[union-attr]
    units: list[Unit] = []
    position = 0
    while position < len(tokens):
        start, end = tokens[position]
        kind = _kind(text[start:end], tags[position], words)
        literal, name = dates.get(start), names.get(start)
        described = name is not None and kind == "N" and words.keeps_case and end < start + name.length
        ends = {text[start:end].lower(), name.name.split()[-1].lower()} if name is not None else set()
        if described and name is not None and ends.isdisjoint(words.name_types):
            # "Stadt Kelm" is Kelm, "Universität Kelm" and "Kelm GmbH" are all of it
            inner = text[starts[position + 1] : start + name.length]
            if inner[:1].isupper():
                names[starts[position + 1]] = Mention(starts[position + 1], len(inner), inner)
            name = None
        if literal is not None:
            reach = bisect_left(starts, start + literal.length, position + 1)
            stop = max(tokens[reach - 1][1], start + literal.length)
            units.append(
                Unit(
                    start,
                    stop,
                    "M" if literal.kind == "number" else "Y",
                    text[start:stop],
                    tags[position],
                    literal,
                )
            )
            position = reach
        elif name is not None and _is_name(name, position, kind, tags, text, tokens, words, trusted, first):
            reach = bisect_left(starts, start + name.length, position + 1)
            units.append(Unit(start, start + name.length, "P", name.name, tags[reach - 1]))
            position = reach
        else:
            units.append(Unit(start, end, kind, text[start:end], tags[position]))
            position += 1
    return _refined(_compounded(units, words), words, tagger.language)


def kinds(units: Sequence[Unit]) -> str:
    """The classes as a string, one letter a unit."""
    return "".join(unit.kind for unit in units)


def _within(spans: Sequence[Mention] | Sequence[LiteralSpan], span: tuple[int, int]) -> list:  # type: ignore[type-arg]
    low = bisect_left(spans, span[0], key=lambda item: item.offset)
    high = bisect_left(spans, span[1], key=lambda item: item.offset)
    return [item for item in spans[low:high] if item.offset + item.length <= span[1]]


def _with_stand_ins(
    text: str, tokens: Sequence[tuple[int, int]], names: Mapping[int, Mention], known_name: str
) -> list[str]:
    """The words, those of names of several words replaced by a name that the tagger knows.

    Unknown words are what tagging spends its time on, and a known name leads it astray less often. Not in
    German, where tags have to tell names from other nouns.
    """
    if not known_name:
        return [text[slice(*token)] for token in tokens]
    words: list[str] = []
    inside = 0
    for start, end in tokens:
        name = names.get(start)
        if name is not None and " " in name.name:
            inside = start + name.length
        word = text[start:end]
        words.append(known_name if end <= inside and word[0].isupper() else word)
    return words


def _kind(word: str, tag: str, words: Lexicon) -> str:
    mark = _MARKS.get(word)
    if mark:
        return mark
    if not any(character.isalnum() for character in word):
        return words.words.get(word, ".")
    listed = words.words.get(word.lower().replace("’", "'"))
    if listed:
        return listed
    kind = _by_prefix(tag, words.tags)
    if kind == "P" and word.islower():
        return "N"  # an unknown word, guessed to be a name, but written like a noun
    return kind


def _by_prefix(tag: str, table: Mapping[str, str]) -> str:
    for length in range(len(tag), 0, -1):
        kind = table.get(tag[:length])
        if kind:
            return kind
    return "Z"


def _is_name(
    name: Mention,
    position: int,
    kind: str,
    tags: Sequence[str],
    text: str,
    tokens: Sequence[tuple[int, int]],
    words: Lexicon,
    trusted: frozenset[str],
    first: int,
) -> bool:
    """Whether a mention is a name in its sentence; for single words the tagger decides."""
    start, end = name.offset, name.offset + name.length
    opens = start <= first
    reach = bisect_left(tokens, (end,), position + 1)
    if words.keeps_case and reach > position + 1:  # where all nouns have capitals
        inner = "".join(_kind(text[slice(*tokens[at])], tags[at], words) for at in range(position, reach))
        company = text[tokens[reach - 1][0] : end].lower() in words.name_types
        if opens or company:
            return company or kind == "P"
        return ("P" in inner and inner[:2] not in {"NF", "NA"}) or kind == "J"  # no "Entstehung von Blasen"
    if any(mark in text[start:end] for mark in " .&") or name.name != text[start:end]:
        return not (opens and kind in "VI" and tags[position].startswith(words.imperative))
    if opens:
        return (
            kind == "P"
            or (kind in "NJ" and name.name.lower() in trusted)
            or not name.name.isalpha()
            or text[start:end].isupper()
        )
    if kind == "J" and position + 1 < len(tags):
        following = tokens[position + 1]
        after = _kind(text[following[0] : following[1]], tags[position + 1], words)
        return after not in {"N", "J"}  # "Dutch engineer" names no Dutch
    if words.keeps_case:
        return kind == "P" or text[start:end].isupper()
    return kind not in "BbHhXDOSCUATR" or text[start:end].isupper()


def _compounded(units: list[Unit], words: Lexicon) -> list[Unit]:
    """Joins the words of prepositions such as "on behalf of"."""
    if not words.compounds:
        return units
    openings = {phrase[0] for phrase in words.compounds}
    joined: list[Unit] = []
    position = 0
    while position < len(units):
        unit, length = units[position], 1
        # "is related to" is a verb, "costs related to" leads on
        leads = unit.kind not in "EG" or not position or units[position - 1].kind not in "BbHhR"
        if leads and unit.lower in openings:
            for size in (3, 2):
                parts = units[position : position + size]  # fewer at the end
                phrase = tuple(part.lower for part in parts)
                if phrase in words.compounds:
                    unit = Unit(unit.start, parts[-1].end, "A", " ".join(phrase), unit.tag)
                    length = len(parts)
                    break
        joined.append(unit)
        position += length
    return joined


def _refined(units: list[Unit], words: Lexicon, language: str) -> list[Unit]:
    """Units whose class depends on their neighbours."""
    refined: list[Unit] = []
    for position, unit in enumerate(units):
        kind = unit.kind
        following = units[position + 1].kind if position + 1 < len(units) else "."
        before = refined[-1].kind if refined else "."
        if unit.text == "." and refined and refined[-1].end == unit.start and position + 1 < len(units):
            continue  # of an abbreviation: another full stop would have ended the sentence
        if kind == "U" and unit.lower in words.prepositional and following in "DSJMNPY":
            kind = "A"
        elif kind == "U" and unit.lower == "that" and before in "NP" and following in "BHXV":
            kind = "W"
        elif language == "de" and kind in "Df" and unit.lower in {"der", "des", "eines", "einer"}:
            kind = "F" if before in "NP" and following in "DSJMNP" else "D"
        elif language == "de" and kind == "F" and before in "MY":
            kind = "A"  # "1722 von Ada Venn erbaut"
        elif kind == "N" and unit.lower in words.verbs_too and before == "P" and following in "PD":
            kind = "V"
        elif kind == "R" and unit.lower in words.quantifiers and following == "N" and before not in "DS":
            kind = "D"  # "has most spectators"
        elif (kind == "Q" and unit.text in "'’" and before in "NP" and following in "NJP") or (
            kind == "B" and unit.text[:1] in "'’" and before in "NP" and following in "NJP"
        ):
            kind = "'"
        if kind != unit.kind:
            unit = Unit(unit.start, unit.end, kind, unit.text, unit.tag, unit.literal)  # noqa: PLW2901
        refined.append(unit)
    return refined
