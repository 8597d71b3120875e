"""Connections: uvicorn's HTTP protocol with limits of its own on headers and on patience.

uvicorn bounds neither the size of headers (with httptools) nor the time that a client takes to send them. And
a request that is here as a whole may be answered at once, by the lane for look-ups; behind a proxy, whose
headers tell who the client is, that is left to the app.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from graphrag_rdf.server.lane import Lane

HEAD_BYTES = 1 << 16
"""Request line and headers together; a query by GET is in the former."""

HEAD_SECONDS = 10.0
"""From the first byte of a request to the end of its headers."""


class BoundedProtocol(HttpToolsProtocol):
    """See the module.

    Attributes:
        lane: answers look-ups; None where there is none.
    """

    lane: Lane | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes: int | None = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._feeding = False
        self._held: tuple[RequestResponseCycle, Any] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """A client has gone."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Part of a request."""
        if self._head_bytes is not None:
            self._head_bytes += len(data)
            before = self._head_bytes
            self._feed(data)
            if self._head_bytes is not None and before > HEAD_BYTES:
                self._refuse(b"431 Request Header Fields Too Large", b"the head of the request is too large")
            return
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        """Hold back a request that begins in these bytes until it is known whether they hold all of it."""
        self._feeding = self.lane is not None and not self.pipeline
        super().data_received(data)
        self._feeding = False
        if self._held is not None:
            (cycle, app), self._held = self._held, None
            if not self._answered_at_once(cycle):
                super()._start_asgi_task(cycle, app)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if self._feeding and self._held is None and app is self.app:
            self._held = cycle, app
        else:
            super()._start_asgi_task(cycle, app)

    def _answered_at_once(self, cycle: RequestResponseCycle) -> bool:
        if self.lane is None or cycle.more_body or not cycle.keep_alive or self.flow.write_paused:
            return False
        if self.transport.is_closing():
            return False
        more = b"".join(b"%b: %b\r\n" % header for header in self.server_state.default_headers)
        response = self.lane.answer(cast(dict[str, Any], cycle.scope), bytes(cycle.body), more)
        if response is None:
            return False
        cycle.response_started = cycle.response_complete = True
        self.transport.write(response)
        self.on_response_complete()
        return True

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        if self._head_bytes is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        """The head of a request is whole."""
        self._stop_timer()
        head = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        self._head_bytes = None
        if head > HEAD_BYTES:
            self._refuse(b"431 Request Header Fields Too Large", b"the head of the request is too large")
            return
        super().on_headers_complete()

    def _await_head(self) -> None:
        self._stop_timer()
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._late)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _late(self) -> None:
        self._refuse(b"408 Request Timeout", b"the head of the request did not come in time")

    def _refuse(self, status: bytes, detail: bytes) -> None:
        if self.transport.is_closing():
            return
        number, _, title = status.partition(b" ")
        body = b'{"type":"about:blank","title":"%b","status":%b,"detail":"%b"}' % (title, number, detail)
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%b" % (status, len(body), body)
        )
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP at all."""
        self._refuse(b"400 Bad Request", msg.encode("ascii", "replace"))


def with_lane(lane: Lane) -> type[BoundedProtocol]:
    """The protocol of connections that answer look-ups at once."""
    return type("LaneProtocol", (BoundedProtocol,), {"lane": lane})
