"""`/mcp`: the protocol's streamable HTTP transport, behind the same guard as every other route.

The package is imported, and its session manager started, by the first request. Streams that the server opens
itself (GET) are not offered: it has nothing to send unasked, and they would delay a stop.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from graphrag_rdf.errors import UsageError
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.body import read_body
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.mcp import protocol
from graphrag_rdf.server.mcp.tools import Caller
from graphrag_rdf.server.service import Service

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from collections import OrderedDict

METHODS = ["POST", "DELETE"]
_BODY = 1 << 18
_SESSIONS, _SHARE = 256, 32
"""Sessions of all clients, and of one client: another one ends its least recently used."""
_SESSION = b"mcp-session-id"
_IDLE = 600.0
"""Seconds after which an unused session ends."""

_ENDING = 2.0
"""Seconds that a stop waits for the end of sessions."""


class McpEndpoint:
    """The route, as an ASGI app over the app's `McpTools`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        tools: McpTools = scope["app"].state.tools
        await tools(scope, receive, send)


class McpTools:
    """Serves the protocol over HTTP."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._end = asyncio.Event()
        self._sessions = Sessions(_SESSIONS, _SHARE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        request = Request(scope, receive)
        require(request, "read")
        if request.method == "POST":
            receive = _replayed(await read_body(request, _BODY), receive)
        try:
            manager = await self._started()
        except UsageError as missing:
            raise Problem(501, missing.message, hint=missing.hint) from None
        client: str = scope["state"]["client"]
        scope["user"] = _owner(client)
        named = request.headers.get(_SESSION.decode())
        over: list[str] = []

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened = dict(message.get("headers", ())).get(_SESSION)
                if named is None and opened is not None:
                    over.extend(self._sessions.opened(opened.decode(), client))
                elif named is not None:
                    self._sessions.used(named, client)
            await send(message)

        await manager.handle_request(scope, receive, watched)
        for session in over:
            await manager.handle_request(_goodbye(scope, session), _nothing, _nobody)

    async def stop(self) -> None:
        """Cancel running calls, end all sessions."""
        self._end.set()
        if self._keeper is not None:
            await asyncio.wait([self._keeper], timeout=_ENDING)

    async def _started(self) -> StreamableHTTPSessionManager:
        if self._manager is None:
            self._manager = asyncio.get_running_loop().create_future()
            self._keeper = asyncio.create_task(self._keep(self._manager))
        return await asyncio.shield(self._manager)

    async def _keep(self, ready: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """The package requires that its task group is entered and left in one task: this one."""
        try:
            await asyncio.to_thread(protocol.load)
            manager = _manager(self._service)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._manager = None
            ready.set_exception(error)
            return
        async with manager.run():
            ready.set_result(manager)
            await self._end.wait()


def _manager(service: Service) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    return StreamableHTTPSessionManager(
        protocol.build(service, Caller.of_request),
        max_request_body_size=_BODY,
        session_idle_timeout=_IDLE,
        max_sessions=_SESSIONS,
    )


def _owner(client: str) -> Any:
    """The owner of a session: no other client can use it."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    return AuthenticatedUser(AccessToken(token="", client_id=client, scopes=[]))


def _goodbye(scope: Scope, session: str) -> Scope:
    """The request that ends a session of the same client."""
    return {**scope, "method": "DELETE", "headers": [(_SESSION, session.encode())]}


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nobody(message: Message) -> None:
    del message


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, again; later messages (disconnect) as they come."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


class Sessions:
    """The open sessions, the most recently used last.

    Args:
        most: of all clients; the package ends more itself.
        share: of one client.
    """

    def __init__(self, most: int, share: int) -> None:
        self._most = most
        self._share = share
        self._owners: OrderedDict[str, str] = OrderedDict()

    def used(self, session: str, client: str) -> None:
        """A client used a session."""
        if self._owners.get(session) == client:
            self._owners.move_to_end(session)

    def opened(self, session: str, client: str) -> list[str]:
        """The sessions to end after a client opened one: its least recently used."""
        self._owners[session] = client
        mine = [name for name, owner in self._owners.items() if owner == client]
        over = mine[: max(0, len(mine) - self._share)]
        for name in over:
            del self._owners[name]
        while len(self._owners) > self._most:
            self._owners.popitem(last=False)
        return over
