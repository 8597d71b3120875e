"""`/ask`, `/retrieve` and `/ask/ws` (WebSocket).

Programs get JSON or a stream of events; forms and pages are in `conversation`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from graphrag_rdf.config import Role
from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.server.http.access import authenticate, require
from graphrag_rdf.server.http.events import ALIVE, BEAT, EVENTS, event, message_event, wants_events
from graphrag_rdf.server.http.guard import Gate
from graphrag_rdf.server.http.problems import CLIENT_LEFT, Problem, problem_of
from graphrag_rdf.server.http.questions import (
    AskRequest,
    PreviewRequest,
    RetrieveRequest,
    read_json,
    read_object,
    read_request,
)
from graphrag_rdf.server.runs import Messages, Run
from graphrag_rdf.server.service import COMMIT, Service, client_of, service_of
from graphrag_rdf.trace.messages import (
    GraphRagResponse,
)

_BODY = 1 << 18
_LOOK = 0.5

Written: TypeAlias = Callable[[AsyncIterator[GraphRagResponse | None]], AsyncIterator[str]]
"""Writes the messages of a run as events; None among them is a silence of `BEAT` seconds."""


async def ask(request: Request) -> Response:
    """Answer a question: as `ask --format json`, or all messages as events (`Accept: text/event-stream`)."""
    service = allowed_to_ask(request)
    asked = await read_json(request, AskRequest, _BODY)
    if not wants_events(request):
        answer = await answer_of(request, asked)
        seen(request)
        return JSONResponse(answer, headers=_headers(service))
    return await stream(request, asked, _as_events)


async def stream(request: Request, asked: AskRequest, written: Written) -> Response:
    """Answer a question as server-sent events. Disconnecting ends the run.

    Raises:
        Problem: the client may not ask, or the question is refused.
        GraphRagError: of a run that cannot begin.
    """
    service = allowed_to_ask(request)
    client = client_of(request)
    service.concurrency.enter(client)
    run: Run | None = None
    try:
        run = service.runs.start(lambda: begin(service, asked))
        return _Events(await _first(run, request), run, request, written)
    except BaseException:
        if run is not None:
            run.close()
        service.concurrency.leave(client)
        raise


async def answer_of(request: Request, asked: AskRequest) -> dict[str, Any]:
    """The whole answer to a question, as `ask --format json`.

    Raises:
        Problem: the client may not ask or has disconnected, or the run failed.
    """
    service = allowed_to_ask(request)
    with service.concurrency.slot(client_of(request)):
        run = service.runs.start(lambda: begin(service, asked))
        try:
            last = await _last(run, request)
        finally:
            run.close()
    if last.answer is None:
        raise failed(last, service)
    return last.answer


async def retrieve(request: Request) -> Response:
    """Rank chunks and edges for a question, as `retrieve --format json`."""
    return await _ranked(request, RetrieveRequest)


async def preview(request: Request) -> Response:
    """The same with the parts of each score, by the pipeline that a wing names, unless the client does."""
    return await _ranked(request, PreviewRequest)


async def _ranked(request: Request, model: type[RetrieveRequest]) -> Response:
    service = allowed_to_ask(request)
    asked = await read_json(request, model, _BODY)
    with service.concurrency.slot(client_of(request)):
        ranking = await service.runs.call(lambda: ranked(service, asked))
        if asked.trace:
            seen(request)
        return JSONResponse(ranking, headers=_headers(service))


async def ask_socket(socket: WebSocket) -> None:
    """Questions one after the other over a WebSocket; each message of a run is one JSON text.

    A question may have a `token`, since pages cannot send headers here. Each counts as a request. Any message
    during a run cancels it.
    """
    await socket.accept()
    service = service_of(socket)
    gate: Gate = socket.app.state.gate
    try:
        while True:
            text = await socket.receive_text()
            try:
                gate.count(socket.scope)
                await _answer_on(socket, service, text)
            except Problem as problem:
                await socket.send_json({"kind": "error", "error": problem.document()})
            except GraphRagError as error:
                await socket.send_json({"kind": "error", "error": problem_of(error).document()})
    except KeyError:  # a binary message
        await socket.close(1003, tr("questions are sent as text"))
    except (WebSocketDisconnect, RuntimeError):  # left
        return


async def _answer_on(socket: WebSocket, service: Service, text: str) -> None:
    data = read_object(text)
    token = data.pop("token", None)
    if token is not None:
        authenticate(socket, str(token))
    allowed_to_ask(socket)
    asked = read_request(AskRequest, data)
    with service.concurrency.slot(client_of(socket)):
        run = service.runs.start(lambda: begin(service, asked))
        received = asyncio.ensure_future(socket.receive())
        try:
            async for message in run.items(_LOOK):
                if received.done():
                    if received.result()["type"] == "websocket.disconnect":
                        raise WebSocketDisconnect
                    raise Problem(CLIENT_LEFT, tr("the run was cancelled"))
                if message is not None:
                    seen(socket)
                    await socket.send_json(to_json(message))
        finally:
            run.close()
            received.cancel()


def seen(connection: HTTPConnection) -> None:
    """A step is stored before its message is sent, so the client can query it."""
    service = service_of(connection)
    service.wrote(connection, service.engine.store.commit_number())


# --- access and requests ------------------------------------------------------------------------------


def allowed_to_ask(connection: HTTPConnection) -> Service:
    """The service, if the client may ask."""
    service = service_of(connection)
    require(connection, role_to_ask(service, identified=connection.scope["state"].get("token") is not None))
    return service


def role_to_ask(service: Service, *, identified: bool) -> Role:
    """The role that asking needs. Models that answer or rerank cost money, so with one a client
    needs a token, or the role to write.

    Args:
        identified: whether the client has a token.
    """
    settings = service.engine.settings
    costs = settings.llm.model is not None or settings.rerank.calls_provider
    return "write" if costs and not identified else "read"


def begin(service: Service, asked: AskRequest) -> Messages:
    """The messages of a run, in the thread in which they are made."""
    service.require_collection(asked.collection)
    return service.engine.ask(
        asked.question,
        asked.pipeline,
        settings=asked.steps(),
        include=asked.include,
        exclude=asked.exclude,
        stored=not service.read_only,
        session=asked.session,
        new_session=True,
    )


def ranked(service: Service, asked: RetrieveRequest) -> dict[str, Any]:
    """Chunks and edges for a question, in a thread."""
    return service.engine.retrieve(
        asked.question,
        k=asked.k,
        pipeline=asked.pipeline,
        settings=asked.steps(),
        include=asked.include,
        exclude=asked.exclude,
        preview=asked.preview,
        stored=asked.trace,
    )


def _headers(service: Service) -> dict[str, str]:
    return {COMMIT: str(service.engine.store.commit_number()), "Cache-Control": "no-store", "Vary": "Accept"}


# --- the messages of a run ----------------------------------------------------------------------------


async def _first(run: Run, request: Request) -> GraphRagResponse:
    """The first message: an invalid question is refused with a status.

    Raises:
        GraphRagError: of the run.
    """
    async for message in run.items(_LOOK):
        if message is not None:
            return message
        if await request.is_disconnected():
            break
    raise Problem(CLIENT_LEFT, tr("the client disconnected"))


async def _last(run: Run, request: Request) -> GraphRagResponse:
    last = None
    async for message in run.items(_LOOK):
        if message is not None:
            last = message
        if await request.is_disconnected():
            raise Problem(CLIENT_LEFT, tr("the client disconnected"))
    if last is None:
        raise Problem(503, tr("the server is stopping"), headers={"Retry-After": "5"})
    return last


def failed(message: GraphRagResponse, service: Service) -> Problem:
    """The problem of a failed run: 502 with a model, which is the usual cause, else 500."""
    error = message.error or {"type": "graph-rag-error", "message": tr("the run ended without an answer")}
    status = 500 if service.engine.settings.llm.model is None else 502
    return Problem(status, error["message"], error=error)


class _Events(StreamingResponse):
    """A run as server-sent events."""

    def __init__(self, first: GraphRagResponse, run: Run, request: Request, written: Written) -> None:
        headers = _headers(service_of(request))
        super().__init__(written(_messages(first, run, request)), media_type=EVENTS, headers=headers)
        self._run = run
        self._request = request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See Starlette; the run ends with it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._run.close()
            service_of(self._request).concurrency.leave(client_of(self._request))


async def _messages(
    first: GraphRagResponse, run: Run, request: Request
) -> AsyncIterator[GraphRagResponse | None]:
    seen(request)
    yield first
    async for message in run.items(BEAT):
        seen(request)
        yield message


async def _as_events(messages: AsyncIterator[GraphRagResponse | None]) -> AsyncIterator[str]:
    try:
        async for message in messages:
            yield ALIVE if message is None else message_event(message)
    except GraphRagError as error:
        yield event("error", problem_of(error).document())
