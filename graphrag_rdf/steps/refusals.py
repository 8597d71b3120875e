"""Not knowing: how the program says it in the question's language, and how models do (`refusals.toml`)."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from graphrag_rdf.extract.lexicon import base_language

SENTINEL = "NO ANSWER"
"""What a model is asked to write if the evidence does not answer the question."""

_TABLE = Path(__file__).with_name("refusals.toml")
_SORRY = re.compile(
    r"\W*(?:I['’]?m |I am )?(?:sorry|unfortunately|leider|désolé|lo siento|mi dispiace|helaas)\b",
    re.IGNORECASE,
)
_SENTINEL = re.compile(r"[\W_]*NO[ _-]ANSWER[\W_]*(?=$|\s|:)")
_AT_END = re.compile(r"\s*\W?NO ANSWER\W*$")
_SHORT = 30  # characters of an apology that says nothing else


def not_answered(language: str | None) -> str:
    """What the program says where the documents found do not answer; English where it has no other words."""
    return _said("not_answered", language)


def nothing_found(language: str | None) -> str:
    """What the program says where nothing was found."""
    return _said("nothing_found", language)


def is_sentinel(text: str) -> bool:
    """Whether a model's answer begins with the sentinel."""
    return _SENTINEL.match(text) is not None


def may_become_sentinel(text: str) -> bool:
    """Whether the beginning of an answer may be that of the sentinel."""
    begun = text.lstrip(" \n\t\"'*_[(“«`").replace("_", " ").replace("-", " ")
    return SENTINEL.startswith(begun) or is_sentinel(text)


def without_sentinel(text: str) -> str:
    """An answer without a sentinel at its end, which some models add to a partial answer."""
    return _AT_END.sub("", text)


def says_unknown(sentence: str, *, cites: bool) -> bool:
    """Whether a sentence only says that something is not known.

    Args:
        sentence: without markers of citations.
        cites: whether it cites something: then it must speak of its evidence ("… do not say").
    """
    keys: list[tuple[str, ...]] = [("evidence",)] if cites else [("evidence",), ("own",), ("about", "no")]
    for found in ([_any(key).search(sentence) for key in together] for together in keys):
        ends = [match.end() for match in found if match]
        if len(ends) == len(found):
            return _any("but").search(sentence, max(ends)) is None
    return False


def is_apology(sentence: str) -> bool:
    """Whether a sentence only apologises."""
    return _SORRY.match(sentence) is not None and len(sentence) <= _SHORT


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(_TABLE.read_text("utf-8"))


def _said(key: str, language: str | None) -> str:
    table = _table()
    return str(table.get(base_language(language) or "en", table["en"])[key])


@cache
def _any(key: str) -> re.Pattern[str]:
    """What any language has under a key."""
    listed = [pattern for each in _table().values() for pattern in each[key]]
    if key == "but":
        listed = [rf"(?<!\w){word}(?!\w)" if word.isascii() else word for word in listed]
    return re.compile("|".join(listed), re.IGNORECASE)
