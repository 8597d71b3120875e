"""Entity normalisation: proposes which entities are one, and decides on those that are sure enough.

`likeness` compares names. This module checks its pairs against the store. Entities of contradicting
types, and those that a split keeps apart, are never proposed. Aliases and initials need a document that names
both. Names that are only spelt alike get a score below what is applied by default. With an embedding model
the meaning of such names counts too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import later
from graphrag_rdf.ingest.decisions import read_decisions
from graphrag_rdf.ingest.entity_decisions import ENTITIES, merge
from graphrag_rdf.ingest.names import names_of_groups
from graphrag_rdf.ingest.resolutions import Groups, Merge, Resolution
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.terms import one_label
from graphrag_rdf.store.base import Store, select_in_batches
from graphrag_rdf.wings.merging.likeness import FIRM_NAME, Pair, also_called, initials, same_key, similar

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


RULE = iris.agent("graphrag-rdf-normalise")
"""The agent of these decisions."""

MIN_SCORE = 0.9
"""The least score that is proposed and applied by default: names that differ only in writing."""

_SPELLING = 0.8  # the least cosine of 3-grams that makes names alike
_SURE = 0.89  # the most that likeness of spelling or meaning alone can say
_TOGETHER = frozenset({"alias", "short_name", "initials"})
"""Rules that need a document which names both."""
_REASONS = {
    "punctuation": later("the names differ in punctuation only"),
    "together": later("one name has its words written together"),
    "accents": later("the names differ in accents only"),
    "article": later("the names differ in an article only"),
    "legal_form": later("the names differ in the legal form of the firm only"),
    "firm_name": later("one is the other's name without the legal form of the firm"),
    "plural": later("the names differ in the plural of a common noun only"),
    "title": later("the names differ in a title only"),
    "alias": later("one is also called what the other is called"),
    "short_name": later("one is also called by the part of its name that the other has"),
    "initials": later("one name has the initials of the other, and a document names both"),
    "spelling": later("the names are spelt alike"),
    "meaning": later("the names are spelt alike and mean alike"),
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two entities that may be one.

    Attributes:
        one, other: canonical entities.
        keep: the one that represents both and all that they are merged with: the one with the most facts.
        names: the labels of the two.
        rule, score: see `likeness.Pair`; the rule `meaning` is spelling confirmed by an embedding.
        documents: how many documents name both.
    """

    one: NamedNode
    other: NamedNode
    keep: NamedNode
    names: tuple[str, str]
    rule: str
    score: float
    documents: int

    @property
    def reason(self) -> str:
        """Why, for people; without the names, which are words of documents."""
        return _REASONS[self.rule]

    def as_json(self) -> dict[str, object]:
        """The keys of `entities normalise --format json`."""
        pair = zip((self.one, self.other), self.names, strict=True)
        return {
            "entities": [{"iri": node.value, "name": name} for node, name in pair],
            "keep": self.keep.value,
            "score": round(self.score, 4),
            "rule": self.rule,
            "reason": self.reason,
            "documents": self.documents,
        }


def propose(
    engine: NeededComponents, *, min_score: float = MIN_SCORE, limit: int | None = None
) -> list[Proposal]:
    """Pairs of entities that may be one, the best first, ties by IRI.

    A group of n entities gives n - 1 pairs.

    Args:
        min_score: 0 to 1.
        limit: at most so many.
    """
    store = engine.store
    names = names_of_groups(store)
    entities = sorted(names, key=str)
    every = [(n, name) for n, node in enumerate(entities) for name in sorted(names[node])]
    called = [(n, name) for n, name in every if names[entities[n]][name]]
    aliases = [(n, name) for n, name in every if not names[entities[n]][name]]
    pairs = [*same_key(called), *also_called(called, aliases), *initials(called)]
    if min_score < _SURE:
        pairs += _spelt_alike(engine, called, min_score)
    best: dict[tuple[int, int], Pair] = {}
    for pair in pairs:
        key = (pair.one, pair.other)
        if pair.score >= min_score and (key not in best or pair.score > best[key].score):
            best[key] = pair
    ordered = sorted(best.values(), key=lambda p: (-p.score, p.one, p.other))
    proposals = _allowed(store, entities, ordered, min_score)
    proposals.sort(key=lambda proposal: -proposal.score)
    return proposals[:limit]


def apply(engine: NeededComponents, proposals: Sequence[Proposal]) -> list[Resolution]:
    """Decide on proposals; the decisions, in their order."""
    merges = [Merge(p.keep, (p.one, p.other), p.reason, round(p.score, 4)) for p in proposals]
    return merge(engine, merges, by=RULE)


def standing(store: Store) -> list[Resolution]:
    """The decisions that were made here and stand."""
    return [d for d in read_decisions(store, ENTITIES) if d.by == RULE and d.undone is None]


