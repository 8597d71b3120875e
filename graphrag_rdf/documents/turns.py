"""The turns of chats, transcripts and interviews, found by the lines of a text.

A turn begins with the name of its speaker: `Ada: …`, `[12/03/2023, 10:15:02] Ada Venn: …`,
`12.03.23, 10:15 - Ada: …`, `<ada> …`, `Ada (00:01:02): …`, or a line of name and time above the words. A text
is taken for a chat if most of its lines are in turns, people speak several times, and they speak as people
do, of "I" and "you": a list of fields (`Name: …`, `Born: …`) is not a chat.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from graphrag_rdf.documents.model import Chunk, ParsedDocument, Turn
from graphrag_rdf.documents.text import word_list

_MOST_LINES = 5000  # that are looked at to tell whether a text is a chat
_MOSTLY = 0.5
_FAR = 20  # characters above a turn in which blank lines are looked for
_LONGEST_NAME = 40
_MOST_WORDS = 4

_CLOCK = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[.,]\d{1,3})?(?:[\s\u202f]?[ap]\.?m\.?)?"
_DAY = (
    r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|today|yesterday|\d{1,2}\.?\s[^\W\d_]{3,9}\.?(?:\s\d{4})?"
    r"|[^\W\d_]{3,9}\s\d{1,2},?(?:\s\d{4})?)"
)
_STAMP = rf"(?:(?:{_DAY})(?:[,T]?\s*(?:at\s)?|_)(?:{_CLOCK})|{_CLOCK}|{_DAY})"
_MARKS = "[\u200e\u200f\u202a-\u202e\ufeff]*+"  # possessive: nothing else begins with them
_NAME = rf"[^:：<>*\[\]{{}}\"|\r\n]{{0,{_LONGEST_NAME}}}?"
_LINE = re.compile(
    rf"^{_MARKS}[ \t]*(?:[\[(]?{_STAMP}[\])]?[ \t]*(?:[-–—|][ \t]*)?(?P<stamp>))?{_MARKS}"
    rf"(?:<[@+~&%]?(?P<nick>[^<>\s]{{1,30}})>(?=[ \t]|$)"
    rf"|\*{{0,2}}(?P<name>[^\s:：<>*\[\]{{}}\"|]{_NAME})\*{{0,2}}"
    rf"(?P<after>[ \t]*[\[(]{_STAMP}[\])])?[ \t]*(?:：\*{{0,2}}|:\*{{0,2}}(?=[ \t]|$)))[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
# name and time in a line of their own, above what is said
_ABOVE = re.compile(
    rf"^{_MARKS}[ \t]*(?P<name>[^\W\d_]{_NAME})(?:[ \t]{{2,}}|\t|[ \t]*[—–|-][ \t]*|[ \t](?=[\[(]))"
    rf"[\[(]?{_STAMP}[\])]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_TIME = re.compile(r"[ \t]*(?:time|date|datum|zeit|tijd)[ \t]*:[ \t]*\S*\d", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*(?:[-*•+]|\d{1,2}[.)])[ \t]")
_STAMPED = re.compile(
    rf"^{_MARKS}[ \t]*(?:[\[(]?{_STAMP}[\])]?(?=[ \t,-]|$)|\*{{1,3}}[ \t]|-!-)", re.IGNORECASE
)
_NUMBERED = re.compile(r"[ \t]*\d{1,2}[.)][ \t]")
_DATE = re.compile(r"[ \t]*\d{1,2}\.[ \t][^\W\d_]+\.?[ \t]\d{4}\b")
_HEADING = re.compile(r"#{1,6}[ \t]|(?:[-*_=][ \t]*){3,}$")
_REST = re.compile(r"[^\r\n\f]*")
_WORD = re.compile(r"[^\W_][\w'’.-]*")
_SMALL = frozenset(
    ["von", "van", "de", "der", "den", "del", "da", "di", "la", "le", "al", "bin", "of", "the"]
)
# of each language a few words in which people speak of themselves and to others
_PERSONAL = re.compile(
    r"\b(?:i|i'm|i’m|me|my|you|your|we|our|ich|mich|mir|mein|meine|du|dich|dir|wir|uns|ik|mij|mijn|jij|je|jouw|wij|"
    r"moi|mon|tu|vous|nous|yo|tú|nosotros|io|mio|eu|meu|você|я|мы|ты|вы|мне)\b|[我你您俺咱私僕君]",
    re.IGNORECASE,
)


def find_turns(text: str) -> tuple[Turn, ...]:
    """The turns of a chat, in order; none if the text is not a chat."""
    lines = [match.span() for match in re.finditer(r"[^\r\n\f]+", text) if not match[0].isspace()]
    turns = list(_begun(text))
    if not turns or not _is_chat(text, lines[:_MOST_LINES], turns):
        return ()
    return with_listeners(list(_ended(text, lines, turns)))


def with_listeners(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Turns with their listeners: the other speaker, if there are two."""
    names = list(dict.fromkeys(turn.speaker for turn in turns))
    if len(names) != 2:
        return tuple(turns)
    listeners = dict(zip(names, reversed(names), strict=True))
    return tuple(replace(turn, listener=listeners[turn.speaker]) for turn in turns)


