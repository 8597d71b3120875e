"""Decisions that things are the same, entities or relations: made, undone, and grouped.

A decision is a node of the system graph. A merge says that its members are one and which of them stands for
all, a split that one of its members (`rag:splitInto`) is none of the others. Facts are never rewritten.
Decisions only change `rag:canonicalEntity` and `rag:canonicalRelation`, which can be rebuilt from them at any
time. A decision that was undone stays, marked with `prov:invalidatedAtTime`.

Decisions are replayed in the order in which they were made. Those that follow from a file or from the names
alone, and have no time, come first. So a split separates what was merged before it, and a later merge of the
two has the last word.

Two relations may also be inverse (`rag:RelationInverse`): "employs" says of a firm and a person what "works
for" says of the person and the firm.

Entities also have links (`rag:EntityLink`, `ingest.entity_links`) to things of a reference vocabulary. A link
by `owl:sameAs` also merges: what is the same as one thing is one, and facts of an imported reference graph
are found with those of texts.

`entity_decisions` and `relation_decisions` apply them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.names import as_literal
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import OWL, PROV, RAG, RDF, RDFS, Graphs
from graphrag_rdf.rdf.terms import Term, datetime_, double, node_of, now, text_of, to_python
from graphrag_rdf.store.base import Changes, Store

Kind = Choice["merge", "split", "link", "inverse"]
_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Sort:
    """What decisions are about.

    Attributes:
        name: of one such thing, for people.
        command: the command that lists the decisions.
        prefix: of the IRIs of decisions, before `merge` and `split`.
        merge, split, link, inverse: classes of the decisions.
        canonical: leads from a thing to the one that stands for it, and from a merge to that one.
    """

    name: str
    command: str
    prefix: str
    merge: NamedNode
    split: NamedNode
    canonical: NamedNode
    link: NamedNode | None = None
    inverse: NamedNode | None = None

    @property
    def kinds(self) -> dict[Kind, NamedNode]:
        """Kind of decision → its class."""
        found: dict[Kind, NamedNode | None] = {
            "merge": self.merge,
            "split": self.split,
            "link": self.link,
            "inverse": self.inverse,
        }
        return {kind: type_ for kind, type_ in found.items() if type_ is not None}


ENTITIES = Sort(
    "entity", "entities", "", RAG.EntityMerge, RAG.EntitySplit, RAG.canonicalEntity, RAG.EntityLink
)
RELATIONS = Sort(
    "relation",
    "relations",
    "relation-",
    RAG.RelationMerge,
    RAG.RelationSplit,
    RAG.canonicalRelation,
    inverse=RAG.RelationInverse,
)


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
    """A decision that things are one, or not, or that relations are inverse.

    Attributes:
        members: the things that it is about, sorted by IRI; of a link, the one that is linked; of an
            inverse, the two relations.
        canonical: of a merge, the thing that represents all.
        apart: of a split, the member that is not one with the others.
        by: the agent that decided: a rule or a person.
        confidence: 0 to 1.
        made: None for those that follow from a file or from names, which come first.
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
    def things(self) -> set[NamedNode]:
        """Everything that it names."""
        same = self.link.target if self.link and self.link.is_identity else None
        return {*self.members, *filter(None, (self.canonical, self.apart, same))}

    def quads(self, sort: Sort = ENTITIES) -> Iterator[Quad]:
        """The node, in the system graph."""
        facts: list[tuple[NamedNode, Term | None]] = [
            (RDF.type, sort.kinds[self.kind]),
            *((RAG.member, member) for member in self.members),
            (sort.canonical, self.canonical),
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


def read_decisions(store: Store, sort: Sort = ENTITIES) -> list[Decision]:
    """All decisions about entities, or relations, in the order in which they were made, undone ones too."""
    said: dict[NamedNode, dict[NamedNode, list[Term]]] = {}
    for row in store.select("entities/decisions", kinds=list(sort.kinds.values())):
        of_decision = said.setdefault(node_of(row["decision"]), {})
        of_decision.setdefault(node_of(row["property"]), []).append(row["value"])
    found = [_decision(iri, facts, sort) for iri, facts in said.items()]
    return sorted(found, key=lambda decision: (decision.made or _FIRST, decision.iri.value))


def _decision(iri: NamedNode, said: dict[NamedNode, list[Term]], sort: Sort) -> Decision:
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
        next(kind for kind, type_ in sort.kinds.items() if type_ in said[RDF.type]),
        tuple(sorted(members, key=str)),
        node(sort.canonical),
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
    """The things that are one by the decisions that stand.

    Args:
        decisions: in the order of `read_decisions`; undone ones do not count.
    """

    def __init__(self, decisions: Iterable[Decision]) -> None:
        merges: list[tuple[NamedNode | None, set[NamedNode]]] = []
        inverses: list[tuple[NamedNode, ...]] = []
        self._kept_apart: list[tuple[NamedNode, frozenset[NamedNode]]] = []
        self._links: dict[NamedNode, list[Link]] = {}
        self._decided: set[NamedNode] = set()
        for decision in decisions:
            if decision.undone is not None:
                continue
            if decision.source is None:
                self._decided.update(decision.members)
            if decision.kind == "merge":
                merges.append((decision.canonical, set(decision.members)))
            elif decision.kind == "inverse":
                inverses.append(decision.members)
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
        self._inverse: dict[NamedNode, NamedNode] = {}
        for one, other in (pair for pair in reversed(inverses) if len(pair) == 2):
            left, right = self.of(one), self.of(other)
            if one not in right and self._inverse.keys().isdisjoint({*left, *right}):
                self._inverse |= {**dict.fromkeys(left, other), **dict.fromkeys(right, one)}

    def __contains__(self, entity: NamedNode) -> bool:
        return len(self._group.get(entity, ())) > 1 or entity in self._links

    def is_decided(self, entity: NamedNode) -> bool:
        """Whether there is a decision about an entity that no imported file states."""
        return entity in self._decided

    def links(self, entity: NamedNode) -> list[Link]:
        """The links of an entity that no split contradicts."""
        group = self.of(entity)
        return [link for link in self._links.get(entity, ()) if not link.is_identity or link.target in group]

    def of(self, entity: NamedNode) -> Collection[NamedNode]:
        """The things that are one with this one, itself included."""
        return self._group.get(entity, {entity})

    def inverse_of(self, relation: NamedNode) -> NamedNode | None:
        """A relation that says the same in the other direction, by the newest decision."""
        return self._inverse.get(relation)

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

    def standing_for(self, thing: NamedNode, present: Collection[NamedNode]) -> NamedNode:
        """What represents a thing: the newest choice among those present, else the first by IRI.

        Args:
            present: the things that have a name, as far as they matter.
        """
        group = self.of(thing)
        chosen = (one for one in self._preferred.get(id(group), ()) if one in present)
        return next(chosen, min((one for one in group if one in present), key=str, default=thing))


PERSON = iris.agent("person")
"""The agent of decisions on the command line, unless a name is given."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Things that are to become one.

    Attributes:
        keep: the thing that represents all; it may be one that they are merged with already.
        members: the things, two or more.
        reason: why, for people; it must not quote documents.
        confidence: 0 to 1.
    """

    keep: NamedNode
    members: tuple[NamedNode, ...]
    reason: str | None = None
    confidence: float = 1.0


def decide_merges(
    store: Store, merges: Iterable[Merge], by: NamedNode, sort: Sort = ENTITIES
) -> list[Decision]:
    """Decisions that things are one, to be written; what is one already, with the same thing standing for it,
    needs none.

    Args:
        by: the rule or person.

    Raises:
        UsageError: when a thing is to be merged with itself.
    """
    made: list[Decision] = []
    wanted = list(merges)
    if not wanted:
        return made
    before = read_decisions(store, sort)
    record, groups = _recorder(before, sort), Groups(before)
    for one in wanted:
        members = set(one.members)
        if len(members) < 2:
            raise UsageError(tr(_WITH_ITSELF[sort.name]), hint=tr("name another one"))
        together = {*groups.of(one.keep)}
        if members <= together and groups.standing_for(one.keep, together) == one.keep:
            continue
        decision = record("merge", by, members, one.keep)
        made.append(replace(decision, reason=one.reason, confidence=one.confidence))
    return made


def decide_inverses(
    store: Store, pairs: Iterable[Merge], by: NamedNode, merges: Sequence[Decision] = ()
) -> list[Decision]:
    """Decisions that two relations each are inverse, to be written; those that are need none.

    Args:
        by: the rule or person.
        merges: decisions that are written before these.

    Raises:
        UsageError: two are the same relation, or one has another inverse.
    """
    made: list[Decision] = []
    before = [*read_decisions(store, RELATIONS), *merges]
    record = _recorder(before, RELATIONS)
    for wanted in pairs:
        groups = Groups([*before, *made])
        one, other = wanted.members
        if one in groups.of(other):
            raise UsageError(
                tr("{one} and {other} are the same relation").format(one=one.value, other=other.value),
                hint=tr("graphrag-rdf relations decisions shows what was merged"),
            )
        known = {relation: groups.inverse_of(relation) for relation in (one, other)}
        if known[one] is not None and known[one] in groups.of(other):
            continue
        for relation, inverse in known.items():
            if inverse is not None:
                raise UsageError(
                    tr("{relation} is the inverse of {other}").format(
                        relation=relation.value, other=inverse.value
                    ),
                    hint=tr(
                        "merge what has the same inverse: graphrag-rdf relations merge; or undo the decision"
                    ),
                )
        decision = record("inverse", by, {one, other}, min(one, other, key=str))
        made.append(replace(decision, reason=wanted.reason, confidence=wanted.confidence))
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
    reason = later("an imported file has owl:sameAs")
    return Decision(
        iri, "merge", every, canonical, by=by, reason=reason, confidence=1.0, made=now(), source=source
    )


def decide_split(
    store: Store, thing: NamedNode, by: NamedNode, reason: str | None, sort: Sort = ENTITIES
) -> Decision:
    """The decision that separates a thing from those with which it was merged, to be written.

    Raises:
        UsageError: when it is not merged with any.
    """
    before = read_decisions(store, sort)
    members = {*Groups(before).of(thing)}
    if len(members) < 2:
        raise UsageError(
            tr(_NOT_MERGED[sort.name]).format(thing=thing.value),
            hint=tr("graphrag-rdf {command} decisions shows what was merged").format(command=sort.command),
        )
    return replace(_recorder(before, sort)("split", by, members, thing), reason=reason, confidence=1.0)


def decided(made: Iterable[Decision], by: NamedNode, name: str | None, sort: Sort = ENTITIES) -> Changes:
    """The changes that write decisions, with the name of the person."""
    changes = Changes(add=[quad for decision in made for quad in decision.quads(sort)])
    if name:
        changes.add += person_quads(by, name)
    return changes


def undone(decisions: Iterable[Decision]) -> Changes:
    """The changes that mark decisions as undone."""
    moment = datetime_(now())
    return Changes(add=[system(d.iri, PROV.invalidatedAtTime, moment) for d in decisions])


_WITH_ITSELF = {
    "entity": later("an entity cannot be merged with itself"),
    "relation": later("a relation cannot be merged with itself"),
}
_NOT_MERGED = {
    "entity": later("{thing} is not merged with another entity"),
    "relation": later("{thing} is not merged with another relation"),
}


def _recorder(
    before: Sequence[Decision], sort: Sort
) -> Callable[[Kind, NamedNode, set[NamedNode], NamedNode], Decision]:
    """Makes decisions. Their IRIs depend on the agent, the content, and the number of equal decisions."""
    made = Counter((d.kind, d.by, d.members, _chosen(d)) for d in before)
    moment = now()

    def record(kind: Kind, by: NamedNode, things: set[NamedNode], chosen: NamedNode) -> Decision:
        members = tuple(sorted(things, key=str))
        key = (kind, by, members, chosen)
        number = made[key]
        made[key] += 1
        iri = decision_iri(sort, kind, by, chosen, members, number)
        canonical = chosen if kind == "merge" else None
        apart = chosen if kind == "split" else None
        return Decision(iri, kind, members, canonical, apart, by=by, made=moment)

    return record


def _chosen(decision: Decision) -> NamedNode | None:
    if decision.kind == "inverse":
        return next(iter(decision.members), None)
    return decision.canonical or decision.apart


def decision_iri(
    sort: Sort, kind: Kind, by: NamedNode, chosen: NamedNode, members: Iterable[NamedNode], number: int = 0
) -> NamedNode:
    """The IRI of a decision.

    Args:
        chosen: what stands for all, or is split off.
        members: sorted.
        number: of equal decisions before it.
    """
    return iris.decision(f"{sort.prefix}{kind}", by.value, chosen.value, *(m.value for m in members), number)


def person_quads(node: NamedNode, name: str) -> list[Quad]:
    """The name of a person who decided, in the system graph."""
    return [system(node, RDF.type, PROV.Person), system(node, RDFS.label, Literal(name))]
