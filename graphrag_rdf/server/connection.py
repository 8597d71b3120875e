"""Connections: uvicorn's HTTP protocol (with h11), safe without a proxy in front of it.

uvicorn limits neither the time that a request's head takes, nor the number of idle connections; and its
refusals are no problem documents. h11 limits the size of heads.

These are the only extensions of uvicorn's internals; `pyproject.toml` bounds its version.
"""

from __future__ import annotations

import asyncio
import json
import sys
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_BYTES = 1 << 16
"""Request line and headers together, while they are incomplete; a query by GET is in the former."""

HEAD_SECONDS = 10.0
"""From the first byte of a request to the end of its headers."""


class BoundedProtocol(H11Protocol):
    """See the module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A new connection."""
        super().connection_made(transport)
        most = self.config.limit_concurrency
        if most is not None and len(self.connections) > most - self.config.backlog:
            self._refuse(503, "too many connections")
        else:
            self._time_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Part of a request."""
        if not self.transport.is_closing():  # bytes after a refused request are no request
            super().data_received(data)
            self._time_head()

    def handle_events(self) -> None:
        """What h11 has read."""
        try:
            super().handle_events()
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint, str(error))

    def on_response_complete(self) -> None:
        """A response is complete; part of the next request may have come."""
        super().on_response_complete()
        if self.conn.trailing_data[0] and not self._is_busy():
            self._unset_keepalive_if_required()
            self._time_head()

    def _should_upgrade(self) -> bool:
        """Called for each request."""
        target = len(self.scope["raw_path"]) + len(self.scope["query_string"])
        if target + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEAD_BYTES:
            raise h11.RemoteProtocolError("the head of the request is too large", 431)
        return super()._should_upgrade()

    def _time_head(self) -> None:
        """Wait for the rest of a head, but not for long; likewise for a body that nobody reads any more."""
        if self._is_busy() or self.transport.get_protocol() is not self:  # a WebSocket by now
            self._stop_timer()
        elif self._head_timer is None:
            late = 408, "the head of the request did not come in time"
            unread = self.conn.their_state is not h11.IDLE
            self._head_timer = (
                self.loop.call_later(HEAD_SECONDS, self.transport.close)
                if unread
                else self.loop.call_later(HEAD_SECONDS, self._refuse, *late)
            )

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _is_busy(self) -> bool:
        """Whether a request is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _unsupported_upgrade_warning(self) -> None:
        """Java's HTTP client offers HTTP/2 with the first request of each connection."""

    # --- refusals --------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """The bytes are not HTTP; called while h11's error is handled."""
        error = sys.exc_info()[1]
        hint = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self._refuse(hint, f"{msg} {error or ''}".strip())

    def _refuse(self, status: int, detail: str) -> None:
        """Refuse the request that is being read, and close the connection."""
        self._stop_timer()
        if self._is_busy() and self.cycle.response_started:
            self.transport.abort()
            return
        if self._is_busy():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(_refusal(status, detail))
        self.transport.close()

    def give_up(self) -> None:
        """The server is stopping: a client that waits for an answer gets 503."""
        if self._is_busy():
            self._refuse(503, "the server is stopping")
        else:
            self.transport.abort()


def _refusal(status: int, detail: str) -> bytes:
    title = HTTPStatus(status).phrase
    body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail}).encode()
    return (
        f"HTTP/1.1 {status} {title}\r\ncontent-type: application/problem+json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    ).encode() + body
