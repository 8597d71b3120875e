"""The word lists of the rules, read once from the data files beside this module."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

TAGGED_LANGUAGES = ("en", "de", "nl")
"""Languages with a part-of-speech tagger and patterns."""
_INVERTED = ("words", "head_types", "name_types", "titles", "pronouns", "periods")
"""Sections of a language's file that list words under what is wanted of each."""


def read_table(name: str) -> dict[str, Any]:
    """One data file as a table.

    Args:
        name: file name without `.toml`.
    """
    return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text("utf-8"))


def base_language(language: str | None) -> str | None:
    """The primary subtag of a BCP 47 tag: `en` for `en-GB`."""
    return language.replace("_", "-").split("-")[0].lower() if language else None


@lru_cache(maxsize=1)
def _stopword_table() -> dict[str, frozenset[str]]:
    return {code: frozenset(words.split()) for code, words in read_table("stopwords").items()}


@lru_cache(maxsize=1)
def all_stopwords() -> frozenset[str]:
    """Words that can name nothing in English, and pronouns and articles of the other languages.

    Only short words of other languages count: `die` is no name anywhere, `Nun` might be one.
    """
    table = _stopword_table()
    foreign = frozenset(
        word for code, words in table.items() if code != "en" for word in words if 1 < len(word) <= 3
    )
    return table["en"] | foreign


@lru_cache(maxsize=16)
def stopwords(language: str | None) -> frozenset[str]:
    """Stop words of one language; English ones for a language without a list."""
    table = _stopword_table()
    return table.get(base_language(language) or "en", table["en"])


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Closed word classes and type hints of one language; keys are case folded.

    Args:
        tags: start of a tagger's tag -> unit class (see `tagging`), longest start wins.
        words: word -> unit class, whatever the tagger says.
        verbs_too: forms that the tagger takes for nouns and that are verbs between names ("stars").
        light: nouns too empty to be a subject by themselves.
        head_types: head noun -> entity type.
        name_types: last word of a name (Ltd, River) -> entity type.
        titles: honorific before a name -> entity type.
        pronouns: pronoun -> `he`, `she`, `it`, `they` or `other`.
        oblique: articles that no subject has.
        indefinite: articles that introduce something new.
        definite: articles; names of people stand without one.
        prepositional: subordinators that are prepositions before a phrase.
        compounds: several words that work as one preposition, as tuples.
        verbal: prepositions whose second phrase still belongs to the verb.
        placing: prepositions before places rather than people.
        giving: verbs with a recipient ("gave Tom the key").
        ranges: words between the ends of a range ("2 to 5").
        year_words: words between a preposition and a year ("im Jahr 1999").
        naming: nouns before a name that stands for itself: "the name oxygen".
        quantifiers: determiners that speak of none, some or all.
        currencies: their names after a number.
        using: verbs whose object is whole before "to".
        negative: those of them that speak of none or hardly any.
        shifting: adjectives without which a role would be another one (former, acting).
        auxiliaries: forms of "do", which leave a statement what it is.
        clause_doubts: subordinator -> why its clause is not asserted (see `modality`).
        sentence_doubts: word -> why a sentence with it is not asserted.
        verb_doubts: verb or adverb beside one -> why its clause is not asserted.
        imperative: start of the tag of verbs that begin a request.
        present, singular, plural: tags of finite verbs; empty where tags do not tell.
        of: links a role to what it belongs to.
        is_: links a thing to its description.
        recipient: the preposition before who is given something.
        periods: preposition before a date or sum -> which of `model.QUALIFIERS` it makes it, or
            `between`.
        date_links: "year" and "day" -> the preposition of a date that stands without one.
        life: "born" and "died" -> the verb for it.
        known_name: a name that the tagger knows; "" where names of several words are tagged as they are.
        verb_second: whether the subject stands before its verb only if nothing else does.
        keeps_case: whether nouns keep their capital inside predicates.
    """

    tags: dict[str, str]
    words: dict[str, str]
    verbs_too: frozenset[str]
    light: frozenset[str]
    head_types: dict[str, str]
    name_types: dict[str, str]
    titles: dict[str, str]
    pronouns: dict[str, str]
    oblique: frozenset[str]
    indefinite: frozenset[str]
    definite: frozenset[str]
    prepositional: frozenset[str]
    compounds: frozenset[tuple[str, ...]]
    verbal: frozenset[str]
    placing: frozenset[str]
    giving: frozenset[str]
    ranges: frozenset[str]
    year_words: frozenset[str]
    naming: frozenset[str]
    quantifiers: frozenset[str]
    currencies: frozenset[str]
    using: frozenset[str]
    negative: frozenset[str]
    shifting: frozenset[str]
    auxiliaries: frozenset[str]
    clause_doubts: dict[str, str]
    sentence_doubts: dict[str, str]
    verb_doubts: dict[str, str]
    imperative: str
    present: frozenset[str]
    singular: frozenset[str]
    plural: frozenset[str]
    of: str
    is_: str
    recipient: str
    periods: dict[str, str]
    date_links: dict[str, str]
    life: dict[str, str]
    known_name: str
    verb_second: bool
    keeps_case: bool


@lru_cache(maxsize=8)
def lexicon(language: str) -> Lexicon:
    """The lexicon of a tagged language.

    Args:
        language: one of `TAGGED_LANGUAGES`.
    """
    table = read_table(language)
    values: dict[str, Any] = {name: frozenset(words.split()) for name, words in table["lists"].items()}
    values["compounds"] = frozenset(tuple(phrase.split("_")) for phrase in values["compounds"])
    values |= {name: _inverted(table[name]) for name in _INVERTED}
    values |= {f"{name}_doubts": _inverted(words) for name, words in table["doubts"].items()}
    return Lexicon(tags=table["tags"], **values, **table["spelling"])


def _inverted(table: dict[str, str]) -> dict[str, str]:
    return {word: key for key, words in table.items() for word in words.split()}
