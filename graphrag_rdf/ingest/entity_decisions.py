"""Decisions about which entities are one: made, undone, and applied.

A decision is a node of the system graph: an `rag:EntityMerge` says that its members are one and which of
them stands for all, an `rag:EntitySplit` that one of its members (`rag:splitInto`) is none of the others, an
`rag:EntityLink` that its member is a thing of a reference vocabulary (`ingest.entity_links`).
Facts are never rewritten. Decisions only change the derived graph, `rag:canonicalEntity` and the links, which
can be rebuilt from them at any time. A decision that was undone stays, marked with `prov:invalidatedAtTime`.

A link by `owl:sameAs` also merges: what is the same as one thing is one, and facts of an imported reference
graph are found with those of texts.

Decisions are replayed in the order in which they were made, those of the synonyms file first. So a split
separates what was merged before it, and a later merge of the two has the last word.

Each change is one transaction that writes decisions and marks the entities that they touch. `settle` then
elects labels and updates the canonical links of all marked entities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from typing import Literal as Choice

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.drop_made import drop_made
from graphrag_rdf.ingest.names import as_literal, unlinked, unsettled
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import OWL, PROV, RAG, RDF, RDFS, SKOS, Graphs
from graphrag_rdf.rdf.terms import Term, datetime_, double, node_of, now, text_of, to_python
from graphrag_rdf.store.base import Changes, Row, Store, in_batches, select_in_batches, updates_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


Kind = Choice["merge", "split", "link"]
_KINDS: dict[Kind, NamedNode] = {
    "merge": RAG.EntityMerge,
    "split": RAG.EntitySplit,
    "link": RAG.EntityLink,
}
_DERIVED = ("co-occurrences", "synonyms")
_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Link:
    """What a link decides of its entity.

    Attributes:
        target: the thing of the vocabulary.
        relation: owl:sameAs, skos:exactMatch or skos:closeMatch.
        method: how the names match.
        matched: the name in the vocabulary, with its language.
        vocabulary: the graph of the version of the ontology, or the subgraph of the imported file.
        evidence: sentences that mention the entity and have words of the vocabulary's description.
    """

    target: NamedNode
    relation: NamedNode
    method: str
    matched: Literal
    vocabulary: NamedNode
    evidence: tuple[NamedNode, ...] = ()

    @property
    def is_identity(self) -> bool:
        """Whether it merges."""
        return self.relation == OWL.sameAs


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about entities.

    Attributes:
        members: the entities that it is about, sorted by IRI; of a link, the one that is linked.
        canonical: of a merge, the entity that represents all.
        apart: of a split, the member that is not one with the others.
        by: the agent that decided: a rule or a person.
        confidence: 0 to 1.
        made: None for the synonyms file, whose decisions come first.
        undone: None while it stands.
        source: the file that says so, if no person or rule decided.
        link: of a link.
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
    source: NamedNode | None = None
    link: Link | None = None

    @property
    def entities(self) -> set[NamedNode]:
        """Every entity that it names."""
        same = self.link.target if self.link and self.link.is_identity else None
        return {*self.members, *filter(None, (self.canonical, self.apart, same))}

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
            (PROV.hadPrimarySource, self.source),
        ]
        if self.link is not None:
            facts += [
                (RAG.linkTarget, self.link.target),
                (RAG.linkRelation, self.link.relation),
                (RAG.linkMethod, Literal(self.link.method)),
                (RAG.matchedName, self.link.matched),
                (RAG.vocabulary, self.link.vocabulary),
                *((RAG.linkEvidence, sentence) for sentence in self.link.evidence),
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
        next(kind for kind, type_ in _KINDS.items() if type_ in said[RDF.type]),
        tuple(sorted(members, key=str)),
        node(RAG.canonicalEntity),
        node(RAG.splitInto),
        node(PROV.wasAttributedTo),
        reason if isinstance(reason, str) else None,
        confidence if isinstance(confidence, float) else None,
        made if isinstance(made, datetime) else None,
        undone if isinstance(undone, datetime) else None,
        node(PROV.hadPrimarySource),
        _link(said) if RAG.linkTarget in said else None,
    )


def _link(said: dict[NamedNode, list[Term]]) -> Link:
    return Link(
        node_of(said[RAG.linkTarget][0]),
        node_of(said[RAG.linkRelation][0]),
        text_of(said[RAG.linkMethod][0]),
        as_literal(said[RAG.matchedName][0]),
        node_of(said[RAG.vocabulary][0]),
        tuple(sorted(map(node_of, said.get(RAG.linkEvidence, ())), key=str)),
    )


class Groups:
    """The entities that are one by the decisions that stand.

    Args:
        decisions: in the order of `read_decisions`; undone ones do not count.
    """

    def __init__(self, decisions: Iterable[Decision]) -> None:
        merges: list[tuple[NamedNode | None, set[NamedNode]]] = []
        self._kept_apart: list[tuple[NamedNode, frozenset[NamedNode]]] = []
        self._links: dict[NamedNode, list[Link]] = {}
        for decision in decisions:
            if decision.undone is not None:
                continue
            if decision.kind == "merge":
                merges.append((decision.canonical, set(decision.members)))
            elif decision.link is not None:
                for member in decision.members:
                    self._links.setdefault(member, []).append(decision.link)
                if decision.link.is_identity:
                    merges.append((decision.link.target, {*decision.members, decision.link.target}))
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
        return len(self._group.get(entity, ())) > 1 or entity in self._links

    def links(self, entity: NamedNode) -> list[Link]:
        """The links of an entity that no split contradicts."""
        group = self.of(entity)
        return [link for link in self._links.get(entity, ()) if not link.is_identity or link.target in group]

    def of(self, entity: NamedNode) -> Collection[NamedNode]:
        """The entities that are one with this one, itself included."""
        return self._group.get(entity, {entity})

    def are_kept_apart(self, one: NamedNode, other: NamedNode) -> bool:
        """Whether a split keeps two groups apart."""
        left, right = self.of(one), self.of(other)
        return any(
            (apart in left and not others.isdisjoint(right))
            or (apart in right and not others.isdisjoint(left))
            for apart, others in self._kept_apart
        )

    def apart_from(self, entity: NamedNode) -> set[NamedNode]:
        """The entities from which splits keep this one."""
        group = self.of(entity)
        found: set[NamedNode] = set()
        for apart, others in self._kept_apart:
            if apart in group:
                found |= others
            elif not others.isdisjoint(group):
                found.add(apart)
        return found

    def standing_for(self, entity: NamedNode, present: Collection[NamedNode]) -> NamedNode:
        """The entity that represents this one: the newest choice among those present, else the first by IRI.

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
    """The changes that give entities, and all that are one with them, the canonical entity that follows from
    the decisions, and their links to vocabularies.

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
            have.setdefault(node_of(row["entity"]), []).append(node_of(row["canonical"]))
        standing = {
            entity: groups.links(entity)
            for entity in batch
            if entity in present and (entity in have or entity in groups)
        }
        _relink_vocabularies(store, batch, standing, changes)
        for entity in batch:
            stands = entity in standing
            target = [groups.standing_for(entity, present)] if stands else []  # type: ignore[arg-type]
            old = have.get(entity, [])
            changes.remove += [_canonical(entity, one) for one in old if one not in target]
            changes.add += [_canonical(entity, one) for one in target if one not in old]
            if old and not stands:
                gone.append(entity)
                changes.remove.append(Quad(entity, RDF.type, RAG.Term, Graphs.DERIVED))
    lost = [quad.subject for quad in changes.remove if quad.subject == quad.object]
    moved = [quad for quad in changes.remove if quad.predicate == RAG.canonicalEntity]
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
    linked = {quad for row in store.select("linking/standing", entities=entities) for quad in [_derived(row)]}
    targets = sorted({link.target for links in standing.values() for link in links}, key=str)
    names: dict[NamedNode, list[Term]] = {}
    for row in select_in_batches(store, "linking/target-names", "things", targets):
        names.setdefault(node_of(row["thing"]), []).append(row["name"])
    wanted = set()
    for entity, links in standing.items():
        for link in links:
            wanted.add(Quad(entity, link.relation, link.target, Graphs.DERIVED))
            if link.relation != SKOS.closeMatch:
                called = names.get(link.target, ())
                wanted.update(Quad(entity, RAG.linkedName, name, Graphs.DERIVED) for name in called)
    changes.remove += sorted(linked - wanted, key=str)
    changes.add += sorted(wanted - linked, key=str)


def _derived(row: Row) -> Quad:
    return Quad(node_of(row["entity"]), node_of(row["property"]), row["value"], Graphs.DERIVED)


def _canonical(entity: NamedNode, target: NamedNode) -> Quad:
    return Quad(entity, RAG.canonicalEntity, target, Graphs.DERIVED)


PERSON = iris.agent("person")
"""The agent of decisions on the command line, unless a name is given."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Entities that are to become one.

    Attributes:
        keep: the entity that represents all; it may be one that they are merged with already.
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
        by: the rule or person.
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
    commit_decisions(engine, made, by, name)
    return made


