"""Subtitles (WebVTT, SubRip): the text is kept as it is; numbers and times are no sentences of it."""

from __future__ import annotations

import re
from dataclasses import replace

from graphrag_rdf.documents.model import Span, Turn
from graphrag_rdf.documents.readers.content import Content
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.turns import with_listeners

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_SILENT = re.compile(
    r"^(?:\ufeff?WEBVTT[^\n]*(?:\n[^\n]+)*|(?:NOTE|STYLE|REGION)\b[^\n]*(?:\n[^\n]+)*"
    rf"|(?:[^\n]{{1,80}}\n)?{_TIME}[ \t]+-->[^\n]*)\r?$|</?[cibuv](?:\.[\w.]*)?(?:[ \t][^<>\n]*)?>|<{_TIME}>",
    re.M,
)
_VOICE = re.compile(r"<v(?:\.[\w.]*)?[ \t]+([^<>\n]{1,60})>")
_NAMED = re.compile(r"^(?:-[ \t]*)?([^\W\d_][^\W_]*(?:[ .'’-][^\W_]+){0,3})[ \t]*:[ \t]+", re.M)


def read_subtitles(data: bytes) -> Content:
    """Decode subtitles; `<v Ada>` and `Ada:` name speakers.

    Raises:
        UnreadableError: it is not text.
    """
    text, encoding = decode(data)
    unsaid = tuple(match.span() for match in _SILENT.finditer(text) if match[0].strip())
    return Content(text, encoding=encoding, unsaid=unsaid, turns=_turns(text, unsaid))


def _turns(text: str, unsaid: tuple[Span, ...]) -> tuple[Turn, ...]:
    found = [(match.start(), match.span(1), match.end(), True) for match in _VOICE.finditer(text)]
    if not found:
        cues = [
            match for match in _NAMED.finditer(text) if not any(a <= match.start() < b for a, b in unsaid)
        ]
        found = [(match.start(), match.span(1), match.end(), False) for match in cues]
    ends = [*(start for start, *_ in found), len(text)][1:]
    turns = (
        Turn(text[slice(*name)].strip(), None, start, name, words, end, told)
        for (start, name, words, told), end in zip(found, ends, strict=True)
    )
    whole = [
        replace(turn, name=(turn.name[0], turn.name[0] + len(turn.speaker))) for turn in turns if turn.speaker
    ]
    return with_listeners(whole) if len(whole) > 1 else ()
