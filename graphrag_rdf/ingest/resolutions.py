"""Decisions that things are the same, entities or relations, and the groups that follow from them.

A merge says that its members are one and which of them stands for all, a split that one of its members
(`rag:splitInto`) is none of the others. They only change `rag:canonicalEntity` and `rag:canonicalRelation`.
A split separates what was merged before it, and a later merge of the two has the last word.

Two relations may also be inverse (`rag:RelationInverse`): "employs" says of a firm and a person what "works
for" says of the person and the firm.

Entities also have links (`rag:EntityLink`, `ingest.known_links`) to things of a reference vocabulary. A link
by `owl:sameAs` also merges: what is the same as one thing is one, and facts of an imported reference graph
are found with those of texts.

`entity_decisions` and `relation_decisions` declare the kinds and apply them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.decisions import (
    PERSON,
    Decision,
    Kind,
    Property,
    decide,
    in_effect,
    node,
    numbered,
    read_decisions,
)
from graphrag_rdf.rdf.namespaces import OWL, RAG
from graphrag_rdf.rdf.terms import Term, local_name, text_of
from graphrag_rdf.store.base import Store

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution(Decision):
    """A decision that things are one, or not, or that relations are inverse.

    Attributes:
        canonical: of a merge, the thing that represents all.
        apart: of a split, the member that is not one with the others.
    """

    JSON: ClassVar[tuple[str, ...]] = (*Decision.JSON, "canonical", "apart", "link=linked")

    canonical: NamedNode | None = None
    apart: NamedNode | None = None

    @property
    def chosen(self) -> NamedNode | None:
        """The thing that it says something of: the canonical one, the one apart, else the first."""
        return self.canonical or self.apart or next(iter(self.members), None)

    @property
    def content(self) -> tuple[str, ...]:
        """What stands for all, or is split off, and the members."""
        return tuple(thing.value for thing in (self.chosen, *self.members) if thing)

    @property
    def things(self) -> set[NamedNode]:
        """Everything that it names."""
        return {*self.members, *filter(None, (self.canonical, self.apart))}

    @property
    def linked(self) -> dict[str, object] | None:
        """Of a link: what is decided of the entity, in JSON."""
        return None

    def in_words(self, called: Callable[[Term], str] = text_of) -> str:
        """See `Decision.in_words`."""
        remaining = ", ".join(called(member) for member in self.members if member != self.chosen)
        chosen = called(self.chosen) if self.chosen else ""
        return f"{chosen} {tr(self.kind.words)} {remaining}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Resolution):
    """A decision that an entity is a thing of a vocabulary.

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

    @property
    def content(self) -> tuple[str, ...]:
        """The entity and the thing."""
        return *(member.value for member in self.members), self.target.value

    @property
    def things(self) -> set[NamedNode]:
        """Everything that it names."""
        return {*self.members, self.target} if self.is_identity else {*self.members}

    def in_words(self, called: Callable[[Term], str] = text_of) -> str:
        """See `Decision.in_words`."""
        member = called(self.members[0]) if self.members else ""
        return f"{member} {local_name(self.relation.value)} {self.target.value}"

    @property
    def linked(self) -> dict[str, object]:
        """What is decided of the entity, in JSON."""
        return {
            "target": self.target,
            "relation": self.relation,
            "method": self.method,
            "matched": self.matched,
            "vocabulary": self.vocabulary,
            "evidence": self.evidence,
        }


Resolutions = Sequence[Kind[Resolution]]
"""The kinds of decisions about entities, or about relations; a merge and a split are the first two."""


def merge_and_split(
    about: str,
    effect: Callable[..., object],
    types: tuple[NamedNode, NamedNode],
    canonical: NamedNode,
    prefix: str = "",
) -> tuple[Kind[Resolution], Kind[Resolution]]:
    """The declarations of merges and splits.

    Args:
        about, effect, prefix: see `Kind`.
        types: the classes of both.
        canonical: leads from a merge to what stands for all.
    """
    chosen, apart = {"canonical": Property(canonical, node)}, {"apart": Property(RAG.splitInto, node)}
    common: dict[str, Any] = {"about": about, "effect": effect, "record": Resolution, "least": 2}
    return (
        Kind("merge", types=types[:1], properties=chosen, words=later("represents"), prefix=prefix, **common),
        Kind("split", types=types[1:], properties=apart, words=later("is not"), prefix=prefix, **common),
    )


