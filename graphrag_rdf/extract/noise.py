"""Names that would only make noise in the graph."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from functools import lru_cache

from .lexicon import all_stopwords, read_table
from .normalise import fold
from .words import CJK

DEFAULT_SHORT_NAMES = frozenset({"C", "R"})
"""Names of one letter that are names all the same."""

# what models and forms write where there is nothing to write
_PLACEHOLDERS = frozenset(
    {"none", "n/a", "null", "nil", "nan", "undefined", "tbd", "not specified", "not available"}
)


def reject_reason(
    name: str,
    *,
    min_length: int = 2,
    max_length: int = 120,
    allowed: Collection[str] = DEFAULT_SHORT_NAMES,
) -> str | None:
    """Why a name should not become an entity.

    Args:
        name: the candidate.
        min_length: code points; a single CJK character counts as a word and passes.
        max_length: code points.
        allowed: names that pass whatever they look like, compared exactly.

    Returns:
        `empty`, `too_short`, `too_long`, `only_digits`, `mostly_symbols`, `placeholder`, `stop_word`,
        `possessive` ("her brother"), or None for a name that is fit.
    """
    text = name.strip()
    if text in allowed:
        return None
    folded = fold(text)
    if not folded:
        return "empty"
    if len(text) > max_length:
        return "too_long"
    if folded in _PLACEHOLDERS:
        return "placeholder"
    letters, digits = _count(text)
    if letters == 0:
        return "only_digits" if digits else "mostly_symbols"
    if len(text) < min_length and not CJK.search(text):
        return "too_short"
    if (letters + digits) * 2 < sum(map(len, text.split())):
        return "mostly_symbols"
    if folded in all_stopwords() and not is_acronym(text):
        return "stop_word"
    return "possessive" if _is_owned(text) else None


def is_placeholder(name: str) -> bool:
    """Whether a name is what is written where there is nothing to write."""
    return fold(name) in _PLACEHOLDERS


def _count(text: str) -> tuple[int, int]:
    """Letters, with the marks that combine with them, and digits."""
    digits = sum(map(str.isdigit, text))
    if text.isascii():
        return sum(map(str.isalpha, text)), digits
    return sum(1 for character in text if unicodedata.category(character)[0] in "LM"), digits


def _is_owned(text: str) -> bool:
    """Whether a possessive stands before what is no name: "My Fair Lady" is one."""
    first, _, rest = text.partition(" ")
    return first.lower() in _possessives() and (first[0].islower() or rest[:1].islower())


@lru_cache(maxsize=1)
def _possessives() -> frozenset[str]:
    return frozenset(read_table("names")["particles"]["possessive"].split())


def is_acronym(text: str) -> bool:
    """`IT`, `WHO` and `US` are names, `It`, `who` and `us` are not."""
    return len(text) > 1 and text.isupper()
