"""A part of the graph to look at: entities and values, and the facts and sentences that join them.

A view begins with the entities that most chunks mention, the facts around entities, those of a document or
selected by an answer, those among the members of a community, or the shortest paths between two entities.
Merged entities are one node. Every query of a view is a template with a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.store.base import Row, Store, in_batches, select_in_batches
from graphrag_rdf.trace.facts import FactTerm, label_of, read_labels
from graphrag_rdf.trace.model import Fact

MOST_ENTITIES = 20_000
"""Entities of a view."""
AROUND = 50
"""Facts and neighbours of an entity in a view, those first that most chunks mention."""
_EDGES_PER_ENTITY, _LEAST_EDGES = 4, 1_000
_CANDIDATES = 2_000
"""Facts of a document, and those from among which the facts around an entity are taken."""
_JOINED_AT_ONCE = 2_000
_LONGEST_PATH, _FRONTIER, _STEP, _PATHS = 6, 300, 20_000, 50
"""Facts of a path; entities and facts of a step of the search; entities where the two searches meet."""

_Statement: TypeAlias = tuple[NamedNode, NamedNode, FactTerm]


@dataclass(frozen=True, slots=True)
class Start:
    """What a view begins with.

    Attributes:
        best: so many entities that most chunks mention.
        entities: each with so many facts and neighbours as `around` says.
        documents: they state the facts.
        session: of an answer.
        ends: two entities, to show the paths between.
    """

    best: int = 0
    entities: Sequence[NamedNode] = ()
    around: int = AROUND
    documents: Sequence[NamedNode] = ()
    session: NamedNode | None = None
    community: NamedNode | None = None
    ends: tuple[NamedNode, NamedNode] | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """An entity or a value; so many chunks mention it."""

    term: FactTerm
    label: str
    types: tuple[str, ...]
    chunks: int

    @property
    def is_entity(self) -> bool:
        """Whether it is no value."""
        return isinstance(self.term, NamedNode)


@dataclass(frozen=True, slots=True)
class Edge:
    """A fact, or two entities that sentences name together.

    Attributes:
        source, target: places of its nodes.
        fact: with the terms of the text, which may be merged in the nodes.
        sentences: that name both; 0 for a fact.
    """

    source: int
    target: int
    fact: Fact
    sentences: int


@dataclass(slots=True)
class View:
    """The nodes, the edges, and the queries that gave them.

    Attributes:
        queries: (template, text).
        cut: whether a limit left something out.
    """

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    queries: list[tuple[str, str]] = field(default_factory=list)
    cut: bool = False

    def to_json(self) -> dict[str, Any]:
        """An edge is [source, target, relation, sentences], and [subject, object] where they were merged."""
        relations = {edge.fact.p: edge.fact.p_label for edge in self.edges}
        places = {relation: place for place, relation in enumerate(relations)}
        edges: list[list[Any]] = []
        for edge in self.edges:
            fact = edge.fact
            merged = (fact.s, fact.o) != (self.nodes[edge.source].term, self.nodes[edge.target].term)
            stated = [str(fact.s), str(fact.o)] if merged else []
            edges.append([edge.source, edge.target, places[fact.p], edge.sentences, *stated])
        return {
            "nodes": [
                {"id": str(node.term), "label": node.label, "types": node.types, "chunks": node.chunks}
                for node in self.nodes
            ],
            "relations": [{"iri": relation.value, "label": label} for relation, label in relations.items()],
            "edges": edges,
            "queries": [{"name": name, "text": text} for name, text in self.queries],
            "cut": self.cut,
        }


def graph_view(store: Store, start: Start) -> View:
    """The part of the graph that a start gives."""
    return _Builder(store, start).view()


class _Builder:
    def __init__(self, store: Store, start: Start) -> None:
        self._store = store
        self._start = start
        self._view = View()
        self._statements: dict[_Statement, int] = {}  # → sentences, as of an edge
        self._entities: dict[FactTerm, FactTerm] = {}
        self._chunks: dict[FactTerm, int] = {}

    def view(self) -> View:
        start = self._start
        entities: list[NamedNode] = [*start.entities, *(start.ends or ())]
        if start.best:
            rows = self._select("graph/best", limit=start.best)
            rows = rows or self._select(
                "entities/list", text="", limit=start.best
            )  # of a graph without texts
            best = self._among([row["entity"] for row in rows])
            entities += [] if self._statements else best
        if start.community:
            rows = self._select("communities/members", communities=[start.community])
            entities += self._among([row["entity"] for row in rows[:MOST_ENTITIES]])
        if start.session:
            self._add(self._select("graph/of-trace", session=start.session))
        if start.documents and not start.entities:
            self._add(self._listed([], _CANDIDATES))
        for entity in start.entities:
            self._around(entity)
        if start.ends:
            self._between(*start.ends)
        self._draw(entities)
        return self._view

    def _select(self, template: str, **values: Any) -> list[Row]:
        query = template, self._store.render(template, **values)
        if query not in self._view.queries:
            self._view.queries.append(query)
        return self._store.select(template, **values)

    def _listed(self, entities: Sequence[NamedNode], limit: int) -> list[Row]:
        documents = self._start.documents
        rows = self._select(
            "facts/list", entities=entities, documents=documents, texts=[], limit=limit, offset=0
        )
        self._view.cut |= len(rows) == limit
        return rows

    def _add(self, rows: Iterable[Row]) -> None:
        self._statements.update(((row["s"], row["p"], row["o"]), 0) for row in rows)

    def _resolve(self, things: Iterable[FactTerm]) -> None:
        """Look up the entities that stand for things, and how many chunks mention them."""
        unknown = [thing for thing in dict.fromkeys(things) if thing not in self._entities]
        self._entities.update(zip(unknown, unknown, strict=True))
        named = (thing for thing in unknown if isinstance(thing, NamedNode))
        for row in select_in_batches(self._store, "graph/nodes", "things", named):
            self._entities[row["thing"]] = row["entity"]
            self._chunks[row["entity"]] = row["chunks"] or 0

    def _ends(self, statement: _Statement) -> tuple[FactTerm, FactTerm]:
        return self._entities[statement[0]], self._entities[statement[2]]

    def _mentioned(self, term: FactTerm) -> int:
        return self._chunks.get(term, 0)

    # --- starts ----------------------------------------------------------------------------------------

    def _among(self, entities: list[NamedNode]) -> list[NamedNode]:
        """Add the facts and sentences that join two entities."""
        most = max(_LEAST_EDGES, _EDGES_PER_ENTITY * len(entities))
        inside = set[FactTerm](entities)
        if len(entities) <= _JOINED_AT_ONCE:
            rows = self._select("graph/among", entities=entities, limit=most)
        else:  # the engine would compare each object with each entity
            batches = select_in_batches(
                self._store, "graph/among", "entities", entities, any_object=True, limit=most
            )
            rows = list(batches)
            self._resolve(row["o"] for row in rows)
            rows = [row for row in rows if self._entities[row["o"]] in inside][:most]
        self._view.cut |= len(rows) == most
        self._add(rows)
        self._statements.update(
            (pair, count) for pair, count in self._pairs(entities, every=True) if pair[2] in inside
        )
        return entities

    def _pairs(self, entities: Iterable[NamedNode], *, every: bool) -> Iterator[tuple[_Statement, int]]:
        rows = select_in_batches(
            self._store, "derived/known-pairs", "entities", entities, every=every, pairs=[]
        )
        return (((row["one"], RAG.coOccursWith, row["other"]), int(row["count"].value)) for row in rows)

    def _around(self, entity: NamedNode) -> None:
        """Add facts of an entity, and the entities that sentences name with it."""
        rows = self._listed([entity], _CANDIDATES)
        self._resolve([entity, *(row[name] for row in rows for name in "so")])
        whole, most = self._entities[entity], self._start.around
        rows.sort(
            key=lambda row: min(map(self._mentioned, self._ends((row["s"], row["p"], row["o"])))),
            reverse=True,
        )
        self._view.cut |= len(rows) > most
        self._add(rows[:most])
        if self._start.documents:
            return
        for row in self._select("entities/named-with", entity=whole, limit=most):
            first, second = sorted((whole, row["entity"]), key=str)
            self._statements[first, RAG.coOccursWith, second] = row["count"]

    def _between(self, first: NamedNode, last: NamedNode) -> None:
        """Add the shortest paths between two entities, searched from both ends."""
        self._resolve([first, last])
        ways: list[dict[FactTerm, list[_Statement]]] = [{self._entities[end]: []} for end in (first, last)]
        frontiers = [list(way) for way in ways]
        joints: set[FactTerm] = ways[0].keys() & ways[1].keys()
        seen: dict[_Statement, int] = {}
        for _ in range(_LONGEST_PATH):
            if joints:
                break
            side = int(len(frontiers[1]) < len(frontiers[0]))
            frontiers[side] = self._step(ways[side], frontiers[side], seen)
            joints = ways[0].keys() & ways[1].keys()
        for way in ways:
            waiting = sorted(joints, key=self._mentioned, reverse=True)[:_PATHS]
            for node in waiting:  # it grows, back to the end
                for statement in way[node]:
                    self._statements[statement] = seen[statement]
                    waiting += [end for end in self._ends(statement) if end not in waiting]

    def _step(
        self, way: dict[FactTerm, list[_Statement]], frontier: list[FactTerm], seen: dict[_Statement, int]
    ) -> list[FactTerm]:
        """The entities one step beyond a frontier; `way` gets them with the statements that lead there."""
        best = sorted(frontier, key=self._mentioned, reverse=True)[:_FRONTIER]
        entities = [entity for entity in best if isinstance(entity, NamedNode)]
        rows = [row for row in self._listed(entities, _STEP) if isinstance(row["o"], NamedNode)]
        statements: dict[_Statement, int] = {(row["s"], row["p"], row["o"]): 0 for row in rows}
        if not self._start.documents:
            statements.update(self._pairs(entities, every=False))
        seen |= statements
        self._resolve(end for s, _, o in statements for end in (s, o))
        before = set(way)
        for statement in statements:
            ends = self._ends(statement)
            for near, far in (ends, ends[::-1]):
                if near in before and far not in before:
                    way.setdefault(far, []).append(statement)
        return [node for node in way if node not in before]

    # --- nodes and edges -------------------------------------------------------------------------------

    def _draw(self, entities: Iterable[NamedNode]) -> None:
        entities = list(entities)
        self._resolve([*entities, *(end for s, _, o in self._statements for end in (s, o))])
        shown = dict.fromkeys(self._entities[entity] for entity in entities)
        shown |= dict.fromkeys(end for statement in self._statements for end in self._ends(statement))
        types = self._types([term for term in shown if isinstance(term, NamedNode)])
        named = {*shown, *(term for statement in self._statements for term in statement)}
        labels = self._labels([*named, *(kind for kinds in types.values() for kind in kinds)])
        labels[RAG.coOccursWith.value] = tr("named together")
        for term in shown:
            kinds = (label_of(kind, labels) for kind in types.get(term, ()))
            node = Node(term, label_of(term, labels), tuple(dict.fromkeys(kinds)), self._mentioned(term))
            self._view.nodes.append(node)
        places = {term: place for place, term in enumerate(shown)}
        for statement, sentences in self._statements.items():
            source, target = (places[end] for end in self._ends(statement))
            fact = Fact(*statement, *(label_of(term, labels) for term in statement))
            if source != target:
                self._view.edges.append(Edge(source, target, fact, sentences))

    def _types(self, entities: Iterable[NamedNode]) -> dict[FactTerm, list[NamedNode]]:
        types: dict[FactTerm, list[NamedNode]] = {}
        for row in select_in_batches(self._store, "entities/types", "entities", entities):
            types.setdefault(row["entity"], []).append(row["type"])
        return types

    def _labels(self, terms: Iterable[FactTerm]) -> dict[str, str]:
        iris = (term for term in dict.fromkeys(terms) if isinstance(term, NamedNode))
        labels: dict[str, str] = {}
        for batch in in_batches(iris):
            labels |= read_labels(self._store, batch)
        return labels
