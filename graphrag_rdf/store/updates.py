"""Update requests: sequences of updates, and quads as `INSERT DATA` and `DELETE DATA`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Store, Triple

from graphrag_rdf.rdf.namespaces import RDF, XSD
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.sparql.render import Dialect, Graph, spelled

_TEXTS = frozenset({XSD.string, RDF.langString, RDF.dirLangString})
_ANY = NamedNode("urn:any")


def sequence(updates: Iterable[str]) -> str:
    """A sequence of updates, with all prefixes first: engines accept none in between."""
    prefixes: dict[str, None] = {}
    bodies: list[str] = []
    for update in updates:
        lines = update.split("\n")  # not splitlines: a literal may contain U+2028
        declared = [line for line in lines if line.startswith("PREFIX ")]
        prefixes.update(dict.fromkeys(declared))
        if body := "\n".join(lines[len(declared) :]):
            bodies.append(body)
    return "\n".join([*prefixes, " ;\n".join(bodies)])


def data(verb: str, quads: Iterable[Quad], dialect: Dialect = "rdf12") -> str:
    """`INSERT DATA` or `DELETE DATA` of quads; empty without quads.

    Deletions from several graphs are a sequence of updates, because Virtuoso keeps some literals if one
    update names two graphs. Insertions are one update, so that blank nodes stay the same.

    Args:
        quads: encoded for the dialect (see `dialect.encode`).
    """
    by_graph: dict[Graph, list[str]] = {}
    for quad in quads:
        by_graph.setdefault(quad.graph_name, []).append(line(quad, dialect))
    parts = []
    for graph, lines in by_graph.items():
        body = "\n".join(lines)
        parts.append(body if isinstance(graph, DefaultGraph) else f"GRAPH {graph} {{\n{body}\n}}")
    together = ["\n".join(parts)] if parts and verb == "INSERT" else parts
    return " ;\n".join(f"{verb} DATA {{\n{part}\n}}" for part in together)


def graph_update(
    graph: NamedNode | None, triples: Iterable[Triple], *, replace: bool, dialect: Dialect = "rdf12"
) -> str:
    """The update that puts triples into a graph.

    Args:
        graph: created if missing; None for the default graph.
        replace: remove its former triples.
    """
    place = DefaultGraph() if graph is None else graph
    parts = []
    if replace:
        parts.append("CLEAR DEFAULT" if graph is None else f"DROP SILENT GRAPH {graph}")
    if graph is not None:
        parts.append(f"CREATE SILENT GRAPH {graph}")
    parts.append(data("INSERT", (Quad(t.subject, t.predicate, t.object, place) for t in triples), dialect))
    return " ;\n".join(filter(None, parts))


def drop_update(graph: NamedNode | None) -> str:
    """The update that drops a graph, or empties the default graph."""
    return "CLEAR DEFAULT" if graph is None else f"DROP SILENT GRAPH {graph}"


def line(quad: Quad, dialect: Dialect) -> str:
    """A quad as a line of `data`, without its graph."""
    if dialect == "rdf12":
        return f"{quad.triple} ."
    return f"{quad.subject} {quad.predicate} {spelled(quad.object, dialect)} ."


def canonical(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Quads with literals in the form of the embedded store (`2.50` becomes `2.5`), so that stores of the
    same documents are the same on every engine.
    """
    for quad in quads:
        term = canonical_term(quad.object)
        yield quad if term is quad.object else Quad(quad.subject, quad.predicate, term, quad.graph_name)


def canonical_term(term: Term) -> Term:
    """A term with its literal in the form of the embedded store."""
    if isinstance(term, Literal):
        return term if term.datatype in _TEXTS else _canonical_literal(term)
    if isinstance(term, Triple):
        inner = canonical_term(term.object)
        return term if inner is term.object else Triple(term.subject, term.predicate, inner)
    return term


@lru_cache(maxsize=1 << 14)
def _canonical_literal(literal: Literal) -> Term:
    store = Store()
    store.add(Quad(_ANY, _ANY, literal))
    canonical: Term = next(iter(store)).object
    return canonical


def placed(quads: Iterable[Quad], facts: NamedNode | None) -> Iterator[Quad]:
    """Quads with the facts in the store's graph of facts; None for the default graph."""
    if facts is None:
        yield from quads
        return
    for quad in quads:
        if isinstance(quad.graph_name, DefaultGraph):
            yield Quad(quad.subject, quad.predicate, quad.object, facts)
        else:
            yield quad
