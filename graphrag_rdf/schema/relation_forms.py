"""Whether two names of relations differ in form only: "work at", "works at", "has worked at".

English names have the same form if they differ in

- hyphens, underscores, articles, or words written together (`worksAt`);
- tense, person and number: words are reduced by the steps of the Porter2 stemmer that undo inflection (M. F.
  Porter, https://snowballstem.org/algorithms/english/stemmer.html, steps 1a, 1b and the final e of step 5).
  Steps that undo derivation would make "director of" of "directed";
- "has" before a participle, and "is" before a present participle;
- "is" before a noun phrase with a preposition ("is part of"), or before a participle that is passive without
  it ("is located in", "is written by").

All else tells relations apart: "founded" and "was founded", "born in" and "born on", "not part of". Words of
other languages count as they are; in German "ist" and articles are left out, and weak past forms reduced.
Names without a word of their own ("is", "has", "in") have no form.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from graphrag_rdf.index.analyse import fold, irregular_forms, spoken_by, stop_words

Form = tuple[str, ...]
"""What names of the same form have in common."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?=[A-Z])")
_VOWEL = re.compile("[aeiouy]")
_SHORT = re.compile(r"[^aeiouy]*[aeiouy][^aeiouywx]|[aeiouy][^aeiouy]")
_DOUBLE = re.compile(r"(bb|dd|ff|gg|mm|nn|pp|rr|tt)$")
_PASSIVE = "(passive)"


@dataclass(frozen=True, slots=True)
class _Words:
    """The lists of a language in `data/relation_words.toml`."""

    articles: frozenset[str]
    be: frozenset[str]
    have: frozenset[str]
    prepositions: frozenset[str]
    passive: frozenset[str]
    participles: frozenset[str]
    naming: frozenset[str]
    active_by: frozenset[str]
    adjectives: frozenset[str]
    attributes: frozenset[str]
    ambiguous: frozenset[str]
    nouns: frozenset[str]
    nominal: tuple[str, ...]
    verbal: frozenset[str]


@cache
def _words(language: str) -> _Words:
    table = tomllib.loads(Path(__file__).with_name("data").joinpath("relation_words.toml").read_text("utf-8"))
    words = {name: frozenset(words.split()) for name, words in table.get(language, {}).items()}
    words = {name: words.get(name, frozenset()) for name in _Words.__dataclass_fields__}
    return _Words(**{**words, "nominal": tuple(sorted(words["nominal"]))})  # type: ignore[arg-type]


@lru_cache(maxsize=20_000)
def form_of(name: str, language: str | None = None) -> Form:
    """The form of a relation's name; empty if it has no word of its own.

    Args:
        language: of the name, BCP 47 primary tag; None to guess it.
    """
    surface = _CAMEL.sub(" ", name) if " " not in name.strip() else name
    if fold(surface) == fold(name):
        surface = name
    parts = _WORD.findall(surface)
    language = language or spoken_by(" ".join(parts)) or "en"
    if language == "en":
        return _english([fold(part).replace("’", "'") for part in parts])
    if language == "de":
        return _german(parts)
    words = [fold(part) for part in parts]
    return tuple(words) if any(word not in stop_words().get(language, ()) for word in words) else ()


def _english(words: list[str]) -> Form:
    lists = _words("en")
    words = [word for n, word in enumerate(words) if word not in lists.articles or n == len(words) - 1]
    if len(words) > 2 and words[0] in lists.have and words[1] == "been":
        words[:2] = ["was"]
    elif len(words) > 1 and words[0] in lists.have and _is_participle(words[1], lists):
        words[:2] = [irregular_forms()["en"].get(words[1], words[1])]
    passive = False
    if len(words) > 2 and words[0] in lists.be:
        first, last = words[1], words[-1]
        ends = last in lists.prepositions
        if _is_present_participle(words[1:], lists):
            del words[0]
        elif ends and (first in lists.passive or (last == "by" and _is_passive_by(first, lists))):
            del words[0]
            passive = True
        elif ends and _is_nominal(words[1:-1], last, lists):
            del words[0]
    elif len(words) > 1 and words[-1] in lists.prepositions:
        passive = words[0] in lists.passive or (words[-1] == "by" and _is_passive_by(words[0], lists))
    common = stop_words()["en"] | lists.prepositions
    bases = [_base(word, n == 0, words, lists) for n, word in enumerate(words)]
    if all(word in common or word in ("be", "have", "do") for word in (*bases, *words)):
        return ()
    return (*bases, _PASSIVE) if passive else tuple(bases)


def _is_participle(word: str, lists: _Words) -> bool:
    """Whether a word is a past participle, and no base form."""
    if word in lists.passive or word in lists.participles or word in lists.ambiguous:
        return word not in lists.ambiguous
    irregular = irregular_forms()["en"].get(word)
    return (irregular is not None and irregular not in ("be", "have", "do", "child", "foot", "goose")) or (
        len(word) > 4 and word.endswith("ed") and not word.endswith("eed") and word not in lists.nouns
    )