def stated_merge(
    canonical: NamedNode, members: Iterable[NamedNode], *, by: NamedNode, source: NamedNode
) -> Decision:
    """A merge that an imported file states by `owl:sameAs`, to be written with its facts.

    Args:
        by: the agent of the import.
        source: the file in the blob store.
    """
    every = tuple(sorted(members, key=str))
    iri = iris.decision("merge", source.value, canonical.value, *(member.value for member in every))
    reason = "an imported file has owl:sameAs"
    return Decision(
        iri, "merge", every, canonical, by=by, reason=reason, confidence=1.0, made=now(), source=source
    )


def split(
    engine: NeededComponents,
    entity: NamedNode,
    *,
    by: NamedNode = PERSON,
    name: str | None = None,
    reason: str | None = None,
) -> Decision:
    """Separate an entity from those with which it was merged.

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
    commit_decisions(engine, [decision], by, name)
    return decision


def undo(engine: NeededComponents, decisions: Sequence[Decision]) -> None:
    """Undo decisions. They stay in the store, marked; their effects are reversed."""
    moment = datetime_(now())
    changes = Changes(add=[system(d.iri, PROV.invalidatedAtTime, moment) for d in decisions])
    _settle(engine, changes, decisions)


def _recorder(before: Sequence[Decision]) -> Callable[[Kind, NamedNode, set[NamedNode], NamedNode], Decision]:
    """Makes decisions. Their IRIs depend on the agent, the content, and the number of equal decisions."""
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


def commit_decisions(
    engine: NeededComponents,
    made: Sequence[Decision],
    by: NamedNode = PERSON,
    name: str | None = None,
) -> None:
    """Write decisions, and settle what they are about.

    Args:
        by, name: of the person who decided; without a name nothing is written of it.
    """
    if not made:
        return
    changes = Changes(add=[quad for decision in made for quad in decision.quads()])
    if name:
        changes.add += person_quads(by, name)
    _settle(engine, changes, made)


def refresh_links(engine: NeededComponents) -> None:
    """Read the names of linked things anew, after a vocabulary has changed."""
    standing = [d for d in read_decisions(engine.store) if d.link is not None and d.undone is None]
    if standing:
        _settle(engine, Changes(), standing)


def person_quads(node: NamedNode, name: str) -> list[Quad]:
    """The name of a person who decided, in the system graph."""
    return [system(node, RDF.type, PROV.Person), system(node, RDFS.label, Literal(name))]


def _settle(engine: NeededComponents, changes: Changes, decisions: Iterable[Decision]) -> None:
    engine.indexer.recover()
    touched = {entity for decision in decisions for entity in decision.entities}
    changes.add += unsettled(sorted(touched, key=str))
    engine.store.commit(changes)
    engine.indexer.changed(entities=settle(engine.store))
    engine.indexer.flush(final=True)


# --- settling ---


def settle(store: Store) -> list[NamedNode]:
    """Settle the marked things: remove names that no subgraph contains, elect labels, update canonical links.

    Nameless entities lose their derived triples. Facts that a decision retracts are removed. The settled
    things are marked to be linked (`links`). Each step can be repeated, so a killed process leaves no damage.

    Returns:
        the settled things. Their records in the indexes may have changed.
    """
    things = [node_of(row["thing"]) for row in store.select("labels/unsettled")]
    groups = read_groups(store)
    for batch in in_batches(things):
        store.commit(_drop_unsupported(store, batch))
        store.commit(_elect(store, batch))
        links = relink(store, groups, batch)
        links.remove += unsettled(batch)
        links.add += unlinked(batch)
        store.commit(links)
    _withhold(store)
    return things


def _elect(store: Store, things: list[NamedNode]) -> Changes:
    """The changes that make the most frequent name of each thing its label."""
    changes = Changes()
    renamed: list[NamedNode] = []
    for row in store.select("labels/elect", things=things):
        thing, new = node_of(row["thing"]), as_literal(row["new"])
        if "old" in row:
            renamed.append(thing)
        if "old" in row and not to_python(row["stated"]):
            old = as_literal(row["old"])
            changes.remove.append(_name(thing, RDFS.label, old))
            changes.add.append(_name(thing, SKOS.altLabel, old))
        if not to_python(row["alias_stated"]):
            changes.remove.append(_name(thing, SKOS.altLabel, new))
        changes.add.append(_name(thing, RDFS.label, new))
    drop_made(store, changes, entities=renamed)
    return changes


def _drop_unsupported(store: Store, things: list[NamedNode]) -> Changes:
    """The changes that remove names which no subgraph contains any more."""
    changes = Changes()
    for row in store.select("labels/unsupported", things=things):
        changes.remove.append(_name(node_of(row["thing"]), node_of(row["property"]), as_literal(row["name"])))
    unnamed = [node_of(quad.subject) for quad in changes.remove if quad.predicate == RDFS.label]
    drop_made(store, changes, entities=unnamed)
    return changes


def _name(thing: NamedNode, prop: NamedNode, name: Literal) -> Quad:
    return Quad(thing, prop, name, DefaultGraph())


def _withhold(store: Store) -> None:
    """Remove asserted facts that a decision retracts: writers of foreign data do not know of decisions."""
    if store.select("checks/retracted-asserted", limit=1):
        store.commit(Changes(updates=[("facts/withhold", {})]))
