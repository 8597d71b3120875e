"""Why a statement is not asserted: it is denied, guessed, supposed, reported, asked or demanded.

Such statements become rejected candidates with one of these reasons: `negated`, `hedged` (also wishes, plans
and what is possible), `conditional`, `reported`, `question`, `request`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .lexicon import Lexicon
from .phrases import NounPhrase, VerbGroup
from .units import Unit


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
    """`negated` for an object that is none: "had no children"."""
    return "negated" if noun.determiner in words.negative else ""
