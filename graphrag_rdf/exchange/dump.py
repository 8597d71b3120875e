"""Export: the store, or one of its graphs, as a file.

A dump of the whole store in TriG, N-Quads or JSON-LD, dialect `rdf12` or `classic`, contains all quads and
can be restored. Blobs (original bytes, prompts, rendered queries) are not part of a dump; chunks contain
their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias, get_args
from typing import Literal as Choice

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange.graphml import write_graphml
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.formats import NOT_XML
from graphrag_rdf.rdf.iris import ANONYMOUS
from graphrag_rdf.rdf.jsonld import write_jsonld
from graphrag_rdf.rdf.namespaces import PREFIXES, Graphs
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.schema.observed import observed_prefixes
from graphrag_rdf.sparql.render import Dialect, encode
from graphrag_rdf.sparql.star import write_star
from graphrag_rdf.store.base import Store, plain_quads
from graphrag_rdf.store.vocabularies import vocabulary_context

_DATASETS = frozenset({"trig", "nquads", "jsonld"})
_XML_NAME_END = re.compile(r"[^\W\d][\w.-]*\Z")


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The result of an export.

    Attributes:
        quads: of RDF; 0 for GraphML.
        entities, relations, values: of GraphML; 0 otherwise.
        left_out: facts whose object is neither an entity nor a literal, which GraphML cannot hold.
    """

    quads: int = 0
    entities: int = 0
    relations: int = 0
    values: int = 0
    left_out: int = 0


def export_graph(
    store: Store,
    output: IO[bytes],
    form: Format = "trig",
    graph: NamedNode | None = None,
    dialect: Dialect = "rdf12",
) -> ExportReport:
    """Write the store, or one graph of it.

    Args:
        form: trig, nquads and jsonld hold all graphs. turtle, ntriples and rdfxml hold one: the facts,
            unless `graph` names another. graphml holds entities with their values, and the relations
            between them.
        graph: only this one; `urn:graph:facts` for the facts, wherever the store has them.
        dialect: the syntax of triple terms; `jsonld` is `classic` for `rdf12`, too.

    Raises:
        UsageError: when the format is unknown, or cannot express the dialect or the data.
    """
    if form not in FORMATS:
        raise UsageError(
            tr("unknown format {name!r}").format(name=form),
            hint=tr("use one of: {names}").format(names=", ".join(FORMATS)),
        )
    if form == "graphml":
        return ExportReport(*(0, *write_graphml(store, plain_quads(store, Graphs.FACTS), output)))
    if form == "rdfxml" and dialect == "rdf-star":
        raise UsageError(tr("RDF/XML has no syntax for RDF-star"), hint=tr("use --dialect rdf12 or classic"))
    if form == "jsonld":
        if dialect == "rdf-star":
            raise UsageError(tr("JSON-LD has no syntax for RDF-star"), hint=tr("leave out --dialect"))
        dialect = "classic"
    wanted = graph if graph is not None or form in _DATASETS else Graphs.FACTS
    counted = _Counter(encode(plain_quads(store, wanted), dialect))
    quads: Iterable[Quad] = counted
    if form not in _DATASETS:  # a dump keeps their IRIs, because other graphs use them too
        quads = (
            Quad(_unnamed(quad.subject), quad.predicate, _unnamed(quad.object))  # type: ignore[arg-type]
            for quad in quads
        )
    try:
        if dialect == "rdf-star":
            write_star(quads, output, RDF_FORMATS[form])
        elif form == "jsonld":
            write_jsonld(quads, output, vocabulary_context())
        else:
            _serialize(quads, output, form, {**PREFIXES, **observed_prefixes(store)})
    except TypeError as error:
        raise UsageError(
            tr("cannot export in the dialect {dialect}: {error}").format(dialect=dialect, error=error)
        ) from error
    return ExportReport(quads=counted.count)


def _unnamed(term: Term) -> Term:
    """A term with the blank nodes of an imported file as blank nodes again."""
    if isinstance(term, NamedNode) and term.value.startswith(ANONYMOUS):
        return BlankNode(term.value.removeprefix(ANONYMOUS).replace("-", ""))
    if isinstance(term, Triple):
        return Triple(_unnamed(term.subject), term.predicate, _unnamed(term.object))  # type: ignore[arg-type]
    return term


class _Counter:
    """Passes quads on, and counts them."""

    def __init__(self, quads: Iterable[Quad]) -> None:
        self._quads = quads
        self.count = 0

    def __iter__(self) -> Iterator[Quad]:
        for quad in self._quads:
            self.count += 1
            yield quad


def _serialize(quads: Iterable[Quad], output: IO[bytes], form: str, prefixes: dict[str, str]) -> None:
    if form == "rdfxml":
        quads = map(_fit_for_xml, quads)
    named = prefixes if form in ("trig", "turtle") else None
    serialize(quads, output, format=RDF_FORMATS[form], prefixes=named)


def _fit_for_xml(quad: Quad) -> Quad:
    """Raise UsageError for a predicate without a local name, or a control character in a text."""
    if not _XML_NAME_END.search(quad.predicate.value):
        raise UsageError(
            tr("RDF/XML cannot express the predicate {predicate}").format(predicate=quad.predicate.value),
            hint=tr("use turtle, trig or nquads"),
        )
    if isinstance(quad.object, Literal) and NOT_XML.search(quad.object.value):
        raise UsageError(
            tr("RDF/XML cannot express the control characters of {subject} {predicate}").format(
                subject=quad.subject, predicate=quad.predicate
            ),
            hint=tr("use turtle, trig or nquads"),
        )
    if isinstance(quad.object, Triple):
        _fit_for_xml(Quad(quad.object.subject, quad.object.predicate, quad.object.object))
    return quad


Format: TypeAlias = Choice["trig", "nquads", "turtle", "ntriples", "rdfxml", "jsonld", "graphml"]
FORMATS: tuple[Format, ...] = get_args(Format)

RDF_FORMATS: Mapping[str, RdfFormat] = {
    "trig": RdfFormat.TRIG,
    "nquads": RdfFormat.N_QUADS,
    "turtle": RdfFormat.TURTLE,
    "ntriples": RdfFormat.N_TRIPLES,
    "rdfxml": RdfFormat.RDF_XML,
    "jsonld": RdfFormat.JSON_LD,
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
            tr("{path}: unknown RDF format").format(path=path),
            hint=tr("rename it to one of: {by_suffix}").format(by_suffix=" ".join(BY_SUFFIX)),
        )
    return found
