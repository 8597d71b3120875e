"""What people say of themselves and to each other: "I" and "you" as the names that they stand for.

Only for English, whose verbs tell which form "I" takes. What is asked, wished, offered or guessed states
nothing, and neither does a jest; so a sentence with a sign of these is left out as a whole.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from graphrag_rdf.documents.model import Chunk, ParsedDocument, Turn

from .lexicon import base_language
from .model import Mention
from .units import Unit

CERTAINTY = 0.85
"""What a statement about a speaker is multiplied by: as of other references that were resolved."""

_OF_SPEAKER = frozenset({"i", "me", "myself", "mine"})
_OF_LISTENER = frozenset({"you", "yourself", "yours"})
_PERSON = re.compile(r"\b(?:(?P<i>I|me|my|myself|mine)|(?P<you>you|your|yourself|yours))\b", re.IGNORECASE)
_BE = {"am": "is", "'m": "is", "are": "is", "'re": "is", "were": "was", "was": "was"}
_HAVE = {"have": "has", "'ve": "has"}
_ES = re.compile(r"(?:[sxz]|ch|sh|[^aeiou]o)\Z")
_Y = re.compile(r"[^aeiou]y\Z")

_NO_CLAIM = re.compile(
    r"\?|\b(?:if|unless|whether|maybe|perhaps|probably|possibly|hopefully|imagine|pretend|kidding|joking|lol"
    r"|hope|hoping|hoped|wish|wishing|wished|wonder|wondering|guess|think|thought|suppose|believe|doubt|bet"
    r"|would|could|should|might|may|shall|must|will|can|cannot|won|'ll|’ll|'d|’d|gonna|wanna|gotta"
    r"|want|wants|wanted|need|needs|needed|plan|planning|planned|try|trying|tried|consider|considering|let's|let’s"
    r"|lets|looking\s+forward|thinking|feel\s+like|as\s+if|going\s+to|about\s+to|supposed|almost|nearly|seem"
    r"|seems|seemed|sounds?|looks?\s+like|forget|remember|reckon|assume|dream|dreaming|joke)\b"
    r"|(?:'ll|’ll|'d|’d)\b",
    re.IGNORECASE,
)
# from an opening mark to the closing one after a comma or stop, or to the end of the paragraph
_SPEECH = re.compile(
    r"(?<![^\s(—–-])(?:“(?:[^”\n]|\n(?!\s*\n))*|\"(?:[^\"\n]|\n(?!\s*\n))*|„(?:[^“”\n]|\n(?!\s*\n))*"
    r"|['‘](?:[^'’\n]|(?<![.,!?—-])['’]|\n(?!\s*\n))*[.,!?—-](?:['’]|(?=\n\s*\n)))"
)
_ASKS = re.compile(
    r"\W*(?:(?:and|but|so|hey|oh|well|ok|okay)\b\W*)*"
    r"(?:do|does|did|are|is|was|were|am|have|has|had|isn|aren|don|didn|doesn|haven|what|who|whom|whose|where|when|why"
    r"|how|which|please|thanks|thank|just|never\s+mind)\b",
    re.IGNORECASE,
)


def turns_in(document: ParsedDocument, chunk: Chunk) -> tuple[Turn, ...]:
    """Who speaks in a passage, with places in its text; a turn that began before it begins with it."""
    turns = document.turns
    end = chunk.offset + len(chunk.text)
    first = max(bisect_right(turns, chunk.offset, key=lambda turn: turn.start) - 1, 0)
    found = []
    for turn in turns[first:]:
        if turn.start >= end:
            break
        if turn.end > chunk.offset:
            name = turn.name if turn.name[0] >= chunk.offset and turn.name[1] <= end else (chunk.offset,) * 2
            found.append(
                replace(
                    turn,
                    start=max(turn.start - chunk.offset, 0),
                    name=(name[0] - chunk.offset, name[1] - chunk.offset),
                    words=max(turn.words - chunk.offset, 0),
                    end=min(turn.end, end) - chunk.offset,
                )
            )
    return tuple(found)


def turn_at(turns: Sequence[Turn], offset: int) -> Turn | None:
    """The turn that a place is in."""
    number = bisect_right(turns, offset, key=lambda turn: turn.start) - 1
    return turns[number] if number >= 0 and offset < turns[number].end else None


def doubt_of_claim(words: str) -> str:
    """Why a sentence of a chat states nothing (see `doubt`): it asks, wishes, offers or guesses; else ""."""
    if "?" in words or _ASKS.match(words):
        return "question"
    return "hedged" if _NO_CLAIM.search(words) else ""


def speech_in(text: str) -> tuple[tuple[int, int], ...]:
    """The spans of what is said in a story, in text order."""
    return tuple(match.span() for match in _SPEECH.finditer(text))


def in_speech(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Whether a sentence begins within what somebody says."""
    number = bisect_right(spans, offset, key=lambda span: span[0]) - 1
    return number >= 0 and offset < spans[number][1]


