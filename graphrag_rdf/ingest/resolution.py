"""Deciding that entities are one, or are not, and taking such decisions back.

Each act is one transaction that writes decisions (see `ingest.decisions`) and marks the entities that they
touch; settling then lets these, and all that are one with them, point at what stands for them now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.decisions import Decision, Groups, Kind, read_decisions, system
from graphrag_rdf.ingest.names import settle, unsettled
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RDF, RDFS
from graphrag_rdf.rdf.terms import datetime_, now
from graphrag_rdf.store.base import Changes

if TYPE_CHECKING:
    from graphrag_rdf.ingest.protocols import NeededComponents

PERSON = iris.agent("person")
"""Who decides on the command line, unless a name is given."""


@dataclass(frozen=True, slots=True)
class Merge:
    """What shall be one.

    Attributes:
        keep: the entity that shall stand for all; it may be one that they are one with already.
        members: the entities, two or more.
        reason: why, for people; it must not quote documents.
        confidence: 0 to 1.
    """

    keep: NamedNode
    members: tuple[NamedNode, ...]
    reason: str | None = None
    confidence: float = 1.0


def merge(
    engine: NeededComponents, merges: Iterable[Merge], *, by: NamedNode = PERSON, name: str | None = None
) -> list[Decision]:
    """Decide that entities are one.

    Args:
        by: the rule or person who decides.
        name: of the person.

    Returns:
        the decisions; a merge of what is one already, with the same entity standing for it, makes none.

    Raises:
        UsageError: when an entity is to be merged with itself.
    """
    made: list[Decision] = []
    wanted = list(merges)
    if not wanted:
        return made
    before = read_decisions(engine.store)
    record, groups = _recorder(before), Groups(before)
    for one in wanted:
        members = set(one.members)
        if len(members) < 2:
            raise UsageError("an entity cannot be merged with itself", hint="name another one")
        together = {*groups.of(one.keep)}
        if members <= together and groups.standing_for(one.keep, together) == one.keep:
            continue
        decision = record("merge", by, members, one.keep)
        made.append(replace(decision, reason=one.reason, confidence=one.confidence))
    _commit(engine, made, by, name)
    return made


def split(
    engine: NeededComponents,
    entity: NamedNode,
    *,
    by: NamedNode = PERSON,
    name: str | None = None,
    reason: str | None = None,
) -> Decision:
    """Decide that an entity is none of those with which it was merged.

    Raises:
        UsageError: when it is not merged with any.
    """
    before = read_decisions(engine.store)
    members = {*Groups(before).of(entity)}
    if len(members) < 2:
        raise UsageError(
            f"{entity.value} is not merged with another entity",
            hint="graphrag-rdf entities decisions shows what was merged",
        )
    decision = replace(_recorder(before)("split", by, members, entity), reason=reason, confidence=1.0)
    _commit(engine, [decision], by, name)
    return decision


def undo(engine: NeededComponents, decisions: Sequence[Decision]) -> None:
    """Take decisions back: they stay, marked, and what followed from them is as it was before."""
    moment = datetime_(now())
    changes = Changes(add=[system(d.iri, PROV.invalidatedAtTime, moment) for d in decisions])
    _settle(engine, changes, decisions)


def _recorder(before: Sequence[Decision]) -> Callable[[Kind, NamedNode, set[NamedNode], NamedNode], Decision]:
    """Makes decisions whose IRIs depend on who decides what, and how often that was decided before."""
    made = Counter((d.kind, d.by, d.members, d.canonical or d.apart) for d in before)
    moment = now()

    def record(kind: Kind, by: NamedNode, entities: set[NamedNode], chosen: NamedNode) -> Decision:
        members = tuple(sorted(entities, key=str))
        key = (kind, by, members, chosen)
        number = made[key]
        made[key] += 1
        iri = iris.decision(kind, by.value, chosen.value, *(m.value for m in members), number)
        canonical, apart = (chosen, None) if kind == "merge" else (None, chosen)
        return Decision(iri, kind, members, canonical, apart, by=by, made=moment)

    return record


def _commit(engine: NeededComponents, made: Sequence[Decision], by: NamedNode, name: str | None) -> None:
    if not made:
        return
    changes = Changes(add=[quad for decision in made for quad in decision.quads()])
    if name:
        changes.add += person_quads(by, name)
    _settle(engine, changes, made)


def person_quads(node: NamedNode, name: str) -> list[Quad]:
    """Who somebody is that decided, in the system graph."""
    return [system(node, RDF.type, PROV.Person), system(node, RDFS.label, Literal(name))]


def _settle(engine: NeededComponents, changes: Changes, decisions: Iterable[Decision]) -> None:
    engine.indexer.recover()
    touched = {entity for decision in decisions for entity in decision.entities}
    changes.add += unsettled(sorted(touched, key=str))
    engine.store.commit(changes)
    engine.indexer.changed(entities=settle(engine.store))
    engine.indexer.flush(final=True)
