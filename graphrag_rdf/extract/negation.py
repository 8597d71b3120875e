"""Statements of a model that the text denies, supposes or asks: they are not asserted, as with rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from graphrag_rdf.documents.sentences import without_emoji

from .lexicon import all_stopwords, read_table

_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*(?:-[^\W\d_]+)*\.?")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CLAUSE = re.compile(r"[,;:.!?，。；：！？、]+(?!\d)|\s[-–—]\s")
_CLOSING = " \"'”’)»」』*_"
_WINDOW = 3
"""Words after a denying word that it may deny."""


@dataclass(frozen=True, slots=True)
class _Lists:
    words: frozenset[str]
    none: frozenset[str]
    denying: frozenset[str]
    guessing: frozenset[str]
    parting: frozenset[str]
    lifting: frozenset[str]
    han_guessing: frozenset[str]
    han: str


@lru_cache(maxsize=1)
def _lists() -> _Lists:
    table = read_table("negation")
    han = table.pop("han")
    return _Lists(**{name: frozenset(words.split()) for name, words in table.items()}, han=han)


def denies(predicate: str, value: str | None) -> bool:
    """Whether a statement is negated.

    Args:
        predicate: in lower case.
        value: the object, where it is a value; None for an entity.
    """
    lists = _lists()
    said = _WORDS.findall(predicate.lower())
    if any(word in lists.words or _is_contracted(word) or word.startswith(("n'", "n’")) for word in said):
        return True
    if (predicate[:1] in lists.han and predicate[:1]) or predicate.startswith("并非"):
        return True
    first = _WORDS.match((value or "").lower())
    return first is not None and first[0] in lists.none


def doubt_of_quote(quote: str, predicate: str, target: str) -> str:
    """Why a quote does not state what a model read in it, or "".

    It asks (`question`), or it denies (`negated`) or only supposes (`hedged`) the predicate or the object:
    "was never sold", read as "was sold".

    Args:
        predicate: in lower case.
        target: the object.
    """
    if without_emoji(quote).rstrip(_CLOSING).endswith(("?", "？")):
        return "question"
    lists, clauses = _lists(), _clauses(quote)
    verbs, things = _content(predicate), _content(target)
    in_quote = not {*things}.isdisjoint(_content(quote))
    for reason, marks, reach, han in (
        ("negated", lists.denying, 1, f"[{lists.han}]有?"),  # "not exceed 40 mg" does not deny the 40 mg
        ("hedged", lists.guessing, _WINDOW, f"(?:{'|'.join(sorted(lists.han_guessing))})"),
    ):
        if not marks.isdisjoint(_WORD.findall(predicate)):  # "may cause"
            continue
        for clause in clauses:
            # where the object stands in another clause, the predicate may be meant there
            elsewhere = in_quote and {*things}.isdisjoint(word.lower() for word in clause)
            for near in _marked(clause, marks):
                if not elsewhere and any(_alike(one, verb) for one in near for verb in verbs):
                    return reason
                objects = _content(" ".join(near))[:reach]
                if things and things[0].isalpha() and any(_alike(one, things[0]) for one in objects):
                    return reason
        if any(len(said) > 1 and re.search(han + re.escape(said), quote) for said in (predicate, target)):
            return reason
    return ""


def _clauses(quote: str) -> list[list[str]]:
    """The words of each clause; "not" for a word that is contracted with it."""
    clauses: list[list[str]] = []
    for part in _CLAUSE.split(quote):
        clauses.append([])
        for word in _WORD.findall(part):
            if word in _lists().parting:
                clauses.append([])
            else:
                clauses[-1].append("not" if _is_contracted(word) else word)
    return clauses


def _marked(clause: list[str], marks: frozenset[str]) -> Iterator[list[str]]:
    """The words shortly after each marking word of a clause, in lower case; none where it is taken back."""
    folded = [word.lower() for word in clause]
    for place, word in enumerate(clause, 1):  # as it is spelt: "May" is a month
        if word in marks and _lists().lifting.isdisjoint(folded[place:]):
            yield folded[place : place + _WINDOW]


def _content(text: str) -> list[str]:
    """The words of a text that name or say something, in lower case."""
    return [word for word in _WORD.findall(text.lower()) if word not in all_stopwords()]


def _is_contracted(word: str) -> bool:
    return word.lower().endswith(("n't", "n’t"))


def _alike(one: str, other: str) -> bool:
    """Whether two words may be forms of one: "expect" and "expects"."""
    short, long = sorted((one, other), key=len)
    more = len(long) - len(short)
    return long.startswith(short) and (more == 0 or (len(short) > 2 and more < 4))
