"""Headings that stand in one line with the sentence below them, as in text that was copied from pages.

Three signs tell them from the beginning of the sentence: its first words are doubled ("Surgery Surgery is
done …"), a word that only begins sentences follows ("Overview The pancreas is …"), or several sentences
begin with the same words, always before a capital ("Key points Non-small cell …").
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache

from graphrag_rdf.documents.model import Heading
from graphrag_rdf.documents.text import read_data

_BEGINS = r"(?:\A|(?<=[.!?])[ \n]+|(?<=[.!?][\"”’)])[ \n]+|(?<=\n)[ \t]*)"
_WORD = r"[\w’'/-]+"
_HEAD = rf"(?P<head>[A-Z]{_WORD}(?: {_WORD}){{0,5}}?)"
_DOUBLED = re.compile(rf"{_BEGINS}{_HEAD}[ \n](?P=head)(?= [a-z(])")
_STARTED = re.compile(
    rf"{_BEGINS}{_HEAD}[ \n](?=(?:The|This|These|Those|There|They|When|If|You|Your|Most|Some|Many|We) [a-z])"
)
_REPEATED = re.compile(rf"{_BEGINS}(?P<head>[A-Z][a-z]+(?: [a-z]+){{1,3}}?)[ \n](?=(?P<next>{_WORD}))")
_LEAST_LETTERS = 4  # of a doubled word
_TIMES = 3  # sentences that begin with the same words


def glued_headings(text: str, language: str | None) -> tuple[Heading, ...]:
    """The headings of a text that share their line with a sentence, in order.

    Args:
        language: BCP 47; only English ones are found, also if it is not known.
    """
    if (language or "en").partition("-")[0] != "en":
        return ()
    heads: dict[int, str] = {}
    for match in (*_doubled(text), *_before_starters(text), *_repeated(text)):
        heads.setdefault(match.start("head"), match["head"])
    return tuple(Heading(offset, 1, heads[offset], glued=True) for offset in sorted(heads))


@cache
def _not_in_headings() -> frozenset[str]:
    """Words with which no heading begins or ends, and which none has that several sentences share."""
    english = read_data("sentences")["en"]
    return frozenset(f"{english['starters']} {english['speech']}".split())


def _doubled(text: str) -> Iterator[re.Match[str]]:
    """A doubled word may be a name (Bora Bora), unless the text has it alone too."""
    for match in _DOUBLED.finditer(text):
        head = match["head"]
        if " " in head or (len(head) >= _LEAST_LETTERS and _stands_alone(head, text)):
            yield match


def _stands_alone(word: str, text: str) -> bool:
    alone = re.compile(
        rf"(?<!{re.escape(word)} )\b{re.escape(word)}\b(?! {re.escape(word)}\b)", re.IGNORECASE
    )
    return alone.search(text) is not None


def _before_starters(text: str) -> Iterator[re.Match[str]]:
    for match in _STARTED.finditer(text):
        words = match["head"].lower().split()
        if _not_in_headings().isdisjoint((words[0], words[-1])):
            yield match


def _repeated(text: str) -> Iterator[re.Match[str]]:
    """Heads that are always followed by a capital, by different words."""
    heads: defaultdict[str, list[re.Match[str]]] = defaultdict(list)
    for match in _REPEATED.finditer(text):
        heads[match["head"]].append(match)
    for head, matches in heads.items():
        if _not_in_headings().isdisjoint(head.lower().split()) and _is_head(matches):
            yield from matches


def _is_head(matches: Sequence[re.Match[str]]) -> bool:
    following = {match["next"] for match in matches}
    return len(following) >= _TIMES and all(word[0].isupper() for word in following)
