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

from pyoxigraph import NamedNode

from graphrag_rdf.extract.names import match_key
from graphrag_rdf.ingest.batches import in_batches
from graphrag_rdf.ingest.decisions import Decision, read_decisions
from graphrag_rdf.ingest.joins import Pair, called, names_of, of_one_type, undecided
from graphrag_rdf.ingest.resolution import Merge, merge, undo
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import SKOS
from graphrag_rdf.rdf.terms import node_of, text_of

if TYPE_CHECKING:
    from graphrag_rdf.ingest.protocols import NeededComponents
    from graphrag_rdf.store.base import Store

RULE = iris.agent("graphrag-rdf-aliases")
"""Who decides here."""
REASON = "a document names one by what it says that the other is also called"
_CONFIDENCE = 0.92
_BATCH = 500


def join_aliases(engine: NeededComponents, documents: Sequence[NamedNode]) -> None:
    """Decide anew which entities of documents are one by their other names."""
    store = engine.store
    decisions = read_decisions(store)
    standing = [one for one in decisions if one.by == RULE and one.undone is None]
    alone = _alone(store, [_pair(one) for one in standing])
    lost = [one for one in standing if _pair(one) not in alone]
    if lost:
        undo(engine, lost)
        decisions = read_decisions(store)
    pairs = undecided(decisions, RULE, _pairs(store, documents))
    alone = _alone(store, pairs)
    pairs = of_one_type(store, [pair for pair in pairs if pair in alone])
    merge(engine, [Merge(pair[0], pair, REASON, _CONFIDENCE) for pair in pairs], by=RULE)


def _pairs(store: Store, documents: Sequence[NamedNode]) -> list[Pair]:
    """Of each document, what has another name, and what is named by it; where either is one entity only."""
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
    names = names_of(store, pairs)
    claimed = {pair: claims for pair in pairs if (claims := _claims(names[pair[0]], names[pair[1]]))}
    having = called(store, (name for claims in claimed.values() for name in claims))
    return {pair for pair, claims in claimed.items() if all(having[name] <= {*pair} for name in claims)}


def _claims(owner: Mapping[str, bool], other: Mapping[str, bool]) -> set[str]:
    """The names that must be theirs alone, if the owner has the other's label as a name."""
    keys = {match_key(name) for name, is_label in other.items() if is_label}
    shared = {name for name in owner if match_key(name) in keys}
    return shared | other.keys() if shared else set()


def _pair(decision: Decision) -> Pair:
    owner = decision.canonical or decision.members[0]
    return owner, next(member for member in decision.members if member != owner)
