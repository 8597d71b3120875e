"""Names that would only make noise in the graph."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from .lexicon import all_stopwords
from .normalise import fold

DEFAULT_SHORT_NAMES = frozenset({"C", "R"})
"""Names of one letter that are names all the same."""

# what models and forms write where there is nothing to write
_PLACEHOLDERS = frozenset(
    {"none", "n/a", "null", "nil", "nan", "undefined", "tbd", "not specified", "not available"}
)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")


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
        `empty`, `too_short`, `too_long`, `only_digits`, `mostly_symbols`, `placeholder`, `stop_word`, or
        None for a name that is fit.
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
    letters = sum(1 for character in text if unicodedata.category(character)[0] in "LM")
    if letters == 0:
        return "only_digits" if any(character.isdigit() for character in text) else "mostly_symbols"
    if len(text) < min_length and not _CJK.search(text):
        return "too_short"
    visible = sum(1 for character in text if not character.isspace())
    digits = sum(1 for character in text if character.isdigit())
    if (letters + digits) * 2 < visible:
        return "mostly_symbols"
    return "stop_word" if folded in all_stopwords() and not _is_acronym(text) else None


def _is_acronym(text: str) -> bool:
    """`IT`, `WHO` and `US` are names, `It`, `who` and `us` are not."""
    return len(text) > 1 and text.isupper()
