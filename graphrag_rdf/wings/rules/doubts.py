"""Why a statement that the rules read is not asserted, judged by its grammar; the reasons are those of
`extract.modality`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from graphrag_rdf.extract.lexicon import Lexicon
from graphrag_rdf.extract.tagging import Unit
from graphrag_rdf.wings.rules.phrases import NounPhrase, VerbGroup

_GOES_ON = re.compile(r"[\w‐‑–/%=+-]|:[^\s\d]")
_DASHES = frozenset("-–—")
_NAMES = frozenset("FNPMY")
_PHRASE = frozenset("DSOJNP")


def doubt_of_sentence(units: Sequence[Unit], words: Lexicon) -> str:
    """Why a sentence as a whole asserts nothing, or "".

    Args:
        units: of the sentence.
        words: lexicon of its language.
    """
    if not units:
        return ""
    spoken = [unit for unit in units if unit.kind not in "Q()"]
    if spoken and spoken[-1].text == "?":
        return "question"
    if spoken and spoken[0].tag.startswith(words.imperative) and spoken[0].kind in "VI":
        return "request"
    for unit in units:
        if unit.kind not in "PN" and (reason := words.sentence_doubts.get(unit.lower.replace(" ", "_"))):
            return reason
    return ""


def doubt_of_verb(verb: VerbGroup, words: Lexicon) -> str:
    """Why a verb asserts nothing, or "".

    Args:
        verb: with its auxiliaries and the adverbs between them.
        words: lexicon of its language.
    """
    for unit in verb.units:
        if unit.kind == "n":
            return "negated"
        if reason := words.verb_doubts.get(unit.lower):
            return reason
    plain = [unit for unit in verb.units if unit.kind not in "Rn"]
    modal = any(unit.kind == "X" and unit.lower not in words.auxiliaries for unit in plain)
    return "hedged" if modal or any(unit.kind == "T" for unit in plain) else ""


def doubt_of_object(noun: NounPhrase, words: Lexicon) -> str:
    """`negated` for an object with a negative determiner: "had no children"."""
    return "negated" if noun.determiner in words.negative else ""


def leaves_a_phrase(object_: Sequence[Unit], units: Sequence[Unit]) -> bool:
    """Whether another noun follows the object in its clause. In German the verb may belong to that one:
    "erhielt 1030 in Kelm das Gut".

    Args:
        object_: its units; empty for one that a further object follows.
        units: of the sentence, in text order.
    """
    if object_[-1] not in units:
        return False
    following = units[units.index(object_[-1]) + 1 :]
    clause = takewhile(lambda unit: unit.kind not in "K.CUW(", following)
    return any(unit.kind in "NP" for unit in clause)


def points_elsewhere(object_: Sequence[Unit], words: Lexicon) -> bool:
    """Whether an object refers to something named before: "a painting of this event"."""
    articles = words.definite | words.indefinite | words.quantifiers | words.oblique
    return any(unit.kind == "D" and unit.lower not in articles for unit in object_)


def doubt_of_extent(
    subject: Sequence[Unit], object_: Sequence[Unit], units: Sequence[Unit], text: str, words: Lexicon
) -> str:
    """`cut` if a subject or object is only part of a longer phrase, or "".

    Args:
        subject: its units.
        object_: its units.
        units: of the sentence, in text order.
        text: the chunk's.
        words: lexicon of its language.
    """
    before = units[units.index(subject[0]) - 1] if subject[0] in units[1:] else None
    marked = (
        before is not None and before is not units[0] and before.kind == "." and before.text not in ".:;!?…"
    )
    if before is not None and (marked or before.kind == "'" or _GOES_ON.match(text[subject[0].start - 1])):
        return "cut"
    if not object_ or object_[-1] not in units[:-1] or object_[-1].kind in "DS":  # a pronoun, perhaps unsaid
        return ""
    end = object_[-1].end
    after = units[units.index(object_[-1]) + 1]
    if after.start == subject[0].start:  # "the prince Guaimar"
        return ""
    literal = object_[-1].literal is not None or object_[-1].kind in "MY"
    return (
        "cut"
        if _GOES_ON.match(text[end : end + 2])
        or (literal and (after.lower in words.ranges | _DASHES or after.kind in _PHRASE))
        or (not words.keeps_case and after.kind in _NAMES)
        else ""
    )