def _begun(text: str) -> Iterator[Turn]:
    """Where turns begin; their ends are those of their lines."""
    matches = [match for pattern in (_LINE, _ABOVE) for match in pattern.finditer(text)]
    last = -1
    for match in sorted(matches, key=lambda match: match.start()):
        if match.start() < last:
            continue
        kind = "nick" if match.re is _LINE and match["nick"] else "name"
        name = match[kind].strip()
        marked = match.re is _ABOVE or any(match[mark] is not None for mark in ("stamp", "after", "nick"))
        if not _is_speaker(name, marked=marked):
            continue
        last = match.end()
        end = last + len(_REST.match(text, last)[0])  # type: ignore[index]
        start = match.start(kind)
        yield Turn(name, None, match.start(), (start, start + len(name)), last, end, marked)


def _is_speaker(name: str, *, marked: bool) -> bool:
    """Whether a text can be the name of a speaker.

    Args:
        name: what stands before the words.
        marked: whether a time or a bracket beside it tells that it is a speaker.
    """
    words = _WORD.findall(name)
    nobody = word_list("turns", "nobody")
    if name.lower() in nobody or not 0 < len(words) <= (8 if marked else _MOST_WORDS):
        return False
    if marked:
        return True
    if not name[0].isalpha() and name[0] != "@":
        return False
    if "(" in name or "," in name:
        return False
    words_of_name = [word for word in words if word.lower() not in _SMALL]
    return (
        bool(words_of_name)
        and all(not word[0].islower() for word in words_of_name)
        and words[0].lower() not in nobody
    )


def _is_chat(text: str, lines: Sequence[tuple[int, int]], turns: Sequence[Turn]) -> bool:
    end = lines[-1][1]
    seen = [turn for turn in turns if turn.start < end]
    if not seen:
        return False
    times = Counter(turn.speaker for turn in seen)
    begun = {turn.start for turn in seen}
    above = [start for start, stop in lines if _TIME.match(text[start:stop])]
    outside = sum(
        start not in begun and start not in above and not _STAMPED.match(line) and not _ITEM.match(line)
        for start, line in ((start, text[start:stop]) for start, stop in lines)
    )
    marked = sum(turn.told for turn in seen)
    ends = [*(turn.start for turn in seen[1:]), end]
    personal = sum(
        bool(_PERSONAL.search(text, turn.words, stop)) for turn, stop in zip(seen, ends, strict=True)
    )
    if 2 * marked > len(seen):  # what goes on in further lines belongs to it
        return len(seen) > 1 and personal > 0
    if outside > _MOSTLY * len(lines) or 5 * personal < len(seen):
        return False
    if len(times) == 1:  # a remark or two of one person: only a time above them tells
        return bool(above) and outside == 0
    if outside == 0 and 2 * personal >= len(seen):  # a group, in which each may speak once
        return True
    return len(seen) >= 1.5 * len(times) or (len(times) == 2 and outside == 0)


def _ended(text: str, lines: Sequence[tuple[int, int]], turns: Sequence[Turn]) -> Iterator[Turn]:
    """Turns with the lines that go on with them: up to the next one, a line of time alone or a heading. The
    last one ends at a blank line if, where no times are told, blank lines part the turns.
    """
    number = 0
    limits = [*(turn.start for turn in turns[1:]), len(text)]
    above = (text[max(turn.start - _FAR, 0) : turn.start] for turn in turns[1:])
    parted = sum(blanks[len(blanks.rstrip()) :].count("\n") > 1 for blanks in above)
    spaced = 2 * parted >= len(turns) - 1
    for turn, limit in zip(turns, limits, strict=True):
        last = limit == len(text)
        end = turn.end
        while number < len(lines) and lines[number][0] < turn.end:
            number += 1
        place = number
        while place < len(lines) and lines[place][0] < limit:
            start, stop = lines[place]
            blank = text.count("\n", end, start) > 1
            line = text[start:stop]
            if _is_stamp(line) or _HEADING.match(line) or (blank and last and spaced and not turn.told):
                break
            end = stop
            place += 1
        words = text[turn.words : end]
        yield replace(turn, words=end - len(words.lstrip()), end=end)


def _is_stamp(line: str) -> bool:
    """Whether a line begins with a time, or tells of who came and went. `3. Push-ups` is an item."""
    return bool(_STAMPED.match(line)) and not (_NUMBERED.match(line) and not _DATE.match(line))


def turns_in(document: ParsedDocument, chunk: Chunk) -> tuple[Turn, ...]:
    """The turns in a chunk, with places in its text; a turn that began earlier begins with the chunk."""
    turns = document.turns
    end = chunk.offset + len(chunk.text)
    first = max(bisect_right(turns, chunk.offset, key=lambda turn: turn.start) - 1, 0)
    moved = []
    for turn in turns[first:]:
        if turn.start >= end:
            break
        if turn.end > chunk.offset:
            name = turn.name if turn.name[0] >= chunk.offset and turn.name[1] <= end else (chunk.offset,) * 2
            moved.append(
                replace(
                    turn,
                    start=max(turn.start - chunk.offset, 0),
                    name=(name[0] - chunk.offset, name[1] - chunk.offset),
                    words=max(turn.words - chunk.offset, 0),
                    end=min(turn.end, end) - chunk.offset,
                )
            )
    return tuple(moved)


def turn_at(turns: Sequence[Turn], offset: int) -> Turn | None:
    """The turn at a place, or None."""
    number = bisect_right(turns, offset, key=lambda turn: turn.start) - 1
    return turns[number] if number >= 0 and offset < turns[number].end else None
