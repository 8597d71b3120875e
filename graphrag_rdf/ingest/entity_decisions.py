"""Decisions about which entities are one, and their effect: canonical links, links to vocabularies, elected
labels.

See `decisions` for what a decision is, and `resolutions` for merges, splits and links. Each change is one
transaction that writes decisions and marks the entities that they touch. `settle` then elects labels and
updates the links of all marked entities.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from graphrag_rdf.i18n import later
from graphrag_rdf.ingest import resolutions
from graphrag_rdf.ingest.decisions import (
    Kind,
    Property,
    node,
    nodes,
    read_decisions,
    term,
    value,
)
from graphrag_rdf.ingest.drop_made import drop_made
from graphrag_rdf.ingest.names import as_literal, undrawn, unlinked, unsettled
from graphrag_rdf.ingest.resolutions import (
    Groups,
    Link,
    Resolution,
    merge_and_split,
)
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG, RDF, RDFS, SKOS, Graphs
from graphrag_rdf.rdf.terms import Term, node_of, now
from graphrag_rdf.store.base import Changes, Row, Store, in_batches, select_in_batches, updates_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


_DERIVED = ("entities", "synonyms")


def read_groups(store: Store) -> Groups:
    """The groups of entities as they stand."""
    return Groups(read_decisions(store, ENTITIES))


def relink(store: Store, groups: Groups, entities: Iterable[NamedNode]) -> Changes:
    """The changes that give entities, and all that are one with them, the canonical entity that follows from
    the decisions, their links to vocabularies, and to the canonical one the names of all.

    An entity without a name has none, and claims lose their links to it. If an entity loses its canonical
    link to itself, its co-occurrences are removed. Relations and types have no canonical entity and are not
    touched.
    """
    wanted = sorted({one for entity in entities for one in groups.of(entity)}, key=str)
    changes = Changes()
    gone: list[NamedNode] = []
    for batch in in_batches(wanted):
        together = sorted({one for entity in batch for one in groups.of(entity)}, key=str)
        present = {row["thing"] for row in store.select("entities/named", things=together)}
        have: dict[NamedNode, list[NamedNode]] = {}
        for row in store.select("ingest/canonical-links", entities=batch):
            have.setdefault(row["entity"], []).append(row["canonical"])
        standing = {
            entity: groups.links(entity)
            for entity in batch
            if entity in present and (entity in have or entity in groups)
        }
        _relink_vocabularies(store, batch, standing, changes)
        members: dict[NamedNode, list[NamedNode]] = {}
        for entity in batch:
            stands = entity in standing
            target = [groups.standing_for(entity, present)] if stands else []
            if target == [entity]:
                members[entity] = [one for one in groups.of(entity) if one in present and one != entity]
            old = have.get(entity, [])
            changes.remove += [_canonical(entity, one) for one in old if one not in target]
            changes.add += [_canonical(entity, one) for one in target if one not in old]
            if old and not stands:
                gone.append(entity)
                changes.remove.append(Quad(entity, RDF.type, RAG.Term, Graphs.DERIVED))
        _rename(store, groups, batch, members, changes)
    lost = [quad.subject for quad in changes.remove if quad.subject == quad.object]
    moved = [quad for quad in changes.remove if quad.predicate == RAG.canonicalEntity]
    gained = [quad for quad in changes.add if quad.predicate == RAG.canonicalEntity]
    ends = {node_of(end) for quad in (*moved, *gained) for end in (quad.subject, quad.object)}
    changes.add += undrawn(sorted(ends, key=str))
    changes.updates += updates_in_batches("derived/drop-shown", "entities", sorted(ends, key=str))
    for what in _DERIVED:
        changes.updates += updates_in_batches(f"derived/drop-{what}", "entities", lost)
    changes.updates += updates_in_batches("communities/drop-members", "entities", lost)
    changes.updates += updates_in_batches("claims/unlink", "things", gone)
    # who no longer stands for an entity, or for all of them, is described and reported anew
    drop_made(store, changes, entities=list(dict.fromkeys(node_of(quad.object) for quad in moved)))
    return changes


def _relink_vocabularies(
    store: Store,
    entities: Sequence[NamedNode],
    standing: Mapping[NamedNode, Sequence[Link]],
    changes: Changes,
) -> None:
    """Add the changes of the links of entities to vocabularies, and of the names that they have there."""
    linked = {_derived(row) for row in store.select("linking/standing", entities=entities)}
    targets = sorted({link.target for links in standing.values() for link in links}, key=str)
    names: dict[NamedNode, list[Term]] = {}
    for row in select_in_batches(store, "linking/target-names", "things", targets):
        names.setdefault(row["thing"], []).append(row["name"])
    wanted = set()
    for entity, links in standing.items():
        for link in links:
            wanted.add(Quad(entity, link.relation, link.target, Graphs.DERIVED))
            if link.relation != SKOS.closeMatch:
                called = names.get(link.target, ())
                wanted.update(Quad(entity, RAG.linkedName, name, Graphs.DERIVED) for name in called)
    changes.remove += sorted(linked - wanted, key=str)
    changes.add += sorted(wanted - linked, key=str)


def _rename(
    store: Store,
    groups: Groups,
    entities: Sequence[NamedNode],
    members: Mapping[NamedNode, Sequence[NamedNode]],
    changes: Changes,
) -> None:
    """Add the changes of the names that canonical entities have from those that are one with them.

    They are asserted as aliases, for queries and exports; but not of entities that are one because an
    imported file says so, to which nothing is added. `rag:mergedName` marks them all, so that rules which
    compare names know which are an entity's own.

    Args:
        members: canonical entity → those that are one with it.
    """
    have = {
        Quad(row["entity"], RAG.mergedName, row["name"], Graphs.DERIVED)
        for row in store.select("entities/merged-names", entities=entities)
    }
    several = {entity: others for entity, others in members.items() if others}
    things = sorted({*several, *(one for others in several.values() for one in others)}, key=str)
    names: dict[NamedNode, set[Term]] = {}
    for row in select_in_batches(store, "labels/known", "things", things):
        if row["property"] != RAG.displayName:
            names.setdefault(row["thing"], set()).add(row["name"])
    wanted = {
        Quad(entity, RAG.mergedName, name, Graphs.DERIVED)
        for entity, others in several.items()
        for name in set().union(*(names.get(one, ()) for one in others)) - names.get(entity, set())
    }
    changes.remove += sorted(have - wanted, key=str)
    changes.add += sorted(wanted - have, key=str)
    decided = {
        entity: set().union(*(names.get(one, ()) for one in others if groups.is_decided(one)))
        for entity, others in several.items()
    }
    changes.add += [
        _name(node_of(quad.subject), SKOS.altLabel, as_literal(quad.object))
        for quad in sorted(wanted, key=str)
        if quad.object in decided[node_of(quad.subject)]
    ]


def _derived(row: Row) -> Quad:
    return Quad(row["entity"], row["property"], row["value"], Graphs.DERIVED)


def _canonical(entity: NamedNode, target: NamedNode) -> Quad:
    return Quad(entity, RAG.canonicalEntity, target, Graphs.DERIVED)


def stated_merge(
    canonical: NamedNode, members: Iterable[NamedNode], *, by: NamedNode, source: NamedNode
) -> Resolution:
    """A merge that an imported file states by `owl:sameAs`, to be written with its facts.

    Args:
        by: the agent of the import.
        source: the file in the blob store.
    """
    every = tuple(sorted(members, key=str))
    return Resolution(
        iri=iris.decision("merge", source.value, canonical.value, *(member.value for member in every)),
        kind=MERGE,
        members=every,
        canonical=canonical,
        by=by,
        reason=later("an imported file has owl:sameAs"),
        confidence=1.0,
        made=now(),
        source=source,
    )


def refresh_links(engine: NeededComponents) -> None:
    """Read the names of linked things anew, after a vocabulary has changed, which marks them."""
    if engine.store.select("labels/unsettled"):
        apply_decisions(engine, Changes(), ())


def apply_decisions(engine: NeededComponents, changes: Changes, decisions: Iterable[Resolution]) -> None:
    """The effect of decisions: commit changes, and settle the things that they name."""
    engine.indexer.recover()
    touched = {entity for decision in decisions for entity in decision.things}
    changes.add += unsettled(sorted(touched, key=str))
    engine.store.commit(changes)
    engine.indexer.changed(entities=settle(engine.store))
    engine.indexer.flush(final=True)


MERGE, SPLIT = merge_and_split(
    "entities", apply_decisions, (RAG.EntityMerge, RAG.EntitySplit), RAG.canonicalEntity
)
LINK = Kind(
    "link",
    "entities",
    (RAG.EntityLink,),
    apply_decisions,
    Link,
    {
        "target": Property(RAG.linkTarget, node),
        "relation": Property(RAG.linkRelation, node),
        "method": Property(RAG.linkMethod, value),
        "matched": Property(RAG.matchedName, term),
        "vocabulary": Property(RAG.vocabulary, node),
        "evidence": Property(RAG.linkEvidence, nodes),
    },
)
ENTITIES: tuple[Kind[Resolution], ...] = (MERGE, SPLIT, cast("Kind[Resolution]", LINK))
KINDS = ENTITIES

merge, split = partial(resolutions.merge, kinds=ENTITIES), partial(resolutions.split, kinds=ENTITIES)
"""See `resolutions`."""


# --- settling ---


def settle(store: Store) -> list[NamedNode]:
    """Settle the marked things: remove names that no subgraph contains, elect labels, update canonical links.

    Nameless entities lose their derived triples. Facts that a decision retracts are removed. Things whose
    names have changed are marked to be linked (`links`); those that only lost a mention are to be counted.
    Each step can be repeated, so a killed process leaves no damage.

    Returns:
        the settled things. Their records in the indexes may have changed.
    """
    rows = store.select("labels/unsettled")
    things, renamed = [row["thing"] for row in rows], {row["thing"] for row in rows if row["renamed"]}
    groups = read_groups(store)
    for batch in in_batches(things):
        dropped = _drop_unsupported(store, batch)
        store.commit(dropped)
        store.commit(_elect(store, batch))
        changes = relink(store, groups, batch)
        changed = {quad.subject for quad in (*dropped.remove, *changes.remove, *changes.add)} | renamed
        unnamed = {node_of(q.subject) for q in changes.remove if q.predicate == RAG.mergedName}
        if unnamed:
            changes.add += unsettled(sorted(unnamed, key=str))  # whose names the next step removes
            store.commit(changes)
            changes = _drop_unsupported(store, sorted(unnamed, key=str))
        changes.remove += unsettled(sorted({*batch, *unnamed}, key=str))
        changes.add += unlinked(thing for thing in batch if thing in changed)
        store.commit(changes)
    _withhold(store)
    return things


def _elect(store: Store, things: list[NamedNode]) -> Changes:
    """The changes that make the most frequent name of each thing its label."""
    changes = Changes()
    renamed: list[NamedNode] = []
    for row in store.select("labels/elect", things=things):
        thing, new = row["thing"], row["new"]
        if row["old"] is not None:
            renamed.append(thing)
        if row["old"] is not None and not row["stated"]:
            changes.remove.append(_name(thing, RDFS.label, row["old"]))
            changes.add.append(_name(thing, SKOS.altLabel, row["old"]))
        if not row["alias_stated"]:
            changes.remove.append(_name(thing, SKOS.altLabel, new))
        changes.add.append(_name(thing, RDFS.label, new))
    drop_made(store, changes, entities=renamed)
    changes.add += undrawn(renamed)
    return changes


def _drop_unsupported(store: Store, things: list[NamedNode]) -> Changes:
    """The changes that remove names which no subgraph contains any more."""
    changes = Changes()
    for row in store.select("labels/unsupported", things=things):
        changes.remove.append(_name(row["thing"], row["property"], row["name"]))
    unnamed = [node_of(quad.subject) for quad in changes.remove if quad.predicate == RDFS.label]
    drop_made(store, changes, entities=unnamed)
    return changes


def _name(thing: NamedNode, prop: NamedNode, name: Literal) -> Quad:
    return Quad(thing, prop, name, DefaultGraph())


def _withhold(store: Store) -> None:
    """Remove asserted facts that a decision retracts: writers of foreign data do not know of decisions."""
    if store.select("checks/retracted-asserted", limit=1):
        store.commit(Changes(updates=[("facts/withhold", {})]))
