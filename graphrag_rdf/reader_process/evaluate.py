"""One query on one store, serialised to bytes: the same in a reader process and in this one.

The engine requires that a result is created, written and freed in one thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pyoxigraph as ox
from pyoxigraph import DefaultGraph, NamedNode, Quad, Triple

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.rdf.formats import XmlOutput, line_end, write_csv
from graphrag_rdf.rdf.jsonld import write_jsonld
from graphrag_rdf.rdf.namespaces import PREFIXES, Graphs
from graphrag_rdf.rdf.rdf11 import as_rdf11, in_row
from graphrag_rdf.rdf.rdf11_rows import write_rdf11
from graphrag_rdf.sparql.complaints import NO_CALLS, complaint, evaluation_status
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.sparql.star import STAR_FORMATS, write_star
from graphrag_rdf.sparql.star import Output as Stream
from graphrag_rdf.store.base import run_query
from graphrag_rdf.store.functions import Functions

_WITH_PREFIXES = (ox.RdfFormat.TURTLE, ox.RdfFormat.TRIG)


class QueryFailed(Exception):  # noqa: N818 - it says what happened
    """A query failed.

    Args:
        status: of HTTP.
        detail: the reason, for people.
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Wanted:
    """A format of an answer.

    Attributes:
        media_type: of `formats`.
        content_type: the response's header.
        dialect: how triple terms are written; in `classic`, which any RDF 1.1 client reads, as in `rdf11`.
        context: of JSON-LD, a document in JSON: text is sent to a reader process in a fraction of the time.
        context_url: the answer names the context by this address; "" writes it into the answer.
    """

    media_type: str
    content_type: str
    dialect: Dialect = "rdf12"
    context: str = "{}"
    context_url: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as plain data.

    Attributes:
        kind: a query; a graph or the dataset to write out; or whether a graph exists.
        text: of the query.
        masked: see `sparql_text`; must parse, or the query calls other servers.
        base: for relative IRIs.
        default_graphs, named_graphs: IRIs of the protocol's dataset; None where the request names none.
        roams: it has GRAPH with a variable, which must not range over the store's bookkeeping.
        union: the default graph is the union of all graphs.
        results: the format of solutions and truth values; None if the client accepts none.
        graph: the format of graphs, likewise.
        target: of a dump, the graph's IRI; empty for the default graph; None for the dataset.
        max_rows, max_bytes: of the answer.
    """

    kind: Literal["query", "dump", "exists"] = "query"
    text: str = ""
    masked: str | None = None
    base: str | None = None
    default_graphs: tuple[str, ...] | None = None
    named_graphs: tuple[str, ...] | None = None
    roams: bool = False
    union: bool = False
    results: Wanted | None = None
    graph: Wanted | None = None
    target: str | None = None
    max_rows: int = 1_000_000
    max_bytes: int = 1 << 28


class Output(Protocol):
    """The destination of an answer."""

    def begin(self, content_type: str) -> None:
        """Called once, before the first `write`."""

    def write(self, data: bytes) -> int:
        """A part of the answer."""


def evaluate(store: ox.Store, job: Job, output: Output, functions: Functions) -> None:
    """Run a job.

    Args:
        functions: that queries may call (see `store.functions`).

    Raises:
        QueryFailed: it is malformed, unfit for the formats, or over a limit; parts of the answer may be
            written already.
    """
    try:
        _RUN[job.kind](store, job, output, functions)
    except SyntaxError as error:
        raise QueryFailed(400, complaint(job.text, error)) from error.with_traceback(None)
    except (ValueError, RuntimeError) as error:
        status = evaluation_status(str(error))
        message = tr("the SPARQL cannot be evaluated: {error}").format(error=error)
        raise QueryFailed(status, message) from error.with_traceback(None)


def _query(store: ox.Store, job: Job, output: Output, functions: Functions) -> None:
    if job.masked is not None:
        _judge(job.masked, job.text)
    results = run_query(
        store, job.text, base_iri=job.base, custom_functions=functions, **_dataset(store, job)
    )
    try:
        if isinstance(results, ox.QueryTriples):
            write_graph(results, job, output)
            return
        assert isinstance(results, ox.QuerySolutions | ox.QueryBoolean)  # noqa: S101
        write_results(results, job, output)
    finally:
        del results


def write_results(results: ox.QuerySolutions | ox.QueryBoolean, job: Job, output: Output) -> None:
    """Write solutions or a truth value in the format and within the limits of a job.

    Raises:
        QueryFailed: see `evaluate`.
    """
    wanted = _wanted(job.results, _ROWS)
    variables = len(results.variables) if isinstance(results, ox.QuerySolutions) else 1
    output.begin(wanted.content_type)
    bounded = _Bounded(output, job, _row_counter(wanted.media_type, variables))
    try:
        form = ox.QueryResultsFormat.from_media_type(wanted.media_type)
        assert form is not None  # noqa: S101 - negotiated
        stream = XmlOutput(bounded) if form == ox.QueryResultsFormat.XML else bounded
        classic = wanted.dialect == "classic"
        if isinstance(results, ox.QueryBoolean):
            results.serialize(stream, format=form)  # type: ignore[arg-type]
            bounded.write(line_end(wanted.media_type))
        elif form == ox.QueryResultsFormat.CSV:
            rows = (map(in_row, row) for row in results) if classic else results
            write_csv([variable.value for variable in results.variables], rows, bounded)
        elif classic:
            write_rdf11(results, stream, form)
        else:
            results.serialize(stream, format=form)  # type: ignore[arg-type]
    finally:
        del results  # an error's traceback would keep it, and another thread may free that


def _judge(masked: str, text: str) -> None:
    """See `sparql_text`: a text with misspelt calls parses only if there are none."""
    try:
        ox.Store().query(masked)
    except SyntaxError as error:
        raise QueryFailed(400, f"{complaint(text, error)}\n{tr(NO_CALLS)}") from None


def _dataset(store: ox.Store, job: Job) -> dict[str, Any]:
    if job.default_graphs is not None or job.named_graphs is not None:
        try:
            return {
                "default_graph": [NamedNode(iri) for iri in job.default_graphs or ()],
                "named_graphs": [NamedNode(iri) for iri in job.named_graphs or ()],
            }
        except ValueError as error:
            message = tr("a graph of the dataset has no valid IRI: {error}").format(error=error)
            raise QueryFailed(400, message) from None
    if not job.roams and not job.union:
        return {}
    named = [graph for graph in store.named_graphs() if graph != Graphs.SYSTEM]
    return {"named_graphs": named, "default_graph": [DefaultGraph(), *named] if job.union else None}


def _dump(store: ox.Store, job: Job, output: Output, _: Functions) -> None:
    _require_graph(store, job)
    if job.target is None:
        quads = (
            quad for quad in store.quads_for_pattern(None, None, None) if quad.graph_name != Graphs.SYSTEM
        )
        write_graph(quads, job, output)
        return
    graph = NamedNode(job.target) if job.target else DefaultGraph()
    stored = store.quads_for_pattern(None, None, None, graph)
    write_graph((quad.triple for quad in stored), job, output)


def _exists(store: ox.Store, job: Job, output: Output, _: Functions) -> None:
    _require_graph(store, job)
    output.begin(_wanted(job.graph, _RDF).content_type)


def _require_graph(store: ox.Store, job: Job) -> None:
    if job.target and not store.contains_named_graph(NamedNode(job.target)):
        raise QueryFailed(404, tr("there is no graph {graph}").format(graph=NamedNode(job.target)))


def write_graph(statements: Iterable[Triple | Quad], job: Job, output: Output) -> None:
    """Write statements, as `write_results` writes solutions."""
    wanted = _wanted(job.graph, _RDF)
    output.begin(wanted.content_type)
    try:
        serialize_graph(_at_most(statements, job.max_rows), _Bounded(output, job), wanted)
    except TypeError as error:
        raise QueryFailed(406, str(error)) from error.with_traceback(None)


def serialize_graph(
    statements: Iterable[Triple | Quad],
    output: Stream,
    wanted: Wanted,
    prefixes: Mapping[str, str] = PREFIXES,
) -> None:
    """Write statements in a format and dialect.

    Args:
        prefixes: of formats that have them.

    Raises:
        TypeError: the dialect cannot express them, or the format has no syntax for the dialect.
    """
    rdf_format = ox.RdfFormat.from_media_type(wanted.media_type)
    assert rdf_format is not None  # noqa: S101 - negotiated
    if wanted.dialect == "rdf-star":
        if rdf_format not in STAR_FORMATS:
            raise TypeError(
                tr("{media_type} has no syntax for RDF-star").format(media_type=wanted.media_type)
            )
        write_star(statements, output, rdf_format)
        return
    if rdf_format == ox.RdfFormat.JSON_LD:
        write_jsonld(
            as_rdf11(statements, directions=True), output, json.loads(wanted.context), wanted.context_url
        )
        return
    if rdf_format == ox.RdfFormat.RDF_XML:
        output = XmlOutput(output)
    ox.serialize(
        as_rdf11(statements) if wanted.dialect == "classic" else statements,  # type: ignore[arg-type]
        output,  # type: ignore[arg-type]
        format=rdf_format,
        prefixes=dict(prefixes) if rdf_format in _WITH_PREFIXES else None,
    )


def _at_most(statements: Iterable[Triple | Quad], limit: int) -> Iterator[Triple | Quad]:
    for number, statement in enumerate(statements):
        if number >= limit:
            message = tr("the answer has more than {most:,} statements: ask for fewer (LIMIT)")
            raise QueryFailed(503, message.format(most=limit))
        yield statement


_ROWS = later("SELECT and ASK give json, xml, csv or tsv")
_RDF = later("CONSTRUCT, DESCRIBE and graphs give turtle, nt, trig, nq, rdfxml or jsonld")


def _wanted(wanted: Wanted | None, what: str) -> Wanted:
    if wanted is None:
        message = tr("Accept or format names no format for this result: {what}").format(what=tr(what))
        raise QueryFailed(406, message)
    return wanted


_RUN: dict[str, Callable[[ox.Store, Job, Output, Functions], None]] = {
    "query": _query,
    "dump": _dump,
    "exists": _exists,
}


# --- limits -------------------------------------------------------------------------------------------


class _Bounded:
    """An output that stops an answer at its limits; the engine passes on exceptions of `write`."""

    def __init__(self, output: Output, job: Job, rows: Callable[[bytes], int] | None = None) -> None:
        self._output = output
        self._job = job
        self._rows = rows
        self._bytes = 0

    def write(self, data: bytes) -> int:
        """Pass a part on."""
        self._bytes += len(data)
        if self._bytes > self._job.max_bytes:
            message = tr("the answer is larger than {max_bytes:,} bytes")
            raise QueryFailed(503, message.format(max_bytes=self._job.max_bytes))
        if self._rows is not None and self._rows(data) > self._job.max_rows:
            message = tr("the answer has more than {most:,} rows: ask for fewer (LIMIT)")
            raise QueryFailed(503, message.format(most=self._job.max_rows))
        return self._output.write(data)

    def flush(self) -> None:
        """The engine asks for it."""


def _marks(mark: bytes) -> Callable[[bytes], int]:
    """Counts a mark, also across parts."""
    seen, tail, overlap = 0, b"", len(mark) - 1

    def count(data: bytes) -> int:
        nonlocal seen, tail
        seen += (tail + data).count(mark)
        tail = (tail + data)[-overlap:] if overlap else b""
        return seen

    return count


def _json_rows(variables: int) -> Callable[[bytes], int]:
    """Rows by bound values: the beginning of a term is unique, since quotes in texts are escaped.

    A triple term has three terms in it. Rows with unbound variables count for less than one.
    """
    terms, triples = _marks(b'"type":"'), _marks(b'"type":"triple"')
    return lambda data: (terms(data) - 3 * triples(data)) // max(variables, 1)


def _csv_rows() -> Callable[[bytes], int]:
    """Line ends outside of quotes, without the header."""
    lines, quoted = -1, False

    def count(data: bytes) -> int:
        nonlocal lines, quoted
        for number, part in enumerate(data.split(b'"')):
            quoted ^= number > 0
            lines += 0 if quoted else part.count(b"\n")
        return lines

    return count


def _tsv_rows() -> Callable[[bytes], int]:
    lines = _marks(b"\n")
    return lambda data: lines(data) - 1


def _row_counter(media_type: str, variables: int) -> Callable[[bytes], int]:
    return {
        "application/sparql-results+json": lambda: _json_rows(variables),
        "application/sparql-results+xml": lambda: _marks(b"<result>"),
        "text/csv": _csv_rows,
        "text/tab-separated-values": _tsv_rows,
    }[media_type]()
