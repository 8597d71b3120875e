"""SPARQL 1.1 Protocol (https://www.w3.org/TR/sparql11-protocol/): `/sparql`, `/query` and `/update`.

Queries in all four forms: GET, a form by POST, the query itself by POST, and the QUERY method with either
body. Updates by POST: a form, or the update itself.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal, TypeAlias
from urllib.parse import urlencode

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.reader_process.evaluate import Job, Wanted
from graphrag_rdf.server.caching import not_modified, standard, validators
from graphrag_rdf.server.execution.queries import Answer, retry
from graphrag_rdf.server.execution.sparql_text import (
    inspect_update,
    nothing_missed,
    outside_bookkeeping,
    refuse_rdf11,
    with_dataset,
)
from graphrag_rdf.server.http.access import may, require
from graphrag_rdf.server.http.body import Parameters, read_body, text_of
from graphrag_rdf.server.http.negotiation import (
    GRAPHS,
    RESULTS,
    accepted,
    content_type,
    negotiate,
    wanted,
)
from graphrag_rdf.server.http.problems import Problem, TransferAborted
from graphrag_rdf.server.jobs import graphs_of, is_union, job_of
from graphrag_rdf.server.representations import HTML, context_of
from graphrag_rdf.server.routes.dataset import describe_service
from graphrag_rdf.server.routes.suggestions import explained
from graphrag_rdf.server.service import COMMIT, Service, address_of, client_of, service_of
from graphrag_rdf.server.validation import headers_of
from graphrag_rdf.sparql.complaints import NO_CALLS, complaint
from graphrag_rdf.sparql.tokens import head
from graphrag_rdf.store.migrations import migrate

FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"

Validated: TypeAlias = Literal["strong", "weak"] | None
"""The tag of an answer, see `caching.etag`; None for volatile queries."""

_IN_MEMORY, _PIECE = 1 << 20, 1 << 16
"""Bytes of a complete answer that are kept in memory, and that are sent at a time."""

_FORM_GROWTH = 4
"""A form may be so many times longer than its query: percent-encoding triples each byte."""

_LONG = 1 << 14
"""Bytes of a form, and characters of a query, above which a thread processes it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The operation of a request.

    Attributes:
        text: of the query or update; None asks for the service description.
        parameters: of URL and form.
    """

    text: str | None
    update: bool
    parameters: Parameters


async def sparql_endpoint(request: Request) -> Response:
    """`/sparql`: queries and updates."""
    operation = await _operation(request)
    return await (run_update if operation.update else answer_query)(
        request, operation.text, operation.parameters
    )


async def query_endpoint(request: Request) -> Response:
    """`/query`: queries only."""
    operation = await _operation(request)
    if operation.update:
        raise Problem(400, tr("send updates to /update or /sparql"))
    return await answer_query(request, operation.text, operation.parameters)


async def update_endpoint(request: Request) -> Response:
    """`/update`: updates only."""
    operation = await _operation(request)
    if not operation.update:
        raise Problem(400, tr("this path takes updates; send queries to /query or /sparql"))
    return await run_update(request, operation.text, operation.parameters)


async def _operation(request: Request) -> Operation:
    """Read a request.

    Raises:
        Problem: it has none of the protocol's forms, or the client may not read.
    """
    require(request, "read")
    url = Parameters.of_query_string(request.scope["query_string"])
    if request.method in ("GET", "HEAD"):
        if "update" in url:
            raise Problem(400, tr("send updates by POST (SPARQL 1.1 Protocol, section 2.2)"))
        if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
            raise Problem(400, tr("a query by GET must not have a body (SPARQL 1.2 Protocol, section 2.2.1)"))
        return _announced(Operation(url.one("query"), update=False, parameters=url))
    settings = service_of(request).settings
    header = request.headers.get("content-type")
    media_type, _ = content_type(header)
    if media_type not in (FORM, QUERY, UPDATE) or (media_type == UPDATE and request.method == "QUERY"):
        raise Problem(
            415,
            tr("unsupported media type of the body: {type}").format(type=media_type or "(none)"),
            headers={"Accept-Post" if request.method == "POST" else "Accept-Query": f"{FORM}, {QUERY}"},
        )
    most = settings.max_body_mb << 20
    if not may(request, "write"):
        most = min(most, _FORM_GROWTH * settings.max_query_kb << 10)
    body = await read_body(request, most)
    if media_type == FORM:
        long = len(body) > _LONG
        form = await asyncio.to_thread(Parameters.of_form, body) if long else Parameters.of_form(body)
        return _announced(_of_form(form, url, request.method))
    if "query" in url or "update" in url:
        raise Problem(400, tr("the URL and the body both have a query or update"))
    return _announced(Operation(text_of(body, header), media_type == UPDATE, url))


def _announced(operation: Operation) -> Operation:
    """The operation, which may name one version of SPARQL (SPARQL 1.2 Protocol §2.1).

    Raises:
        Problem: 400 when there are several.
    """
    operation.parameters.one("version")
    return operation


def _of_form(form: Parameters, url: Parameters, method: str) -> Operation:
    if "update" in url:
        raise Problem(400, tr("send the update in the body of the form (SPARQL 1.1 Protocol, section 2.2.1)"))
    parameters = form + url
    query, update = parameters.one("query"), parameters.one("update")
    if query is not None and update is not None:
        raise Problem(400, tr("send a query or an update, not both"))
    if update is not None and method == "QUERY":
        raise Problem(400, tr("send updates by POST"))
    if query is None and update is None:
        raise Problem(400, tr("the form has no field named query or update"))
    return Operation(query if update is None else update, update is not None, parameters)


async def answer_query(request: Request, text: str | None, parameters: Parameters) -> Response:
    """Run a query within the limits of clients, or describe the service without one.

    Args:
        parameters: of the SPARQL Protocol; others are ignored.
    """
    service = service_of(request)
    if text is None:
        return await asyncio.to_thread(describe_service, request)
    accept = accepted(request.headers.get("accept"), parameters.all("format"))
    version = head(text).version or parameters.one("version") or service.settings.rdf_version
    results, graph = forms_for(accept, parameters.one("dialect"), version)
    if graph is not None and graph.context != "{}":
        graph = replace(graph, context_url=context_of(request))
    dataset = tuple(
        (name, graph) for name in ("default-graph-uri", "named-graph-uri") for graph in parameters.all(name)
    )
    union = is_union(service, text, parameters.one("union-default-graph"))
    if results is None and graph is None:
        if request.method == "GET" and not dataset and negotiate(accept, (HTML,)):
            shown = {"query": text, "union": f"{union:d}"}
            return RedirectResponse(f"/sparql-editor?{urlencode(shown)}", 303, {"Vary": "Accept"})
        raise Problem(406, tr("Accept names no supported format"))
    job, volatile = await job_of(
        service,
        text,
        results,
        graph,
        base=address_of(request),
        union=union,
        **graphs_of(dataset),
    )
    if request.method in ("GET", "HEAD") and not volatile:
        types = [form.content_type for form in (results, graph) if form is not None]
        if (same := not_modified(request, service, types)) is not None:
            return same
    min_commit = service.min_commit(request)
    response = await run(request, service, job, min_commit, validated=None if volatile else "weak")
    if request.method == "HEAD":
        return response
    return await explained(request, service, response, text, union=job.union, dataset=dataset)


@lru_cache(maxsize=512)
def forms_for(
    accept: str | None, dialect: str | None, version: str = "1.1"
) -> tuple[Wanted | None, Wanted | None]:
    """The forms for solutions and for graphs that a client asks for, see `negotiate`.

    Raises:
        Problem: 400 for an unknown dialect.
    """
    results, graph = (
        negotiate(accept, formats, dialect=dialect, version=version) for formats in (RESULTS, GRAPHS)
    )
    return wanted(results) if results else None, wanted(graph) if graph else None


async def run(
    request: Request, service: Service, job: Job, min_commit: int, *, validated: Validated
) -> Response:
    """Run a query in a reader and return its answer, which counts among the client's queries until its end.

    Args:
        validated: the validators of the answer.
    """
    client = client_of(request)
    service.concurrency.enter(client)
    try:
        answer = await service.queries.run(job, min_commit, request.is_disconnected)
    except BaseException:
        service.concurrency.leave(client)
        raise
    return await _respond(request, service, answer, client, validated=validated)


async def _respond(
    request: Request, service: Service, answer: Answer, client: str, *, validated: Validated
) -> Response:
    headers = {**standard(answer.commit), "Content-Type": answer.content_type}
    if validated is not None:
        strong = validated == "strong"
        headers |= validators(service, answer.commit, answer.content_type, strong=strong)
    if (data := answer.whole) is not None:
        service.concurrency.leave(client)
        response = Response(data, headers=headers)
        if request.method == "HEAD" and not data:  # it was not evaluated, so its length is unknown
            del response.headers["content-length"]
        return response
    if request.method == "HEAD" or request.scope["http_version"] == "1.0":
        try:  # HTTP/1.0 clients cannot detect a body that was cut off
            return await _kept(answer, headers, bodiless=request.method == "HEAD")
        except TransferAborted as aborted:
            raise Problem(503, str(aborted), headers=retry(503)) from None
        finally:
            service.concurrency.leave(client)
    return _Streamed(answer, lambda: service.concurrency.leave(client), headers)


async def _kept(answer: Answer, headers: dict[str, str], *, bodiless: bool) -> Response:
    """An answer that is sent once it is complete; a long one is kept on disk meanwhile.

    Raises:
        TransferAborted: when it failed.
    """
    kept, length = tempfile.SpooledTemporaryFile(_IN_MEMORY), 0  # noqa: SIM115 - sent after this returns
    async for part in answer.parts():
        length += len(part)
        if not bodiless:
            kept.write(part)
    kept.seek(0)
    return StreamingResponse(
        iter(partial(kept.read, _PIECE), b""), headers={**headers, "Content-Length": str(length)}
    )


class _Streamed(StreamingResponse):
    """A streamed answer, which frees its resources however it ends."""

    def __init__(self, answer: Answer, done: Callable[[], None], headers: dict[str, str]) -> None:
        super().__init__(answer.parts(), headers=headers)
        self._answer = answer
        self._done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See Starlette."""

        try:
            await super().__call__(scope, receive, send)
        finally:
            self._answer.drop()
            self._done()


