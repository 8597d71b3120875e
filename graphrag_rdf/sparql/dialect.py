"""The three spellings of a triple term.

| dialect | a fact in a container | for |
|---|---|---|
| `rdf12` | `?c tg:contains <<( ?s ?p ?o )>>` | RDF 1.2 engines (Oxigraph) |
| `rdf-star` | `?c tg:contains << ?s ?p ?o >>` | RDF-star community-group engines |
| `classic` | `?c tg:contains ?t . ?t rdf:subject ?s ; …` | engines without triple terms |

A reifier is spelled `rdf:reifies` in the first two and carries subject, predicate and object itself in
the third (RDF 1.1 reification). Templates reach these spellings only through the macros of
`sparql.render`; quads reach them through `encode`.
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
        fresh: a variable that nothing else uses, for the statement node of `classic`.
    """
    s, p, o = triple
    if dialect != "classic":
        left, right = _BRACKETS[dialect]
        return f"{subject} {link} {left}{s} {p} {o}{right} ."
    if link == "rdf:reifies":
        return f"{subject} rdf:subject {s} ; rdf:predicate {p} ; rdf:object {o} ."
    return f"{subject} {link} {fresh} . {fresh} rdf:subject {s} ; rdf:predicate {p} ; rdf:object {o} ."


def spelled(term: Term, dialect: Dialect) -> str:
    """A term in the N-Triples of a dialect; `classic` has none for triple terms (see `encode`).

    Raises:
        TypeError: for a triple term in `classic`.
    """
    if not isinstance(term, Triple):
        return str(term)
    if dialect == "classic":
        raise TypeError("a triple term has no classic spelling")
    left, right = _BRACKETS[dialect]
    return f"{left}{spelled(term.subject, dialect)} {term.predicate} {spelled(term.object, dialect)}{right}"


def encode(quads: Iterable[Quad], dialect: Dialect) -> Iterator[Quad]:
    """Quads in the form that a dialect stores; only `classic` changes any.

    Triple terms of `rdf-star` differ from those of `rdf12` in spelling only, so their quads are equal.

    Raises:
        TypeError: for what has no classic form: a triple term inside a triple term, a reifier of two.
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
            raise TypeError("nested triple terms have no classic form")
        graph = quad.graph_name
        node = quad.subject
        if quad.predicate != RDF.reifies:
            node = iris.statement(s, p, o)
            yield Quad(quad.subject, quad.predicate, node, graph)
        known = described.setdefault((node, graph), term)
        if known is not term:
            if known != term:
                raise TypeError(f"{node} reifies two statements, which have no classic form")
            continue
        yield Quad(node, RDF.subject, s, graph)
        yield Quad(node, RDF.predicate, p, graph)
        yield Quad(node, RDF.object, o, graph)


def encode_removal(quads: Iterable[Quad], dialect: Dialect) -> Iterator[Quad]:
    """The quads that a removal takes out: `encode`, less what describes a statement.

    Containers share the node of a statement, so it stays when one of them lets go of it.
    """
    for quad in encode(quads, dialect):
        if not (quad.predicate in _PARTS and _is_statement(quad.subject)):
            yield quad


def decode(quads: Iterable[Quad]) -> Iterator[Quad]:
    """The reverse of `encode` for `classic`: statement nodes become triple terms again.

    The whole of a graph must be in `quads`, since a statement is three quads; one that lacks a part is
    left as it is.
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
