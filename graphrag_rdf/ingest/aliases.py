"""Other names that a model gave: within a document, what is named by one is the entity that has it.

A chunk may say that Ebenezer Orr is also called Orr, and another name Orr only. Where exactly one entity of
the document is called so, and no other of the store is, they are one by a decision, which can be undone. It
is taken back when another entity is called so too, or nothing says any more that the name is another name.
What was taken back is not decided again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.extract.normalise import match_key
from graphrag_rdf.ingest.batches import in_batches
from graphrag_rdf.ingest.decisions import Decision, Groups, read_decisions
from graphrag_rdf.ingest.resolution import Merge, merge, undo
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RDFS, SKOS
from graphrag_rdf.rdf.terms import node_of, text_of

if TYPE_CHECKING:
    from graphrag_rdf.ingest.needed import NeededParts
    from graphrag_rdf.store.base import Store

RULE = iris.agent("graphrag-rdf-aliases")
"""Who decides here."""
REASON = "a document names one by what it says that the other is also called"
_CONFIDENCE = 0.92
_BATCH = 500

Pair = tuple[NamedNode, NamedNode]
"""The entity with the other name, and what is named by it."""


def join_aliases(engine: NeededParts, documents: Sequence[NamedNode]) -> None:
    """Decide anew which entities of documents are one by their other names."""
    store = engine.store
    before = read_decisions(store)
    mine = [one for one in before if one.by == RULE]
    standing = [one for one in mine if one.undone is None]
    alone = _alone(store, [_pair(one) for one in standing])
    lost = [one for one in standing if _pair(one) not in alone]
    if lost:
        undo(engine, lost)
    groups = Groups(before)
    taken_back = {one.members for one in mine if one.undone is not None}
    pairs = [
        pair
        for pair in _pairs(store, documents)
        if tuple(sorted(pair, key=str)) not in taken_back and not groups.are_kept_apart(*pair)
    ]
    alone = _alone(store, pairs)
    merges = [
        Merge(pair[0], pair, REASON, _CONFIDENCE)
        for pair in pairs
        if pair in alone and types_agree(store, *pair)
    ]
    merge(engine, merges, by=RULE)


def _pairs(store: Store, documents: Sequence[NamedNode]) -> list[Pair]:
    """Of each document, each name that one entity has as another name, and one other as its name."""
    found: set[Pair] = set()
    for some in in_batches(documents, _BATCH):
        owners: dict[tuple[str, str], set[NamedNode]] = defaultdict(set)
        named: dict[tuple[str, str], set[NamedNode]] = defaultdict(set)
        for row in store.select("ingest/names-in-documents", documents=some):
            place = owners if row["property"] == SKOS.altLabel else named
            place[text_of(row["document"]), match_key(text_of(row["name"]))].add(node_of(row["canonical"]))
        for key, having in owners.items():
            others = named[key] - having
            if len(having) == len(others) == 1:
                found.add((min(having, key=str), min(others, key=str)))
    return sorted(found, key=str)


def _alone(store: Store, pairs: Sequence[Pair]) -> set[Pair]:
    """Pairs of which the first is called by the other's name, and nothing else is."""
    called: dict[NamedNode, dict[str, bool]] = defaultdict(dict)  # names, and whether each is the label
    for some in in_batches({entity: None for pair in pairs for entity in pair}, _BATCH):
        for row in store.select("labels/known", things=some):
            names = called[node_of(row["thing"])]
            name = text_of(row["name"])
            names[name] = names.get(name, False) or row["property"] == RDFS.label
    claimed = {pair: claims for pair in pairs if (claims := _claims(called[pair[0]], called[pair[1]]))}
    having: dict[str, set[NamedNode]] = defaultdict(set)
    for batch in in_batches({name: None for claims in claimed.values() for name in claims}, _BATCH):
        for row in store.select("retrieval/entities-by-label", labels=[Literal(name) for name in batch]):
            having[text_of(row["label"])].add(node_of(row["entity"]))
    return {pair for pair, names in claimed.items() if all(having[name] <= {*pair} for name in names)}


def _claims(owner: Mapping[str, bool], other: Mapping[str, bool]) -> set[str]:
    """The names that must be theirs alone, if the owner has the other's label as a name."""
    keys = {match_key(name) for name, is_label in other.items() if is_label}
    shared = {name for name in owner if match_key(name) in keys}
    return shared | other.keys() if shared else set()


def types_agree(store: Store, owner: NamedNode, other: NamedNode) -> bool:
    """Whether two entities have a type in common, as far as they have any."""
    types: dict[NamedNode, set[str]] = {owner: set(), other: set()}
    for row in store.select("entities/profile", entities=[owner, other]):
        if "type" in row:
            types[node_of(row["entity"])].add(text_of(row["type"]))
    return not types[owner] or not types[other] or not types[owner].isdisjoint(types[other])


def _pair(decision: Decision) -> Pair:
    owner = decision.canonical or decision.members[0]
    return owner, next(member for member in decision.members if member != owner)
