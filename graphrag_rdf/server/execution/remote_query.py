"""One query of a client at the endpoint of a remote store, its answer written out in our own formats.

What comes is parsed and serialised anew: so rows and bytes are counted, an answer that breaks off is noticed,
and clients get the formats that they ask for, whatever the endpoint has. The text is passed on as it is, but
for three things: `GRAPH ?g` leaves out the store's own bookkeeping, relative IRIs get the address that the
client called as their base, and what is no SPARQL at its beginning (pragmas of an engine) is refused.
"""

from __future__ import annotations

import http.client
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import pyoxigraph as ox
from pyoxigraph import NamedNode, Quad, Triple

from graphrag_rdf.server.execution.evaluate import Job, Output, QueryFailed, write_graph, write_results
from graphrag_rdf.server.execution.inspect import NO_CALLS
from graphrag_rdf.server.execution.operations import outermost
from graphrag_rdf.server.execution.using import query_outside_bookkeeping
from graphrag_rdf.sparql.base import with_base
from graphrag_rdf.sparql.complaints import complaint
from graphrag_rdf.sparql.tokens import tokens
from graphrag_rdf.store.answers import graph_lines, read_graph, stream_results
from graphrag_rdf.store.endpoint import GRAPH, RESULTS
from graphrag_rdf.store.remote import RemoteStore
from graphrag_rdf.store.remote_graphs import RemoteGraphs
from graphrag_rdf.store.wrapper import Reply, Stream

_RESULTS = frozenset({"SELECT", "ASK"})
_FORMS = _RESULTS | {"CONSTRUCT", "DESCRIBE"}
_PROLOGUE = {"BASE": 1, "PREFIX": 2, "VERSION": 1}
"""Words of a prologue → tokens that follow."""

_PIECE = 1 << 16


class Asking(Protocol):
    """Sends a query to the endpoint."""

    def __call__(self, text: str, accept: str, parameters: Iterable[tuple[str, str]] = ()) -> Stream:
        """The answer as it comes."""


def evaluate_remote(store: RemoteStore, job: Job, asking: Asking, output: Output) -> None:
    """Run a job, as `evaluate.evaluate` does on a store of this process.

    Raises:
        QueryFailed: see there; also when the answer breaks off, or the endpoint gives no more than a part.
        GraphRagError: when the endpoint refuses, or is out of reach.
    """
    _RUN[job.kind](store, job, asking, output)


def _query(store: RemoteStore, job: Job, asking: Asking, output: Output) -> None:
    if job.union:
        raise QueryFailed(
            501, "union-default-graph is not available in front of a remote store: ask GRAPH ?g"
        )
    form = form_of(job.text)
    if job.masked is not None:
        _judge(job.masked, job.text)
    text = with_base(query_outside_bookkeeping(job.text) if job.roams else job.text, job.base)
    if form not in _RESULTS:
        found = asking(text, GRAPH, _dataset(job))
        write_graph(_triples(found, store, job), job, output)
        return
    answer = asking(text, RESULTS, _dataset(job))
    _require_end(answer)
    with _Reading("SPARQL results in JSON"):
        write_results(stream_results(answer), job, output)


def form_of(text: str) -> str:
    """The word after the prologue: SELECT, ASK, CONSTRUCT or DESCRIBE.

    Raises:
        QueryFailed: 400 when there is none.
    """
    passed = 0
    for token in tokens(text):
        word = token.text.upper()
        if passed:
            passed -= 1
        elif token.kind == "word" and word in _PROLOGUE:
            passed = _PROLOGUE[word]
        elif token.kind == "word" and word in _FORMS:
            return word
        else:
            raise QueryFailed(400, f"a query does not begin with {token.text[:80]!r}")
    raise QueryFailed(400, "there is no query")


def _judge(masked: str, text: str) -> None:
    """See `inspect`: a text whose calls are misspelt parses only if there are none."""
    data = _data(masked)
    if masked[data:] != text[data:]:
        raise QueryFailed(400, NO_CALLS)
    if (said := _malformed(masked[:data], text)) is not None:
        raise QueryFailed(400, f"{said}\n{NO_CALLS}")


