"""Decisions about which relations are one: by their form, by people, by models; and their canonical links.

See `decisions` for what a decision is, and `resolutions` for merges and splits. `rag:canonicalRelation` leads
from *every* relation of the facts to the one that stands for it, usually itself. Facts keep the relation that
their document has. `owl:inverseOf` leads from one that stands for others to its inverse, and back, in the
same graph.

Relations whose names differ in form only ("work at", "works at") are one without being asked
(`schema.relation_forms`). These decisions follow from the relations as they are: `settle_relations` makes
those that are missing and removes those that no longer follow. So the order of documents does not matter. One
that was undone stays, and keeps its members apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING
from typing import Literal as Choice

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.i18n import later
from graphrag_rdf.ingest import resolutions
from graphrag_rdf.ingest.decisions import Kind, numbered, read_decisions
from graphrag_rdf.ingest.resolutions import (
    Groups,
    Resolution,
    merge_and_split,
)
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import OWL, RAG, XSD, Graphs
from graphrag_rdf.rdf.terms import best_label
from graphrag_rdf.rdf.wording import phrase_of
from graphrag_rdf.schema.relation_forms import Form, form_of
from graphrag_rdf.store.base import Changes, Store, select_in_batches

if TYPE_CHECKING:
    from pyoxigraph import Literal

    from graphrag_rdf.ingest import NeededComponents

Objects = Choice["things", "values", "both"]

FORM = iris.agent("graphrag-rdf-relation-forms")
"""The agent of decisions by form."""
FORM_REASON = later("the names differ in form only")
_FORM_CONFIDENCE = 0.97
_KNOWN = 3
"""Facts with a type at one end of a relation, from which on types can contradict."""
_TIMES = frozenset({XSD.date, XSD.dateTime, XSD.gYear, XSD.gYearMonth})
_NUMBERS = frozenset({XSD.integer, XSD.decimal, XSD.double, XSD.float})


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of the facts.

    Attributes:
        label: its name; without one, the words of its IRI.
        objects: what its facts have as objects.
        minted: by extraction, rather than a term of another vocabulary.
    """

    iri: NamedNode
    label: str
    language: str | None
    facts: int
    objects: Objects
    minted: bool


def read_relations(store: Store, namespace: str) -> dict[NamedNode, Relation]:
    """The relations of the facts, by IRI and in its order; without names and types.

    Args:
        namespace: in which extraction mints now.
    """
    return _relations(store, _minted(store, namespace))


def _relations(store: Store, minted: tuple[str, ...]) -> dict[NamedNode, Relation]:
    rows = sorted(store.select("predicates/used"), key=lambda row: str(row["relation"]))
    labels: dict[NamedNode, list[Literal]] = defaultdict(list)
    for row in select_in_batches(store, "retrieval/labels", "things", [row["relation"] for row in rows]):
        labels[row["thing"]].append(row["label"])
    found = {}
    for row in rows:
        iri, facts, literals = row["relation"], row["facts"], row["literals"]
        label = best_label(labels[iri])
        objects: Objects = "values" if literals == facts else "both" if literals else "things"
        found[iri] = Relation(
            iri,
            label.value if label else phrase_of(iri.value),
            label.language if label else None,
            facts,
            objects,
            iri.value.startswith(minted),
        )
    return found


def _minted(store: Store, namespace: str) -> tuple[str, ...]:
    """Beginnings of the IRIs of relations that extraction minted."""
    schemas = [row["schema"].value for row in store.select("ontology/observed-schemas")]
    namespaces = {namespace, *(schema.removesuffix(iris.OBSERVED_SCHEMA) for schema in schemas)}
    return tuple(f"{each}r/" for each in sorted(namespaces))


# --- the ends of relations ---


@dataclass(slots=True)
class Ends:
    """The types of subjects and objects, each with its number of facts; kinds of values for literals."""

    subjects: Counter[str] = field(default_factory=Counter)
    objects: Counter[str] = field(default_factory=Counter)

    def agree(self, other: Ends) -> bool:
        """Whether types do not contradict, as far as enough of them are known."""
        return _agree(self.subjects, other.subjects) and _agree(self.objects, other.objects)

    def add(self, other: Ends) -> None:
        """Count also those of another relation."""
        self.subjects.update(other.subjects)
        self.objects.update(other.objects)


def _agree(one: Counter[str], other: Counter[str]) -> bool:
    return min(one.total(), other.total()) < _KNOWN or bool(one.keys() & other.keys())


def read_ends(store: Store) -> defaultdict[NamedNode, Ends]:
    """The ends of all relations. Texts are no kind of value, since a text may say anything."""
    found: defaultdict[NamedNode, Ends] = defaultdict(Ends)
    for row in store.select("predicates/ends"):
        ends = found[row["relation"]]
        side = ends.subjects if row["end"] == "subject" else ends.objects
        kind = row["type"]
        if kind in _TIMES or kind in _NUMBERS:
            side["time" if kind in _TIMES else "number"] += row["facts"]
        elif not kind.value.startswith(_XSD) and not kind.value.startswith(_RDF):
            side[kind.value] += row["facts"]
    return found


_XSD = XSD.string.value.removesuffix("string")
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


# --- by form ---


