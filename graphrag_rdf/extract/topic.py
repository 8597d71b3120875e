"""What a passage is about: the entity that its title names, if the passage opens with it.

Encyclopaedic and report-like texts name their subject once and then say "he", "it", "the company". A sentence
is about the topic even where it does not name it, and retrieval follows that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .model import Mention
from .normalise import fold

_OPENING = 300  # characters in which a text that is about its title names it
_BRACKETED = re.compile(r"\s*\([^()]*\)\s*$")
_WORD = re.compile(r"\w+")
_LONGEST = 8  # words of a title that can be a name


def topic_of(title: str | None, text: str, mentions: Sequence[Mention]) -> str | None:
    """The name of what a passage is about.

    Args:
        title: of its document.
        text: the passage.
        mentions: the names that it has.

    Returns:
        the title without a bracket at its end, if all its words stand in the opening of the text; else
        the first name of the title that the text has; None if it has none.
    """
    if not title:
        return None
    name = _BRACKETED.sub("", title).strip()
    words = set(_WORD.findall(fold(name)))
    first, _, rest = text.lstrip("# ").partition("\n")
    body = rest if fold(first) == fold(title) else text  # the heading itself does not count
    opening = set(_WORD.findall(fold(body[:_OPENING])))
    if words and len(words) <= _LONGEST and words <= opening:
        return name
    flat = f" {' '.join(_WORD.findall(fold(title)))} "
    named = [(flat.find(f" {' '.join(_WORD.findall(fold(m.name)))} "), m.name) for m in mentions]
    inside = sorted((place, -len(found), found) for place, found in named if place >= 0)
    return inside[0][2] if inside else None