# --- updates -------------------------------------------------------------------------------------------

CONTENT = "GraphRAG-Content"
"""Request header: `unchanged` means that an update changes nothing in the search indexes, such as one of
traces. If that is wrong, searches find less until the index is rebuilt."""


async def run_update(request: Request, text: str | None, parameters: Parameters) -> Response:
    """Run an update, after earlier ones."""
    require(request, "write")
    service = service_of(request)
    service.require_writable()
    if text is None:
        raise Problem(400, tr("the update is missing"))
    default, named = parameters.all("using-graph-uri"), parameters.all("using-named-graph-uri")
    base = address_of(request)
    content = request.headers.get(CONTENT) != "unchanged"

    def write() -> tuple[int, Mapping[str, str]]:
        allowed = service.settings.allow_service
        if service.has_triple_terms:
            refuse_rdf11(text)
        update = nothing_missed(text, allowed)
        try:
            _judge(inspect_update(update, allowed), update)
            update = outside_bookkeeping(with_dataset(update, _iris(default), _iris(named)))
            passed = service.gate.update(update, base)
            service.graphs.update(update, base, content=content)
            passed.keep()
        except (Problem, UsageError) as refused:
            if update != text:
                _complain_of(text, refused)
            raise
        return settled(service), headers_of(passed)

    commit, headers = await service.writes.run(write)
    return written(request, service, commit, 204, **headers)


