"""Decisions about which entities are one, and what follows from those that stand.

A decision is a node of the system graph: an `rag:EntityMerge` says that its members are one and which of
them stands for all, an `rag:EntitySplit` that one of its members (`rag:splitInto`) is none of the others.
Facts are never rewritten: all that follows is `rag:canonicalEntity`, which can be made anew from them at any
time. A decision that was undone stays, marked with `prov:invalidatedAtTime`.

Decisions are replayed in the order in which they were made, those of the synonyms file first. So a split
parts what was merged before it, and whoever merges the two again later has the last word.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.ingest.batches import in_batches
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import Term, datetime_, double, node_of, to_python
from graphrag_rdf.store.base import Changes, Store

Kind = Choice["merge", "split"]
_KINDS: dict[Kind, NamedNode] = {"merge": RAG.EntityMerge, "split": RAG.EntitySplit}
_BATCH = 500
_DERIVED = ("co-occurrences", "synonyms")
_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about entities.

    Attributes:
        members: what it speaks of, sorted by IRI.
        canonical: of a merge, the entity that shall stand for all.
        apart: of a split, the member that is none of the others.
        by: the agent, rule or person, who decided.
        confidence: 0 to 1.
        made: None for the synonyms file, whose decisions come first.
        undone: None while it stands.
    """

    iri: NamedNode
    kind: Kind
    members: tuple[NamedNode, ...]
    canonical: NamedNode | None = None
    apart: NamedNode | None = None
    by: NamedNode | None = None
    reason: str | None = None
    confidence: float | None = None
    made: datetime | None = None
    undone: datetime | None = None

    @property
    def entities(self) -> set[NamedNode]:
        """Every entity that it names."""
        return {*self.members, *filter(None, (self.canonical, self.apart))}

    def as_json(self) -> dict[str, object]:
        """The keys of `entities decisions --format json`; times in ISO 8601."""
        return {
            "iri": self.iri.value,
            "kind": self.kind,
            "members": [member.value for member in self.members],
            "canonical": self.canonical.value if self.canonical else None,
            "apart": self.apart.value if self.apart else None,
            "by": self.by.value if self.by else None,
            "reason": self.reason,
            "confidence": self.confidence,
            "made": self.made.isoformat() if self.made else None,
            "undone": self.undone.isoformat() if self.undone else None,
        }

    def quads(self) -> Iterator[Quad]:
        """The node, in the system graph."""
        facts: list[tuple[NamedNode, Term | None]] = [
            (RDF.type, _KINDS[self.kind]),
            *((RAG.member, member) for member in self.members),
            (RAG.canonicalEntity, self.canonical),
            (RAG.splitInto, self.apart),
            (RAG.confidence, None if self.confidence is None else double(self.confidence)),
            (RAG.reason, None if self.reason is None else Literal(self.reason)),
            (PROV.wasAttributedTo, self.by),
            (PROV.generatedAtTime, None if self.made is None else datetime_(self.made)),
            (PROV.invalidatedAtTime, None if self.undone is None else datetime_(self.undone)),
        ]
        yield from (system(self.iri, prop, value) for prop, value in facts if value is not None)


def system(s: NamedNode, p: NamedNode, o: Term) -> Quad:
    """A quad of the system graph."""
    return Quad(s, p, o, Graphs.SYSTEM)


def read_decisions(store: Store) -> list[Decision]:
    """All decisions in the order in which they were made, undone ones too."""
    said: dict[NamedNode, dict[NamedNode, list[Term]]] = {}
    for row in store.select("entities/decisions"):
        of_decision = said.setdefault(node_of(row["decision"]), {})
        of_decision.setdefault(node_of(row["property"]), []).append(row["value"])
    found = [_decision(iri, facts) for iri, facts in said.items()]
    return sorted(found, key=lambda decision: (decision.made or _FIRST, decision.iri.value))


def _decision(iri: NamedNode, said: dict[NamedNode, list[Term]]) -> Decision:
    def node(prop: NamedNode) -> NamedNode | None:
        value = said.get(prop, [None])[0]
        return value if isinstance(value, NamedNode) else None

    def value(prop: NamedNode) -> object:
        return to_python(said[prop][0]) if prop in said else None

    made, undone = value(PROV.generatedAtTime), value(PROV.invalidatedAtTime)
    confidence, reason = value(RAG.confidence), value(RAG.reason)
    members = (term for term in said.get(RAG.member, ()) if isinstance(term, NamedNode))
    return Decision(
        iri,
        "split" if RAG.EntitySplit in said[RDF.type] else "merge",
        tuple(sorted(members, key=str)),
        node(RAG.canonicalEntity),
        node(RAG.splitInto),
        node(PROV.wasAttributedTo),
        reason if isinstance(reason, str) else None,
        confidence if isinstance(confidence, float) else None,
        made if isinstance(made, datetime) else None,
        undone if isinstance(undone, datetime) else None,
    )


