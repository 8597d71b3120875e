"""RDF terms and triples in the JSON of TrustGraph's clients: `{"t": "i"|"b"|"l"|"t", …}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.rdf.terms import Term, typed
from graphrag_rdf.server.http.problems import Problem

_SHOWN = 200
_DEEPEST = 20
"""Levels of statements in statements."""


def to_wire(term: Term) -> dict[str, Any]:
    """A term as its clients read it."""
    match term:
        case NamedNode():
            return {"t": "i", "i": term.value}
        case BlankNode():
            return {"t": "b", "d": term.value}
        case Triple():
            return {"t": "t", "tr": _parts(term.subject, term.predicate, term.object)}
    wire = {"t": "l", "v": term.value}
    if term.language:
        return {**wire, "ln": term.language}
    return wire if term.datatype == XSD.string else {**wire, "dt": term.datatype.value}


def triple_to_wire(s: Term, p: Term, o: Term, graph: Term | None = None) -> dict[str, Any]:
    """A triple; of the default graph without `g`."""
    return _parts(s, p, o) | ({"g": graph.value} if isinstance(graph, NamedNode) else {})


def quad_to_wire(quad: Quad) -> dict[str, Any]:
    """A quad as a triple with `g`."""
    graph = None if isinstance(quad.graph_name, DefaultGraph) else quad.graph_name
    return triple_to_wire(quad.subject, quad.predicate, quad.object, graph)


def _parts(s: Term, p: Term, o: Term) -> dict[str, Any]:
    return {"s": to_wire(s), "p": to_wire(p), "o": to_wire(o)}


def from_wire(data: Any, depth: int = 0) -> Term:
    """A term that a client sent. An IRI without a scheme is a blank node: its loader sends those so.

    Raises:
        Problem: 400 when it is none.
    """
    kind = data.get("t") if isinstance(data, Mapping) else None
    try:
        if kind == "i":
            name = str(data["i"])
            return NamedNode(name) if ":" in name else BlankNode(name)
        if kind == "b":
            return BlankNode(str(data["d"]).removeprefix("_:"))
        if kind == "l" and data.get("ln"):
            return Literal(str(data["v"]), language=data["ln"])
        if kind == "l":
            return typed(str(data["v"]), data.get("dt") or None)
        if kind == "t" and depth < _DEEPEST:
            return Triple(*(from_wire(data["tr"][name], depth + 1) for name in "spo"))  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise Problem(
            400, tr("not an RDF term: {data} ({error})").format(data=str(data)[:_SHOWN], error=error)
        ) from None
    raise Problem(400, tr("not an RDF term: {text}").format(text=str(data)[:_SHOWN]))


def untyped(term: Term) -> bool:
    """Whether it is a literal without datatype and language, which clients mean by its text."""
    return isinstance(term, Literal) and term.datatype == XSD.string
