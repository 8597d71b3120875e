"""The three dialects: syntaxes of triple terms.

| dialect | a fact in a container | for |
|---|---|---|
| `rdf12` | `?c tg:contains <<( ?s ?p ?o )>>` | RDF 1.2 engines (Oxigraph) |
| `rdf-star` | `?c tg:contains << ?s ?p ?o >>` | RDF-star community-group engines |
| `classic` | `?c tg:contains ?t . ?t rdf:subject ?s ; …` | engines without triple terms |

A reifier has `rdf:reifies` in the first two, and the properties subject, predicate and object in the third
(RDF 1.1 reification). Templates use the dialects only through the macros of `sparql.render`, quads through
`encode`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, Triple

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import Term

Dialect: TypeAlias = Literal["rdf12", "rdf-star", "classic"]
DIALECTS: tuple[Dialect, ...] = ("rdf12", "rdf-star", "classic")

Subject: TypeAlias = NamedNode | BlankNode | Triple
Graph: TypeAlias = NamedNode | BlankNode | DefaultGraph
_PARTS = (RDF.subject, RDF.predicate, RDF.object)
_BRACKETS: dict[Dialect, tuple[str, str]] = {"rdf12": ("<<( ", " )>>"), "rdf-star": ("<< ", " >>")}


def triple_term_pattern(
    dialect: Dialect, subject: str, link: str, triple: tuple[str, str, str], fresh: str
) -> str:
    """The pattern "`subject` is linked by `link` to the triple term (s p o)".

    Args:
        subject: a variable or serialised term.
        link: the predicate, as a prefixed name; `rdf:reifies` makes `subject` a reifier.
        triple: variables or serialised terms.
        fresh: an unused variable, for the statement node of `classic`.
    """
    s, p, o = triple
    if dialect != "classic":
        left, right = _BRACKETS[dialect]
        return f"{subject} {link} {left}{s} {p} {o}{right} ."
    if link == "rdf:reifies":
        return f"{subject} rdf:subject {s} ; rdf:predicate {p} ; rdf:object {o} ."
    return f"{subject} {link} {fresh} . {fresh} rdf:subject {s} ; rdf:predicate {p} ; rdf:object {o} ."


def spelled(term: Term, dialect: Dialect) -> str:
    """A term in the N-Triples of a dialect; `classic` has no syntax for triple terms (see `encode`).

    Raises:
        TypeError: for a triple term in `classic`.
    """
    if not isinstance(term, Triple):
        return str(term)
    if dialect == "classic":
        raise TypeError("the dialect classic has no syntax for triple terms")
    left, right = _BRACKETS[dialect]
    return f"{left}{spelled(term.subject, dialect)} {term.predicate} {spelled(term.object, dialect)}{right}"


def encode(quads: Iterable[Quad], dialect: Dialect) -> Iterator[Quad]:
    """Quads as a dialect stores them; only `classic` changes any.

    Triple terms of `rdf-star` differ from those of `rdf12` in syntax only, so their quads are equal.

    Raises:
        TypeError: for nested triple terms, or a reifier of two, in `classic`.
    """
    if dialect != "classic":
        yield from quads
        return
    described: dict[tuple[Subject, Graph], Triple] = {}
    for quad in quads:
        term = quad.object
        if not isinstance(term, Triple):
            yield quad
            continue
        s, p, o = term.subject, term.predicate, term.object
        if isinstance(o, Triple):
            raise TypeError("the dialect classic has no nested triple terms")
        graph = quad.graph_name
        node = quad.subject
        if quad.predicate != RDF.reifies:
            node = iris.statement(s, p, o)
            yield Quad(quad.subject, quad.predicate, node, graph)
        known = described.setdefault((node, graph), term)
        if known is not term:
            if known != term:
                raise TypeError(f"{node} reifies two statements, which the dialect classic cannot express")
            continue
        yield Quad(node, RDF.subject, s, graph)
        yield Quad(node, RDF.predicate, p, graph)
        yield Quad(node, RDF.object, o, graph)


def encode_removal(quads: Iterable[Quad], dialect: Dialect) -> Iterator[Quad]:
    """The quads to remove: `encode`, without the quads that describe a statement.

    Containers share the node of a statement, so it stays when one of them is removed.
    """
    for quad in encode(quads, dialect):
        if not (quad.predicate in _PARTS and _is_statement(quad.subject)):
            yield quad


def decode(quads: Iterable[Quad]) -> Iterator[Quad]:
    """The reverse of `encode` for `classic`: statement nodes become triple terms again.

    `quads` must contain whole graphs, because a statement is three quads. Incomplete statements stay
    unchanged.
    """
    kept: list[Quad] = []
    described: dict[tuple[Subject, Graph], dict[NamedNode, Quad]] = {}
    for quad in quads:
        if quad.predicate not in _PARTS:
            kept.append(quad)
            continue
        parts = described.setdefault((quad.subject, quad.graph_name), {})
        if parts.setdefault(quad.predicate, quad) != quad:
            kept.append(quad)
    statements: dict[Subject, Triple] = {}
    for (node, graph), parts in described.items():
        if len(parts) < len(_PARTS):
            yield from parts.values()
            continue
        triple = Triple(*(parts[name].object for name in _PARTS))  # type: ignore[arg-type]
        if _is_statement(node):
            statements[node] = triple
        else:
            yield Quad(node, RDF.reifies, triple, graph)
    for quad in kept:
        meant = statements.get(quad.object) if isinstance(quad.object, NamedNode) else None
        yield Quad(quad.subject, quad.predicate, meant, quad.graph_name) if meant else quad


def _is_statement(node: object) -> bool:
    return isinstance(node, NamedNode) and node.value.startswith(iris.STATEMENT)
