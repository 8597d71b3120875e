"""The texts that describe entities and facts, where there are several of one.

An entity is described by the definitions that were extracted, each with its evidence, or if there is none by
the sentences that name it; a fact between entities by its quotes. the wing `communities` merges them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyoxigraph import NamedNode

from graphrag_rdf.index.analyse import analyse, spoken_by
from graphrag_rdf.rdf.summaries import Element
from graphrag_rdf.rdf.terms import Term, local_name, node_of, one_label, text_of
from graphrag_rdf.store.base import Row, Store, in_batches, select_in_batches

_TOGETHER = 100
"""Elements that are read at once."""

_SHORT = 12
"""Words of a text below which it says little, whatever they are."""

Fact = tuple[NamedNode, NamedNode, Term]


@dataclass(slots=True)
class Text:
    """A text about an element, with the nodes that have it, and the chunks and documents of these.

    Attributes:
        place: of a sentence: title and IRI of its first document, and the offset there.
    """

    text: str
    place: tuple[str, str, int] = ("", "", 0)
    nodes: dict[NamedNode, None] = field(default_factory=dict)
    sources: dict[NamedNode, None] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The text as models see it: a sentence with the title of its document."""
        return f"{self.text} ({self.place[0]})" if self.place[0] else self.text

    def add(self, node: NamedNode, source: NamedNode) -> None:
        """Note that a node has the text too."""
        self.nodes.setdefault(node)
        self.sources.setdefault(source)


@dataclass(slots=True)
class Described:
    """An element with several texts: those of most sources first, sentences in the order of their documents.

    Attributes:
        name: of an entity; the words of a fact.
        sources: number of chunks and documents that say something of it.
        weight: see `derived/weights`; None of an entity.
    """

    element: Element
    name: str
    texts: list[Text]
    sources: int
    weight: float | None = None

    def hash(self, key: str) -> str:
        """SHA-256 of everything that the merged description depends on.

        Args:
            key: of what writes it.
        """
        texts = [[text.shown, *(node.value for node in text.nodes)] for text in self.texts]
        whole = json.dumps([key, self.name, self.sources, self.weight, texts])
        return hashlib.sha256(whole.encode()).hexdigest()


def described(store: Store) -> Iterator[Described]:
    """The entities and facts that texts describe more than once, of which some are in memory at a time."""
    defined: dict[NamedNode, list[Row]] = defaultdict(list)
    for row in store.select("summaries/definitions"):
        defined[row["entity"]].append(row)
    for entities in in_batches(sorted(defined, key=str), _TOGETHER):
        yield from _defined(store, {entity: defined[entity] for entity in entities})
    named = [row["entity"] for row in store.select("derived/entities", chunks=[])]
    for entities in in_batches([entity for entity in named if entity not in defined], _TOGETHER):
        yield from _named(store, entities)
    facts = [_edge(row) for row in store.select("summaries/facts")]
    for edges in in_batches(facts, _TOGETHER):
        yield from _stated(store, edges)


def _defined(store: Store, defined: Mapping[NamedNode, Sequence[Row]]) -> Iterator[Described]:
    several = {entity: rows for entity, rows in defined.items() if len({row["o"] for row in rows}) > 1}
    evidence = _evidence(store, [_edge(row) for rows in several.values() for row in rows])
    names = _names(store, several)
    for entity, rows in several.items():
        texts: dict[str, Text] = {}
        for row in rows:
            text = texts.setdefault(text_of(row["o"]), Text(text_of(row["o"])))
            for item in evidence[_edge(row)]:
                text.add(item.node, item.source)
        yield from _several(entity, names[entity], texts.values())


def _named(store: Store, entities: Sequence[NamedNode]) -> Iterator[Described]:
    sentences: dict[NamedNode, list[NamedNode]] = defaultdict(list)
    for row in store.select("summaries/sentences", entities=entities):
        sentences[row["entity"]].append(row["sentence"])
    several = {entity: nodes for entity, nodes in sentences.items() if len(nodes) > 1}
    wanted = sorted({sentence for nodes in several.values() for sentence in nodes}, key=str)
    rows = select_in_batches(store, "retrieval/sentence-texts", "sentences", wanted)
    row_of = {row["sentence"]: row for row in rows}
    names = _names(store, several)
    for entity, nodes in several.items():
        texts: dict[str, Text] = {}
        for sentence in nodes:
            row = row_of[sentence]
            words, place = " ".join(row["text"].split()), _place(row)
            text = texts.setdefault(words, Text(words, place))
            text.place = min(text.place, place)
            text.add(sentence, row["chunk"])
        yield from _several(entity, names[entity], texts.values())


