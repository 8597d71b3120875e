"""Citations as models write them: read in all usual forms, and written in one."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from graphrag_rdf.documents.sentences import split_sentences

MARKER = re.compile(r"\[(\d{1,4})\]")
"""A citation in the form in which answers are kept."""

_NUMBER = r"[Ss]?\d{1,4}"
_LIST = rf"{_NUMBER}(?:\s*(?:[,;、，]|[-–—]|and|und|et|y)\s*{_NUMBER})*"
_FORMS = re.compile(
    rf"\[\s*\^?\s*(?P<square>{_LIST})\s*\]"  # [1], [S1], [^1], [1, 2], [6-7]
    rf"|【\s*(?P<lenticular>{_LIST})\s*(?:[†:‡][^】\n]{{0,40}})?】"  # 【1】, 【1†source】
    rf"|［\s*(?P<wide>{_LIST})\s*］"
)
_ROUND = re.compile(rf"(?<=[\w.!?。\"”’)])(?P<blank>\s?)\((?P<round>{_LIST})\)(?=\s*(?:[.!?。]|$|\n|\())")
_RANGE = re.compile(rf"({_NUMBER})\s*[-–—]\s*({_NUMBER})")
_LONGEST_RANGE = 20


def with_markers(answer: str, known: AbstractSet[int]) -> str:
    """An answer with all its citations in the form [1][2].

    Round brackets count only where the answer cites in no other way, and all their numbers are known.

    Args:
        answer: as the model wrote it, without thinking.
        known: the numbers that it was given.
    """
    if _FORMS.search(answer):
        return _FORMS.sub(lambda form: _written(form[form.lastgroup or 0]) or form[0], answer)
    return _ROUND.sub(
        lambda form: (
            form["blank"] + _written(form["round"]) if set(_numbers(form["round"])) <= known else form[0]
        ),
        answer,
    )


def cited_numbers(text: str) -> list[int]:
    """The numbers that a text with markers cites, in order, each once."""
    return list(dict.fromkeys(int(number) for number in MARKER.findall(text)))


def sentence_spans(answer: str, language: str | None) -> list[tuple[int, int]]:
    """(offset, length) of the answer's sentences; markers after a full stop belong to what stands before."""
    spans: list[tuple[int, int]] = []
    for sentence in split_sentences(answer, language):
        offset, end = sentence.offset, sentence.offset + sentence.length
        text = answer[offset:end]
        lead = re.match(r"(?:\[[^\]\n]{1,20}\]\s*)+", text)
        if lead and spans:
            before, _ = spans[-1]
            spans[-1] = (before, offset + len(lead[0].rstrip()) - before)
            offset += lead.end()
        if answer[offset:end].strip():
            spans.append((offset, end - offset))
    return spans


def _written(listed: str) -> str:
    """Empty for years, such as [1911-1913]."""
    numbers = _numbers(listed)
    return "" if min(numbers) >= 1000 else "".join(f"[{number}]" for number in dict.fromkeys(numbers))


def _numbers(listed: str) -> list[int]:
    """6-7 as 6, 7; a range that is reversed or long is the two numbers alone."""
    found: list[int] = []
    at = 0
    for span in _RANGE.finditer(listed):
        found += _plain(listed[at : span.start()])
        first, last = _plain(span[1])[0], _plain(span[2])[0]
        found += range(first, last + 1) if 0 <= last - first <= _LONGEST_RANGE else (first, last)
        at = span.end()
    return found + _plain(listed[at:])


def _plain(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
