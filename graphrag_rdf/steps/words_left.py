"""What of a question is still to be said: similarity of sentences by the words that no earlier carrier has.

The sentence that names the things of a question shares nearly all of its rare words. What leads on from there
shares the others: of "What kind of plane dropped the bomb on the birthplace of …?" the second sentence has
"plane" and "bomb", which beside the name would count for nothing. So the sentences of an entity are compared
with what the way to it has left open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphrag_rdf.index.postings import Bm25
    from graphrag_rdf.steps.search import QuestionSearch


class WordsLeft:
    """The terms of a question that sentences have, and what each adds to their BM25.

    Args:
        search: the indexes.
        bm25: its constants.
        found: sentences that the index found; the best of them is what others are compared with.
    """

    def __init__(self, search: QuestionSearch, bm25: Bm25, found: Iterable[str]) -> None:
        self._search = search
        self._bm25 = bm25
        self._parts: dict[str, Mapping[str, float]] = {}
        self._best: dict[frozenset[str], float] = {}
        self._found = sorted(found)

    def look_up(self, sentences: Iterable[str]) -> None:
        """Have the parts of these sentences at hand."""
        unknown = sorted({iri for iri in sentences if iri not in self._parts})
        self._parts.update({iri: {} for iri in unknown})
        self._parts.update(self._search.word_parts(unknown, self._bm25))

    def said_by(self, sentence: str) -> frozenset[str]:
        """The terms of the question that a sentence has; look it up before."""
        return frozenset(self._parts[sentence])

    def likeness(self, sentence: str, said: frozenset[str]) -> float:
        """BM25 over the terms that are not `said`, as a share of the best, 0 to 1; look it up before."""
        if said not in self._best:
            self.look_up(self._found)
            self._best[said] = max((self._left(iri, said) for iri in self._found), default=0.0)
        best = self._best[said]
        return min(1.0, self._left(sentence, said) / best) if best else 0.0

    def _left(self, sentence: str, said: frozenset[str]) -> float:
        return sum(part for term, part in self._parts[sentence].items() if term not in said)