def _place(row: Row) -> tuple[str, str, int]:
    return row["title"], row["document"], row["chunk_offset"] + row["offset"]


def _stated(store: Store, edges: Sequence[Fact]) -> Iterator[Described]:
    evidence = _evidence(store, edges)
    names = _names(store, {node_of(term) for edge in edges for term in edge})
    rows = store.select("derived/weights", edges=edges)
    weights = {_edge(row): row["weight"] for row in rows}
    for edge in edges:
        texts: dict[str, Text] = {}
        for item in evidence[edge]:
            if item.quote:
                texts.setdefault(item.quote, Text(item.quote)).add(item.node, item.source)
        words = " ".join(names[node_of(term)] for term in edge)
        yield from _several(edge, words, texts.values(), weights.get(edge))


def _several(
    element: Element, name: str, texts: Iterable[Text], weight: float | None = None
) -> Iterator[Described]:
    """The element, if there are several texts."""
    ordered = sorted(texts, key=lambda text: (-len(text.sources), text.place, text.text))
    if len(ordered) > 1:
        for text in ordered:
            text.nodes = dict.fromkeys(sorted(text.nodes, key=str))
        sources = {source for text in ordered for source in text.sources}
        yield Described(element, name, ordered, len(sources), weight)


@dataclass(frozen=True, slots=True)
class _Evidence:
    node: NamedNode
    source: NamedNode
    quote: str


def _evidence(store: Store, edges: Sequence[Fact]) -> Mapping[Fact, list[_Evidence]]:
    """The evidence of facts; of those without any the subgraphs, which have no quote."""
    rows_of: dict[Fact, list[Row]] = defaultdict(list)
    for row in select_in_batches(store, "communities/report-evidence", "edges", dict.fromkeys(edges)):
        rows_of[_edge(row)].append(row)
    evidence: dict[Fact, list[_Evidence]] = defaultdict(list)
    for edge, rows in rows_of.items():
        sources: dict[Term, list[NamedNode]] = defaultdict(list)
        for row in rows:
            if row["source"] is not None:
                sources[row["subgraph"]].append(row["source"])
        quoted = [row for row in rows if row["evidence"] is not None]
        evidence[edge] = [
            _Evidence(
                row["evidence"] if quoted else row["subgraph"],
                source,
                " ".join(row["quote"].split()) if quoted else "",
            )
            for row in quoted or rows
            for source in dict.fromkeys(sources[row["subgraph"]])
        ]
    return evidence


def _names(store: Store, things: Iterable[NamedNode]) -> dict[NamedNode, str]:
    things = sorted(things, key=str)
    rows = one_label([*select_in_batches(store, "retrieval/labels", "things", things)])
    labels = {row["thing"]: row["label"].value for row in rows}
    return {thing: labels.get(thing) or local_name(thing.value) for thing in things}


def _edge(row: Row) -> Fact:
    return row["s"], row["p"], row["o"]


def central(element: Described, most: int) -> list[Text]:
    """The most central texts, in their order: those that share most words, other than the name, with others,
    then those that most sources have.

    A word counts by the logarithm of the number of texts that have it; the mean is damped for short texts.
    After the centroids of Radev and others 2004, Information Processing and Management 40:919.
    """
    texts = element.texts
    if len(texts) <= most:
        return list(texts)
    name = {*_terms(element.name)}
    words = [_terms(text.text) - name for text in texts]
    having = Counter(word for each in words for word in each)
    shared = [sum(math.log(having[word]) for word in sorted(each)) for each in words]
    ranked = sorted(
        range(len(texts)),
        key=lambda n: (-round(shared[n] / (len(words[n]) + _SHORT), 9), -len(texts[n].sources), n),
    )
    return [texts[number] for number in sorted(ranked[:most])]


def _terms(text: str) -> set[str]:
    return {*analyse(text, spoken_by(text))}
