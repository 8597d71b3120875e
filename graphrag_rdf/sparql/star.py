"""RDF-star as the community group wrote it (https://w3c.github.io/rdf-star/cg-spec/): `<< s p o >>`.

The engine writes RDF 1.2 only, so statements are written here one per line: N-Triples-star, N-Quads-star,
Turtle-star with prefixes, and TriG-star with the triples of each graph in its brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Protocol

from pyoxigraph import DefaultGraph, NamedNode, Quad, RdfFormat, Triple

from graphrag_rdf.rdf.namespaces import PREFIXES, prefixed
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.sparql.render import spelled


class Output(Protocol):
    """A stream of bytes."""

    def write(self, data: bytes, /) -> object:
        """Write some bytes."""


def star_line(statement: Quad | Triple, *, with_graph: bool) -> str:
    """A statement as one line of N-Quads-star, or without its graph as one of N-Triples-star."""
    terms = (statement.subject, statement.predicate, statement.object)
    parts = [spelled(term, "rdf-star") for term in terms]
    if with_graph and isinstance(statement, Quad) and not isinstance(statement.graph_name, DefaultGraph):
        parts.append(str(statement.graph_name))
    return " ".join([*parts, "."]) + "\n"


def write_star(statements: Iterable[Quad | Triple], output: Output, form: RdfFormat) -> None:
    """Write statements in RDF-star.

    Args:
        form: one of `STAR_FORMATS`.
    """
    STAR_FORMATS[form](statements, output)


def _lines(statements: Iterable[Quad | Triple], output: Output) -> None:
    for statement in statements:
        output.write(star_line(statement, with_graph=True).encode())


def _prefixed(statements: Iterable[Quad | Triple], output: Output) -> None:
    for prefix, namespace in PREFIXES.items():
        output.write(f"@prefix {prefix}: <{namespace}> .\n".encode())
    for statement in statements:
        terms = (statement.subject, statement.predicate, statement.object)
        output.write(f"{' '.join(map(_short, terms))} .\n".encode())


def _short(term: Term) -> str:
    if isinstance(term, Triple):
        return f"<< {_short(term.subject)} {_short(term.predicate)} {_short(term.object)} >>"
    short = prefixed(term) if isinstance(term, NamedNode) and term.value.isascii() else None
    return short or str(term)


def _blocks(statements: Iterable[Quad | Triple], output: Output) -> None:
    for graph, group in groupby(statements, key=_graph):
        head = "" if isinstance(graph, DefaultGraph) else f"{graph} "
        output.write(f"{head}{{\n".encode())
        for statement in group:
            output.write(b"  " + star_line(statement, with_graph=False).encode())
        output.write(b"}\n")


def _graph(statement: Quad | Triple) -> object:
    return statement.graph_name if isinstance(statement, Quad) else DefaultGraph()


STAR_FORMATS: Mapping[RdfFormat, Callable[[Iterable[Quad | Triple], Output], None]] = {
    RdfFormat.N_QUADS: _lines,
    RdfFormat.N_TRIPLES: _lines,
    RdfFormat.TURTLE: _prefixed,
    RdfFormat.TRIG: _blocks,
}
"""Format → its writer; RDF/XML and JSON-LD have no syntax for RDF-star."""
