"""RDF formats by name and by suffix, and quads as lines of RDF-star."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pyoxigraph import DefaultGraph, Quad, RdfFormat

from graphrag_rdf.errors import UsageError
from graphrag_rdf.sparql.render import spelled

Format: TypeAlias = Literal["trig", "nquads", "turtle", "ntriples", "rdfxml", "graphml"]
FORMATS: tuple[Format, ...] = get_args(Format)

RDF_FORMATS: Mapping[str, RdfFormat] = {
    "trig": RdfFormat.TRIG,
    "nquads": RdfFormat.N_QUADS,
    "turtle": RdfFormat.TURTLE,
    "ntriples": RdfFormat.N_TRIPLES,
    "rdfxml": RdfFormat.RDF_XML,
}

BY_SUFFIX: Mapping[str, RdfFormat] = {
    ".trig": RdfFormat.TRIG,
    ".nq": RdfFormat.N_QUADS,
    ".ttl": RdfFormat.TURTLE,
    ".nt": RdfFormat.N_TRIPLES,
    ".rdf": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
    ".xml": RdfFormat.RDF_XML,
    ".n3": RdfFormat.N3,
    ".jsonld": RdfFormat.JSON_LD,
}


def format_of(path: Path) -> RdfFormat:
    """The format for the suffix of a file.

    Raises:
        UsageError: for an unknown suffix.
    """
    found = BY_SUFFIX.get(path.suffix.lower())
    if found is None:
        raise UsageError(
            f"{path}: unknown RDF format",
            hint=f"rename it to one of: {' '.join(BY_SUFFIX)}",
        )
    return found


def star_line(quad: Quad, *, with_graph: bool) -> str:
    """A quad as one line of N-Quads-star, or without its graph as one of N-Triples-star."""
    parts = [spelled(term, "rdf-star") for term in (quad.subject, quad.predicate, quad.object)]
    if with_graph and not isinstance(quad.graph_name, DefaultGraph):
        parts.append(str(quad.graph_name))
    return " ".join([*parts, "."]) + "\n"
