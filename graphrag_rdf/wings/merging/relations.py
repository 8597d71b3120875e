"""Relations that people and models say are one, or inverse, and what people call them.

The decisions are of the kinds that `ingest.relation_decisions` declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.decisions import PERSON, decide, numbered, read_decisions
from graphrag_rdf.ingest.relation_decisions import INVERSE, RELATIONS, Objects, read_relations
from graphrag_rdf.ingest.resolutions import Groups, Merge, Resolution, new_merges
from graphrag_rdf.rdf.terms import spellings
from graphrag_rdf.rdf.wording import words_of
from graphrag_rdf.store.base import Store, languages_of

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


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