def _spelt_alike(
    engine: NeededComponents, called: Sequence[tuple[int, str]], min_score: float
) -> Iterable[Pair]:
    pairs = list(similar(called, max(_SPELLING, min_score / _SURE * 0.9)))
    likeness = _meanings(engine, called, pairs)
    for pair in pairs:
        meaning = likeness.get((pair.one, pair.other))
        if meaning is None:
            yield Pair(pair.one, pair.other, "spelling", pair.score * _SURE)
        else:
            yield Pair(pair.one, pair.other, "meaning", (pair.score + max(0.0, meaning)) / 2 * _SURE)


def _meanings(
    engine: NeededComponents, called: Sequence[tuple[int, str]], pairs: Sequence[Pair]
) -> dict[tuple[int, int], float]:
    """The cosine of the embeddings of the names of each pair; nothing without an embedding model."""
    embedder = engine.embedder
    if embedder is None or not pairs:
        return {}
    from graphrag_rdf.index.embedders import unit_rows

    wanted = sorted({number for pair in pairs for number in (pair.one, pair.other)})
    texts: dict[int, str] = {}
    for number, name in called:
        texts[number] = f"{texts[number]}\n{name}" if number in texts else name
    rows = unit_rows(embedder.embed([texts[number] for number in wanted]))
    place = {number: row for row, number in enumerate(wanted)}
    return {(p.one, p.other): float(rows[place[p.one]] @ rows[place[p.other]]) for p in pairs}


@dataclass(slots=True)
class _Group:
    """Entities that are taken for one, with what the store has of them.

    Attributes:
        uses: entity → the number of its facts, with those of all that are one with it.
    """

    uses: Counter[int] = field(default_factory=Counter)
    types: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)

    def fits(self, group: _Group) -> bool:
        """Whether the types of two groups agree, as far as they have any."""
        return not self.types or not group.types or self.shares_type(group)

    def shares_type(self, group: _Group) -> bool:
        """Whether two groups are known to be of one type."""
        return not self.types.isdisjoint(group.types)

    def absorb(self, group: _Group) -> None:
        """Take another group for the same."""
        self.uses.update(group.uses)
        self.types |= group.types
        self.documents |= group.documents


def _grouped(store: Store, members: Mapping[int, Iterable[NamedNode]]) -> dict[int, _Group]:
    """Entities as they stand in the store, each with all that are one with it."""
    number_of = {node: number for number, nodes in members.items() for node in nodes}
    group_of = {number: _Group(Counter({number: 0})) for number in members}
    nodes = sorted(number_of, key=str)
    for row in select_in_batches(store, "entities/profile", "entities", nodes):
        group = group_of[number_of[row["entity"]]]
        if row["type"] is not None:
            group.types.add(row["type"])
        if row["document"] is not None:
            group.documents.add(row["document"])
    for row in select_in_batches(store, "entities/fact-counts", "entities", nodes):
        number = number_of[row["entity"]]
        group_of[number].uses[number] += row["uses"]
    return group_of


def _allowed(
    store: Store, entities: Sequence[NamedNode], pairs: Sequence[Pair], min_score: float
) -> list[Proposal]:
    """The pairs that the store does not contradict, each with the entity that is kept."""
    decided = Groups(read_decisions(store, ENTITIES))
    numbers = sorted({number for pair in pairs for number in (pair.one, pair.other)})
    group_of = _grouped(store, {number: decided.of(entities[number]) for number in numbers})
    allowed: list[tuple[Pair, int]] = []
    for pair in pairs:
        left, right = group_of[pair.one], group_of[pair.other]
        shared = len(left.documents & right.documents)
        if left is right or not left.fits(right) or (pair.rule in _TOGETHER and not shared):
            continue
        sure = pair
        if pair.rule == "firm_name" and not left.shares_type(right):
            sure = replace(pair, score=FIRM_NAME[1])
        if sure.score < min_score or any(
            decided.are_kept_apart(entities[one], entities[two]) for one in left.uses for two in right.uses
        ):
            continue
        left.absorb(right)
        group_of.update(dict.fromkeys(right.uses, left))
        allowed.append((sure, shared))
    labels = _labels(store, [entities[number] for number in numbers])
    proposals = []
    for pair, shared in allowed:
        uses = group_of[pair.one].uses
        kept = max(uses, key=lambda number: (uses[number], -number))
        both = entities[pair.one], entities[pair.other]
        names = labels.get(both[0], ""), labels.get(both[1], "")
        proposals.append(Proposal(*both, entities[kept], names, pair.rule, pair.score, shared))
    return proposals


def _labels(store: Store, entities: Sequence[NamedNode]) -> dict[NamedNode, str]:
    rows = select_in_batches(store, "retrieval/canonical", "entities", entities)
    labelled = (row for row in one_label(rows, thing="entity") if row["label"] is not None)
    return {row["entity"]: row["label"].value for row in labelled}