def named_speakers(mentions: Sequence[Mention], turns: Sequence[Turn]) -> tuple[Mention, ...]:
    """Mentions, of which those of speakers before their words are as they are called."""
    labels = [turn for turn in turns if turn.name[0] < turn.name[1]]
    kept = [m for m in mentions if (turn := turn_at(turns, m.offset)) is None or m.offset >= turn.words]
    kept += [Mention(turn.name[0], turn.name[1] - turn.name[0], turn.speaker) for turn in labels]
    return tuple(sorted(kept, key=lambda mention: mention.offset))


def meant(text: str, turns: Sequence[Turn], mentions: Sequence[Mention]) -> Iterator[Mention]:
    """The places where "I" and "you" stand for somebody."""
    taken = {place for m in mentions for place in range(m.offset, m.offset + m.length)}
    for turn in turns:
        for found in _PERSON.finditer(text, turn.words, turn.end):
            who = turn.speaker if found["i"] else turn.listener
            if who is not None and found.start() not in taken:
                yield Mention(found.start(), found.end() - found.start(), who)


def with_speakers(
    mentions: Sequence[Mention], text: str, turns: Sequence[Turn], language: str | None
) -> Sequence[Mention]:
    """Mentions, with those of speakers: before their words and, in English, where they say "I"."""
    if not turns:
        return mentions
    named = named_speakers(mentions, turns)
    more = meant(text, turns, named) if base_language(language) == "en" else ()
    return sorted([*named, *more], key=lambda mention: mention.offset)


def in_third_person(units: Sequence[Unit], turn: Turn) -> list[Unit]:
    """The units of a sentence with names in the place of "I" and "you", and verbs in the form for these."""
    turned: list[Unit] = []
    after = False  # the subject, perhaps with an adverb
    for unit in units:
        word = unit.lower
        who = turn.speaker if word in _OF_SPEAKER else turn.listener if word in _OF_LISTENER else None
        owner = turn.speaker if word == "my" else turn.listener if word == "your" else None
        if who is not None and unit.kind in "OZP":
            turned.append(replace(unit, kind="P", text=who, tag="NP0"))
            after = word in {"i", "you"}
        elif owner is not None and unit.kind == "S":
            turned.append(replace(unit, kind="P", text=owner, tag="NP0"))
            turned.append(Unit(unit.end, unit.end, "'", "'s", "POS"))
        elif after and unit.kind in "BHVX":
            turned.append(replace(unit, text=_form(unit)))
            after = False
        else:
            turned.append(unit)
            after = after and unit.kind == "R"
    return turned


def _form(unit: Unit) -> str:
    """The verb that goes with a name in the place of "I"."""
    word = unit.lower.replace("’", "'")
    if unit.kind == "B":
        return _BE.get(word, unit.text)
    if unit.kind == "H":
        return _HAVE.get(word, unit.text)
    if word == "do":
        return "does"
    if unit.tag.startswith("VVB"):
        if _Y.search(word):
            return f"{word[:-1]}ies"
        return f"{word}es" if _ES.search(word) else f"{word}s"
    return unit.text
