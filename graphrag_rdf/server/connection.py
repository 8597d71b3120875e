"""Connections: uvicorn's HTTP protocol with limits on headers, and on how long clients may take.

uvicorn bounds neither the size of headers (with httptools) nor the time that a client takes to send them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from graphrag_rdf.server.http.upgrades import UnmovedProtocol

HEAD_BYTES = 1 << 16
"""Request line and headers together; a query by GET is in the former."""

HEAD_SECONDS = 10.0
"""From the first byte of a request to the end of its headers. Also for who sends after an answer what is no
request: the rest of a body that nobody waits for, an empty line."""

READ_SECONDS = 60.0
"""A client that takes nothing of its answer for so long is let go of, with what waits for it."""

_LISTS = frozenset((b"accept", b"accept-encoding", b"if-match", b"if-none-match"))
"""Headers that may come in several lines, which are one list (RFC 9110 §5.3)."""


class BoundedProtocol(UnmovedProtocol):
    """See the module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes: int | None = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._untaken = 0
        self._body_bytes = 0
        self._untaken_timer: asyncio.TimerHandle | None = None
        self._refusal: bytes | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        most = self.config.limit_concurrency
        if most is not None and len(self.connections) > most - self.config.backlog:
            self._refuse(b"503 Service Unavailable", b"too many connections")
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """A client has gone."""
        self._stop_timer()
        self._stop_watching()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Part of a request."""
        if self._refusal is not None:
            return  # what follows a request that was refused is none
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > HEAD_BYTES:
            self._refuse(b"431 Request Header Fields Too Large", b"the head of the request is too large")
        if self._head_bytes is None and self._rests() and self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _rests(self) -> bool:
        """Whether all that was asked is answered, so that uvicorn's own clock ran before these bytes came."""
        return (self.cycle is None or self.cycle.response_complete) and self.timeout_keep_alive_task is None

    # --- a stop: see `ending` --------------------------------------------------------------------------

    def body_so_far(self) -> int | None:
        """Bytes of the body that the server waits for; None when it waits for none."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.more_body:
            return None
        return None if self.flow.read_paused else self._body_bytes

    def give_up(self) -> None:
        """Part with the client; who got nothing of an answer yet is told."""
        if self.cycle is None or self.cycle.response_started or self.pipeline:
            self.transport.abort()
        else:
            self._refusal = _refusal(b"503 Service Unavailable", b"the server is stopping")
            self._send_refusal()

    def on_body(self, body: bytes) -> None:
        """Part of a body."""
        if self._refusal is None:
            self._body_bytes += len(body)
            super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        if self._refusal is None:
            super().on_message_complete()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        if self._head_bytes is None and self._refusal is None:
            self._await_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; a trailer, which comes after the body, is none (RFC 9110, section 6.5.1)."""
        if self._head_bytes is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head of a request is whole."""
        if self._refusal is not None:
            return
        self._stop_timer()
        head = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        self._head_bytes = None
        if head > HEAD_BYTES:
            self._refuse(b"431 Request Header Fields Too Large", b"the head of the request is too large")
            return
        names = [name for name, _ in self.headers if name in _LISTS]
        if len(names) > 1 and len(set(names)) < len(names):
            _join_lists(self.headers)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """An answer is whole; the close of a connection waits for nobody who leaves it unread."""
        super().on_response_complete()
        if self._refusal is not None and not self._is_busy():
            self._send_refusal()
        if self.transport.is_closing():
            self._watch_reading()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing more was asked."""
        super().timeout_keep_alive_handler()
        self._watch_reading()

    def pause_writing(self) -> None:
        """The client takes less than it is given."""
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        """The client has taken most of it."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop_watching()

    def _watch_reading(self) -> None:
        if self._untaken_timer is None and (untaken := self.transport.get_write_buffer_size()):
            self._untaken = untaken
            self._untaken_timer = self.loop.call_later(READ_SECONDS, self._still_untaken)

    def _stop_watching(self) -> None:
        if self._untaken_timer is not None:
            self._untaken_timer.cancel()
            self._untaken_timer = None

    def _still_untaken(self) -> None:
        self._untaken_timer = None
        if self.transport.get_write_buffer_size() < self._untaken:
            self._watch_reading()
        else:
            self.transport.abort()

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

    def _is_busy(self) -> bool:
        """Whether what was asked before is not answered yet."""
        return bool(self.pipeline) or (self.cycle is not None and not self.cycle.response_complete)

    def _refuse(self, status: bytes, detail: bytes) -> None:
        """Refuse what came last, and take no more; what came before it is answered first."""
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
        assert self._refusal is not None  # noqa: S101 - the callers see to it
        self.transport.write(self._refusal)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP at all."""
        self._refuse(b"400 Bad Request", msg.encode("ascii", "replace"))


def _refusal(status: bytes, detail: bytes) -> bytes:
    number, _, title = status.partition(b" ")
    body = b'{"type":"about:blank","title":"%b","status":%b,"detail":"%b"}' % (title, number, detail)
    return (
        b"HTTP/1.1 %b\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n"
        b"connection: close\r\n\r\n%b" % (status, len(body), body)
    )


def _join_lists(headers: list[tuple[bytes, bytes]]) -> None:
    lists: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name in _LISTS:
            lists.setdefault(name, []).append(value)
    rest = [header for header in headers if header[0] not in _LISTS]
    headers[:] = [*rest, *((name, b", ".join(values)) for name, values in lists.items())]
