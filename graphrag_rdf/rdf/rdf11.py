"""RDF 1.2 in RDF 1.1: answers to clients that do not ask for 1.2, and what they write back.

- A triple term is an IRI `urn:statement:…`, which a graph describes by `rdf:subject`, `rdf:predicate` and
  `rdf:object`.
- A text with a base direction has the datatype `https://www.w3.org/ns/i18n#LANGUAGE_DIRECTION`
  (https://www.w3.org/TR/json-ld11/#the-i18n-namespace).

`from_rdf11` is the reverse. The dialect `classic` of a store differs: there a reifier carries the properties
itself, like any other RDF 1.1 reification, so that the reverse would be a guess (`sparql.render.encode`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from pyoxigraph import BaseDirection, BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.iris import STATEMENT, statement
from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import Term

Graph: TypeAlias = NamedNode | BlankNode | DefaultGraph

I18N = "https://www.w3.org/ns/i18n#"
_DIRECTED = re.compile(re.escape(I18N) + r"([A-Za-z0-9-]+)_(ltr|rtl)")
_PARTS = (RDF.subject, RDF.predicate, RDF.object)
_DEEPEST = 100
"""Triple terms in one another that a body may have."""


def as_rdf11(statements: Iterable[Triple | Quad], *, directions: bool = False) -> Iterator[Triple | Quad]:
    """Statements of one graph, or quads, in RDF 1.1.

    Args:
        directions: the format has base directions, as JSON-LD does.
    """
    described: set[tuple[NamedNode, Graph | None]] = set()
    for quad in statements:
        term = quad.object
        if isinstance(term, Triple):
            yield _like(quad, quad.subject, quad.predicate, in_row(term))
            yield from _description(term, quad, described)
        elif not directions and isinstance(term, Literal) and term.direction:
            yield _like(quad, quad.subject, quad.predicate, in_row(term))
        else:
            yield quad


def in_row(term: Term | None) -> Term | None:
    """A term in RDF 1.1, as a solution has it: without a description."""
    if isinstance(term, Triple):
        return _node(term)
    if isinstance(term, Literal) and term.direction:
        return Literal(term.value, datatype=NamedNode(f"{I18N}{term.language}_{term.direction.value}"))
    return term


def from_rdf11(quads: Iterable[Quad]) -> list[Quad]:
    """Quads with triple terms and directions again.

    Raises:
        UsageError: a node of a statement is incompletely described, is not used, or stands where RDF 1.2 has
            no triple terms.
    """
    kept: list[Quad] = []
    described: dict[tuple[object, Graph], dict[NamedNode, Term]] = {}
    for quad in quads:
        if not _is_node(quad.subject):
            kept.append(quad)
            continue
        parts = described.setdefault((quad.subject, quad.graph_name), {})
        if quad.predicate not in _PARTS or parts.setdefault(quad.predicate, quad.object) != quad.object:
            raise _refused(quad.subject)
    used: set[tuple[object, Graph]] = set()

    def meant(term: Term, graph: Graph, depth: int = 0) -> Term:
        if isinstance(term, Literal):
            return _directed(term)
        if not _is_node(term):
            return term
        s, p, o = (described.get((term, graph), {}).get(part) for part in _PARTS)
        good = isinstance(s, NamedNode | BlankNode) and not _is_node(s) and isinstance(p, NamedNode)
        if o is None or not good or depth == _DEEPEST:
            raise _refused(term)
        used.add((term, graph))
        return Triple(s, p, meant(o, graph, depth + 1))  # type: ignore[arg-type]

    out = [Quad(q.subject, q.predicate, meant(q.object, q.graph_name), q.graph_name) for q in kept]
    for node, _ in described.keys() - used:
        raise _refused(node)
    return out


def _description(
    term: Triple, quad: Triple | Quad, described: set[tuple[NamedNode, Graph | None]]
) -> Iterator[Triple | Quad]:
    node = _node(term)
    key = node, quad.graph_name if isinstance(quad, Quad) else None
    if key in described:
        return
    described.add(key)
    yield _like(quad, node, RDF.subject, term.subject)
    yield _like(quad, node, RDF.predicate, term.predicate)
    yield _like(quad, node, RDF.object, in_row(term.object))
    if isinstance(term.object, Triple):
        yield from _description(term.object, quad, described)


def _like(quad: Triple | Quad, s: object, p: NamedNode, o: object) -> Triple | Quad:
    if isinstance(quad, Quad):
        return Quad(s, p, o, quad.graph_name)  # type: ignore[arg-type]
    return Triple(s, p, o)  # type: ignore[arg-type]


def _node(term: Triple) -> NamedNode:
    return statement(term.subject, term.predicate, term.object)


def _is_node(term: object) -> bool:
    return isinstance(term, NamedNode) and term.value.startswith(STATEMENT)


def _directed(term: Literal) -> Literal:
    match = _DIRECTED.fullmatch(term.datatype.value)
    if match is None:
        return term
    return Literal(term.value, language=match[1], direction=BaseDirection(match[2]))


def _refused(node: object) -> UsageError:
    return UsageError(
        tr("{node} stands for a triple term, and is not described and used as one").format(node=node),
        hint=tr("send the graph as it was read, or in RDF 1.2, with <<( s p o )>>"),
    )
