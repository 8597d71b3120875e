"""Facts that contradict, pair by pair, each with what supports it.

The rules are templates: `conflicts/functional`, `conflicts/types` by what loaded ontologies declare, and
`conflicts/documents`, dates and numbers that differ between documents. Facts of relations that are one by
decisions contradict like facts of one relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.trace.facts import label_of, read_labels
from graphrag_rdf.trace.sources import FactSource, Statement, supporting

_MERGED = "conflicts/merged"
NEUTRAL = 0.5
"""The authority that a document without one counts as."""
_RULES: tuple[tuple[str, str, dict[str, bool]], ...] = (
    ("functional", "conflicts/functional", {"merged": False}),
    ("types", "conflicts/types", {}),
    ("documents", "conflicts/documents", {}),
    ("functional", "conflicts/functional", {"merged": True}),
    ("documents", _MERGED, {}),
)
"""Rules with the templates that find pairs by them; the first one that finds a pair gives its rule."""


@dataclass(frozen=True, slots=True)
class SupportedFact:
    """A fact with every place that supports it."""

    JSON: ClassVar = ("s", "p", "o", "o_label", "authority", "sources")

    s: Term
    p: Term
    o: Term
    o_label: str
    sources: tuple[FactSource, ...]

    @property
    def authority(self) -> float | None:
        """The highest authority of the documents that support it; None if none has any."""
        authorities = [each.source.authority for each in self.sources if each.source.authority is not None]
        return max(authorities, default=None)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two facts that contradict.

    Attributes:
        rule: `functional`, `types` or `documents`.
        subject: the entity that stands for the subjects of both.
        relation: of the first; that of the other may be one with it under another name.
    """

    JSON: ClassVar = (
        *("rule", "subject", "subject_label", "relation", "relation_label", "more_authority"),
        "facts",
    )

    rule: str
    subject: Term
    subject_label: str
    relation: Term
    relation_label: str
    facts: tuple[SupportedFact, SupportedFact]

    @property
    def more_authority(self) -> int | None:
        """Which of the facts has the higher authority, 0 or 1; None if neither has."""
        first, second = (NEUTRAL if fact.authority is None else fact.authority for fact in self.facts)
        return None if first == second else int(second > first)


def find_conflicts(store: Store, *, about: NamedNode | None = None, limit: int = 100) -> list[Conflict]:
    """Facts that contradict, by rule, entity and relation; a pair is listed by the first rule that has it.

    Args:
        about: only conflicts about this entity, under any of its names.
        limit: most pairs of facts by each rule.
    """
    entities = [] if about is None else [about]
    rules: dict[tuple[Term, ...], tuple[str, str]] = {}
    for rule, template, values in _RULES:
        for row in store.select(template, entities=entities, limit=limit, **values):
            rules.setdefault(_pair(row), (rule, template))
    labels = read_labels(store, [term for pair in rules for term in pair])
    sources = supporting(store, [fact for pair in rules for fact in _facts(pair)])
    conflicts = (
        (_conflict(rule, pair, labels, sources), template) for pair, (rule, template) in rules.items()
    )
    return [conflict for conflict, template in conflicts if template != _MERGED or _differ(conflict)]


def _differ(conflict: Conflict) -> bool:
    """Whether two documents state the two facts."""
    first, second = ({source.source.document for source in fact.sources} for fact in conflict.facts)
    return bool(first) and bool(second) and len(first | second) > 1


def _pair(row: Row) -> tuple[Term, ...]:
    return tuple(row[name] for name in ("who", "s1", "p", "o1", "s2", "p2", "o2"))


def _facts(pair: tuple[Term, ...]) -> tuple[Statement, Statement]:
    _, s1, p, o1, s2, p2, o2 = pair
    return (s1, p, o1), (s2, p2, o2)


def _conflict(
    rule: str,
    pair: tuple[Term, ...],
    labels: dict[str, str],
    sources: Mapping[Statement, Sequence[FactSource]],
) -> Conflict:
    first, second = (
        SupportedFact(*fact, label_of(fact[2], labels), tuple(sources.get(fact, ()))) for fact in _facts(pair)
    )
    relation = "type" if rule == "types" else label_of(first.p, labels)
    return Conflict(rule, pair[0], label_of(pair[0], labels), first.p, relation, (first, second))
