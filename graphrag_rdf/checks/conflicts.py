"""Facts that contradict, pair by pair, each with what supports it.

The rules are templates: `conflicts/functional`, `conflicts/types` by what loaded ontologies declare, and
`conflicts/documents`, dates and numbers that differ between documents. Facts of relations that are one by
decisions contradict like facts of one relation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.trace.facts import label_of, read_labels
from graphrag_rdf.trace.sources import FactSource, source_fact

NEUTRAL = 0.5
"""The authority that a document without one counts as."""
RULES = ("functional", "types", "documents")
"""Templates under `queries/conflicts/`, the surest first."""


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
        known = [each.source.authority for each in self.sources if each.source.authority is not None]
        return max(known, default=None)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two facts that contradict.

    Attributes:
        rule: one of `RULES`.
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
    found: dict[tuple[Term, ...], str] = {}
    for rule in RULES:
        merged = {"merged": False} if rule == "functional" else {}
        for row in store.select(f"conflicts/{rule}", entities=entities, limit=limit, **merged):
            found.setdefault(_pair(row), rule)
    for row in store.select("conflicts/functional", entities=entities, limit=limit, merged=True):
        found.setdefault(_pair(row), "functional")
    between = {_pair(row) for row in store.select("conflicts/merged", entities=entities, limit=limit)}
    between -= found.keys()
    found |= dict.fromkeys(sorted(between, key=str), "documents")
    labels = read_labels(store, [term for pair in found for term in pair])
    conflicts = (_conflict(store, rule, pair, labels) for pair, rule in found.items())
    return [one for pair, one in zip(found, conflicts, strict=True) if pair not in between or _differ(one)]


def _differ(conflict: Conflict) -> bool:
    """Whether two documents state the two facts."""
    one, other = ({one.source.document for one in fact.sources} for fact in conflict.facts)
    return bool(one) and bool(other) and len(one | other) > 1


def _pair(row: Row) -> tuple[Term, ...]:
    return tuple(row[name] for name in ("who", "s1", "p", "o1", "s2", "p2", "o2"))


def _conflict(store: Store, rule: str, pair: tuple[Term, ...], labels: dict[str, str]) -> Conflict:
    who, s1, p, o1, s2, p2, o2 = pair
    facts = (_supported(store, (s1, p, o1), labels), _supported(store, (s2, p2, o2), labels))
    relation = "type" if rule == "types" else label_of(p, labels)
    return Conflict(rule, who, label_of(who, labels), p, relation, facts)


def _supported(store: Store, fact: tuple[Term, Term, Term], labels: dict[str, str]) -> SupportedFact:
    s, p, o = fact
    sources = source_fact(store, str(s), str(p), str(o))
    return SupportedFact(s, p, o, label_of(o, labels), tuple(sources))