def written(request: Request, service: Service, commit: int, status: int = 204, **more: str) -> Response:
    """The response to a write."""
    service.wrote(request, commit)
    return Response(status_code=status, headers={COMMIT: str(commit), **more})


def settled(service: Service) -> int:
    """The commit number after a client's write; DROP ALL drops the store's bookkeeping, which is restored."""
    migrate(service.engine.store)
    if service.remote is not None:
        service.remote.settle()
    return service.engine.store.commit_number()


def _judge(masked: str | None, text: str) -> None:
    """See `sparql_text`: a text with misspelt calls parses only if there are none."""
    if masked is None:
        return
    try:
        ox.Store().update(masked)
    except SyntaxError as error:
        raise Problem(400, f"{complaint(text, error)}\n{tr(NO_CALLS)}") from None
    except (OSError, RuntimeError, ValueError):
        return  # it parses; the store will report other errors


def _complain_of(text: str, refused: Problem | UsageError) -> None:
    """Report an error of the client's own text, not of its rewritten form."""
    if isinstance(refused, Problem) and refused.status != 400:
        return
    try:
        masked = inspect_update(text)
        ox.Store().update(masked or text)
    except SyntaxError as error:
        raise Problem(400, complaint(text, error)) from None
    except (Problem, OSError, RuntimeError, ValueError):  # it calls another server, or is well-formed
        return


def _iris(texts: list[str]) -> list[str]:
    try:
        return [ox.NamedNode(text).value for text in texts]
    except ValueError as error:
        raise Problem(
            400, tr("a graph of the dataset has no valid IRI: {error}").format(error=error)
        ) from None
