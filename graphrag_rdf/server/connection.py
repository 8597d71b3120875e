"""Connections: uvicorn's HTTP protocol, safe without a proxy in front of it.

uvicorn (with httptools) limits neither the size of a request's head, nor the time that it takes, nor the
number of idle connections. A request that offers another protocol than WebSocket (RFC 9110 §7.8) loses its
body: the parser takes each offer for accepted. Java's HTTP client offers HTTP/2 (`Upgrade: h2c`) with the
first request of every connection. So such a request is parsed again without the offer.

These are the only extensions of uvicorn's internals; `pyproject.toml` bounds its version.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 1 << 16
"""Request line and headers together; a query by GET is in the former."""

HEAD_SECONDS = 10.0
"""From the first byte of a request to the end of its headers. The same for bytes after a response that are no
request: the rest of a body that was not read, empty lines."""

_OF_AN_OFFER = (b"upgrade", b"http2-settings")
_TOO_LARGE = b"431 Request Header Fields Too Large", b"the head of the request is too large"


class BoundedProtocol(HttpToolsProtocol):
    """See the module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes: int | None = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._refusal: bytes | None = None

    # --- what comes ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A new connection."""
        super().connection_made(transport)
        most = self.config.limit_concurrency
        if most is not None and len(self.connections) > most - self.config.backlog:
            self._refuse(b"503 Service Unavailable", b"too many connections")
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Part of a request."""
        if self._refusal is not None:
            return  # bytes after a refused request are no request
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        self._parse(data)
        if self._head_bytes is not None and self._head_bytes > HEAD_BYTES:
            self._refuse(*_TOO_LARGE)
        if self._head_bytes is None and self._rests() and self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _parse(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
            except httptools.HttpParserUpgrade as offer:
                if self._should_upgrade():
                    self.handle_websocket_upgrade()
                elif self.parser.get_method() == b"CONNECT":
                    self.send_400_response("CONNECT is for proxies, and this is none.")
                else:
                    data = self._head_without_offer() + data[offer.args[0] :]
                    self.parser = httptools.HttpRequestParser(self)
                    self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
                    continue
            return

    def _rests(self) -> bool:
        """Whether all requests are answered, so that uvicorn's own timer ran before these bytes came."""
        return (self.cycle is None or self.cycle.response_complete) and self.timeout_keep_alive_task is None

    # --- callbacks of the parser -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        if self._head_bytes is None and self._refusal is None:
            self._await_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; trailers, which come after the body, are ignored (RFC 9110 §6.5.1)."""
        if self._head_bytes is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head of a request is complete."""
        if self._is_ignored():
            return
        self._stop_timer()
        head = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        self._head_bytes = None
        if head > HEAD_BYTES:
            self._refuse(*_TOO_LARGE)
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Part of a body."""
        if not self._is_ignored():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is complete."""
        if not self._is_ignored():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """A response is complete."""
        super().on_response_complete()
        if self._refusal is not None and not self._is_busy():
            self._send_refusal()

    def _is_ignored(self) -> bool:
        """Whether a request was refused, or will be parsed again without its offer."""
        offers = bool(self.parser.should_upgrade()) and not self._should_upgrade()
        return offers or self._refusal is not None

    def _head_without_offer(self) -> bytes:
        version = self.parser.get_http_version().encode("ascii")
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        for name, value in self.headers:
            if name == b"connection":
                kept = [word for word in value.split(b",") if word.strip().lower() not in _OF_AN_OFFER]
                lines += [b"connection: " + b",".join(kept)] if kept else []
            elif name not in _OF_AN_OFFER:
                lines.append(b"%b: %b" % (name, value))
        return b"\r\n".join([*lines, b"", b""])

    # --- refusals --------------------------------------------------------------------------------------

    def _await_head(self) -> None:
        self._stop_timer()
        self._head_bytes = 0
        late = b"408 Request Timeout", b"the head of the request did not come in time"
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._refuse, *late)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _is_busy(self) -> bool:
        """Whether an earlier request is not answered yet."""
        return bool(self.pipeline) or (self.cycle is not None and not self.cycle.response_complete)

    def _refuse(self, status: bytes, detail: bytes) -> None:
        """Refuse the last request, after the answers to earlier ones, and close the connection."""
        if self.transport.is_closing() or self._refusal is not None:
            return
        self._refusal = _refusal(status, detail)
        self._stop_timer()
        if not self._is_busy():
            self._send_refusal()
        elif self.cycle.more_body:  # the end of its body will never come
            if self.pipeline or self.cycle.response_started:
                self.transport.abort()
            else:
                self._send_refusal()

    def _send_refusal(self) -> None:
        assert self._refusal is not None  # noqa: S101 - the callers set it
        self.transport.write(self._refusal)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """The bytes are not HTTP."""
        self._refuse(b"400 Bad Request", msg.encode("ascii", "replace"))

    def give_up(self) -> None:
        """The server is stopping: a client that waits for an answer gets 503."""
        if self.cycle is None or self.cycle.response_started or self.pipeline:
            self.transport.abort()
        else:
            self._refusal = _refusal(b"503 Service Unavailable", b"the server is stopping")
            self._send_refusal()


def _refusal(status: bytes, detail: bytes) -> bytes:
    number, _, title = status.partition(b" ")
    body = b'{"type":"about:blank","title":"%b","status":%b,"detail":"%b"}' % (title, number, detail)
    return (
        b"HTTP/1.1 %b\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n"
        b"connection: close\r\n\r\n%b" % (status, len(body), body)
    )