def _is_passive_by(word: str, lists: _Words) -> bool:
    """Whether a word is passive before "by" without "was"."""
    return _is_participle(word, lists) and word not in lists.active_by


def _is_present_participle(words: list[str], lists: _Words) -> bool:
    """Whether a phrase begins with a verb in -ing, which is no noun ("building of")."""
    word = words[0]
    verb = word.endswith("ing") and word not in lists.nouns and _VOWEL.search(word[:-3]) is not None
    return verb and (len(words) == 1 or words[1] not in ("of", "by"))


def _is_nominal(words: list[str], preposition: str, lists: _Words) -> bool:
    """Whether the words between "is" and a preposition are a noun phrase or an adjective, and no verb."""
    first, common = words[0] if words else "", stop_words()["en"] | lists.prepositions
    if not words or first in common or _is_participle(first, lists) or first.endswith(("ing", "ly")):
        return False
    if first in lists.ambiguous or any(word in common for word in words):
        return False
    if preposition == "of" or len(words) > 1:
        return True
    return first.endswith(lists.nominal) and first not in lists.verbal


def _base(word: str, first: bool, words: list[str], lists: _Words) -> str:
    """A word without its inflection."""
    if word in lists.be:
        return "be"
    if word in lists.have:
        return "have"
    if word in ("does", "did"):
        return "do"
    if word in stop_words()["en"] or word in lists.prepositions or word in lists.nouns:
        return word
    if word in lists.ambiguous or word in lists.participles:
        return f"{word}="
    if len(words) == 1 and word in lists.attributes:
        return f"{word}="
    if first and (word in lists.adjectives or (word in lists.naming and words[-1] not in lists.prepositions)):
        return f"{word}="
    if word in irregular_forms()["en"]:
        return _without_inflection(irregular_forms()["en"][word])
    if word.endswith("ing") and not (first and _is_present_participle(words, lists)):
        return word
    return _without_inflection(word)


def _without_inflection(word: str) -> str:
    """Steps 1a and 1b of Porter2, and without a final e, unless the word is short ("hope" is not "hop")."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = word.removesuffix("'s")
    if word.endswith("sses"):
        word = word[:-2]
    elif word.endswith(("ies", "ied")):
        word = word[:-3] + ("y" if len(word) > 4 else "ie")
    elif word.endswith(("xes", "ches", "shes", "zzes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("us", "ss", "is")) and _VOWEL.search(word[:-2]):
        word = word[:-1]
    else:
        for ending in ("ed", "ing"):
            stem = word.removesuffix(ending)
            if stem != word and not word.endswith("eed") and _VOWEL.search(stem):
                if _DOUBLE.search(stem):
                    word = stem[:-1]
                elif _SHORT.fullmatch(stem):
                    word = stem + "e"
                else:
                    word = stem
                break
    if word.endswith("e") and not _SHORT.fullmatch(word[:-1]) and len(word) > 3:
        word = word[:-1]
    return word


def _german(parts: list[str]) -> Form:
    lists = _words("de")
    kept = [part for part in parts if fold(part) not in lists.articles]
    words = [fold(part) for part in kept]
    if len(words) > 2 and words[0] in lists.be and words[-1] in lists.prepositions and kept[1][:1].isupper():
        del words[0], kept[0]
    common = stop_words()["de"] | lists.be
    if all(word in common for word in words):
        return ()
    return tuple(
        "sein" if word in lists.be else word if part[:1].isupper() else _weak_past(word)
        for word, part in zip(words, kept, strict=True)
    )


def _weak_past(word: str) -> str:
    """ "spielte" and "spielten" are "spielt"."""
    for ending in ("ten", "te"):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return f"{word.removesuffix(ending)}t"
    return word


def function_words(name: str) -> tuple[str, ...]:
    """The words of a name's form that mean little by themselves: prepositions, auxiliaries, negation."""
    return tuple(sorted(word for word in form_of(name) if word in _little() or word == _PASSIVE))


def voices(name: str, language: str | None = None) -> tuple[bool, Form]:
    """Whether an English name is passive with "by", and the form that its active and passive have in common.

    Equal for "founded" and "was founded by", of which one is the inverse of the other; empty for names that
    have no form.
    """
    form = form_of(name, language)
    passive = form[-2:] == ("by", _PASSIVE)
    return passive, tuple(map(_active, form[:-2] if passive else form))


def _active(word: str) -> str:
    """The base form of a participle that is kept as it is ("written=")."""
    return _plain(word) if word.endswith("=") else word


def same_words(first: str, second: str) -> bool:
    """Whether two names have the same words, but for those that mean little by themselves."""
    return _content(first) == _content(second)


def _content(name: str) -> set[str]:
    return {_plain(word) for word in form_of(name) if word not in _little() and word != _PASSIVE}


def _plain(word: str) -> str:
    """The base form, also of words whose form decides whether a name is active."""
    word = word.removesuffix("=")
    return _without_inflection(irregular_forms()["en"].get(word, word))


@cache
def _little() -> frozenset[str]:
    return stop_words()["en"] | _words("en").prepositions | {"be", "have", "do"}
