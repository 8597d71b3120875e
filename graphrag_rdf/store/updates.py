"""Update requests: several updates as one, and quads as `INSERT DATA` and `DELETE DATA`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyoxigraph import DefaultGraph, NamedNode, Quad

from graphrag_rdf.sparql.dialect import Dialect, Graph, spelled


def sequence(updates: Iterable[str]) -> str:
    """Several updates as one, their prefixes first: engines take none between two of them."""
    prefixes: dict[str, None] = {}
    bodies: list[str] = []
    for update in updates:
        lines = update.split("\n")  # nothing else ends a line: a literal may hold U+2028 as it is
        declared = [line for line in lines if line.startswith("PREFIX ")]
        prefixes.update(dict.fromkeys(declared))
        if body := "\n".join(lines[len(declared) :]):
            bodies.append(body)
    return "\n".join([*prefixes, " ;\n".join(bodies)])


def data(verb: str, quads: Iterable[Quad], dialect: Dialect = "rdf12") -> str:
    """`INSERT DATA` or `DELETE DATA` of quads; empty without any.

    Args:
        quads: in the form that the dialect stores (see `dialect.encode`).
    """
    by_graph: dict[Graph, list[str]] = {}
    for quad in quads:
        by_graph.setdefault(quad.graph_name, []).append(line(quad, dialect))
    if not by_graph:
        return ""
    parts = []
    for graph, lines in by_graph.items():
        body = "\n".join(lines)
        parts.append(body if isinstance(graph, DefaultGraph) else f"GRAPH {graph} {{\n{body}\n}}")
    return f"{verb} DATA {{\n" + "\n".join(parts) + "\n}"


def line(quad: Quad, dialect: Dialect) -> str:
    """A quad as a line of `data`, without its graph."""
    if dialect == "rdf12":
        return f"{quad.triple} ."
    return f"{quad.subject} {quad.predicate} {spelled(quad.object, dialect)} ."


def placed(quads: Iterable[Quad], facts: NamedNode | None) -> Iterator[Quad]:
    """Quads with the facts in the graph that a store has them in; None for the default graph."""
    for quad in quads:
        if facts is not None and isinstance(quad.graph_name, DefaultGraph):
            yield Quad(quad.subject, quad.predicate, quad.object, facts)
        else:
            yield quad
