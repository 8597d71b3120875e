"""What else a mention names: the names within a longer one, and whom a short name stands for.

For the mention layer, where a missing bridge costs more than one too many; facts are not made of these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .model import Mention
from .tagging import tagger_for

_OF = re.compile(r" of (?:the )?")


def with_companions(
    mentions: Sequence[Mention], topic: str | None, language: str | None
) -> tuple[Mention, ...]:
    """Mentions with those that follow from them, at the same places.

    `Ada Moor of Blue Harbour` is also `Ada Moor` and `Blue Harbour`; `Moor` in the same text is also `Ada
    Moor`, if only one name there begins or ends with it, or that of the topic does.

    Args:
        mentions: of one passage, in text order.
        topic: what the passage is about.
        language: BCP 47; where it has a tagger, a word that the language has otherwise is no name by itself:
            `General Terms of Use`.
    """
    tagger = tagger_for(language)
    names = dict.fromkeys([*(m.name for m in mentions), *([topic] if topic else [])])
    called: dict[str, list[str]] = {}
    for name in names:
        words = name.split()
        if len(words) > 1 and words[-1][0].isupper():
            for word in dict.fromkeys((words[0].lower(), words[-1].lower())):
                called.setdefault(word, []).append(name)
    found: list[Mention] = []
    for mention in mentions:
        whole = _whole(mention.name, called, topic)
        parts = [
            part
            for part in (*_parts(mention.name), *_parts(whole))
            if tagger is None or not tagger.is_common(part)
        ]
        named = dict.fromkeys((mention.name, whole, *parts))
        found += [Mention(mention.offset, mention.length, name) for name in named]
    return tuple(found)


def _whole(name: str, called: dict[str, list[str]], topic: str | None) -> str:
    """The full name that a single word stands for, or the word."""
    among = called.get(name.lower(), [])
    if topic in among:
        return topic
    return among[0] if len(among) == 1 else name


def _parts(name: str) -> tuple[str, ...]:
    """Both sides of the only "of" of a name, the first only if it is more than a word like `University`."""
    sides = _OF.split(name)
    if len(sides) != 2 or not all(side[:1].isupper() for side in sides):
        return ()
    return tuple(sides if " " in sides[0] else sides[1:])
