"""What rules that join entities by name during an ingest share: see `aliases` and `written_together`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.ingest.batches import in_batches
from graphrag_rdf.ingest.decisions import Decision, Groups
from graphrag_rdf.rdf.namespaces import RDFS
from graphrag_rdf.rdf.terms import node_of, text_of

if TYPE_CHECKING:
    from graphrag_rdf.store.base import Store

_BATCH = 500

Pair = tuple[NamedNode, NamedNode]
"""The entity that shall stand for both, and the other one."""


def undecided(decisions: Sequence[Decision], rule: NamedNode, pairs: Iterable[Pair]) -> list[Pair]:
    """Pairs that are not one yet, that nobody keeps apart, and whose join by the rule was never undone."""
    groups = Groups(decisions)
    taken_back = {d.members for d in decisions if d.by == rule and d.undone is not None}
    return [
        pair
        for pair in pairs
        if tuple(sorted(pair, key=str)) not in taken_back
        and pair[1] not in groups.of(pair[0])
        and not groups.are_kept_apart(*pair)
    ]


def of_one_type(store: Store, pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of entities that have a type in common, as far as they have any."""
    types: dict[NamedNode, set[str]] = defaultdict(set)
    for some in in_batches(_entities(pairs), _BATCH):
        for row in store.select("entities/types", entities=some):
            types[node_of(row["entity"])].add(text_of(row["type"]))
    return [
        (one, other)
        for one, other in pairs
        if not types[one] or not types[other] or not types[one].isdisjoint(types[other])
    ]


def names_of(store: Store, pairs: Iterable[Sequence[NamedNode]]) -> defaultdict[NamedNode, dict[str, bool]]:
    """What the entities of these pairs are called, and whether each name is the label."""
    found: defaultdict[NamedNode, dict[str, bool]] = defaultdict(dict)
    for some in in_batches(_entities(pairs), _BATCH):
        for row in store.select("labels/known", things=some):
            names, name = found[node_of(row["thing"])], text_of(row["name"])
            names[name] = names.get(name, False) or row["property"] == RDFS.label
    return found


def called(store: Store, names: Iterable[str]) -> defaultdict[str, set[NamedNode]]:
    """The entities that are called exactly so, by name."""
    found: defaultdict[str, set[NamedNode]] = defaultdict(set)
    for some in in_batches(sorted(set(names)), _BATCH):
        for row in store.select("retrieval/entities-by-label", labels=[Literal(name) for name in some]):
            found[text_of(row["label"])].add(node_of(row["entity"]))
    return found


def _entities(pairs: Iterable[Sequence[NamedNode]]) -> dict[NamedNode, None]:
    return {entity: None for pair in pairs for entity in pair}
