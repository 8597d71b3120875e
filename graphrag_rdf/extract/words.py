"""The words of a text as names are looked for in it: where they stand, and whether they have a capital."""

from __future__ import annotations

import re
from itertools import accumulate, islice
from typing import NamedTuple

WORD = re.compile(
    r"(?:[A-Z]\.){2,}"  # U.S.
    r"|[^\W_]+(?:['’.&/_‐‑-][^\W_]+)*"  # O'Brien, AT&T, Stratford-upon-Avon
)
_WORDS_BETWEEN = re.compile(f"({WORD.pattern})")
_POSSESSIVE = re.compile(r"(?:['’][sS]|(?<=[sS])['’])$")
CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
OPENING = re.compile(r"(?:\([^\W_]{1,3}\)|[\W\d_])*")
"""What may stand before the first word of a sentence: quotation marks, bullets, `(a)`, numbers."""
_ARABIC_ARTICLE = re.compile(r"(?!non|pre|mid|pro|ex|un)[a-z]{2,3}[-‐‑][A-Z]").match  # al-Karim


class Word(NamedTuple):  # a tuple is made three times faster than a frozen dataclass, and there are many
    """A word: its place in code points, as it is written and in lower case, and whether it has a capital."""

    start: int
    end: int
    text: str
    lower: str
    capital: bool


def words_of(text: str, start: int = 0, end: int | None = None) -> list[Word]:
    """The words of a text, or of a part of it, without an owner's s."""
    found: list[Word] = []
    # in bulk: a match object for each word would take as long as all the rest
    parts = _WORDS_BETWEEN.split(text[start:end])
    offsets = islice(accumulate(map(len, parts), initial=start), 1, None, 2)
    for word, offset in zip(parts[1::2], offsets, strict=False):
        token = _POSSESSIVE.sub("", word) if "'" in word or "’" in word else word
        lower = token.lower()
        # eBay and iPhone count as capitalised too
        capital = lower != token and (
            token[0].isupper() or token[1:2].isupper() or _ARABIC_ARTICLE(token) is not None
        )
        # past the constructor, which takes longer than all the rest
        found.append(tuple.__new__(Word, (offset, offset + len(token), token, lower, capital)))
    return found


def has_capitals(text: str) -> bool:
    """Whether a text has any capital."""
    return any(character.isupper() for character in text)


def mostly_cjk(text: str) -> bool:
    """Whether at least half of the letters are of Chinese, Japanese or Korean."""
    if not CJK.search(text):
        return False
    return len(CJK.findall(text)) * 2 >= sum(character.isalpha() for character in text)
