"""Relations between chunks that follow from the store.

| relation | between | says |
|---|---|---|
| `rag:sharesEntityWith` | chunks | they name the same entities: how many, and the sum of the entities' idf |
| `rag:follows` | chunks | it stands right after the other in their document |

These are in `urn:graph:derived`: rebuilt, never edited. The relations that a model finds
(wing `hybrid`) are stated there again whenever the others are built.

An entity in more chunks than the hub limit makes no relation, as it passes on no activation: it would relate
everything, and cost would grow with the square of the store. The idf is that of BM25 (Robertson and Zaragoza
2009, §3.1, with 1 added so that it is positive), kept to six decimals, so that sums do not depend on their
order. The same store and parameters give the same relations.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, XSD, Graphs, prefixed
from graphrag_rdf.store.base import Changes, Row, Store, updates_in_batches
from graphrag_rdf.store.records import RELATIONS, parameters_of

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings


@dataclass(frozen=True, slots=True)
class RelationSettings:
    """How relations are built.

    Attributes:
        hub_limit: entities in more chunks make no relation.
    """

    hub_limit: int = 25


@dataclass(frozen=True, slots=True)
class Built:
    """What the relations in the store were built with.

    Attributes:
        content_commit: that they reflect.
        commit: the store's newest when they were built, which distinguishes builds.
    """

    settings: RelationSettings
    content_commit: int
    commit: int = field(default=0, compare=False)

    def require(self, settings: RelationSettings) -> None:
        """Refuse to build a part with other settings than the rest. Raises UsageError."""
        if self.settings != settings:
            raise UsageError(
                tr("the other relations were built with {settings}").format(settings=_said(self.settings)),
                hint=tr("use the same settings, or rebuild all relations with --all"),
            )


def built(store: Store) -> Built | None:
    """The record of the last build; None if there are no relations."""
    text = parameters_of(store, RELATIONS)
    if text is None:
        return None
    parameters = json.loads(text)
    content, commit = int(parameters["content_commit"]), int(parameters.get("commit", 0))
    return Built(RelationSettings(parameters["hub_limit"]), content, commit)


def build_relations(store: Store, settings: RelationSettings, documents: Sequence[NamedNode] = ()) -> None:
    """Rebuild relations, in one transaction.

    Args:
        documents: build only what touches their chunks; empty: everything.
            Hubs are determined by the whole store. Relations of other chunks stay as they are.

    Raises:
        UsageError: when a part would be built with other settings than the rest.
    """
    before = built(store)
    if documents and before is not None:
        before.require(settings)
    rows = store.select("derived/chunks", documents=documents)
    chunks = [row["chunk"] for row in rows]
    every = not documents
    total = len(chunks) if every else len(store.select("derived/chunks", documents=[]))
    updates: list[tuple[str, dict[str, Any]]] = []
    if every:
        updates.append(("derived/clear", {}))
    else:
        updates += updates_in_batches("derived/drop-shared", "chunks", chunks)
        updates += updates_in_batches("derived/drop-follows", "chunks", chunks)
    updates.append(("derived/frequencies", {}))
    shared = {"weights": _weights(total, settings.hub_limit), "hub_limit": settings.hub_limit, "every": every}
    updates += updates_in_batches("derived/shared-entities", "chunks", chunks, **shared)
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
            yield Quad(after["chunk"], RAG.follows, before["chunk"], Graphs.DERIVED)


def _record(build: Built) -> Iterator[Quad]:
    said = {**asdict(build.settings), "content_commit": build.content_commit, "commit": build.commit}
    parameters = json.dumps(said, sort_keys=True)
    yield Quad(RELATIONS, RDF.type, PROV.Entity, Graphs.DERIVED)
    yield Quad(RELATIONS, RAG.parameters, Literal(parameters), Graphs.DERIVED)


def _said(settings: RelationSettings) -> str:
    return ", ".join(f"{name} {value}" for name, value in asdict(settings).items())


def relation_counts(store: Store) -> dict[str, int]:
    """The number of relations of each kind, by IRI, without zeros."""
    rows = store.select("system/derived-counts")
    return {row["relation"]: row["number"] for row in rows if row["number"]}


def relation_settings(settings: Settings) -> RelationSettings:
    """How derived relations are built."""
    return RelationSettings(settings.relations.hub_limit)


def relation_names(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts by IRI as counts by prefixed name, in order."""
    return {prefixed(NamedNode(iri)) or iri: counts[iri] for iri in sorted(counts)}
