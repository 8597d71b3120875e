"""The baseline: plain BM25 over texts in memory, which shares no scoring with the program's own index."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from graphrag_rdf.index.analyse import analyse


class Bm25:
    """BM25 (Robertson et al., 1994; idf as in Lucene, never negative) over texts.

    Args:
        texts: ranked by their position here; each is one field. A title belongs in front of its text.
        language: BCP 47 tag by which texts and questions are stemmed and lose stop words.
        k1, b: saturation of a term's count, and normalisation by length.
    """

    def __init__(
        self, texts: Sequence[str], language: str | None, *, k1: float = 1.5, b: float = 0.75
    ) -> None:
        self._language = language
        counts = [Counter(analyse(text, language)) for text in texts]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / max(1, len(texts)) or 1.0
        postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, count in enumerate(counts):
            norm = k1 * (1 - b + b * lengths[place] / mean)
            for term, times in count.items():
                postings[term].append((place, times * (k1 + 1) / (times + norm)))
        self._postings = dict(postings)
        self._texts = len(texts)

    def rank(self, question: str, k: int) -> list[int]:
        """The positions of the k best texts that share a term with a question, best first, ties in order."""
        scores: dict[int, float] = defaultdict(float)
        for term, times in Counter(analyse(question, self._language)).items():
            found = self._postings.get(term, ())
            idf = math.log(1 + (self._texts - len(found) + 0.5) / (len(found) + 0.5))
            for place, weight in found:
                scores[place] += times * idf * weight
        return sorted(scores, key=lambda place: (-scores[place], place))[:k]
