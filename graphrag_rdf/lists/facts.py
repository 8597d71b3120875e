"""The list of facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyoxigraph as ox

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.lists.declaration import Asked, Column, Filter, Item, List, register
from graphrag_rdf.rdf.json_values import to_json

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.base import Store


def _facts(engine: Engine, asked: Asked) -> Iterable[Item]:
    """Facts with the labels of their terms, the IRI of an object that is a thing, and as N-Triples."""
    from graphrag_rdf.trace.facts import fact_of, read_labels

    rows = engine.store.select("facts/list", **FACTS.parameters(engine, asked))
    labels = read_labels(engine.store, [row[name] for row in rows for name in "spo"])
    return [
        {
            **to_json(fact_of(row, labels)),
            "o_iri": row["o"].value if isinstance(row["o"], ox.NamedNode) else "",
            "statement": f"{row['s']} {row['p']} {row['o']} .",
        }
        for row in rows
    ]


def _triples(store: Store, items: Sequence[Item]) -> list[ox.Triple]:
    del store
    lines = "\n".join(item["statement"] for item in items)
    return [quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES)]


FACTS = register(
    List(
        "facts",
        later("Facts"),
        "List facts, in the order of the store.",
        columns=(
            Column("s", later("subject"), value=lambda item: item["s_label"], link="term"),
            Column("p", later("relation"), value=lambda item: item["p_label"], link="term"),
            Column("o_iri", later("object"), value=lambda item: item["o_label"], link="term"),
            Column("statement", later("sources"), value=lambda _: tr("source"), link="fact", table=False),
        ),
        filters=(Filter("match", label=later("Part of a name or value"), parameter="texts"),),
        path="/facts",
        template="facts/list",
        read=_facts,
        rdf=_triples,
        none=later("There are no facts."),
        no_match=later("No fact contains this text."),
        links=((later("Decisions about facts"), "/facts/decisions"),),
    )
)
