"""Relation normalisation: proposes which relations are one or inverse, and decides on those that are sure.

Names that differ in form only need no proposal: `relation_decisions` merges them. Here relations are compared
with the properties of loaded ontologies, and with each other by the embeddings of their names. A model's
groups come from `tuning.relations`. Relations to things are never merged with relations to values, nor
relations whose ends have contradicting types, nor those that a split keeps apart. Active and passive names
are inverse, as are relations of which an ontology or a model says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.i18n import later
from graphrag_rdf.ingest.decisions import read_decisions
from graphrag_rdf.ingest.relation_decisions import (
    INVERSE,
    RELATIONS,
    Ends,
    Objects,
    Relation,
    read_ends,
    read_relations,
)
from graphrag_rdf.ingest.resolutions import Groups, Merge, Resolution
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.rdf.wording import words_of
from graphrag_rdf.schema.relation_forms import Form, form_of, function_words, same_words, voices
from graphrag_rdf.store.base import Store
from graphrag_rdf.wings.merging.relations import merge_and_invert

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents

RULE = iris.agent("graphrag-rdf-normalise-relations")
"""The agent of these decisions."""
MIN_SCORE = 0.9
"""The least score that is proposed and applied by default."""
MODEL_SCORE = 0.9
"""Confidence in the groups of a model."""
_DECLARED, _NAMED = 1.0, 0.95
_SURE = 0.89  # the most that likeness of meaning alone can say
_NEAREST = 20  # pairs of each relation, at most
_BLOCK = 512
_REASONS = {
    "equivalent": later("an ontology declares them equivalent"),
    "ontology": later("an ontology has a property with this name"),
    "meaning": later("the names mean alike"),
    "model": later("a model says that the names mean the same"),
    "form-inverse": later("one name is the passive of the other"),
    "inverse": later("an ontology declares them inverse"),
    "model-inverse": later("a model says that they mean the same in opposite directions"),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two relations that may be one, the one that is kept first; or inverse.

    Attributes:
        rule: a key of `_REASONS`.
        score: 0 to 1.
    """

    keep: NamedNode
    other: NamedNode
    rule: str
    score: float

    @property
    def inverse(self) -> bool:
        """Whether they may be inverse."""
        return self.rule.endswith("inverse")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pair that the store does not contradict.

    Attributes:
        names: of the two.
        facts: of the two, with all that are one with them.
        by: the model that said so.
    """

    pair: Pair
    names: tuple[str, str]
    facts: tuple[int, int]
    by: str | None = None

    @property
    def reason(self) -> str:
        """Why, for people; without the names, which are words of documents."""
        reason = _REASONS[self.pair.rule]
        return reason.replace("a model says", f"{self.by} says") if self.by else reason

    def as_json(self) -> dict[str, object]:
        """The keys of `relations normalise --format json`."""
        relations = zip((self.pair.keep, self.pair.other), self.names, self.facts, strict=True)
        return {
            "relations": [{"iri": node.value, "name": name, "facts": n} for node, name, n in relations],
            "keep": self.pair.keep.value,
            "score": round(self.pair.score, 4),
            "rule": self.pair.rule,
            "inverse": self.pair.inverse,
            "reason": self.reason,
        }


@dataclass(slots=True)
class Known:
    """The relations of a store, those that are one taken together.

    Attributes:
        relations: by IRI.
        groups: as decisions have them.
        canonical: relations that stand for themselves, the most frequent first.
        undone: pairs of which it was decided, and undone, that they are inverse.
    """

    relations: Mapping[NamedNode, Relation]
    groups: Groups
    canonical: list[NamedNode]
    undone: Sequence[tuple[NamedNode, ...]] = ()

    def facts(self, relation: NamedNode) -> int:
        """The facts of a relation and of all that are one with it; 0 for a property that no fact has."""
        if relation not in self.relations:
            return 0
        return sum(self.relations[each].facts for each in self._with(relation))

    def names(self, relation: NamedNode) -> list[str]:
        """The names of a relation and of all that are one with it, its own first."""
        members = sorted(self._with(relation), key=lambda each: (each != relation, each.value))
        return list(dict.fromkeys(self.relations[each].label for each in members))

    def label(self, relation: NamedNode) -> str:
        """The name of a relation or property."""
        return self.relations[relation].label if relation in self.relations else words_of(relation.value)

    def of(self, objects: Objects) -> list[NamedNode]:
        """The relations that extraction minted, and whose objects are things, or values."""
        relations = ((iri, self.relations[iri]) for iri in self.canonical)
        return [iri for iri, relation in relations if relation.objects == objects and relation.minted]

    def _with(self, relation: NamedNode) -> list[NamedNode]:
        """The relations that are one with a relation, and that facts have."""
        return [each for each in self.groups.of(relation) if each in self.relations]


def read_known(engine: NeededComponents) -> Known:
    """The relations of a store."""
    relations = read_relations(engine.store, engine.settings.extract.namespace)
    decisions = read_decisions(engine.store, RELATIONS)
    groups = Groups(decisions)
    standing = {groups.standing_for(iri, relations.keys()) for iri in relations}
    undone = [d.members for d in decisions if d.kind == INVERSE and d.undone and len(d.members) > 1]
    known = Known(relations, groups, [], undone)
    known.canonical = sorted(standing & relations.keys(), key=lambda iri: (-known.facts(iri), iri.value))
    return known


# --- by form ---


def by_form(known: Known) -> Iterator[Pair]:
    """Relations of which one is named in the active and the other in the passive: inverses."""
    active: dict[Form, list[NamedNode]] = defaultdict(list)
    passive: list[tuple[Form, NamedNode]] = []
    for relation in known.of("things"):
        for name in known.names(relation):
            turned, form = voices(name, known.relations[relation].language)
            if turned:
                passive.append((form, relation))
            elif form:
                active[form].append(relation)
    for form, relation in passive:
        for other in active[form]:
            yield Pair(other, relation, "form-inverse", _NAMED)


# --- by ontologies ---


def by_ontology(store: Store, known: Known) -> Iterator[Pair]:
    """Relations that have the name of exactly one property, and properties that are equivalent or inverse."""
    names: dict[tuple[bool, object], set[NamedNode]] = defaultdict(set)
    for row in store.select("predicates/loaded"):
        prop, values = row["property"], row["literal"]
        if row["equivalent"] is not None:
            other = row["equivalent"]
            if prop in known.relations and other in known.relations:
                keep, second = sorted((prop, other), key=lambda one: (-known.facts(one), one.value))
                yield Pair(keep, second, "equivalent", _DECLARED)
            continue
        name = row["name"]
        language = name.language if isinstance(name, Literal) else None
        for each in (text_of(name), words_of(prop.value)):
            if form := form_of(each, language and language.split("-")[0]):
                names[values, form].add(prop)
    named: set[NamedNode] = set()
    for relation in known.canonical:
        told = known.relations[relation]
        if not told.minted:
            continue
        fitting = {
            prop
            for name in known.names(relation)
            for prop in names.get((told.objects == "values", form_of(name, told.language)), ())
        }
        if len(fitting) == 1:
            named |= fitting
            yield Pair(fitting.pop(), relation, "ontology", _NAMED)
    for row in store.select("predicates/inverses"):
        pair = row["property"], row["inverse"]
        if all(one in named or not known.relations.keys().isdisjoint(known.groups.of(one)) for one in pair):
            yield Pair(*pair, "inverse", _DECLARED)


# --- by meaning ---


def by_meaning(engine: NeededComponents, known: Known, min_score: float) -> Iterator[Pair]:
    """Relations whose names have similar embeddings, and the same prepositions and auxiliaries."""
    embedder = engine.embedder
    if embedder is None or min_score > _SURE:
        return
    from graphrag_rdf.index.embedders import unit_rows

    things: Objects = "things"
    values: Objects = "values"
    for objects in (things, values):
        relations = known.of(objects)
        if len(relations) < 2:
            continue
        rows = unit_rows(embedder.embed([known.relations[one].label for one in relations]))
        little = [function_words(known.relations[one].label) for one in relations]
        for begin in range(0, len(relations), _BLOCK):
            likeness = rows[begin : begin + _BLOCK] @ rows.T
            for offset, near in enumerate(likeness):
                one = begin + offset
                best = [int(other) for other in (-near).argsort()[: _NEAREST + 1] if other > one]
                for other in best:
                    score = float(near[other]) * _SURE
                    if score >= min_score and little[one] == little[other]:
                        yield Pair(relations[one], relations[other], "meaning", score)


# --- choosing ---


def choose(
    engine: NeededComponents,
    known: Known,
    pairs: Iterable[Pair],
    *,
    min_score: float = MIN_SCORE,
    limit: int | None = None,
    by: str | None = None,
) -> list[Proposal]:
    """The pairs that nothing contradicts, the best first, ties by number of facts; after them those that are
    inverse. A group of n relations gives n - 1 pairs.

    Args:
        by: the model that proposed them.
    """
    enough = (pair for pair in pairs if pair.score >= min_score)
    ordered = sorted(
        enough, key=lambda pair: (-pair.score, -known.facts(pair.other), pair.keep.value, pair.other.value)
    )
    ends = _ends(engine.store, known, ordered)
    group_of: dict[NamedNode, set[NamedNode]] = {}
    chosen: list[Pair] = []
    for pair in (pair for pair in ordered if not pair.inverse):
        first = group_of.setdefault(pair.keep, {pair.keep})
        second = group_of.setdefault(pair.other, {pair.other})
        if pair.other in first or not _fit(known, ends, first, second):
            continue
        for member, joining in product(first, second):
            ends[member].add(ends[joining])  # what joins later must agree with all
        together = first | second
        group_of.update(dict.fromkeys(together, together))
        chosen.append(pair)
    inverted: set[NamedNode] = set()
    for pair in (pair for pair in ordered if pair.inverse):
        first, second = (
            {*known.groups.of(end), *group_of.get(end, {end})} for end in (pair.keep, pair.other)
        )
        if inverted.isdisjoint(first | second) and _may_be_inverse(known, ends, pair, first, second):
            inverted |= first | second
            chosen.append(pair)
    return [
        Proposal(
            pair,
            (known.label(pair.keep), known.label(pair.other)),
            (known.facts(pair.keep), known.facts(pair.other)),
            by,
        )
        for pair in chosen[:limit]
    ]


def _ends(store: Store, known: Known, pairs: Iterable[Pair]) -> dict[NamedNode, Ends]:
    """The ends of each relation of these pairs, with those of all that are one with it."""
    single = read_ends(store)
    ends: dict[NamedNode, Ends] = {}
    for relation in {end for pair in pairs for end in (pair.keep, pair.other)}:
        ends[relation] = Ends()
        for each in known.groups.of(relation):
            ends[relation].add(single[each])
    return ends


def _fit(
    known: Known, ends: Mapping[NamedNode, Ends], group: Iterable[NamedNode], joining: Iterable[NamedNode]
) -> bool:
    """Whether two groups may be one."""
    return all(
        not known.groups.are_kept_apart(first, second)
        and second not in known.groups.of(first)
        and _same_kind(known, first, second)
        and _may_mean_the_same(known, first, second)
        and ends[first].agree(ends[second])
        for first, second in product(group, joining)
    )


def _may_be_inverse(
    known: Known, ends: Mapping[NamedNode, Ends], pair: Pair, first: set[NamedNode], second: set[NamedNode]
) -> bool:
    """Whether two relations, with those that are one with each, may be inverse."""
    turned = Ends(ends[pair.other].objects, ends[pair.other].subjects)
    every = first | second
    return (
        first.isdisjoint(second)
        and all(known.groups.inverse_of(each) is None for each in every)
        and all(known.relations[each].objects == "things" for each in every & known.relations.keys())
        and not any(first & {*members} and second & {*members} for members in known.undone)
        and ends[pair.keep].agree(turned)
    )


def _same_kind(known: Known, *relations: NamedNode) -> bool:
    return len({known.relations[each].objects for each in relations if each in known.relations}) < 2


def _may_mean_the_same(known: Known, first: NamedNode, second: NamedNode) -> bool:
    """Whether names of the same words have the same form: "founded" is not "was founded by"."""
    return not any(
        same_words(name, another) and form_of(name) != form_of(another)
        for name, another in product(known.names(first), known.names(second))
    )


def inverses(pairs: Iterable[Sequence[NamedNode]]) -> Iterator[Pair]:
    """The pairs that a model takes for inverse."""
    for one, other in pairs:
        yield Pair(one, other, "model-inverse", MODEL_SCORE)


def grouped(known: Known, groups: Iterable[Sequence[NamedNode]]) -> Iterator[Pair]:
    """The pairs of a model's groups; the most frequent of each is kept."""
    for members in groups:
        keep, *remaining = sorted(set(members), key=lambda each: (-known.facts(each), each.value))
        for relation in remaining:
            yield Pair(keep, relation, "model", MODEL_SCORE)


def apply(engine: NeededComponents, proposals: Sequence[Proposal]) -> list[Resolution]:
    """Decide on proposals; the decisions, in their order."""

    def merges(*, inverse: bool) -> list[Merge]:
        pairs = [(p, p.pair) for p in proposals if p.pair.inverse == inverse]
        return [Merge(p.keep, (p.keep, p.other), each.reason, round(p.score, 4)) for each, p in pairs]

    return merge_and_invert(engine, merges(inverse=False), merges(inverse=True), by=RULE)


def standing(store: Store) -> list[Resolution]:
    """The decisions that were made here and stand."""
    return [d for d in read_decisions(store, RELATIONS) if d.by == RULE and d.undone is None]
