"""The part of an ontology that is relevant to a chunk.

Small ontologies are shown whole. Of large ones, the terms are ranked by their words in the chunk (BM25 over
names and descriptions, names counting more) and, with an embedding model, by their meaning (cosine; the two
ranks are joined by reciprocal rank fusion, Cormack et al. 2009). The best are taken with what they need to be
understood: classes above them, domains, ranges and inverses. Properties of the classes taken follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from threading import Lock
from typing import TYPE_CHECKING

from graphrag_rdf.index.analyse import analyse, primary_language
from graphrag_rdf.wings.ontologies.schema.model import Ontology, OntologyTerm

if TYPE_CHECKING:
    from graphrag_rdf.index.embedders import Embedder, Vectors

_K1, _B = 1.2, 0.75
_OF_NAMES = 3.0
"""Weight of a word of a name; one of a description has 1."""
_FUSION = 60
_OF_HITS = 0.7
"""Share of the terms that are taken for their words. The rest is for properties of their classes."""


class TermVectors:
    """Finds terms by meaning. Their vectors are made once, when the first text is compared.

    Args:
        embedder: makes the vectors of terms and texts.
    """

    def __init__(self, ontology: Ontology, embedder: Embedder) -> None:
        self._ontology, self._embedder = ontology, embedder
        self._matrix: Vectors | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The embedding model."""
        return self._embedder.name

    def nearest(self, text: str, number: int) -> list[str]:
        """The terms whose names and description are nearest to a text, as IRIs.

        Raises:
            LlmError, SearchIndexError: the embedding model failed.
        """
        terms = list(self._ontology.terms.values())
        with self._lock:
            if self._matrix is None:
                texts = ["; ".join((*dict.fromkeys(t.names()), t.comment())) for t in terms]
                self._matrix = self._embedder.embed(texts)
        cosines = self._matrix @ self._embedder.embed([text])[0]
        best = nsmallest(number, range(len(terms)), key=lambda row: (-cosines[row], row))
        return [terms[row].iri for row in best]


@dataclass
class Selector:
    """Selects terms of an ontology.

    Args:
        ontology: its terms are indexed once for each language of chunks.
        limit: most terms of a selection.
        vectors: ranks by meaning, too.
    """

    ontology: Ontology
    limit: int
    vectors: TermVectors | None = None
    _indexes: dict[str, dict[str, list[tuple[str, float]]]] = field(default_factory=dict)

    @property
    def takes_all(self) -> bool:
        """Whether every selection has all terms."""
        return len(self.ontology.terms) <= self.limit

    def select(self, text: str, language: str | None) -> list[OntologyTerm]:
        """The terms for a chunk, in the order of their IRIs.

        Args:
            language: BCP 47 tag of the text, None if unknown.
        """
        terms = self.ontology.terms
        if self.takes_all:
            return list(terms.values())
        taken: dict[str, None] = {}
        self._take(self._ranked(text, language), taken, round(self.limit * _OF_HITS))
        if not taken:
            self._take(self._general, taken, self.limit)
        self._take(self._properties_of(list(taken)), taken, self.limit)
        return [terms[iri] for iri in sorted(taken)]

    def _take(self, iris: Iterable[str], taken: dict[str, None], limit: int) -> None:
        """Add terms with what they need, as long as there is room for all of it."""
        for iri in iris:
            if len(taken) >= limit:
                return
            new = [each for each in self._closure(iri) if each not in taken]
            if len(taken) + len(new) <= limit:
                taken |= dict.fromkeys(new)

    def _closure(self, iri: str) -> list[str]:
        """A term, those above it, and of a property its inverses and the classes at its ends."""
        terms, term = self.ontology.terms, self.ontology.terms[iri]
        ends = (each for end in (*term.domains, *term.ranges) for each in self.ontology.above(end))
        related = dict.fromkeys((*self.ontology.above(iri), *term.inverses, *ends))
        return [each for each in related if each in terms]

    def _ranked(self, text: str, language: str | None) -> list[str]:
        by_words = self._by_words(text, language)
        if self.vectors is None:
            return by_words
        scores: dict[str, float] = {}
        for ranks in (by_words, self.vectors.nearest(text, self.limit)):
            for rank, iri in enumerate(ranks, 1):
                scores[iri] = scores.get(iri, 0.0) + 1 / (_FUSION + rank)
        return sorted(scores, key=lambda iri: (-scores[iri], iri))

    def _by_words(self, text: str, language: str | None) -> list[str]:
        index = self._index(primary_language(language))
        scores: dict[str, float] = {}
        for word in set(analyse(text, language)):
            for iri, weight in index.get(word, ()):
                scores[iri] = scores.get(iri, 0.0) + weight
        return nsmallest(self.limit, scores, key=lambda iri: (-scores[iri], iri))

    def _index(self, language: str) -> dict[str, list[tuple[str, float]]]:
        """Word → terms with its weight in their names and descriptions."""
        if language not in self._indexes:
            self._indexes[language] = _index(self.ontology.terms.values(), language)
        return self._indexes[language]

    @cached_property
    def _by_class(self) -> dict[str, list[str]]:
        """Class → properties of which it is a domain or range."""
        by_class: dict[str, list[str]] = {}
        for term in self.ontology.terms.values():
            for end in dict.fromkeys((*term.domains, *term.ranges)):
                by_class.setdefault(end, []).append(term.iri)
        return by_class

    def _properties_of(self, iris: Iterable[str]) -> Iterator[str]:
        for iri in iris:
            yield from self._by_class.get(iri, ())

    @cached_property
    def _general(self) -> list[str]:
        """Properties of the classes that have the most, for chunks without a word of the ontology."""
        ranked = sorted(self._by_class, key=lambda iri: (-len(self._by_class[iri]), iri))
        of_classes = self._properties_of(ranked[: self.limit])
        return list(dict.fromkeys((*of_classes, *list(self.ontology.terms)[: self.limit])))


def _index(terms: Iterable[OntologyTerm], language: str) -> dict[str, list[tuple[str, float]]]:
    counted: list[tuple[str, dict[str, float]]] = []
    holders: dict[str, int] = {}
    for term in terms:
        counts: dict[str, float] = {}
        parts = [(name, _OF_NAMES) for name in dict.fromkeys(term.names())]
        parts += [(each.value, 1.0) for each in term.comments]
        for text, weight in parts:
            for word in analyse(text, language):
                counts[word] = counts.get(word, 0.0) + weight
        counted.append((term.iri, counts))
        for word in counts:
            holders[word] = holders.get(word, 0) + 1
    mean = sum(sum(counts.values()) for _, counts in counted) / max(1, len(counted)) or 1.0
    index: dict[str, list[tuple[str, float]]] = {}
    for iri, counts in counted:
        norm = _K1 * (1 - _B + _B * sum(counts.values()) / mean)
        for word, count in counts.items():
            rarity = math.log(1 + (len(counted) - holders[word] + 0.5) / (holders[word] + 0.5))
            index.setdefault(word, []).append((iri, rarity * count * (_K1 + 1) / (count + norm)))
    return index
