"""The routes of TrustGraph's protocol, and its services.

    /api/v1/socket                          frames over a WebSocket: authentication, then requests
    POST /api/v1/{service}                  one request, and its last response
    POST /api/v1/flow/{flow}/service/{…}    the same
    GET /api/v1/document-stream             see `library`
    /api/v1/flow/{flow}/import/{kind}       see `imports`

Flows and workspaces are accepted and ignored: there is one of each.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.access import authenticate
from graphrag_rdf.server.http.body import read_body
from graphrag_rdf.server.http.guard import Gate
from graphrag_rdf.server.http.problems import Problem, problem_of
from graphrag_rdf.server.http.questions import read_object
from graphrag_rdf.server.service import service_of
from graphrag_rdf.wings.trustgraph.answers import agent, document_rag, graph_rag
from graphrag_rdf.wings.trustgraph.library import librarian
from graphrag_rdf.wings.trustgraph.lookups import Replies, sparql, triples

log = logging.getLogger(__name__)

SERVICES: Mapping[str, Callable[[HTTPConnection, Mapping[str, Any]], Replies]] = {
    "triples": triples,
    "sparql": sparql,
    "graph-rag": graph_rag,
    "document-rag": document_rag,
    "agent": agent,
    "librarian": librarian,
}
"""Name of a service → what replies to its requests."""

_ERRORS = {name: f"{name}-error" for name in ("graph-rag", "document-rag", "agent")}
"""Service → the type of its errors, where clients have one; else `request-error`."""
_AT_ONCE = 15
"""Requests under way on one connection, as in TrustGraph."""


async def socket(socket: WebSocket) -> None:
    """Frames in, frames out, by their `id`. Disconnecting cancels what is under way."""
    await socket.accept()
    gate: Gate = socket.app.state.gate
    running: set[asyncio.Task[None]] = set()
    try:
        while True:
            frame = read_object(await socket.receive_text())
            gate.count(socket.scope)
            if frame.get("type") == "auth":
                await socket.send_json(_greeted(socket, frame))
            elif len(running) >= _AT_ONCE:
                problem = Problem(429, tr("more than {at_once} requests at once").format(at_once=_AT_ONCE))
                await socket.send_json({"id": frame.get("id"), **_error(problem), "complete": True})
            else:
                task = asyncio.create_task(_answer(socket, frame))
                running.add(task)
                task.add_done_callback(running.discard)
    except Problem as problem:  # of the connection as a whole
        await socket.close(1008, problem.detail[:120])
    except KeyError:  # a binary message
        await socket.close(1003, "frames are sent as text")
    except (WebSocketDisconnect, RuntimeError):  # left
        return
    finally:
        for task in running:
            task.cancel()


def _greeted(socket: WebSocket, frame: Mapping[str, Any]) -> dict[str, Any]:
    try:
        if token := frame.get("token"):
            authenticate(socket, str(token))
    except Problem as problem:
        return {"type": "auth-failed", "error": problem.detail}
    return {"type": "auth-ok", "default_workspace": "default"}


async def _answer(socket: WebSocket, frame: Mapping[str, Any]) -> None:
    name = str(frame.get("service"))
    try:
        async for response, last in _replies(socket, name, frame.get("request")):
            await socket.send_json({"id": frame.get("id"), "response": response, "complete": last})
    except (WebSocketDisconnect, RuntimeError):  # left
        return
    except Exception as error:  # noqa: BLE001 - told to the client, and logged
        await socket.send_json({"id": frame.get("id"), **_error(error, name), "complete": True})


async def post(request: Request) -> Response:
    """One request; an error, too, has the status 200, without which clients do not read it."""
    name = request.path_params["service"]
    limit = service_of(request).settings.max_body_mb << 20
    try:
        asked = read_object((await read_body(request, limit)).decode("utf-8", "replace"))
        reply: dict[str, Any] = {}
        async for response, _ in _replies(request, name, asked):
            reply = response
    except Exception as error:  # noqa: BLE001 - told to the client, and logged
        reply = _error(error, name)
    return JSONResponse(reply, headers={"Cache-Control": "no-store"})


def _replies(connection: HTTPConnection, name: str, asked: Any) -> Replies:
    service = SERVICES.get(name)
    if service is None:
        raise Problem(
            404,
            tr("there is no service {name!r} here").format(name=name),
            hint=tr("services: {services}").format(services=", ".join(SERVICES)),
        )
    if not isinstance(asked, Mapping):
        raise Problem(400, tr("the request is not a JSON object"))
    service_of(connection).require_collection(asked.get("collection"))
    return service(connection, asked)


def _error(error: Exception, service: str = "") -> dict[str, Any]:
    if isinstance(error, GraphRagError):
        error = problem_of(error)
    if not isinstance(error, Problem):
        log.error("the service %s failed", service, exc_info=error)
        error = Problem(500, tr("the server failed; see its log"))
    hint = error.more.get("hint")
    message = f"{error.detail}; {hint}" if hint else error.detail
    return {"error": {"type": _ERRORS.get(service, "request-error"), "message": message}}
