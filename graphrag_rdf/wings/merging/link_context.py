"""How far the texts that mention an entity fit what a vocabulary says of a thing.

The words of definitions, notes and neighbours' names are compared with those of the sentences that mention
the entity, and, with half the weight, of their chunks. Rare words count more, as in BM25 (Robertson and
Zaragoza 2009): each by its inverse document frequency among the chunks, and the sum is divided by a norm of
the description's length. Words of the names are left out: they match in any case.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.index.analyse import analyse, primary_language, stop_words
from graphrag_rdf.store.base import Store, select_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.index.text import TextIndex

_OF_CHUNK, _OF_TITLE = 0.5, 0.5
"""Weights of a word that only the rest of the chunk, or the title of its document, has."""
_LENGTH, _B = 20, 0.5
"""Words of a description of usual length, and how much its length counts."""
_SATURATION = 0.95
"""Sum of weights that gives 0.5. A word as rare as can be, in the sentence, has 1."""
_FEW = 8
"""Words of a description from which it means something that a text has none of them."""
UNKNOWN = 0.5
"""Fit of a thing of which the vocabulary says nothing."""
_EVIDENCE = 3


@dataclass(frozen=True, slots=True)
class Mention:
    """A sentence that mentions an entity.

    Attributes:
        words, around: index terms of the sentence, and of its chunk.
        document: or the entity itself, for what facts say of it.
    """

    sentence: NamedNode | None
    document: NamedNode
    words: frozenset[str]
    around: frozenset[str]
    title: frozenset[str]
    language: str | None


@dataclass(slots=True)
class Described:
    """What a vocabulary says of a thing."""

    texts: list[Literal] = field(default_factory=list)
    names: list[Literal] = field(default_factory=list)


class Contexts:
    """Mentions of entities and descriptions of things, read for a batch.

    Args:
        index: tells how rare words are.
        entities: canonical ones, with all their names.
        things: of vocabularies, with all their names.
    """

    def __init__(
        self,
        store: Store,
        index: TextIndex,
        entities: Mapping[NamedNode, Iterable[str]],
        things: Mapping[NamedNode, Sequence[Literal]],
    ) -> None:
        self._index = index
        self._rarest = math.log(1 + (max(1, index.count("chunk")) - 0.5) / 1.5)
        self._weights: dict[tuple[NamedNode, str | None], dict[str, float]] = {}
        self._lengths: dict[tuple[NamedNode, str | None], int] = {}
        self._names = {entity: list(names) for entity, names in entities.items()}
        self._things = {thing: Described(names=list(names)) for thing, names in things.items()}
        for thing, text in _said(store, list(things)):
            self._things[thing].texts.append(text)
        self._mentions = _mentions(store, list(entities))

    def fits(
        self, entity: NamedNode, things: Sequence[NamedNode]
    ) -> Iterator[tuple[NamedNode, NamedNode, float]]:
        """How far texts fit descriptions: thing, document, and 0 to 1. If no text mentions the entity, it
        stands for the document itself.

        Nothing is known of a thing without a description, and little of one with a few words that the text
        lacks. Among several things that must not outweigh what is known of others.
        """
        mentions = self._mentions.get(entity, [])
        found: dict[NamedNode, dict[NamedNode, float | None]] = {}
        for thing in things:
            fits: dict[NamedNode, float | None] = {mention.document: None for mention in mentions}
            for mention in mentions if self._things[thing].texts else ():
                here = self._fit(mention, entity, thing, things)
                fits[mention.document] = max(fits[mention.document] or 0.0, here)
            found[thing] = fits or {entity: None}
        for thing, fits in found.items():
            for document, fit in fits.items():
                if fit is None:
                    others = [known for other in found.values() if (known := other[document]) is not None]
                    yield thing, document, min([UNKNOWN, max(others, default=UNKNOWN)])
                elif len(things) == 1:
                    yield thing, document, max(fit, UNKNOWN * (1 - self._length(thing) / _FEW))
                else:
                    yield thing, document, fit

    def _length(self, thing: NamedNode) -> int:
        """Words of a description in the language of a text that was compared with it."""
        return max(length for (known, _), length in self._lengths.items() if known == thing)

    def evidence(self, entity: NamedNode, thing: NamedNode) -> tuple[NamedNode, ...]:
        """The sentences that fit best."""
        ranked = [
            (self._fit(mention, entity, thing, [thing]), mention.sentence)
            for mention in self._mentions.get(entity, [])
            if mention.sentence is not None
        ]
        ranked.sort(key=lambda pair: (-pair[0], str(pair[1])))
        return tuple(sentence for _, sentence in ranked[:_EVIDENCE])

    def _fit(
        self, mention: Mention, entity: NamedNode, thing: NamedNode, among: Sequence[NamedNode]
    ) -> float:
        """How far a mention fits a description; words that several of the things have count less."""
        language = mention.language
        weights = self._weighed(thing, language)
        holders = [self._weighed(other, language) for other in among if other != thing]
        own = _terms(self._names[entity], language)
        total = 0.0
        for word in weights.keys() - own:
            if word in mention.words:
                share = 1.0
            elif word in mention.around:
                share = _OF_CHUNK
            elif word in mention.title:
                share = _OF_TITLE
            else:
                continue
            total += share * weights[word] / (1 + sum(word in other for other in holders))
        total /= 1 - _B + _B * max(1.0, self._lengths[thing, language] / _LENGTH)
        return total / (total + _SATURATION)

    def _weighed(self, thing: NamedNode, language: str | None) -> dict[str, float]:
        """The words that describe a thing, its names among them, with their rarity from 0 to 1.

        Texts in other languages count only if there is none in this one.
        """
        key = (thing, language)
        if key not in self._weights:
            described = self._things[thing]
            wanted = primary_language(language)
            fitting = [text for text in described.texts if _is_of(text, wanted)] or described.texts
            texts = " ".join(text.value for text in fitting)
            every = " ".join([texts, *(name.value for name in described.names)])
            found = self._index.rarity(every, kind="chunk", language=language)
            stopped = stop_words()  # which are not left out of texts of unknown language
            common = frozenset[str]().union(
                *(stopped.get(primary_language(text.language), ()) for text in fitting)
            )
            self._weights[key] = {
                word: idf / self._rarest for word, idf in found.items() if word not in common
            }
            self._lengths[key] = len(_terms([texts], language))
        return self._weights[key]


def _is_of(text: Literal, language: str) -> bool:
    return text.language is None or primary_language(text.language) == language


def _terms(texts: Iterable[str], language: str | None) -> frozenset[str]:
    return frozenset(term for text in texts for term in analyse(text, language))


def _said(store: Store, things: Sequence[NamedNode]) -> Iterator[tuple[NamedNode, Literal]]:
    """What vocabularies and facts say of things."""
    for template in ("linking/descriptions", "linking/neighbours"):
        for row in select_in_batches(store, template, "things", things):
            if isinstance(text := row["text"], Literal):
                yield row["thing"], text


def _mentions(store: Store, entities: Sequence[NamedNode]) -> dict[NamedNode, list[Mention]]:
    """The mentions of entities; of those without any, what facts say of them."""
    found: dict[NamedNode, list[Mention]] = {}
    analysed: dict[tuple[str, str | None], frozenset[str]] = {}

    def terms(text: str, language: str | None) -> frozenset[str]:
        key = (text, language)
        if key not in analysed:
            analysed[key] = frozenset(analyse(text, language))
        return analysed[key]

    for row in select_in_batches(store, "linking/mentions", "entities", entities):
        language = row["language"]
        found.setdefault(row["entity"], []).append(
            Mention(
                row["sentence"],
                row["document"],
                frozenset(analyse(row["text"], language)),
                terms(row["content"], language),
                terms(row["title"], language),
                language,
            )
        )
    unread = [entity for entity in entities if entity not in found]
    said: dict[NamedNode, set[str]] = {}
    for entity, text in _said(store, unread):
        said.setdefault(entity, set()).update(analyse(text.value, None))
    for entity, words in said.items():
        every = frozenset(words)
        found[entity] = [Mention(None, entity, every, every, frozenset(), None)]
    return found
