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

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest import resolutions
from graphrag_rdf.ingest.decisions import PERSON, Kind, decide, numbered, read_decisions
from graphrag_rdf.ingest.resolutions import (
    Groups,
    Merge,
    Resolution,
    merge_and_split,
    new_merges,
)
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import OWL, RAG, XSD, Graphs
from graphrag_rdf.rdf.terms import best_label, spellings
from graphrag_rdf.rdf.wording import phrase_of, words_of
from graphrag_rdf.schema.relation_forms import Form, form_of
from graphrag_rdf.store.base import Changes, Store, languages_of, select_in_batches

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


# --- by people and models ---


def merge_and_invert(
    engine: NeededComponents,
    merges: Iterable[Merge],
    inverses: Iterable[Merge],
    *,
    by: NamedNode = PERSON,
    name: str | None = None,
) -> list[Resolution]:
    """Decide that relations are one, and that pairs of them are inverse then, in one transaction.

    Raises:
        UsageError: two to be merged are one relation, or two to be inverse; or one has another inverse.
    """
    decisions = new_merges(engine.store, merges, kinds=RELATIONS, by=by)
    before = [*read_decisions(engine.store, RELATIONS), *decisions]
    decisions += _inverses(before, inverses, by)
    decide(engine, decisions, name)
    return decisions


def _inverses(before: Sequence[Resolution], pairs: Iterable[Merge], by: NamedNode) -> list[Resolution]:
    """Decisions that two relations each are inverse; those that are need none."""
    decisions: list[Resolution] = []
    for pair in pairs:
        groups = Groups([*before, *decisions])
        first, second = pair.members
        if first in groups.of(second):
            raise UsageError(
                tr("{one} and {other} are the same relation").format(one=first.value, other=second.value),
                hint=tr("graphrag-rdf relations decisions shows what was merged"),
            )
        inverses = {relation: groups.inverse_of(relation) for relation in (first, second)}
        if inverses[first] is not None and inverses[first] in groups.of(second):
            continue
        for relation, inverse in inverses.items():
            if inverse is not None:
                raise UsageError(
                    tr("{relation} is the inverse of {other}").format(
                        relation=relation.value, other=inverse.value
                    ),
                    hint=tr(
                        "merge what has the same inverse: graphrag-rdf relations merge; or undo the decision"
                    ),
                )
        draft = Resolution(
            kind=INVERSE,
            members=tuple(sorted(pair.members, key=str)),
            by=by,
            reason=pair.reason,
            confidence=pair.confidence,
        )
        decisions += numbered([*before, *decisions], [draft])
    return decisions


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


# --- what people call relations ---


def relations_called(store: Store, name: str, namespace: str) -> dict[Objects, NamedNode]:
    """The relations of the facts, and the properties of loaded ontologies, that have a name: one to things,
    one to values.

    Args:
        name: label, alias or IRI; labels match as they are written, else without regard to case.

    Raises:
        UsageError: there is none, or several of one kind.
    """
    relations = read_relations(store, namespace)
    loaded: dict[NamedNode, Objects] = {
        row["property"]: "values" if row["literal"] else "things" for row in store.select("predicates/loaded")
    }
    kinds = loaded | {iri: relation.objects for iri, relation in relations.items()}
    if name.startswith(("http://", "https://", "urn:", "<")):
        called = [one for one in kinds if one.value == name.strip("<>")]
    else:
        exact = store.select("provenance/named", names=spellings([name], languages_of(store.select)))
        rows = exact or store.select("provenance/named-alike", names=[name.lower()])
        called = [node for node in dict.fromkeys(row["thing"] for row in rows) if node in relations]
        called = called or [one for one in loaded if words_of(one.value) == name]
    if not called:
        raise UsageError(
            tr("no relation is called {name!r}").format(name=name),
            hint=tr("graphrag-rdf relations list shows the names"),
        )
    found: dict[Objects, NamedNode] = {}
    for one in called:
        if kinds[one] in found:
            raise UsageError(
                tr("{name!r} names several relations: {names}").format(
                    name=name, names=", ".join(each.value for each in called)
                ),
                hint=tr("use the IRI"),
            )
        found[kinds[one]] = one
    return found


def pair_of_things(called: Sequence[Mapping[Objects, NamedNode]]) -> tuple[NamedNode, NamedNode]:
    """The two relations to things that two names name.

    Raises:
        UsageError: one name has relations to values only.
    """
    if any("things" not in one for one in called):
        raise UsageError(
            tr("relations to values have no inverse"),
            hint=tr("graphrag-rdf relations list shows the IRIs; those of values end in -value"),
        )
    one, other = (each["things"] for each in called)
    return one, other


def together(called: Sequence[Mapping[Objects, NamedNode]]) -> list[list[NamedNode]]:
    """The relations to be merged: those to things with each other, and those to values.

    Args:
        called: what each name names.

    Raises:
        UsageError: one name has relations to things only, another one to values only.
    """
    kinds = [kind for kind in called[0] if all(kind in one for one in called)]
    if not kinds:
        raise UsageError(
            tr("relations to things cannot be merged with relations to values"),
            hint=tr("graphrag-rdf relations list shows the IRIs; those of values end in -value"),
        )
    return [[one[kind] for one in called] for kind in kinds]
