"""The question to a model that answers: one prompt selects and answers.

The model writes a line for each numbered line that the answer needs, with a few words why. Then it writes the
answer, or what is missing from the evidence:

    [3] names the builder
    ANSWER: Ada Moor built the bridge. [3]

    [3] names the builder
    MISSING: Ada Moor wife married; Ada Moor born

Notes are read before anything is given out; the answer is passed on as it comes. What models write otherwise
is read as far as its meaning is clear: an answer without the word ANSWER, other brackets, bold type, a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from pydantic import Field

from graphrag_rdf.llm.model import Completion
from graphrag_rdf.steps.checking import SENTINEL, is_sentinel, may_become_sentinel
from graphrag_rdf.steps.evidence import Evidence, Line
from graphrag_rdf.steps.kinds import Limit, Some, StepParameters
from graphrag_rdf.steps.prompts import open_stream, record_call
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.recorder import Step

_PHRASES = 3  # that are searched for at a time,
_PHRASE = 200  # and characters of one
_NOTHING = {"", "none", "nothing", "n/a"}
_SIGNS = 24  # characters by which a line shows whether it begins with a mark or a number
_MARK = r"[\s>#*_`-]*"
_PART = rf"{_MARK}(?:(?:part )?\d[.):]\s*)?{_MARK}"
_ANSWER = re.compile(
    rf"{_PART}(?:the |final )?(?:answer|antwort|réponse|respuesta|risposta|答案|回答){_MARK}[:：]{_MARK}",
    re.IGNORECASE,
)
_MISSING = re.compile(rf"{_PART}(?:missing|fehlt|缺少)(?: information)?{_MARK}[:：]{_MARK}", re.IGNORECASE)
_AFTER = re.compile(rf"\n{_MISSING.pattern}", re.IGNORECASE)
_NOTE = re.compile(
    rf"{_MARK}(?:\d+[.)]\s+)?(?:(?:sentence|line|fact)s?\s+)?"
    r"((?:[\[【(]\s*\d{1,4}(?:\s*[,;]\s*\d{1,4})*\s*[\]】)][\s,;&]*(?:and )?)+)\W*(.*)",
    re.IGNORECASE,
)
_BARE_NOTE = re.compile(rf"{_MARK}(\d{{1,4}})[.:)]\s+((?!.*\[\d).*)")
_HEADING = re.compile(r"\s*(?:#+\s.*|\*\*[^*]+\*\*\W*|.*[:：])\s*")
_PROSE = re.compile(rf"\s*(?!sentence|line|fact)[^\W\d][^:：\[\n]{{{_SIGNS}}}", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


class AnswerParameters(StepParameters):
    """Of the prompt for an answer."""

    evidence_tokens: Some = Field(
        2000, description="tokens of the evidence in the prompt: what was chosen, then the rest by rank"
    )
    unchosen_tokens: Limit = Field(
        300, description="of these, after a look-up, tokens for chunks of which the model needed nothing"
    )
    response_type: str = Field(
        "a short answer of a few sentences", description="what the answer should be like"
    )
    allow_general_knowledge: bool = Field(
        False, description="let the model add what it knows; such sentences are marked and cite nothing"
    )


def prompt_values(
    state: State,
    documents: Sequence[Mapping[str, Any]],
    parameters: Parameters,
    *,
    notes: bool = False,
    lookups: int = 0,
) -> dict[str, Any]:
    """The values of a prompt for an answer.

    Args:
        documents: the evidence (`Evidence.told`).
        parameters: see `AnswerParameters`.
        notes: whether the model also says which lines it needs, and why.
        lookups: how often what is missing may still be searched for.
    """
    return {
        "question": state.question,
        "history": state.conversation,
        "documents": documents,
        "facts": any(line["facts"] for document in documents for line in document["lines"]),
        "response_type": parameters["response_type"],
        "allow_general_knowledge": parameters["allow_general_knowledge"],
        "unknown": SENTINEL,
        "notes": notes,
        "lookups": lookups,
        "searched": state.looked_up,
    }


def shown_lines(state: State, evidence: Evidence, parameters: Parameters) -> list[Line]:
    """What fits of the evidence."""
    passed_over = {rank for rank, chunk in enumerate(state.chunks) if chunk.passed_over}
    return evidence.fitting(parameters["evidence_tokens"], parameters["unchosen_tokens"], passed_over)


class Asked:
    """A prompt for an answer, and what the model writes.

    Args:
        parameters: see `AnswerParameters`.
        notes, lookups: see `prompt_values`.

    Attributes:
        lines: of the evidence that are shown.
        values: of the prompt.
        reply: read up to the answer.
    """

    def __init__(
        self,
        context: Context,
        state: State,
        evidence: Evidence,
        parameters: Parameters,
        *,
        notes: bool = False,
        lookups: int = 0,
    ) -> None:
        self.lines = shown_lines(state, evidence, parameters)
        evidence_text = evidence.told(self.lines)
        self.values = prompt_values(state, evidence_text, parameters, notes=notes, lookups=lookups)
        self.values["points"] = evidence.told_points()
        self._context = context
        self._finished: tuple[str, Completion] | None = None
        pieces = open_stream(context, "answer", self._finish, prompt="answer", **self.values)
        self.reply = Reply(pieces, notes=notes)

    def _finish(self, prompt: str, completion: Completion) -> None:
        self._finished = prompt, completion

    def finish(self, step: Step, purpose: str) -> Completion:
        """Read what is left, and record the call with a step."""
        for _ in self.reply.answer:
            pass
        assert self._finished is not None  # noqa: S101 - the stream is at its end
        prompt, completion = self._finished
        record_call(self._context, step, purpose, prompt, completion)
        return completion


class Reply:
    """What a model writes, read up to where its answer begins.

    Args:
        pieces: of the text.
        notes: whether notes stand before the answer.

    Attributes:
        notes: number of a line → why it is needed; None without a reason.
        missing: what to search for.
        answer: the pieces of the answer.
        answers: whether there is one.
        text: of the answer, as far as it was read.
    """

    def __init__(self, pieces: Iterator[str], *, notes: bool = True) -> None:
        self.notes: dict[int, str | None] = {}
        self.missing: list[str] = []
        self.text = ""
        self._pieces = pieces
        self._misses = False
        begun = self._read_notes() if notes else ""
        self.answers = begun is not None
        self.answer: Iterator[str] = iter(()) if begun is None else self._told(begun)
        if notes and self.answers:
            self._peek()

    def _read_notes(self) -> str | None:
        """Read up to the answer; its beginning, or None without one."""
        held = ""
        for piece in self._pieces:
            held += piece
            while True:
                line, end, following = held.partition("\n")
                if (mark := _ANSWER.match(line)) and (end or len(line) > mark.end()):
                    return held[mark.end() :].lstrip()
                if not end:
                    break
                if self._begins(line):
                    return held
                held = following
            if _PROSE.match(held) and not self._misses:
                return held
        if mark := _ANSWER.match(held):
            return held[mark.end() :]
        return held if self._begins(held) else None

    def _begins(self, line: str) -> bool:
        """Take in a line; whether the answer begins with it."""
        if mark := _MISSING.match(line):
            self._misses = True
            self._miss(line[mark.end() :])
        elif note := _NOTE.fullmatch(line) or _BARE_NOTE.fullmatch(line):
            for number in _NUMBER.findall(note[1]):
                self.notes.setdefault(int(number), " ".join(note[2].split()) or None)
        elif self._misses:
            self._miss(line)
        else:
            return bool(line.strip(" `#*-_>\r")) and not _HEADING.fullmatch(line)
        return False

    def _miss(self, text: str) -> None:
        for part in re.split(r"[;；\n]", text):
            phrase = " ".join(part.split()).strip(" -*•\"“”'.<>")[:_PHRASE]
            noted = {phrase_noted.casefold() for phrase_noted in self.missing}
            if phrase.casefold() not in _NOTHING | noted and len(self.missing) < _PHRASES:
                self.missing.append(phrase)

    def _told(self, begun: str) -> Iterator[str]:
        """The answer, up to a line that says what is missing."""
        held, before = begun, "\n"
        while True:
            heading = _AFTER.search(before + held)
            if heading:
                self._miss((before + held)[heading.end() :] + "".join(self._pieces))
                held = (before + held)[len(before) : heading.start()]
            line = held.rfind("\n")  # what may become such a line is kept back
            keep = line if not heading and line >= 0 and len(held) - line < _SIGNS else len(held)
            told, held = held[:keep], held[keep:]
            if told:
                before = ""
                self.text += told
                yield told
            piece = next(self._pieces, None)
            if piece is None:
                self.text += held
                yield held
                return
            held += piece

    def _peek(self) -> None:
        """Read on while the answer may be that there is none: what is missing may follow."""
        held = []
        for piece in self.answer:
            held.append(piece)
            if not may_become_sentinel(self.text):
                break
        self.answer = chain(held, self.answer)
        if self.missing and (is_sentinel(self.text) or not self.text.strip()):
            self.answers, self.answer = False, iter(())
