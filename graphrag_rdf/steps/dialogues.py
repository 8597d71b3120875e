"""Sentences of chats in prompts: with their speaker, and greetings on one line with what follows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.documents.model import Turn
from graphrag_rdf.documents.turns import find_turns, turn_at
from graphrag_rdf.extract.names import CJK
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.state import Context
from graphrag_rdf.trace.items import Source
from graphrag_rdf.trace.recorder import Step

_WORD = re.compile(r"[^\W_]+")
_FEW = 4  # words that say something: Hey Ada, how are you?
_FEW_CJK = 7


@dataclass(frozen=True, slots=True)
class ChatSentence:
    """A sentence of a chat.

    Attributes:
        speaker: the speaker, unless the sentence begins with that name itself; else "".
        turn: document and offset of the turn.
        words: without the speaker's name.
    """

    speaker: str
    turn: tuple[str, int]
    words: str

    @property
    def brief(self) -> bool:
        """Whether it is a greeting or the like: a few words without a number."""
        few = len(_WORD.findall(self.words)) < _FEW and len(CJK.findall(self.words)) < _FEW_CJK
        return few and not any(map(str.isdigit, self.words))


def chat_sentences(
    context: Context, step: Step, sources: Mapping[str, Source], texts: Mapping[str, tuple[str, int]]
) -> dict[str, ChatSentence]:
    """The sentences that are parts of chats. Turns are found in the text of the chunk; if it begins within a
    turn, in the whole document.

    Args:
        sources: sentence → its place.
        texts: chunk → its text and offset.
    """
    turns = {chunk: find_turns(text) for chunk, (text, _) in texts.items()}
    chats = {source.document for source in sources.values() if turns.get(source.chunk or "")}
    begun = {
        source.document
        for source in sources.values()
        if source.document in chats and source.chunk in texts and _opens(source, turns, texts)
    }
    whole = _whole_turns(context, step, begun)
    found = {}
    for iri, source in sources.items():
        read, start = whole.get(source.document, ()), 0
        if not read and source.chunk in texts:
            read, start = turns[source.chunk or ""], texts[source.chunk or ""][1]
        offset = (source.char_offset or 0) - start
        turn = turn_at(read, offset)
        if turn is not None:
            words = source.quote[max(0, turn.words - offset) :]
            speaker = turn.speaker if turn.name[0] < offset else ""
            found[iri] = ChatSentence(speaker, (source.document, start + turn.start), words)
    return found


def lines_of(order: Sequence[str], said: Mapping[str, ChatSentence], apart: Iterable[str]) -> list[list[str]]:
    """Sentences in lines: neighbours of one turn share a line if at most one of them is not brief.

    Args:
        order: sentences in the order of the text.
        apart: sentences that begin a line in any case.
    """
    lines: list[list[str]] = []
    begin = set(apart)
    for iri in order:
        one, last = said.get(iri), said.get(lines[-1][-1]) if lines else None
        same = one is not None and last is not None and one.turn == last.turn and iri not in begin
        if same and one is not None and (one.brief or all(said[other].brief for other in lines[-1])):
            lines[-1].append(iri)
        else:
            lines.append([iri])
    return lines


def _opens(source: Source, turns: Mapping[str, Sequence[Turn]], texts: Mapping[str, tuple[str, int]]) -> bool:
    """Whether a sentence stands before the first turn that begins in its chunk, unless the chunk is the first
    of its document.
    """
    begun, (_, start) = turns[source.chunk or ""], texts[source.chunk or ""]
    return start > 0 and (not begun or (source.char_offset or 0) - start < begun[0].start)


def _whole_turns(context: Context, step: Step, documents: Iterable[str]) -> dict[str, tuple[Turn, ...]]:
    nodes = [NamedNode(iri) for iri in sorted(documents)]
    if not nodes:
        return {}
    run = context.store.run("retrieval/document-texts", documents=nodes)
    context.recorder.queried(step, run)
    return {
        text_of(row["document"]): find_turns(context.blobs.text(text_of(row["text"])) or "")
        for row in run.rows
    }
