"""The inputs of queries that decided: the quads by which they return the same rows in another store.

A query is read into its algebra, in which bindings are passed from pattern to pattern as an engine does, but
as sets: a pattern adds the quads that any of its bindings can match. Conditions and limits are not applied,
so these are more quads than the query needs, but never the whole store.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

import rdflib
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple
from rdflib.paths import AlternativePath, InvPath, MulPath, SequencePath
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.algebra import translateGroupGraphPattern
from rdflib.plugins.sparql.parserutils import CompValue

from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.store.base import Store, in_batches

MOST = 200_000
"""Quads; a query that needs more is not proved by a pack."""

_Bindings: TypeAlias = dict[Any, set[Any]]
_Terms: TypeAlias = set[Any] | None
_STEPS = 20
"""Of a path that is repeated."""
_TRIPLE_TERM = re.compile(r"<<\(\s*(\S+)\s+(\S+)\s+(.+?)\s*\)>>")
_PART = "urn:graphrag-rdf:part:"
"""Before the name of a part of a triple term, as rdflib reads no RDF 1.2."""


class TooMuch(Exception):  # noqa: N818 - it says what happened
    """A query has more inputs than a pack holds."""


class Inputs:
    """Collects the inputs of queries.

    Attributes:
        quads: those of the queries until now.
    """

    def __init__(self, store: Store) -> None:
        self.quads: set[Quad] = set()
        self._store = store
        self._selected: dict[Any, list[tuple[Any, Any, Any]]] = {}

    def add(self, sparql: str) -> bool:
        """Collect those of a SELECT; False, with nothing collected, if they are more than `MOST`, or if the
        query is in a syntax that rdflib cannot read.
        """
        before = set(self.quads)
        try:
            algebra = prepareQuery(_without_triple_terms(sparql)).algebra
        except Exception:  # noqa: BLE001 - the parser raises what it likes
            return False
        try:
            self._walk(algebra, {})
        except TooMuch:
            self.quads = before
            return False
        return True

    def about(self, subjects: Iterable[Term], predicate: NamedNode, objects: _Terms = None) -> None:
        """Collect what is said of things by a predicate, with one of these objects if they are given."""
        self._follow(rdflib.URIRef(predicate.value), set(subjects), objects)

    def _walk(self, node: Any, bindings: _Bindings) -> _Bindings:
        """What variables are bound to after a part of the algebra, given what they are before."""
        if isinstance(node, list):
            return {**_values(node), **bindings}
        match node.name:
            case "Join" | "BGP":
                return self._joined(list(_conjuncts(node)), dict(bindings))
            case "Union":
                first, second = self._walk(node.p1, bindings), self._walk(node.p2, bindings)
                return {name: first[name] | second[name] for name in first.keys() & second.keys()}
            case "LeftJoin" | "Minus":
                bindings = self._walk(node.p1, bindings)
                return {**self._walk(node.p2, bindings), **bindings}
            case "Filter":
                bindings = self._walk(node.p, bindings)
                for inner in _existing(node.expr):
                    self._walk(inner, bindings)
                return bindings
            case "Project":  # of a query, or of one in it, which does not see what is outside
                inside = self._walk(node.p, {})
                return {**{name: inside[name] for name in node.PV if name in inside}, **bindings}
            case "values":
                return {**_values(node.res), **bindings}
        return self._walk(node.p, bindings)

    def _joined(self, parts: list[Any], bindings: _Bindings) -> _Bindings:
        patterns = [each for part in parts if part.name == "BGP" for each in part.triples]
        for first in (True, False):
            for part in parts:
                if part.name != "BGP" and (part.name == "ToMultiSet") is first:
                    bindings.update(self._walk(part, bindings))
            self._match(patterns, bindings, wholly=not first)
        return bindings

    def _match(self, patterns: list[Any], bindings: _Bindings, *, wholly: bool = False) -> None:
        """Match the patterns that begin or end with something known; if wanted, those that do not, too."""
        while patterns:
            ready = [each for each in patterns if _is_ready(each, bindings)]
            if wholly and not ready:
                ready = [each for each in patterns if not (_is_variable(each[1]) or _is_part(each[1]))]
            if not ready:
                return
            s, p, o = ready[0]
            patterns.remove(ready[0])
            if _is_part(p):
                _match_part(s, p.removeprefix(_PART), o, bindings)
                continue
            ends = self._follow(p, _terms(s, bindings), _terms(o, bindings))
            for name, terms in zip((s, o), ends, strict=True):
                if _is_variable(name):
                    bindings.setdefault(name, terms)

    def _follow(self, path: Any, subjects: _Terms, objects: _Terms) -> tuple[set[Any], set[Any]]:
        """What the ends of a path can be, given those that are known; its quads are inputs."""
        match path:
            case AlternativePath():
                firsts, lasts = zip(
                    *(self._follow(each, subjects, objects) for each in path.args), strict=True
                )
                return set().union(*firsts), set().union(*lasts)
            case InvPath():
                last, first = self._follow(path.arg, objects, subjects)
                return first, last
            case SequencePath() | MulPath():
                return self._follow_all(path, subjects, objects)
        predicate, firsts, lasts = NamedNode(str(path)), set[Any](), set[Any]()
        ends = subjects if subjects is not None else objects or set()
        nodes = frozenset(each for each in ends if isinstance(each, NamedNode))
        for s, o, graph in self._rows(
            "of" if subjects is not None else "to" if nodes else "all", nodes, predicate
        ):
            if objects is None or o in objects:
                firsts.add(s)
                lasts.add(o)
                self.quads.add(Quad(s, predicate, o, graph or DefaultGraph()))
        if len(self.quads) > MOST:
            raise TooMuch
        return firsts, lasts

    def _follow_all(self, path: Any, subjects: _Terms, objects: _Terms) -> tuple[set[Any], set[Any]]:
        """Of a path of several steps, or of one that is repeated, all whose nodes count as ends."""
        forward = subjects is not None
        near = set(subjects if subjects is not None else objects or ())
        far, steps = near, path.args if isinstance(path, SequencePath) else [path.path] * _STEPS
        for step in steps if forward else reversed(steps):
            ends = self._follow(step, far, None)[1] if forward else self._follow(step, None, far)[0]
            far = ends if isinstance(path, SequencePath) else far | ends
        return (near, far) if forward else (far, near)

    def _rows(
        self, way: str, nodes: AbstractSet[NamedNode], predicate: NamedNode
    ) -> list[tuple[Any, Any, Any]]:
        key, template = (way, nodes, predicate), f"audit/inputs-{way}"
        if key not in self._selected:
            batches = ({"nodes": batch} for batch in in_batches(sorted(nodes, key=str)))
            values: Iterable[dict[str, Any]] = [{"limit": MOST + 1}] if way == "all" else batches
            answers = (self._store.select(template, predicate=predicate, **each) for each in values)
            self._selected[key] = [(row["s"], row["o"], row["g"]) for rows in answers for row in rows]
        return self._selected[key]


def _without_triple_terms(sparql: str) -> str:
    """A query in which a variable stands for each triple term, and further patterns for its parts."""
    pieces, end = [], 0
    for number, match in enumerate(_TRIPLE_TERM.finditer(sparql)):
        name = f"?triple_term_{number}"
        parts = (("predicate", match[2]), ("subject", match[1]), ("object", match[3]))
        patterns = " . ".join(f"{name} <{_PART}{part}> {term}" for part, term in parts)
        pieces += [sparql[end : match.start()], f"{name} . {patterns}"]
        end = match.end()
    return "".join([*pieces, sparql[end:]])


def _is_part(predicate: Any) -> bool:
    return str(predicate).startswith(_PART)


def _match_part(name: Any, part: str, value: Any, bindings: _Bindings) -> None:
    """Narrow what a variable of triple terms is bound to by a part of it, or bind that."""
    wanted = _terms(value, bindings)
    triples = {each for each in bindings[name] if isinstance(each, Triple)}
    if wanted is None:
        bindings[value] = {getattr(each, part) for each in triples}
    else:
        bindings[name] = {each for each in triples if getattr(each, part) in wanted}


def _is_ready(pattern: tuple[Any, Any, Any], bindings: _Bindings) -> bool:
    s, p, o = pattern
    if _is_variable(p) or _terms(s, bindings) is not None:
        return not _is_variable(p)
    objects = _terms(o, bindings) or ()
    by_object = not _is_part(p) and str(p) != RDF.type.value
    return by_object and any(isinstance(each, NamedNode) for each in objects)


def _conjuncts(node: Any) -> Iterator[Any]:
    if node.name == "Join":
        yield from _conjuncts(node.p1)
        yield from _conjuncts(node.p2)
    elif node.name == "Graph":
        yield from _conjuncts(node.p)
    else:
        yield node


def _existing(expression: Any) -> Iterator[Any]:
    """The patterns of EXISTS and NOT EXISTS in an expression."""
    if isinstance(expression, CompValue) and expression.name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
        graph = expression.graph
        yield translateGroupGraphPattern(graph) if graph.name == "GroupGraphPatternSub" else graph
    elif isinstance(expression, CompValue | list):
        for value in expression.values() if isinstance(expression, CompValue) else expression:
            yield from _existing(value)


def _values(rows: Iterable[Mapping[Any, Any]]) -> _Bindings:
    bindings: defaultdict[Any, set[Any]] = defaultdict(set)
    for name, term in (pair for row in rows for pair in row.items()):
        bindings[name].add(_term(term))
    return dict(bindings)


def _terms(term: Any, bindings: _Bindings) -> _Terms:
    """What a term of a pattern can be; None for a variable that is bound to nothing yet."""
    return bindings.get(term) if _is_variable(term) else {_term(term)}


def _is_variable(term: Any) -> bool:
    return isinstance(term, rdflib.Variable | rdflib.BNode)


def _term(term: Any) -> Term:
    if not isinstance(term, rdflib.Literal):
        return NamedNode(str(term))
    datatype = NamedNode(str(term.datatype)) if term.datatype else None
    return Literal(str(term), language=term.language, datatype=None if term.language else datatype)
