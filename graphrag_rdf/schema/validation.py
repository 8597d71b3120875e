"""Validation of the facts with SHACL shapes, also of a change before it is written.

Shapes see the facts and what was inferred, with merged entities as one (`rag:canonicalEntity`), and the
subclasses that loaded ontologies declare. After a change, the nodes are validated from which a path of a
shape leads to a changed fact (`schema.shapes.read_paths`), with the facts along these paths. Shapes that may
read any fact see all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from graphrag_rdf.rdf.namespaces import RDFS, Graphs
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.rdf.validation import Result
from graphrag_rdf.schema.shapes import (
    FactPath,
    Shapes,
    Statement,
    Step,
    graph_of,
    run_shacl,
)
from graphrag_rdf.store.base import Row, Store, in_batches, select_in_batches

if TYPE_CHECKING:
    from rdflib import Graph

_NODES = 2000
"""Nodes that are validated at once."""


@dataclass(frozen=True)
class Change:
    """A change of facts, or of a named graph, that is validated with the facts.

    Attributes:
        graph: None for the facts.
    """

    added: Collection[Statement] = ()
    removed: Collection[Statement] = ()
    graph: NamedNode | None = None


@dataclass(frozen=True)
class Validated:
    """What a validation found.

    Attributes:
        stated: fact with canonical entities → the facts as they are stated, of all that were read.
        nodes: number of nodes that were validated; None if all were.
    """

    results: list[Result]
    stated: Mapping[Statement, Collection[Statement]] = field(default_factory=dict)
    nodes: int | None = None


def validate_all(store: Store, shapes: Shapes) -> Validated:
    """Validate all facts.

    Raises:
        UsageError: the shapes are malformed.
    """
    facts = _Facts(store)
    results = run_shacl(graph_of(facts.everything()), shapes.graph, _hierarchy(store))
    return Validated(results, facts.stated)


def validate_nodes(store: Store, shapes: Shapes, touched: Collection[Statement]) -> Validated:
    """Validate the nodes that facts of the store bear on.

    Args:
        touched: facts as they are stated.

    Raises:
        UsageError: the shapes are malformed.
    """
    return _validate(_Facts(store), shapes, touched)


def validate_change(store: Store, shapes: Shapes, change: Change) -> Validated:
    """What a change would break: results that the facts do not have before it.

    Raises:
        UsageError: the shapes are malformed.
    """
    before = _Facts(store, Change(graph=change.graph))
    return _new_results(before, _Facts(store, change), shapes, change)


def validate_between(before: Store, after: Store, shapes: Shapes, change: Change) -> Validated:
    """As `validate_change`, if there is a store with the change."""
    graph = Change(graph=change.graph)
    return _new_results(_Facts(before, graph), _Facts(after, graph), shapes, change)


def _new_results(before: _Facts, after: _Facts, shapes: Shapes, change: Change) -> Validated:
    """The results after a change, without those that there were before it."""
    touched = [*change.added, *change.removed]
    validated = _validate(after, shapes, touched)
    if not validated.results:
        return validated
    previous = set(_validate(before, shapes, touched).results)
    return Validated(
        [each for each in validated.results if each not in previous], validated.stated, validated.nodes
    )


def _validate(facts: _Facts, shapes: Shapes, touched: Iterable[Statement]) -> Validated:
    hierarchy = _hierarchy(facts.store)
    try:
        return _validate_nodes(facts, shapes, touched, hierarchy)
    except _UnreadableError:
        return Validated(run_shacl(graph_of(facts.everything()), shapes.graph, hierarchy), facts.stated)


class _UnreadableError(Exception):
    """Shapes may read any fact, or blank nodes of the store, which no query can ask for."""


def _validate_nodes(
    facts: _Facts, shapes: Shapes, touched: Iterable[Statement], hierarchy: Graph
) -> Validated:
    if shapes.paths is None:
        raise _UnreadableError
    nodes = sorted(_bearing_on(facts, shapes.paths, facts.canonical(touched)), key=str)
    found: list[Result] = []
    for batch in in_batches(nodes, _NODES):
        focus = set(batch)
        results = run_shacl(graph_of(_read(facts, shapes.paths, focus)), shapes.graph, hierarchy)
        # nodes at the ends of paths were read in part only; blank nodes are those of the change
        found += [each for each in results if each.focus is None or each.focus in focus]
    return Validated(found, facts.stated, len(nodes))


def _bearing_on(facts: _Facts, paths: Iterable[FactPath], touched: Iterable[Statement]) -> set[Term]:
    """The nodes from which a path leads over one of these facts."""
    touched = list(touched)
    nodes_reached: set[Term] = set()
    for path in paths:
        last, inverse = path[-1]
        ends: set[Term] = {o if inverse else s for s, p, o in touched if last in (None, p)}
        for predicate, back in reversed(path[:-1]):
            if not ends:
                break
            ends = {end for _, end in facts.along(ends, (predicate, not back))}
        nodes_reached |= ends
    return nodes_reached


def _read(facts: _Facts, paths: Iterable[FactPath], nodes: set[Term]) -> set[Statement]:
    """The facts along paths from these nodes."""
    ends: dict[FactPath, set[Term]] = {(): nodes}
    read: set[Statement] = set()
    for path in sorted(paths, key=len):
        reached = list(facts.along(ends[path[:-1]], path[-1]))
        ends[path] = {end for _, end in reached}
        read.update(fact for fact, _ in reached)
    return read


def _hierarchy(store: Store) -> Graph:
    rows = store.select("validation/hierarchy")
    return graph_of((row["class"], RDFS.subClassOf, row["above"]) for row in rows)


class _Facts:
    """The facts with canonical entities, as they are after a change, read along paths.

    Attributes:
        stated: see `Validated`.
    """

    def __init__(self, store: Store, change: Change | None = None) -> None:
        self.store = store
        self.stated: defaultdict[Statement, set[Statement]] = defaultdict(set)
        self._standing: dict[Term, Term] = {}
        self._members: dict[Term, list[Term]] = {}
        change = change or Change()
        self._removed = {change.graph: frozenset(change.removed)}
        self._graphs: list[NamedNode | None] = [None, Graphs.INFERRED]
        if change.graph not in self._graphs:
            self._graphs.append(change.graph)
        self._from: defaultdict[Term, set[Statement]] = defaultdict(set)
        self._to: defaultdict[Term, set[Statement]] = defaultdict(set)
        for fact in self.canonical(change.added):
            self._from[fact[0]].add(fact)
            self._to[fact[2]].add(fact)

    def canonical(self, statements: Iterable[Statement]) -> Iterator[Statement]:
        """Facts with the entities that stand for theirs; noted as stated."""
        facts = [each for each in statements if not isinstance(each[2], Triple)]
        self._find_standing(term for s, _, o in facts for term in (s, o))
        for s, p, o in facts:
            fact = (self._standing.get(s, s), p, self._standing.get(o, o))
            self.stated[fact].add((s, p, o))
            yield fact

    def along(self, nodes: Collection[Term], step: Step) -> Iterator[tuple[Statement, Term]]:
        """The facts that a step from these nodes leads over, each with where it leads to."""
        predicate, inverse = step
        end, here = (0, "objects") if inverse else (2, "subjects")
        added = self._to if inverse else self._from
        if any(isinstance(node, BlankNode) and node not in added for node in nodes):
            raise _UnreadableError
        facts: dict[Statement, None] = {}
        asked = [node for node in nodes if isinstance(node, NamedNode | Literal if inverse else NamedNode)]
        self._find_members(node for node in asked if isinstance(node, NamedNode))
        members = sorted({each for node in asked for each in (node, *self._members.get(node, ()))}, key=str)
        wanted: dict[str, Any] = {"relations": [predicate] if predicate is not None else []}
        if inverse:
            wanted = {"relation": predicate}
        for graph in self._graphs if members else ():
            parameters = {
                **wanted,
                "in_facts": graph is None,
                "graph": graph or Graphs.INFERRED,
            }
            rows = select_in_batches(self.store, f"validation/of-{here}", here, members, **parameters)
            facts |= dict.fromkeys(self.canonical(self._left(rows, graph)))
        for node in nodes:
            facts |= dict.fromkeys(fact for fact in added[node] if predicate in (None, fact[1]))
        for fact in facts:
            yield fact, fact[end]

    def everything(self) -> Iterator[Statement]:
        """All facts."""
        removed = self._removed.get(None, frozenset())
        for row in self.store.select("facts/canonical"):
            stated = row["s"], row["p"], row["o"]
            if stated not in removed:
                fact = row["subject"], row["p"], row["object"]
                self.stated[fact].add(stated)
                yield fact
        for graph in self._graphs[1:]:
            yield from self.canonical(
                self._left(self.store.select("validation/graph-triples", graph=graph), graph)
            )
        for facts in self._from.values():
            yield from facts

    def _left(self, rows: Iterable[Row], graph: NamedNode | None) -> Iterator[Statement]:
        removed = self._removed.get(graph, frozenset())
        return (each for row in rows if (each := (row["s"], row["p"], row["o"])) not in removed)

    def _find_standing(self, terms: Iterable[Term]) -> None:
        asked = sorted(
            {each for each in terms if isinstance(each, NamedNode) and each not in self._standing}, key=str
        )
        self._standing |= {each: each for each in asked}
        for row in select_in_batches(self.store, "ingest/canonical-links", "entities", asked):
            self._standing[row["entity"]] = row["canonical"]

    def _find_members(self, nodes: Iterable[Term]) -> None:
        asked = sorted({each for each in nodes if each not in self._members}, key=str)
        self._members |= {each: [] for each in asked}
        for row in select_in_batches(self.store, "validation/members", "nodes", asked):
            self._members[row["node"]].append(row["entity"])
