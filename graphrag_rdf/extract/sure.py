"""Mentions that are names by the parts of speech too: not the first word of "Staying warm helps".

Capitals tell nothing at the beginning of a sentence, nor anywhere in German. In languages without a tagger
all mentions stay.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from graphrag_rdf.documents.model import Sentence, Turn

from .lexicon import lexicon
from .model import Mention
from .numbers import find_literals
from .speakers import in_speech, turn_at
from .tagging import tagger_for
from .units import Unit, build_units


def known_words(mentions: Sequence[Mention], starts: Collection[int], title: str | None) -> frozenset[str]:
    """Words of names, in lower case, that a text has elsewhere than where a sentence begins.

    Args:
        mentions: in it.
        starts: where sentences begin.
        title: its title.
    """
    names = (m.name for m in mentions if " " in m.name or m.offset not in starts)
    return frozenset(word for name in (*names, title or "") for word in name.lower().split())


def sentence_starts(sentences: Sequence[Sentence], turns: Sequence[Turn]) -> frozenset[int]:
    """Where sentences begin, in a chat also behind the names of speakers."""
    starts = {*(sentence.offset for sentence in sentences), *(turn.words for turn in turns)}
    return frozenset(starts | {start + 1 for start in starts})  # behind a quotation mark too


class SureNames:
    """The names of a text as the units of its sentences tell them.

    Args:
        given: names that are names whatever the tags say.
        turns: who speaks where; their labels are names.
        whole: whether names may be parts of mentions, as in German ("Stadt Kelm").
    """

    def __init__(self, given: Collection[str], turns: Sequence[Turn], *, whole: bool) -> None:
        self._given = given
        self._labels = {turn.name[0] for turn in turns if turn.name[0] < turn.name[1]}
        self._whole = whole
        self._judged: list[tuple[int, int]] = []
        self._names: dict[int, Unit] = {}

    def take(self, span: tuple[int, int], units: Sequence[Unit]) -> None:
        """Note the units of a sentence; none if it could not be tagged."""
        if units:
            first = next((unit.start for unit in units if unit.kind not in "Q(."), span[0])
            # a name in the middle of an English sentence stays, also that of "a Dutch engineer"
            self._judged.append(span if self._whole else (span[0], first + 1))
            self._names.update({unit.start: unit for unit in units if unit.kind == "P"})

    def filter(self, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
        """The mentions that are names, in text order."""
        known = {mention.offset for mention in mentions}
        parts = self._names.values() if self._whole else ()
        more = [Mention(u.start, u.end - u.start, u.text) for u in parts if u.start not in known]
        return tuple(sorted([*filter(self._is_sure, mentions), *more], key=lambda mention: mention.offset))

    def _is_sure(self, mention: Mention) -> bool:
        tagged = in_speech(self._judged, mention.offset)
        named = mention.offset in self._names or mention.offset in self._labels
        return not tagged or named or mention.name in self._given


def sure_mentions(
    mentions: Sequence[Mention],
    text: str,
    sentences: Sequence[Sentence],
    *,
    language: str | None,
    title: str | None,
    given: Collection[str] = (),
    turns: Sequence[Turn] = (),
) -> tuple[Mention, ...]:
    """The mentions of a text that are names by the parts of speech too.

    Args:
        mentions: in text order.
        text: a chunk's.
        sentences: those of its sentences that are no rows of tables.
        language: BCP 47.
        title: of its document.
        given: names that are names whatever the tags say.
        turns: who speaks where in it.
    """
    tagger = tagger_for(language)
    if tagger is None:
        return tuple(mentions)
    words = lexicon(tagger.language)
    literals = find_literals(text, tagger.language)
    known = known_words(mentions, sentence_starts(sentences, turns), title)
    names = SureNames(given, turns, whole=words.keeps_case)
    for sentence in sentences:
        turn = turn_at(turns, sentence.offset)
        span = (max(sentence.offset, turn.words if turn else 0), sentence.offset + sentence.length)
        names.take(span, build_units(text, span, tagger, words, mentions, literals, known))
    return names.filter(mentions)