def in_our_words(text: str) -> str | None:
    """What our own parser finds wrong with a query that an endpoint refused; None when it finds nothing."""
    if _malformed(text[: _data(text)], text) is None:
        return None
    try:
        ox.Store().query(text)  # it does not parse, so nothing is evaluated; now for the place
    except SyntaxError as error:
        return complaint(text, error)
    return None


def _malformed(query: str, text: str) -> str | None:
    """What is wrong, at its place in a text.

    No data are joined to the query, so that nothing is evaluated here, however long that would take.

    Args:
        query: without the VALUES after its pattern.
    """
    try:
        ox.Store().query(f"{query}\nVALUES () {{}}")
    except SyntaxError as error:
        return complaint(text, error)
    return None


def _data(text: str) -> int:
    """Where the VALUES of a query begin that follow its pattern; the end when there are none."""
    found = list(tokens(text))
    return next((found[index].offset for index in outermost(found, "VALUES")), len(text))


def _dataset(job: Job) -> list[tuple[str, str]]:
    named = [("default-graph-uri", job.default_graphs), ("named-graph-uri", job.named_graphs)]
    pairs = [(name, iri) for name, iris in named for iri in iris or ()]
    try:
        return [(name, NamedNode(iri).value) for name, iri in pairs]
    except ValueError as error:
        raise QueryFailed(400, f"a graph of the dataset has no valid IRI: {error}") from None


# --- answers ------------------------------------------------------------------------------------------


class _Reading:
    """What goes wrong while an answer is read, as a failure of the query."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | http.client.HTTPException):
            raise QueryFailed(502, "the endpoint broke its answer off") from error
        if isinstance(error, SyntaxError | ValueError):
            raise QueryFailed(
                502, f"the endpoint's answer is not {self._wanted}, or was cut off: {error}"
            ) from error


def _require_end(answer: Stream) -> None:
    if not answer.tells_end:
        raise QueryFailed(502, "the endpoint does not tell where its answers end")


def _triples(answer: Stream, store: RemoteStore, job: Job) -> Iterator[Triple]:
    """The triples of a CONSTRUCT or DESCRIBE; what is not N-Triples is held in memory before it is read."""
    _require_end(answer)
    with _Reading("RDF"):
        if answer.media_type == "application/n-triples":
            yield from graph_lines(answer, store.renderer.dialect)
            return
        body = bytearray()
        while piece := answer.read(_PIECE):
            body += piece
            if len(body) > job.max_bytes:
                raise QueryFailed(503, f"the answer is larger than {job.max_bytes:,} bytes")
        reply = Reply(answer.url, answer.status, answer.headers, io.BytesIO(body))
        yield from read_graph(reply, store.renderer.dialect)


# --- whole graphs -------------------------------------------------------------------------------------


def _dump(store: RemoteStore, job: Job, asking: Asking, output: Output) -> None:
    def of(graph: NamedNode | None) -> Iterator[Triple]:
        return store.triples_of(graph, lambda text: _triples(asking(text, GRAPH), store, job))

    if job.target is not None:
        _require_graph(store, job)
        write_graph(of(NamedNode(job.target) if job.target else None), job, output)
        return
    own = [] if store.renderer.facts_graph is not None else [None]
    write_graph(_quads([*own, *RemoteGraphs(store).names()], of), job, output)


def _quads(
    graphs: Iterable[NamedNode | None], of: Callable[[NamedNode | None], Iterator[Triple]]
) -> Iterator[Quad]:
    for graph in graphs:
        for t in of(graph):
            yield Quad(t.subject, t.predicate, t.object, graph)


def _exists(store: RemoteStore, job: Job, asking: Asking, output: Output) -> None:
    del asking
    _require_graph(store, job)
    write_graph((), job, output)


def _require_graph(store: RemoteStore, job: Job) -> None:
    if job.target and not RemoteGraphs(store).has_graph(NamedNode(job.target)):
        raise QueryFailed(404, f"there is no graph <{job.target}>")


_RUN: dict[str, Callable[[RemoteStore, Job, Asking, Output], None]] = {
    "query": _query,
    "dump": _dump,
    "exists": _exists,
}
