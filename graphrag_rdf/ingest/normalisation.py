"""Entity normalisation: proposes which entities are one, and decides on those that are sure enough.

`ingest.likeness` compares names. This module checks its pairs against the store. Entities of contradicting
types, and those that a split keeps apart, are never proposed. Aliases and initials need a document that names
both. Names that are only spelt alike get a score below what is applied by default. With an embedding model
the meaning of such names counts too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import later
from graphrag_rdf.ingest.decisions import read_decisions
from graphrag_rdf.ingest.entity_decisions import ENTITIES, merge
from graphrag_rdf.ingest.likeness import FIRM_NAME, Pair, also_called, initials, same_key, similar
from graphrag_rdf.ingest.resolutions import Groups, Merge, Resolution
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.terms import one_label, text_of, to_python
from graphrag_rdf.store.base import Store, select_in_batches

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
    names = _names(store)
    entities = sorted(names, key=str)
    called = [
        (n, name) for n, node in enumerate(entities) for name in sorted(names[node]) if names[node][name]
    ]
    aliases = [
        (n, name) for n, node in enumerate(entities) for name in sorted(names[node]) if not names[node][name]
    ]
    pairs = [*same_key(called), *also_called(called, aliases), *initials(called)]
    if min_score < _SURE:
        pairs += _spelt_alike(engine, called, min_score)
    best: dict[tuple[int, int], Pair] = {}
    for pair in pairs:
        key = (pair.one, pair.other)
        if pair.score >= min_score and (key not in best or pair.score > best[key].score):
            best[key] = pair
    ordered = sorted(best.values(), key=lambda p: (-p.score, p.one, p.other))
    found = _allowed(store, entities, ordered, min_score)
    found.sort(key=lambda proposal: -proposal.score)
    return found if limit is None else found[:limit]


def apply(engine: NeededComponents, proposals: Sequence[Proposal]) -> list[Resolution]:
    """Decide on proposals; the decisions, in their order."""
    wanted = [Merge(p.keep, (p.one, p.other), p.reason, round(p.score, 4)) for p in proposals]
    return merge(engine, wanted, by=RULE)


def standing(store: Store) -> list[Resolution]:
    """The decisions that were made here and stand."""
    return [d for d in read_decisions(store, ENTITIES) if d.by == RULE and d.undone is None]


def _names(store: Store) -> dict[NamedNode, dict[str, bool]]:
    """All names of each group of entities, by its representative, and whether each is a label."""
    names: dict[NamedNode, dict[str, bool]] = {}
    for row in store.select("entities/all-names"):
        of_group = names.setdefault(NamedNode(text_of(row["canonical"])), {})
        name = text_of(row["name"])
        of_group[name] = of_group.get(name, False) or bool(to_python(row["label"]))
    return names


def _spelt_alike(
    engine: NeededComponents, called: Sequence[tuple[int, str]], min_score: float
) -> Iterable[Pair]:
    found = list(similar(called, max(_SPELLING, min_score / _SURE * 0.9)))
    likeness = _meanings(engine, called, found)
    for pair in found:
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
class _Profile:
    types: set[str]
    documents: set[str]
    uses: int = 0


def _profiles(store: Store, entities: Iterable[NamedNode]) -> dict[NamedNode, _Profile]:
    wanted = sorted(set(entities), key=str)
    found = {entity: _Profile(set(), set()) for entity in wanted}
    for row in select_in_batches(store, "entities/profile", "entities", wanted):
        profile = found[NamedNode(text_of(row["entity"]))]
        if "type" in row:
            profile.types.add(text_of(row["type"]))
        if "document" in row:
            profile.documents.add(text_of(row["document"]))
    for row in select_in_batches(store, "entities/fact-counts", "entities", wanted):
        uses = to_python(row["uses"])
        found[NamedNode(text_of(row["entity"]))].uses = uses if isinstance(uses, int) else 0
    return found


def _allowed(
    store: Store, entities: Sequence[NamedNode], pairs: Sequence[Pair], min_score: float
) -> list[Proposal]:
    """The pairs that the store does not contradict, each with the entity that is kept."""
    groups = Groups(read_decisions(store, ENTITIES))
    members = {number: [*groups.of(entities[number])] for pair in pairs for number in (pair.one, pair.other)}
    profiles = _profiles(store, (node for nodes in members.values() for node in nodes))
    together = _Union()
    for number, nodes in members.items():
        together.add(number, nodes, profiles)
    taken: list[tuple[Pair, int]] = []
    for pair in pairs:
        one, other = together.find(pair.one), together.find(pair.other)
        shared = len(together.documents[one] & together.documents[other])
        if one == other or not together.fits(one, other):
            continue
        if pair.rule in _TOGETHER and not shared:
            continue
        if pair.rule == "firm_name" and not together.shares_type(one, other):
            pair = replace(pair, score=FIRM_NAME[1])  # noqa: PLW2901 - the same pair, less sure
            if pair.score < min_score:
                continue
        if any(
            groups.are_kept_apart(entities[left], entities[right])
            for left in together.held[one]
            for right in together.held[other]
        ):
            continue
        together.join(one, other)
        taken.append((pair, shared))
    labels = _labels(store, [entities[number] for number in members])
    out = []
    for pair, shared in taken:
        kept = max(
            together.held[together.find(pair.one)], key=lambda number: (together.uses[number], -number)
        )
        left, right = entities[pair.one], entities[pair.other]
        names = labels.get(left, ""), labels.get(right, "")
        out.append(Proposal(left, right, entities[kept], names, pair.rule, pair.score, shared))
    return out


class _Union:
    """Groups that grow while pairs are taken, with what is known of each (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self.held: dict[int, list[int]] = {}
        self.types: dict[int, set[str]] = {}
        self.documents: dict[int, set[str]] = {}
        self.uses: dict[int, int] = {}

    def add(self, number: int, nodes: Sequence[NamedNode], profiles: dict[NamedNode, _Profile]) -> None:
        """A group as it stands in the store."""
        known = [profiles[node] for node in nodes]
        self._parent[number] = number
        self.held[number] = [number]
        self.types[number] = set().union(*(profile.types for profile in known))
        self.documents[number] = set().union(*(profile.documents for profile in known))
        self.uses[number] = sum(profile.uses for profile in known)

    def find(self, number: int) -> int:
        """The group that holds it."""
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number

    def fits(self, one: int, other: int) -> bool:
        """Whether the types of two groups agree, as far as they have any."""
        left, right = self.types[one], self.types[other]
        return not left or not right or not left.isdisjoint(right)

    def shares_type(self, one: int, other: int) -> bool:
        """Whether two groups are known to be of one type."""
        return not self.types[one].isdisjoint(self.types[other])

    def join(self, one: int, other: int) -> None:
        """Make two groups one."""
        self._parent[other] = one
        self.held[one] += self.held.pop(other)
        self.types[one] |= self.types.pop(other)
        self.documents[one] |= self.documents.pop(other)


def _labels(store: Store, entities: Sequence[NamedNode]) -> dict[NamedNode, str]:
    found: dict[NamedNode, str] = {}
    rows = select_in_batches(store, "retrieval/canonical", "entities", entities)
    for row in one_label(rows, thing="entity"):
        if "label" in row:
            found[NamedNode(text_of(row["entity"]))] = text_of(row["label"])
    return found
