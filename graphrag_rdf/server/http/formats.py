"""The formats that are spoken, as tables: of query results, of graphs, of datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyoxigraph import QueryResultsFormat, RdfFormat


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        media_type: what a response says; the first of `accepted`.
        accepted: what clients may call it.
        engine: the engine's own name of it; None for what is none of RDF.
        charset: whether the media type takes a charset.
        iri: its name in service descriptions (https://www.w3.org/ns/formats/).
        rdf12: whether it can carry triple terms.
    """

    accepted: tuple[str, ...]
    engine: QueryResultsFormat | RdfFormat | None
    iri: str
    charset: bool = False
    rdf12: bool = True

    @property
    def media_type(self) -> str:
        """The registered media type."""
        return self.accepted[0]

    @property
    def content_type(self) -> str:
        """The value of a Content-Type header."""
        return f"{self.media_type}; charset=utf-8" if self.charset else self.media_type


_NS = "http://www.w3.org/ns/formats/"

RESULTS: tuple[Format, ...] = (
    Format(
        ("application/sparql-results+json", "application/json"),
        QueryResultsFormat.JSON,
        f"{_NS}SPARQL_Results_JSON",
    ),
    Format(
        ("application/sparql-results+xml", "application/xml", "text/xml"),
        QueryResultsFormat.XML,
        f"{_NS}SPARQL_Results_XML",
    ),
    Format(("text/csv",), QueryResultsFormat.CSV, f"{_NS}SPARQL_Results_CSV", charset=True),
    Format(("text/tab-separated-values",), QueryResultsFormat.TSV, f"{_NS}SPARQL_Results_TSV", charset=True),
)
"""Solutions and truth values; the first is the default."""

_TURTLE = Format(
    ("text/turtle", "application/turtle", "application/x-turtle"),
    RdfFormat.TURTLE,
    f"{_NS}Turtle",
    charset=True,
)
_N_TRIPLES = Format(("application/n-triples", "text/plain"), RdfFormat.N_TRIPLES, f"{_NS}N-Triples")
_RDF_XML = Format(("application/rdf+xml", "application/xml", "text/xml"), RdfFormat.RDF_XML, f"{_NS}RDF_XML")
_N_QUADS = Format(("application/n-quads", "text/x-nquads"), RdfFormat.N_QUADS, f"{_NS}N-Quads")
_TRIG = Format(("application/trig", "application/x-trig"), RdfFormat.TRIG, f"{_NS}TriG", charset=True)
_JSON_LD = Format(
    ("application/ld+json", "application/json"), RdfFormat.JSON_LD, f"{_NS}JSON-LD", rdf12=False
)

GRAPHS: tuple[Format, ...] = (_TURTLE, _N_TRIPLES, _RDF_XML, _N_QUADS, _TRIG, _JSON_LD)
"""One graph; the first is the default."""

DATASETS: tuple[Format, ...] = (_TRIG, _N_QUADS, _JSON_LD)
"""All graphs; the first is the default."""

RDF_BY_NAME: Mapping[str, Format] = {name: f for f in reversed(GRAPHS) for name in f.accepted}
"""Media type of RDF that is sent to us → format."""

RESULTS_BY_TYPE: Mapping[str, Format] = {f.media_type: f for f in RESULTS}
GRAPHS_BY_TYPE: Mapping[str, Format] = {f.media_type: f for f in GRAPHS}
