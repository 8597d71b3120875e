"""The words of a question: which of them matter, and how much of them something speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphrag_rdf.index.analyse import analyse, common_words
from graphrag_rdf.index.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from graphrag_rdf.index.text import TextIndex

# what a question asks for, by its opening words; a sentence that shows such a thing is more likely to answer
_ASKED: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        re.compile(r"\bwhen\b|\b(what|which) (year|date|day|month|decade|century)\b", re.I),
        re.compile(r"\b\d{4}\b|\b\d{1,2} [A-Z][a-z]+\b"),
    ),
    (re.compile(r"\bhow (many|much|long|high|tall|far|old|deep|large|big)\b", re.I), re.compile(r"\d")),
    (re.compile(r"\b(who|whose|whom)\b", re.I), re.compile(r"[A-Z][\w'’-]+ [A-Z][\w'’-]+")),
    (re.compile(r"\bwhere\b", re.I), re.compile(r"\b(in|at|on|near|from|of) (the )?[A-Z]")),
)
# what asks for whatever is told, and is no word that a document would have to have
_ANYTHING = re.compile(
    r"\bwhat (?:(?:has |had )?happened|happens|occurred|took place|takes place)\b"
    r"|\bwas (?:geschah|geschieht|passierte|passiert)\b|\bwat (?:gebeurde|gebeurt)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The content words of a question, weighed by how rare they are in the documents.

    Attributes:
        weights: stem → weight; the weights add up to 1.
        language: of the question.
    """

    weights: Mapping[str, float]
    language: str | None

    @classmethod
    def of(cls, question: str, language: str | None, index: TextIndex | None) -> QuestionWords:
        """Weigh a question; without an index all words weigh the same."""
        rest = _ANYTHING.sub(" ", question)
        question = rest if analyse(rest, language) else question
        if index is None:
            rarity = dict.fromkeys(analyse(question, language), 1.0)
        else:
            rarity = index.rarity(question, kind="sentence", language=language)
        total = sum(rarity.values())
        return cls({term: weight / total for term, weight in rarity.items()} if total else {}, language)

    def spoken_of(self, *texts: str) -> frozenset[str]:
        """Which of the words stand in any of the texts."""
        return frozenset(term for text in texts for term in self._spoken_of(text))

    def _spoken_of(self, text: str) -> set[str]:
        found = self.weights.keys() & analyse(text, self.language)
        return {term for term in found if not self._is_common(term, text)}

    def _is_common(self, term: str, text: str) -> bool:
        """Whether a word is a common one of the text's language, which is another than the question's: to
        die, and the German article; a text is in the language of which it has most common words.
        """
        others = [language for language, stop in STOP_WORDS.items() if term in stop]
        return any(common_words(text, other) > common_words(text, self.language) for other in others)

    def weight(self, terms: Iterable[str]) -> float:
        """The weight of some of the words, 0 to 1; of a question without content words always 1."""
        return sum(self.weights[term] for term in terms) if self.weights else 1.0

    def coverage(self, *texts: str) -> float:
        """How much of the question (0 to 1) any of the texts speaks of."""
        return self.weight(self.spoken_of(*texts))


def answered_words(question: str, sentence: str) -> list[str]:
    """The words by which a question asks for a kind of thing (a date, a number, a name, a place) that a
    sentence shows: “which date” of one with a date, which need not have the word.
    """
    asked = ((asks.search(question), shows) for asks, shows in _ASKED)
    return [found[0] for found, shows in asked if found and shows.search(sentence)]


def shows_what_is_asked(question: str, sentence: str) -> bool:
    """Whether a sentence shows the kind of thing asked for."""
    return bool(answered_words(question, sentence))
