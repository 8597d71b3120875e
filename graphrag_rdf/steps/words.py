"""The words of a question: which of them matter, and how much of them something speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterable

from graphrag_rdf.index.analyse import analyse

# what a question asks for, by its opening words; a sentence that shows such a thing is more likely to answer
_ASKED: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        re.compile(r"\b(when|what year|which year|what date)\b", re.I),
        re.compile(r"\b\d{4}\b|\b\d{1,2} [A-Z][a-z]+\b"),
    ),
    (re.compile(r"\bhow (many|much|long|high|tall|far|old|deep|large|big)\b", re.I), re.compile(r"\d")),
    (re.compile(r"\b(who|whose|whom)\b", re.I), re.compile(r"[A-Z][\w'’-]+ [A-Z][\w'’-]+")),
    (re.compile(r"\bwhere\b", re.I), re.compile(r"\b(in|at|on|near|from|of) (the )?[A-Z]")),
)


def content_terms(text: str, language: str | None) -> set[str]:
    """The stems of a text's content words (stop words left out)."""
    return set(analyse(text, language))


def coverage(question_terms: set[str], texts: Iterable[str], language: str | None) -> float:
    """The share (0 to 1) of the question's stems that stand in any of the texts; 1 if it has none."""
    if not question_terms:
        return 1.0
    missing = set(question_terms)
    for text in texts:
        missing -= content_terms(text, language)
        if not missing:
            break
    return 1.0 - len(missing) / len(question_terms)


def shows_what_is_asked(question: str, sentence: str) -> bool:
    """Whether a sentence shows the kind of thing asked for (a date, a number, a name, a place)."""
    return any(asks.search(question) and shows.search(sentence) for asks, shows in _ASKED)
