"""Who speaks in a chat: mentions for the labels of speakers, and for "I" and "you"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from graphrag_rdf.documents.model import Turn
from graphrag_rdf.documents.turns import turn_at
from graphrag_rdf.extract.lexicon import base_language
from graphrag_rdf.extract.model import Mention

_PERSON = re.compile(r"\b(?:(?P<i>I|me|my|myself|mine)|(?P<you>you|your|yourself|yours))\b", re.IGNORECASE)


def with_speaker_labels(mentions: Sequence[Mention], turns: Sequence[Turn]) -> tuple[Mention, ...]:
    """Mentions, with one for each speaker's label in place of those found in the labels."""
    labels = [turn for turn in turns if turn.name[0] < turn.name[1]]
    kept = [m for m in mentions if (turn := turn_at(turns, m.offset)) is None or m.offset >= turn.words]
    kept += [Mention(turn.name[0], turn.name[1] - turn.name[0], turn.speaker) for turn in labels]
    return tuple(sorted(kept, key=lambda mention: mention.offset))


def speaker_mentions(text: str, turns: Sequence[Turn], mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Mentions for "I" and "you"."""
    taken = {place for m in mentions for place in range(m.offset, m.offset + m.length)}
    for turn in turns:
        for match in _PERSON.finditer(text, turn.words, turn.end):
            who = turn.speaker if match["i"] else turn.listener
            if who is not None and match.start() not in taken:
                yield Mention(match.start(), match.end() - match.start(), who)


def with_speakers(
    mentions: Sequence[Mention], text: str, turns: Sequence[Turn], language: str | None
) -> Sequence[Mention]:
    """Mentions, with those of speakers: before their words and, in English, where they say "I"."""
    if not turns:
        return mentions
    named = with_speaker_labels(mentions, turns)
    more = speaker_mentions(text, turns, named) if base_language(language) == "en" else ()
    return sorted([*named, *more], key=lambda mention: mention.offset)