class Groups:
    """The entities that are one by the decisions that stand.

    Args:
        decisions: in the order of `read_decisions`; undone ones do not count.
    """

    def __init__(self, decisions: Iterable[Decision]) -> None:
        merges: list[tuple[NamedNode | None, set[NamedNode]]] = []
        self._kept_apart: list[tuple[NamedNode, frozenset[NamedNode]]] = []
        for decision in decisions:
            if decision.undone is not None:
                continue
            if decision.kind == "merge":
                merges.append((decision.canonical, set(decision.members)))
            elif decision.apart is not None:
                others = frozenset(decision.members) - {decision.apart}
                self._kept_apart.append((decision.apart, others))
                for _, members in merges:
                    if not others.isdisjoint(members):
                        members.discard(decision.apart)
        self._group: dict[NamedNode, set[NamedNode]] = {}
        for _, members in merges:
            joined = set(members).union(*(self._group.get(member, ()) for member in members))
            self._group.update(dict.fromkeys(joined, joined))
        self._preferred: dict[int, list[NamedNode]] = {}
        for canonical, members in reversed(merges):
            first = next(iter(members), None)
            if canonical is not None and first is not None and canonical in self._group[first]:
                self._preferred.setdefault(id(self._group[first]), []).append(canonical)

    def __contains__(self, entity: NamedNode) -> bool:
        return len(self._group.get(entity, ())) > 1

    def of(self, entity: NamedNode) -> Collection[NamedNode]:
        """The entities that are one with this one, itself included."""
        return self._group.get(entity, {entity})

    def are_kept_apart(self, one: NamedNode, other: NamedNode) -> bool:
        """Whether a split says that two groups are not one."""
        left, right = self.of(one), self.of(other)
        return any(
            (apart in left and not others.isdisjoint(right))
            or (apart in right and not others.isdisjoint(left))
            for apart, others in self._kept_apart
        )

    def standing_for(self, entity: NamedNode, present: Collection[NamedNode]) -> NamedNode:
        """The entity that stands for this one: what the newest decision chose and is there, else the first.

        Args:
            present: the entities that have a name, as far as they matter.
        """
        group = self.of(entity)
        chosen = (one for one in self._preferred.get(id(group), ()) if one in present)
        return next(chosen, min((one for one in group if one in present), key=str, default=entity))


def read_groups(store: Store) -> Groups:
    """The groups of entities as they stand."""
    return Groups(read_decisions(store))


def relink(store: Store, groups: Groups, entities: Iterable[NamedNode]) -> Changes:
    """What has to change so that entities, and all that are one with them, have the canonical entity that
    follows from the decisions; entities without a name have none. What is derived of an entity goes with it,
    or when another one stands for it: its co-occurrences, and candidates for synonyms.

    Relations and types, which have no canonical entity either, are left alone.
    """
    wanted = sorted({one for entity in entities for one in groups.of(entity)}, key=str)
    changes = Changes()
    for batch in in_batches(wanted, _BATCH):
        together = sorted({one for entity in batch for one in groups.of(entity)}, key=str)
        present = {row["thing"] for row in store.select("entities/named", things=together)}
        have: dict[NamedNode, list[NamedNode]] = {}
        for row in store.select("ingest/canonical-links", entities=batch):
            have.setdefault(node_of(row["entity"]), []).append(node_of(row["canonical"]))
        for entity in batch:
            stands = entity in present and (entity in have or entity in groups)
            target = [groups.standing_for(entity, present)] if stands else []  # type: ignore[arg-type]
            old = have.get(entity, [])
            changes.remove += [_canonical(entity, one) for one in old if one not in target]
            changes.add += [_canonical(entity, one) for one in target if one not in old]
            if old and not stands:
                changes.remove.append(Quad(entity, RDF.type, RAG.Term, Graphs.DERIVED))
    lost = [quad.subject for quad in changes.remove if quad.subject == quad.object]
    for some in in_batches(lost, _BATCH):
        changes.updates += [(f"derived/drop-{what}", {"entities": some}) for what in _DERIVED]
    return changes


def _canonical(entity: NamedNode, target: NamedNode) -> Quad:
    return Quad(entity, RAG.canonicalEntity, target, Graphs.DERIVED)
