"""Whether a statement that a model gives denies something: such a one is not asserted, as with rules."""

from __future__ import annotations

import re
from functools import lru_cache

from .lexicon import read_table

_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*(?:-[^\W\d_]+)*\.?")


@lru_cache(maxsize=1)
def _lists() -> tuple[frozenset[str], frozenset[str], str]:
    table = read_table("negation")
    return frozenset(table["words"].split()), frozenset(table["none"].split()), str(table["han"])


def denies(predicate: str, value: str | None) -> bool:
    """Whether a statement is negated.

    Args:
        predicate: in lower case.
        value: the object, where it is a value; None for an entity.
    """
    words, none, han = _lists()
    said = _WORDS.findall(predicate.lower())
    if any(word in words or word.endswith(("n't", "n’t")) or word.startswith(("n'", "n’")) for word in said):
        return True
    if (predicate[:1] in han and predicate[:1]) or predicate.startswith("并非"):
        return True
    first = _WORDS.match((value or "").lower())
    return first is not None and first[0] in none
