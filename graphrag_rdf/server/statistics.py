"""Statistics of the store: triples, properties and classes of each graph.

Templates count again after the store has changed, but so rarely that counting takes at most a twentieth of
the time. The store's bookkeeping is left out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import later
from graphrag_rdf.rdf.namespaces import Graphs, prefixed
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.facts import label_of, read_labels

_EVERY, _SHARE = 10.0, 20.0
"""Least seconds until the next count, and times the duration of the last."""

_GRAPHS, _PARTS = 50, 50
"""Named graphs, and classes and properties of each, that are described."""
_PARTITIONS = 2000
"""Partitions of the facts by class, property and class of objects that are described, the largest first."""
_TERMS = 1000
"""Classes and relations that a query editor offers, the most frequent first."""
_FACTS = later("the facts that were read, with labels and types")
_ABOUT = {
    Graphs.SOURCE: later("documents, passages, and the places of facts in them"),
    Graphs.RETRIEVAL: later("how questions were answered"),
    Graphs.DERIVED: later("data derived from the other graphs; can be rebuilt"),
}


@dataclass(frozen=True, slots=True)
class Partition:
    """The facts of a property whose subjects have a class.

    Attributes:
        target: a class of their objects; None: all these facts.
        datatype: of their objects; None: all these facts.
    """

    class_: NamedNode
    property_: NamedNode
    target: NamedNode | None
    datatype: NamedNode | None
    triples: int


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """A graph in numbers; `classes` and `properties` are (IRI, things or triples), the largest first."""

    graph: NamedNode | None
    triples: int
    properties: int
    classes: int
    class_parts: tuple[tuple[NamedNode, int], ...]
    property_parts: tuple[tuple[NamedNode, int], ...]
    partitions: tuple[Partition, ...] = ()

    @property
    def name(self) -> str:
        """The graph's IRI; `default` for the graph of facts."""
        return self.graph.value if self.graph else "default"

    @property
    def about(self) -> str:
        """Its content, if known."""
        return _FACTS if self.graph is None else _ABOUT.get(self.graph, "")


@dataclass(frozen=True, slots=True)
class Counts:
    """The store in numbers.

    Attributes:
        commit: of which they are.
        when: they were counted, in UTC.
        things: documents, entities, facts and traces.
        languages: of documents, as BCP 47 tags, the most frequent first.
        ontologies: that are loaded and active.
    """

    commit: int
    when: datetime
    things: dict[str, int]
    graphs: tuple[GraphCounts, ...]
    languages: tuple[str, ...] = ()
    ontologies: tuple[NamedNode, ...] = ()


class Counter:
    """Counts a store, and caches the numbers.

    Args:
        names: returns the named graphs of a remote store; None: a template does.
    """

    def __init__(self, store: Store, names: Callable[[], list[NamedNode]] | None = None) -> None:
        self._store = store
        self._names = names or self._all_names
        self._lock = threading.Lock()
        self._found: Counts | None = None
        self._next = 0.0
        self._content: tuple[int, dict[str, int]] | None = None
        self._terms: tuple[int, list[dict[str, Any]]] | None = None

    def counts(self) -> Counts:
        """The numbers; concurrent calls wait for one count."""
        self._store.refresh()
        with self._lock:
            commit = self._store.commit_number()
            start = time.monotonic()
            if self._found is not None and (self._found.commit == commit or start < self._next):
                return self._found
            self._found = self._count(commit)
            end = time.monotonic()
            self._next = end + max(_EVERY, _SHARE * (end - start))
            return self._found

    def things(self) -> dict[str, int]:
        """How many documents, entities, facts and traces there are now.

        Facts are counted again only when the content has changed; questions do not change it.
        """
        self._store.refresh()
        commit, kept = self._store.content_commit(), self._content
        if kept is None or kept[0] != commit:
            row = self._store.select("server/counts")[0]
            kept = self._content = commit, dict(row)
        row = self._store.select("server/trace-count")[0]
        return {**kept[1], "traces": row["traces"]}

    def terms(self) -> list[dict[str, Any]]:
        """What queries name: relations and classes of the facts, with labels and numbers, and graphs.

        They are counted again only when the content has changed.
        """
        self._store.refresh()
        commit, kept = self._store.content_commit(), self._terms
        if kept is None or kept[0] != commit:
            kept = self._terms = commit, list(self._used_terms())
        return kept[1]

    def _used_terms(self) -> Iterator[dict[str, Any]]:
        store = self._store
        properties = store.select("schema/properties", graphs=[], limit=_TERMS)
        classes = store.select("schema/classes", graphs=[], limit=_TERMS)
        rows = [("relation", row["property"], row["triples"]) for row in properties]
        rows += [("class", row["class"], row["entities"]) for row in classes]
        counted_terms = [(kind, term, count) for kind, term, count in rows if isinstance(term, NamedNode)]
        labels = read_labels(store, [term for _, term, _ in counted_terms])
        for kind, term, count in counted_terms:
            label = "" if (name := prefixed(term)) else label_of(term, labels)
            yield {"text": name or str(term), "label": label, "kind": kind, "count": count}
        for graph in self._names():
            yield {"text": str(graph), "label": "", "kind": "graph"}

    def _count(self, commit: int) -> Counts:
        store = self._store
        left_out = {Graphs.SYSTEM, store.renderer.facts_graph or Graphs.SYSTEM}  # facts come first
        named = [graph for graph in self._names()[:_GRAPHS] if graph not in left_out]
        return Counts(
            commit,
            datetime.now(UTC),
            self.things(),
            tuple(_count_graph(store, graph) for graph in (None, *named)),
            languages=tuple(filter(None, (r["language"] for r in store.select("documents/languages")))),
            ontologies=tuple(r["ontology"] for r in store.select("ontology/versions") if r["active"]),
        )

    def _all_names(self) -> list[NamedNode]:
        return [row["graph"] for row in self._store.select("server/graphs", limit=_GRAPHS)]


def _count_graph(store: Store, graph: NamedNode | None) -> GraphCounts:
    named = [] if graph is None else [graph]
    numbers = store.select("server/graph-statistics", graphs=named)[0]
    classes = store.select("schema/classes", graphs=named, limit=_PARTS)
    properties = store.select("schema/properties", graphs=named, limit=_PARTS)
    return GraphCounts(
        graph,
        **numbers,
        class_parts=tuple((c, r["entities"]) for r in classes if isinstance(c := r["class"], NamedNode)),
        property_parts=tuple(
            (p, r["triples"]) for r in properties if isinstance(p := r["property"], NamedNode)
        ),
        partitions=tuple(_partitions(store)) if graph is None else (),
    )


def _partitions(store: Store) -> Iterator[Partition]:
    for row in store.select("schema/partitions", limit=_PARTITIONS):
        named = [row.get(name) for name in ("class", "property", "target", "datatype")]
        class_, property_, target, datatype = (
            node if isinstance(node, NamedNode) else None for node in named
        )
        if class_ is not None and property_ is not None:
            yield Partition(class_, property_, target, datatype, row["triples"])