class Groups:
    """The things that are one by the decisions that stand.

    Args:
        decisions: in the order of `read_decisions`; undone ones do not count.
    """

    def __init__(self, decisions: Iterable[Resolution]) -> None:
        merges: list[tuple[NamedNode | None, set[NamedNode]]] = []
        inverses: list[tuple[NamedNode, ...]] = []
        self._kept_apart: list[tuple[NamedNode, frozenset[NamedNode]]] = []
        self._links: dict[NamedNode, list[Link]] = {}
        self._decided: set[NamedNode] = set()
        for decision in in_effect(decisions):
            if decision.source is None:
                self._decided.update(decision.members)
            if decision.kind.name == "merge":
                merges.append((decision.canonical, set(decision.members)))
            elif decision.kind.name == "inverse":
                inverses.append(decision.members)
            elif isinstance(decision, Link):
                for member in decision.members:
                    self._links.setdefault(member, []).append(decision)
                if decision.is_identity:
                    merges.append((decision.target, {*decision.members, decision.target}))
            elif decision.apart is not None:
                remaining = frozenset(decision.members) - {decision.apart}
                self._kept_apart.append((decision.apart, remaining))
                for _, members in merges:
                    if not remaining.isdisjoint(members):
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
        for first, second in (pair for pair in reversed(inverses) if len(pair) == 2):
            group, inverse = self.of(first), self.of(second)
            if first not in inverse and self._inverse.keys().isdisjoint({*group, *inverse}):
                self._inverse |= {**dict.fromkeys(group, second), **dict.fromkeys(inverse, first)}

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

    def are_kept_apart(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether a split keeps two groups apart."""
        return not self.apart_from(first).isdisjoint(self.of(second))

    def apart_from(self, entity: NamedNode) -> set[NamedNode]:
        """The entities from which splits keep this one."""
        group = self.of(entity)
        distinct: set[NamedNode] = set()
        for apart, remaining in self._kept_apart:
            if apart in group:
                distinct |= remaining
            if not remaining.isdisjoint(group):
                distinct.add(apart)
        return distinct

    def standing_for(self, thing: NamedNode, present: Collection[NamedNode]) -> NamedNode:
        """What represents a thing: the newest choice among those present, else the first by IRI.

        Args:
            present: the things that have a name, as far as they matter.
        """
        group = self.of(thing)
        chosen = (each for each in self._preferred.get(id(group), ()) if each in present)
        return next(chosen, min((each for each in group if each in present), key=str, default=thing))


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


def merge(
    engine: NeededComponents,
    merges: Iterable[Merge],
    *,
    kinds: Resolutions,
    by: NamedNode = PERSON,
    name: str | None = None,
) -> list[Resolution]:
    """Decide that things are one.

    Args:
        by: the rule or person.
        name: of the person.

    Returns:
        the decisions; a merge of what is one already, with the same thing standing for it, makes none.

    Raises:
        UsageError: when a thing is to be merged with itself.
    """
    decisions = new_merges(engine.store, merges, kinds=kinds, by=by)
    decide(engine, decisions, name)
    return decisions


def new_merges(
    store: Store, merges: Iterable[Merge], *, kinds: Resolutions, by: NamedNode
) -> list[Resolution]:
    """The decisions of `merge`, to be written."""
    before = read_decisions(store, kinds)
    groups = Groups(before)
    drafts = []
    for wanted in merges:
        members = tuple(sorted(set(wanted.members), key=str))
        if len(members) < 2:
            raise UsageError(tr(_WITH_ITSELF[kinds[0].about]), hint=tr("name another one"))
        together = {*groups.of(wanted.keep)}
        if together.issuperset(members) and groups.standing_for(wanted.keep, together) == wanted.keep:
            continue
        draft = Resolution(kind=kinds[0], members=members, canonical=wanted.keep, by=by)
        drafts.append(replace(draft, reason=wanted.reason, confidence=wanted.confidence))
    return numbered(before, drafts)


def split(
    engine: NeededComponents,
    things: Iterable[NamedNode],
    *,
    kinds: Resolutions,
    by: NamedNode = PERSON,
    name: str | None = None,
    reason: str | None = None,
) -> list[Resolution]:
    """Separate things from those with which they were merged.

    Args:
        things: what one name names; those that are merged with none are left alone.
        by: the rule or person.
        name: of the person.

    Raises:
        UsageError: when none is merged with another.
    """
    before, named = read_decisions(engine.store, kinds), list(things)
    groups = Groups(before)
    merged = {thing: tuple(sorted(groups.of(thing), key=str)) for thing in named if thing in groups}
    drafts = [
        Resolution(kind=kinds[1], members=members, apart=thing, by=by, reason=reason, confidence=1.0)
        for thing, members in merged.items()
        if len(members) > 1
    ]
    if not drafts:
        raise UsageError(
            tr(_NOT_MERGED[kinds[0].about]).format(thing=named[0].value),
            hint=tr("graphrag-rdf {command} decisions shows what was merged").format(command=kinds[0].about),
        )
    decisions = numbered(before, drafts)
    decide(engine, decisions, name)
    return decisions


_WITH_ITSELF = {
    "entities": later("an entity cannot be merged with itself"),
    "relations": later("a relation cannot be merged with itself"),
}
_NOT_MERGED = {
    "entities": later("{thing} is not merged with another entity"),
    "relations": later("{thing} is not merged with another relation"),
}
