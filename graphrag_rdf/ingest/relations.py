"""Relations that follow from what is in the store, in `urn:graph:derived`: rebuilt, never edited.

| relation | between | says |
|---|---|---|
| `rag:sharesEntityWith` | chunks | they name the same entities: how many, and the sum of the entities' idf |
| `rag:coOccursWith` | entities | sentences at most a window apart name the two: how many pairs of sentences |
| `rag:follows` | chunks | it stands right after the other in their document |

What models found (see `pair_relations`) is stated beside them, and again whenever they are built.

An entity in more chunks than the hub limit makes no relation, as it passes on no activation: what is named
everywhere relates everything, and cost would grow with the square of the store. The idf is that of BM25
(Robertson and Zaragoza 2009, §3.1, with 1 added so that it is positive), kept to six decimals, so that sums
do not depend on their order. The same store and parameters give the same relations.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.batches import in_batches
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, XSD, Graphs
from graphrag_rdf.rdf.terms import node_of, text_of, to_python
from graphrag_rdf.store.base import Changes, Row, Store

_RECORD = NamedNode("urn:graphrag-rdf:relations")
_BATCH = 500


@dataclass(frozen=True, slots=True)
class RelationSettings:
    """How relations are built.

    Attributes:
        window: sentences within which two entities count as near; 1: in the same.
        min_count: co-occurrences below are left out.
        hub_limit: entities in more chunks make no relation.
    """

    window: int = 2
    min_count: int = 2
    hub_limit: int = 25


@dataclass(frozen=True, slots=True)
class Built:
    """What the relations in the store were built with.

    Attributes:
        content_commit: that they reflect.
        commit: that was the store's newest when they were built, so that each build is told from the others.
    """

    settings: RelationSettings
    content_commit: int
    commit: int = field(default=0, compare=False)

    def require(self, settings: RelationSettings) -> None:
        """Refuse to build a part with other settings than the rest. Raises UsageError."""
        if self.settings != settings:
            raise UsageError(
                f"the other relations were built with {_said(self.settings)}",
                hint="use the same, or build all anew with --all",
            )


def built(store: Store) -> Built | None:
    """The record of the last build; None if there are no relations."""
    rows = store.select("derived/built")
    if not rows:
        return None
    said = json.loads(text_of(rows[0]["parameters"]))
    content, commit = int(said.pop("content_commit")), int(said.pop("commit", 0))
    return Built(RelationSettings(**said), content, commit)


def build_relations(store: Store, settings: RelationSettings, documents: Sequence[NamedNode] = ()) -> None:
    """Build relations anew, in one transaction.

    Args:
        documents: build only what touches their chunks, and the entities that these name; empty: everything.
            Hubs are told by the whole store; what relates other chunks stays as it was.

    Raises:
        UsageError: when a part would be built with other settings than the rest.
    """
    before = built(store)
    if documents and before is not None:
        before.require(settings)
    rows = store.select("derived/chunks", documents=documents)
    chunks = [node_of(row["chunk"]) for row in rows]
    every = not documents
    total = len(chunks) if every else len(store.select("derived/chunks", documents=[]))
    some = [] if every else chunks
    entities = [node_of(row["entity"]) for row in store.select("derived/entities", chunks=some)]
    updates: list[tuple[str, dict[str, Any]]] = []
    if every:
        updates.append(("derived/clear", {}))
    else:
        updates += [("derived/drop-shared", {"chunks": batch}) for batch in in_batches(chunks, _BATCH)]
        updates += [("derived/drop-follows", {"chunks": batch}) for batch in in_batches(chunks, _BATCH)]
        updates += [
            ("derived/drop-co-occurrences", {"entities": batch}) for batch in in_batches(entities, _BATCH)
        ]
    updates.append(("derived/frequencies", {}))
    shared = {"weights": _weights(total, settings.hub_limit), "hub_limit": settings.hub_limit, "every": every}
    updates += [
        ("derived/shared-entities", {"chunks": batch, **shared}) for batch in in_batches(chunks, _BATCH)
    ]
    near = {**asdict(settings), "every": every}
    updates += [
        ("derived/co-occurrences", {"entities": batch, **near}) for batch in in_batches(entities, _BATCH)
    ]
    updates.append(("derived/typed", {}))
    now = Built(settings, store.content_commit(), store.commit_number())
    add = [*_follows(rows), *_record(now)]
    remove = [] if every or before is None else [*_record(before)]
    store.commit(Changes(updates=updates, remove=remove, add=add, content=False))


def _weights(chunks: int, hub_limit: int) -> list[tuple[int, Literal]]:
    """The idf of an entity by the number of chunks that name it."""
    found = []
    for frequency in range(2, hub_limit + 1):
        idf = math.log(1 + max(0.0, chunks - frequency + 0.5) / (frequency + 0.5))
        found.append((frequency, Literal(f"{idf:.6f}", datatype=XSD.decimal)))
    return found


def _follows(rows: Sequence[Row]) -> Iterator[Quad]:
    for before, after in pairwise(rows):
        if before["document"] == after["document"]:
            yield Quad(node_of(after["chunk"]), RAG.follows, node_of(before["chunk"]), Graphs.DERIVED)


def _record(build: Built) -> Iterator[Quad]:
    said = {**asdict(build.settings), "content_commit": build.content_commit, "commit": build.commit}
    parameters = json.dumps(said, sort_keys=True)
    yield Quad(_RECORD, RDF.type, PROV.Entity, Graphs.DERIVED)
    yield Quad(_RECORD, RAG.parameters, Literal(parameters), Graphs.DERIVED)


def _said(settings: RelationSettings) -> str:
    return ", ".join(f"{name} {value}" for name, value in asdict(settings).items())


def relation_counts(store: Store) -> dict[str, int]:
    """How many relations there are of each kind, by IRI; those of which there are none are left out."""
    rows = store.select("system/derived-counts")
    counts = {text_of(row["relation"]): to_python(row["number"]) for row in rows}
    return {relation: number for relation, number in counts.items() if isinstance(number, int) and number}