def _by_form(
    store: Store, relations: Mapping[NamedNode, Relation], decisions: Iterable[Resolution]
) -> list[Resolution]:
    """The decisions that follow from the names of relations.

    The shortest name of a group stands for it, ties by IRI.
    """
    alike: dict[tuple[Objects, Form], list[Relation]] = defaultdict(list)
    for relation in relations.values():
        if relation.minted and (form := form_of(relation.label, relation.language)):
            alike[relation.objects, form].append(relation)
    several = [members for members in alike.values() if len(members) > 1]
    ends = read_ends(store) if several else {}
    apart = {
        pair
        for decision in decisions
        if decision.by == FORM and decision.undone is not None
        for pair in combinations(decision.members, 2)
    }
    return [_form_decision(group) for members in several for group in _compatible(members, ends, apart)]


def _compatible(
    members: Sequence[Relation],
    ends: Mapping[NamedNode, Ends],
    apart: Collection[tuple[NamedNode, NamedNode]],
) -> list[list[Relation]]:
    """Groups of two or more whose ends agree, begun with the relations that have the most facts."""
    groups: list[tuple[Ends, list[Relation]]] = []
    for relation in sorted(members, key=lambda one: (-one.facts, one.iri.value)):
        own = ends.get(relation.iri, Ends())
        for known, group in groups:
            pairs = {tuple(sorted((one.iri, relation.iri), key=str)) for one in group}
            if known.agree(own) and pairs.isdisjoint(apart):
                known.add(own)
                group.append(relation)
                break
        else:
            begun = Ends()
            begun.add(own)
            groups.append((begun, [relation]))
    return [group for _, group in groups if len(group) > 1]


def _form_decision(group: Sequence[Relation]) -> Resolution:
    draft = Resolution(
        kind=MERGE,
        members=tuple(sorted((relation.iri for relation in group), key=str)),
        canonical=min(group, key=lambda relation: (len(relation.label), relation.iri.value)).iri,
        by=FORM,
        reason=FORM_REASON,
        confidence=_FORM_CONFIDENCE,
    )
    return replace(numbered((), [draft])[0], made=None)  # it follows from the names, at any time


# --- settling ---


def settle_relations(store: Store, namespace: str) -> int:
    """Decide by form, and give each relation the canonical one that follows from all decisions.

    Args:
        namespace: in which extraction mints now.

    Returns:
        how many quads the store has more.
    """
    minted = _minted(store, namespace)
    relations = _relations(store, minted)
    decisions = read_decisions(store, RELATIONS)
    stands = {d.iri: d for d in decisions if d.by == FORM and d.undone is None}
    follows = {d.iri: d for d in _by_form(store, relations, decisions)}
    changes = Changes(content=False)
    for iri, decision in stands.items():
        if follows.get(iri) != decision:
            changes.remove += decision.quads()
    for iri, decision in follows.items():
        if stands.get(iri) != decision:
            changes.add += decision.quads()
    groups = Groups([*follows.values(), *(d for d in decisions if d.iri not in stands)])
    wanted = _links(relations, groups, minted)
    have = {
        Quad(row["relation"], row["link"], row["other"], Graphs.DERIVED)
        for row in store.select("predicates/links")
    }
    changes.remove += sorted(have - wanted, key=str)
    changes.add += sorted(wanted - have, key=str)
    if changes.add or changes.remove:
        store.commit(changes)
    return len(changes.add) - len(changes.remove)


def _links(relations: Mapping[NamedNode, Relation], groups: Groups, minted: tuple[str, ...]) -> set[Quad]:
    found = set()
    for iri in relations:
        # a property of an ontology may stand for relations although no fact has it
        present = {one for one in groups.of(iri) if one in relations or not one.value.startswith(minted)}
        canonical = groups.standing_for(iri, present)
        found |= {_link(iri, canonical), _link(canonical, canonical)}
        if (inverse := groups.inverse_of(iri)) is not None:
            others = [
                one for one in groups.of(inverse) if one in relations or not one.value.startswith(minted)
            ]
            if others:
                other = groups.standing_for(inverse, others)
                found |= {_link(other, other), _inverse(canonical, other), _inverse(other, canonical)}
    return found


def _inverse(relation: NamedNode, other: NamedNode) -> Quad:
    return Quad(relation, OWL.inverseOf, other, Graphs.DERIVED)


def _link(relation: NamedNode, canonical: NamedNode) -> Quad:
    return Quad(relation, RAG.canonicalRelation, canonical, Graphs.DERIVED)


# --- the kinds ---


def apply_decisions(engine: NeededComponents, changes: Changes, decisions: Sequence[Resolution]) -> None:
    """The effect of decisions: commit changes, and settle all relations."""
    del decisions
    engine.indexer.recover()
    engine.store.commit(changes)
    engine.indexer.flush(final=True)  # it settles relations and declares them


MERGE, SPLIT = merge_and_split(
    "relations", apply_decisions, (RAG.RelationMerge, RAG.RelationSplit), RAG.canonicalRelation, "relation-"
)
INVERSE = Kind(
    "inverse",
    "relations",
    (RAG.RelationInverse,),
    apply_decisions,
    Resolution,
    words=later("is the inverse of"),
    least=2,
    prefix="relation-",
)
RELATIONS: tuple[Kind[Resolution], ...] = (MERGE, SPLIT, INVERSE)
KINDS = RELATIONS

merge, split = partial(resolutions.merge, kinds=RELATIONS), partial(resolutions.split, kinds=RELATIONS)
"""See `resolutions`."""
