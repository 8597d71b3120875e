"""Entities and relationships of an export.

A relationship is all facts from one entity to another. Its description is what they say: that of imported
tables or a merged one, else the facts with their quotes. Its weight is that of imported tables, else how many
chunks state it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import Term, local_name, one_label, text_of
from graphrag_rdf.store.base import Store, select_in_batches
from graphrag_rdf.wings.msgraphrag.exported import Exported, Pair

Fact = tuple[Term, ...]
_MOST_QUOTES = 5  # of a fact


def names_of_entities(store: Store) -> dict[NamedNode, str]:
    """The names of entities: titles of imported tables, else labels."""
    rows = one_label(store.select("exchange/labels"))
    labels = {row["thing"]: row["label"].value for row in rows}
    given = store.select("exchange/tables-titles")
    return labels | {row["entity"]: row["title"] for row in given}


def add_entities(store: Store, tables: Exported) -> None:
    """Add the entities of which something is known."""
    sources: dict[NamedNode, list[NamedNode]] = defaultdict(list)
    for row in store.select("exchange/tables-entities"):
        sources[row["entity"]].append(row["source"])
    titles = _distinct({entity: tables.name(entity) for entity in sources})
    types, descriptions = _types(store, sources), _descriptions(store, sources)
    for entity in sorted(sources, key=lambda one: (titles[one], one.value)):
        units = tables.text_units.ids(sources[entity])
        tables.entities.add(
            entity,
            title=titles[entity],
            type=", ".join(dict.fromkeys(types.get(entity, ()))).upper(),
            description="\n".join(descriptions.get(entity, ())),
            text_unit_ids=units,
            frequency=len(units),
            degree=0,
        )


def _distinct(titles: Mapping[NamedNode, str]) -> dict[NamedNode, str]:
    """Titles of which none is another's: Microsoft GraphRAG knows entities by title only."""
    counts = Counter(titles.values())
    return {
        entity: title if counts[title] == 1 else f"{title} ({local_name(entity.value)})"
        for entity, title in titles.items()
    }


def _types(store: Store, entities: Iterable[NamedNode]) -> Mapping[NamedNode, list[str]]:
    found: dict[NamedNode, list[str]] = defaultdict(list)
    for row in select_in_batches(store, "communities/report-descriptions", "entities", entities):
        if row["p"] == RDF.type:
            label = row["label"] if row["label"] is not None else local_name(text_of(row["o"]))
            found[row["entity"]].append(label)
    return found


def _descriptions(store: Store, entities: Iterable[NamedNode]) -> Mapping[NamedNode, list[str]]:
    found: dict[NamedNode, list[str]] = defaultdict(list)
    for row in select_in_batches(store, "derived/descriptions", "entities", entities):
        found[row["entity"]].append(row["text"])
    return found


def add_relationships(store: Store, tables: Exported) -> None:
    """Add the relationships between entities, and their degrees."""
    facts: dict[Pair, dict[Fact, str]] = defaultdict(dict)
    sources: dict[Pair, dict[NamedNode, None]] = defaultdict(dict)
    for row in store.select("exchange/tables-relations"):
        pair = row["one"], row["other"]
        label = row["label"] if row["label"] is not None else local_name(row["p"].value)
        facts[pair][row["s"], row["p"], row["o"]] = label
        sources[pair][row["source"]] = None
    tables.loops = sum(one == other for one, other in facts)
    every = [fact for own in facts.values() for fact in own]
    weights, said = _weights(store, every), _said(store, every)
    quotes = _quotes(store, [fact for fact in every if fact not in said])
    for pair, own in facts.items():
        one, other = pair
        if one == other:
            continue
        units = tables.text_units.ids(sources[pair])
        texts: list[str] = []
        for fact, label in own.items():
            stated = f"{tables.title(one)} {label} {tables.title(other)}"
            texts += said.get(fact) or [": ".join(filter(None, [stated, " ".join(quotes.get(fact, ()))]))]
        tables.relationships.add(
            pair,
            source=tables.title(one),
            target=tables.title(other),
            description="\n".join(dict.fromkeys(texts)),
            weight=sum(weights.get(fact, 0.0) for fact in own) or float(len(units) or 1),
            combined_degree=0,
            text_unit_ids=units,
        )
    _count_degrees(tables)


def _weights(store: Store, facts: Iterable[Fact]) -> Mapping[Fact, float]:
    """The weights of facts in imported tables."""
    rows = select_in_batches(store, "exchange/relation-weights", "edges", facts)
    return {(row["s"], row["p"], row["o"]): row["given"] for row in rows}


def _said(store: Store, facts: Iterable[Fact]) -> Mapping[Fact, list[str]]:
    """The descriptions of facts, imported or merged."""
    found: dict[Fact, list[str]] = defaultdict(list)
    for row in select_in_batches(store, "derived/fact-descriptions", "edges", facts):
        found[row["s"], row["p"], row["o"]].append(row["text"])
    return found


def _quotes(store: Store, facts: Iterable[Fact]) -> Mapping[Fact, list[str]]:
    found: dict[Fact, dict[str, None]] = defaultdict(dict)
    for row in select_in_batches(store, "communities/report-evidence", "edges", facts):
        own = found[row["s"], row["p"], row["o"]]
        if row["quote"] is not None and len(own) < _MOST_QUOTES:
            own[" ".join(row["quote"].split())] = None
    return {fact: list(own) for fact, own in found.items()}


def _count_degrees(tables: Exported) -> None:
    near: dict[object, set[object]] = defaultdict(set)
    for row in tables.relationships:
        near[row["source"]].add(row["target"])
        near[row["target"]].add(row["source"])
    for row in tables.entities:
        row["degree"] = len(near[row["title"]])
    for row in tables.relationships:
        row["combined_degree"] = len(near[row["source"]]) + len(near[row["target"]])
