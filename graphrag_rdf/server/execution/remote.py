"""A client's query at the endpoint of a remote store, with its answer in our own formats.

Answers are parsed and serialised again. So rows and bytes are counted, truncated answers are noticed, and
clients get the formats that they ask for, whatever the endpoint has. The text is passed on as it is, with
three exceptions: `GRAPH ?g` leaves out the store's bookkeeping, relative IRIs get the address that the client
called as their base, and a text that does not begin with SPARQL (an engine's pragmas) is refused.
"""

from __future__ import annotations

import http.client
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import pyoxigraph as ox
from pyoxigraph import NamedNode, Quad, Triple

from graphrag_rdf.errors import MalformedError
from graphrag_rdf.i18n import tr
from graphrag_rdf.reader_process.evaluate import Job, Output, QueryFailed, write_graph, write_results
from graphrag_rdf.server.execution.queries import Answer
from graphrag_rdf.server.execution.sparql_text import query_outside_bookkeeping
from graphrag_rdf.sparql.complaints import NO_CALLS, complaint
from graphrag_rdf.sparql.tokens import head, outermost, tokens, with_base
from graphrag_rdf.store.answers import graph_lines, read_graph, stream_results
from graphrag_rdf.store.endpoint import GRAPH, RESULTS
from graphrag_rdf.store.remote import RemoteStore
from graphrag_rdf.store.remote_graphs import RemoteGraphs
from graphrag_rdf.store.wrapper import Reply, Stream

_RESULTS = frozenset({"SELECT", "ASK"})
_FORMS = _RESULTS | {"CONSTRUCT", "DESCRIBE"}

_PIECE = 1 << 16


class Asking(Protocol):
    """Sends a query to the endpoint."""

    def __call__(self, text: str, accept: str, parameters: Iterable[tuple[str, str]] = ()) -> Stream:
        """The answer as a stream."""


def at_endpoint(store: RemoteStore, timeout: float) -> Callable[[Job, Answer], None]:
    """Evaluation at a store's endpoint.

    Args:
        timeout: seconds of each request.
    """

    def work(job: Job, answer: Answer) -> None:
        streams: list[Stream] = []

        def ask(text: str, accept: str, parameters: Iterable[tuple[str, str]] = ()) -> Stream:
            streams.append(
                store.endpoint.open(
                    text, accept, connected=answer.connected, timeout=timeout, parameters=parameters
                )
            )
            return streams[-1]

        try:
            with answer.running(store.commit_number()):
                _RUN[job.kind](store, job, ask, answer)
        except MalformedError as error:
            if (ours := _in_our_words(job.text)) is None:
                raise
            raise QueryFailed(400, ours) from error
        finally:
            for stream in streams:
                stream.close()

    return work


def _query(store: RemoteStore, job: Job, asking: Asking, output: Output) -> None:
    if job.union:
        raise QueryFailed(
            501, tr("union-default-graph is not available in front of a remote store: ask GRAPH ?g")
        )
    form = _form_of(job.text)
    if job.masked is not None:
        _judge(job.masked, job.text)
    text = with_base(query_outside_bookkeeping(job.text) if job.roams else job.text, job.base)
    if form not in _RESULTS:
        reply = asking(text, GRAPH, _dataset(job))
        write_graph(_triples(reply, store, job), job, output)
        return
    answer = asking(text, RESULTS, _dataset(job))
    _require_end(answer)
    with _Reading("SPARQL results in JSON"):
        write_results(stream_results(answer), job, output)


def _form_of(text: str) -> str:
    """The word after the prologue: SELECT, ASK, CONSTRUCT or DESCRIBE."""
    first = head(text).first
    if first is None:
        raise QueryFailed(400, tr("the query is missing"))
    word = first.text.upper()
    if first.kind != "word" or word not in _FORMS:
        raise QueryFailed(400, tr("a query does not begin with {text!r}").format(text=first.text[:80]))
    return word


def _judge(masked: str, text: str) -> None:
    """See `sparql_text`: a text with misspelt calls parses only if there are none."""
    data = _data(masked)
    if masked[data:] != text[data:]:
        raise QueryFailed(400, tr(NO_CALLS))
    if (problem := _malformed(masked[:data], text)) is not None:
        raise QueryFailed(400, f"{problem}\n{tr(NO_CALLS)}")


def _in_our_words(text: str) -> str | None:
    """Our own parser's complaint about a query that an endpoint refused; None without one."""
    if _malformed(text[: _data(text)], text) is None:
        return None
    try:
        ox.Store().query(text)  # it does not parse, so nothing is evaluated; now for the place
    except SyntaxError as error:
        return complaint(text, error)
    return None


def _malformed(query: str, text: str) -> str | None:
    """The complaint of our own parser, at its place in a text.

    An empty VALUES is joined to the query, so that nothing is evaluated here.

    Args:
        query: without the VALUES after its pattern.
    """
    try:
        ox.Store().query(f"{query}\nVALUES () {{}}")
    except SyntaxError as error:
        return complaint(text, error)
    return None


def _data(text: str) -> int:
    """Offset of the VALUES after the pattern; the length of the text without any."""
    words = list(tokens(text))
    return next((words[index].offset for index in outermost(words, "VALUES")), len(text))


def _dataset(job: Job) -> list[tuple[str, str]]:
    named = [("default-graph-uri", job.default_graphs), ("named-graph-uri", job.named_graphs)]
    pairs = [(name, iri) for name, iris in named for iri in iris or ()]
    try:
        return [(name, NamedNode(iri).value) for name, iri in pairs]
    except ValueError as error:
        raise QueryFailed(
            400, tr("a graph of the dataset has no valid IRI: {error}").format(error=error)
        ) from None


# --- answers ------------------------------------------------------------------------------------------


class _Reading:
    """Turns errors of reading an answer into failures of the query."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | http.client.HTTPException):
            raise QueryFailed(502, tr("the endpoint broke off its answer")) from error
        if isinstance(error, SyntaxError | ValueError):
            raise QueryFailed(
                502,
                tr("the endpoint's answer is not {wanted}, or was cut off: {error}").format(
                    wanted=self._wanted, error=error
                ),
            ) from error


def _require_end(answer: Stream) -> None:
    if not answer.tells_end:
        raise QueryFailed(502, tr("the endpoint does not mark the end of its answers"))


def _triples(answer: Stream, store: RemoteStore, job: Job) -> Iterator[Triple]:
    """The triples of a CONSTRUCT or DESCRIBE; formats other than N-Triples are held in memory first."""
    _require_end(answer)
    with _Reading("RDF"):
        if answer.media_type == "application/n-triples":
            yield from graph_lines(answer, store.renderer.dialect)
            return
        body = bytearray()
        while piece := answer.read(_PIECE):
            body += piece
            if len(body) > job.max_bytes:
                raise QueryFailed(
                    503, tr("the answer is larger than {max_bytes:,} bytes").format(max_bytes=job.max_bytes)
                )
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
        raise QueryFailed(404, tr("there is no graph {graph}").format(graph=NamedNode(job.target)))


_RUN: dict[str, Callable[[RemoteStore, Job, Asking, Output], None]] = {
    "query": _query,
    "dump": _dump,
    "exists": _exists,
}
