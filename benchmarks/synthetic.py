"""A made-up collection of any size: passages of about a hundred tokens with eight facts and all provenance.

Deterministic: a passage depends on its number and on the number of entities only. Degrees follow Zipf's law
(an entity's frequency falls as one over its rank), so there are hubs that a twelfth of all facts touch.
Quads come from the builders that the ingest uses, in three layers, so that each can be measured.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.extract.names import slug
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import RAG, RDFS, TG, Graphs

FACTS_PER_PASSAGE = 8
PASSAGES_PER_DOCUMENT = 10
PASSAGES_PER_PAGE = 5
WHEN = datetime(2024, 1, 1, tzinfo=UTC)
MENTIONS = "mentions/1"
EXTRACTOR = "synthetic/1"

_CONSONANTS = "bdfgklmnprstvz"
_SYLLABLES = tuple(c + v for c in _CONSONANTS for v in "aeiou")
_VERBS = (
    *("founded", "visited", "taught", "painted", "sold", "repaired", "described", "inherited", "mapped"),
    *("measured", "guarded", "translated", "praised", "questioned", "followed", "married", "supplied"),
    *("rented", "named", "studied"),
)
_MANNERS = ("", " again", " at first", " in secret", " with care", " by letter", " for years", " on foot")
_LAYOUT = ((0, 1), (2,), (3, 4), (5,), (6, 7))  # which facts stand in which sentence


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation, with the sentence that states it."""

    subject: int
    predicate: int
    object: int
    sentence: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage: its text, the spans of its sentences, and what they state."""

    number: int
    text: str
    sentences: tuple[tuple[int, int], ...]
    facts: tuple[Fact, ...]

    @property
    def document(self) -> int:
        """The number of its document."""
        return self.number // PASSAGES_PER_DOCUMENT


class Collection:
    """A collection of so many facts.

    Args:
        facts: how many; rounded down to whole documents.
        facts_per_entity: mean; a fact has two ends.
    """

    def __init__(self, facts: int, facts_per_entity: int = 5) -> None:
        self.documents = max(1, facts // (FACTS_PER_PASSAGE * PASSAGES_PER_DOCUMENT))
        self.passages = self.documents * PASSAGES_PER_DOCUMENT
        self.facts = self.passages * FACTS_PER_PASSAGE
        self.entities = max(100, self.facts // facts_per_entity)

    # --- content -----------------------------------------------------------------------------------

    def passage(self, number: int) -> Passage:
        """Passage `number` (0-based)."""
        draw = random.Random(number)
        sentences: list[str] = []
        facts: list[Fact] = []
        for index, layout in enumerate(_LAYOUT):
            parts = []
            for _ in layout:
                s, o = self._zipf(draw), self._zipf(draw)
                while o == s:
                    o = self._zipf(draw)
                fact = Fact(s, int(len(_PREDICATES) ** draw.random()) - 1, o, index)
                facts.append(fact)
                parts.append(f"{entity_name(s)} {_PREDICATES[fact.predicate]} {entity_name(o)}")
            filler = " ".join(_word(draw) for _ in range(14 if len(layout) == 1 else 7))
            sentences.append(f"{', and '.join(parts)} near the {filler}.")
        offset = 0
        spans = []
        for sentence in sentences:
            spans.append((offset, len(sentence)))
            offset += len(sentence) + 1
        return Passage(number, " ".join(sentences), tuple(spans), tuple(facts))

    def _zipf(self, draw: random.Random) -> int:
        """A rank from 0, drawn with a probability that falls as one over the rank."""
        return int(self.entities ** draw.random()) - 1

    def questions(self, count: int) -> list[str]:
        """Questions over drawn facts: half about hubs, half about any entity, of one hop and of two."""
        draw = random.Random("questions")
        out = []
        for number in range(count):
            fact = draw.choice(self.passage(draw.randrange(self.passages)).facts)
            s, p, o = entity_name(fact.subject), _PREDICATES[fact.predicate], entity_name(fact.object)
            rare = entity_name(draw.randrange(self.entities))
            kinds = (
                f"Who {p} {o}?",
                f"What did {s} do, and how is that connected with {o}?",
                f"What is known about {rare}?",
                f"Which places did the people visit whom {rare} {p}, near the {_word(draw)} {_word(draw)}?",
            )
            out.append(kinds[number % len(kinds)])
        return out

    # --- quads -------------------------------------------------------------------------------------

    def layers(self) -> dict[str, Callable[[], Iterator[Quad]]]:
        """The layers by name, in the order in which an ingest would write them."""
        return {"passages": self._documents, "sentences and mentions": self._mentions, "facts": self._facts}

    def _documents(self) -> Iterator[Quad]:
        for number in range(self.documents):
            yield from self._document(number)
        for number in range(self.passages):
            passage = self.passage(number)
            node = self.chunk(passage)
            index = number % PASSAGES_PER_DOCUMENT
            page = iris.page(self.document(passage.document), index // PASSAGES_PER_PAGE + 1)
            yield from prov.chunk(node, self.document(passage.document), passage.text)
            yield from prov.chunk_place(node, index, index * 1000, [page])

    def _document(self, number: int) -> Iterator[Quad]:
        node = self.document(number)
        facts = prov.DocumentFacts(
            iri=node,
            identity=f"synthetic/{number}",
            location=f"file:///synthetic/{number}.txt",
            title=f"Report {number} on {entity_name(number % self.entities)}",
            media_type="text/plain",
            content_hash=iris.digest(str(number)),
            byte_size=PASSAGES_PER_DOCUMENT * 600,
            chunk_count=PASSAGES_PER_DOCUMENT,
            chunker="sentences/1",
            language="en",
            encoding="utf-8",
            page_count=PASSAGES_PER_DOCUMENT // PASSAGES_PER_PAGE,
            metadata=(),
            original=iris.stored_object(iris.digest(f"o{number}")),
            text=iris.stored_object(iris.digest(f"t{number}")),
        )
        yield from prov.document(facts, WHEN)
        for page in range(PASSAGES_PER_DOCUMENT // PASSAGES_PER_PAGE):
            length = PASSAGES_PER_PAGE * 1000
            yield from prov.page(node, page + 1, page * length, length, None)

    def _mentions(self) -> Iterator[Quad]:
        named: set[int] = set()
        for number in range(self.passages):
            passage = self.passage(number)
            chunk = self.chunk(passage)
            subgraph = iris.subgraph(chunk, MENTIONS)
            about = passage.document % self.entities
            yield prov.source(chunk, RAG.about, entity(about))
            yield from prov.mention_subgraph(subgraph, chunk, "synthetic", MENTIONS)
            for index, (offset, length) in enumerate(passage.sentences):
                ends = [end for f in passage.facts if f.sentence == index for end in (f.subject, f.object)]
                mentioned = map(entity, dict.fromkeys(ends))
                yield from prov.sentence(chunk, index, offset, length, mentioned)
            ends = [end for fact in passage.facts for end in (fact.subject, fact.object)]
            for each in dict.fromkeys([*ends, about]):
                node, name = entity(each), Literal(entity_name(each))
                yield prov.source(subgraph, TG.contains, Triple(node, RDFS.label, name))
                if each not in named:
                    named.add(each)
                    yield prov.fact(node, RDFS.label, name)
                    yield Quad(node, RAG.canonicalEntity, node, Graphs.DERIVED)

    def _facts(self) -> Iterator[Quad]:
        for index, name in enumerate(_PREDICATES):
            yield prov.fact(predicate(index), RDFS.label, Literal(name))
        for number in range(self.passages):
            passage = self.passage(number)
            chunk = self.chunk(passage)
            subgraph = iris.subgraph(chunk, EXTRACTOR)
            yield from prov.extraction(prov.ExtractionFacts(chunk, "synthetic", EXTRACTOR, WHEN))
            for index in {fact.predicate for fact in passage.facts}:
                label = Triple(predicate(index), RDFS.label, Literal(_PREDICATES[index]))
                yield prov.source(subgraph, TG.contains, label)
            for fact in passage.facts:
                triple = (entity(fact.subject), predicate(fact.predicate), entity(fact.object))
                yield from prov.contained(subgraph, *triple)
                offset, length = passage.sentences[fact.sentence]
                quote = passage.text[offset : offset + length]
                sentence = iris.sentence(chunk, fact.sentence)
                yield from prov.evidence(subgraph, triple, quote, offset, 0.9, sentence)

    @cached_property
    def edges(self) -> list[tuple[NamedNode, NamedNode, NamedNode]]:
        """25 facts from all over the collection."""
        step = max(1, self.passages // 25)
        found = []
        for number in range(0, self.passages, step):
            fact = self.passage(number).facts[number % FACTS_PER_PASSAGE]
            found.append((entity(fact.subject), predicate(fact.predicate), entity(fact.object)))
        return found[:25]

    @staticmethod
    def document(number: int) -> NamedNode:
        """The IRI of a document."""
        return iris.document(f"synthetic/{number}")

    def chunk(self, passage: Passage) -> NamedNode:
        """The IRI of a passage."""
        return iris.chunk(self.document(passage.document), str(passage.number), 0)


_PREDICATES = tuple(f"{verb}{manner}" for manner in _MANNERS for verb in _VERBS)


def _spoken(number: int, syllables: int) -> str:
    out = []
    for _ in range(syllables):
        number, rest = divmod(number, len(_SYLLABLES))
        out.append(_SYLLABLES[rest])
    return "".join(out)


@lru_cache(maxsize=100_000)
def entity_name(number: int) -> str:
    """The name of an entity: two words, no two entities alike."""
    size = len(_SYLLABLES) ** 2
    rest, first = divmod(number, size)
    return f"{_spoken(first, 2).title()} {_spoken((rest + 37 * first) % size, 2).title()}"


@lru_cache(maxsize=100_000)
def entity(number: int) -> NamedNode:
    """The IRI of an entity."""
    return iris.entity(slug(entity_name(number)))


@cache
def predicate(number: int) -> NamedNode:
    """The IRI of a predicate."""
    return iris.relation(slug(_PREDICATES[number]))


def _word(draw: random.Random) -> str:
    """A word of the 3,000 that passages are filled with, rare ones rarely."""
    return _spoken(int(3000 ** draw.random()) * 7, 3)
