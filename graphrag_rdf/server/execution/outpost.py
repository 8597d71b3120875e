"""An outpost: a process to which connections move whose clients only look things up.

Started as `python -m graphrag_rdf.server.execution.outpost FD NEWEST MEGABYTES SECONDS`: its end of a socket
pair, a file with the number of the newest commit, the memory it may hold, how long a connection may rest.

It answers from a snapshot, and only while that is the newest commit. A request of any other kind, a head
unlike the one that was let in, an error, half a request, an answer that the client does not take: the
connection goes back to the server, with what was read and what is to be sent. So an outpost decides nothing.
All of them go back when it is told to end (SIGTERM), or holds so much that it soon had to be killed.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from email.utils import formatdate

import httptools
import pyoxigraph as ox

from graphrag_rdf.server.execution import wire
from graphrag_rdf.server.execution.lookup import lookup_of
from graphrag_rdf.server.execution.memory import Memory, limit_address_space, watch
from graphrag_rdf.server.execution.quick import answer, text_of
from graphrag_rdf.server.execution.ticket import (
    GIVE,
    LEAVE,
    NUMBER,
    TAKE,
    TAKEN,
    TOLD,
    Ticket,
    constant,
    parcel,
    received,
)
from graphrag_rdf.server.http.identifiers import identifier_of

_READ = 1 << 16
_TELL = 0.5
_FULL = 0.75
"""Of the memory that it may hold; with more it leaves."""


class _Request:
    """What the parser says of one piece of input."""

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""

    def on_message_begin(self) -> None:
        self.begun += 1

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.ended += 1


@dataclass(slots=True, eq=False)
class _Connection:
    socket: socket.socket
    ticket: Ticket
    spoke: float


class Outpost:
    """See the module.

    Attributes:
        leaving: set from outside: it is to end.

    Args:
        server: the way to it.
        newest: holds the number of the newest commit.
        patience: seconds that a connection may rest.
        memory: what the process holds.
        limit_mb: what it may hold, in 2^20 bytes.
    """

    def __init__(
        self, server: socket.socket, newest: mmap.mmap, patience: float, memory: Memory, limit_mb: int
    ) -> None:
        self.leaving = False
        self._server = server
        self._newest = newest
        self._patience = patience
        self._memory = memory
        self._full = limit_mb * _FULL
        self._frames = wire.Frames()
        self._arrived: deque[int] = deque()
        self._selector = selectors.DefaultSelector()
        self._open: set[_Connection] = set()
        self._store: ox.Store | None = None
        self._place = ""
        self._times: dict[str, list[float]] = {}
        self._closed = 0
        self._date = 0, b""

    def run(self) -> None:
        """Answer until the server closes, or lets it leave."""
        self._selector.register(self._server, selectors.EVENT_READ)
        self._server.sendall(wire.frame(wire.READY))
        tell = time.monotonic() + _TELL
        while True:
            for key, _ in self._selector.select(_TELL):
                if key.data is not None:
                    self._attend(key.data)
                elif not self._listen():
                    self._give_all()
                    return
            if time.monotonic() >= tell:
                self._close_resting()
                self._tell()
                tell = time.monotonic() + _TELL
                if self.leaving or self._memory.megabytes > self._full:
                    self._server.sendall(wire.frame(LEAVE))

    # --- the server ------------------------------------------------------------------------------------

    def _listen(self) -> bool:
        """Whether the server is still there."""
        try:
            data, fds = received(self._server)
        except OSError:
            return False
        self._arrived.extend(fds)
        for kind, payload in self._frames.feed(data):
            if kind == TAKE:
                self._take(socket.socket(fileno=self._arrived.popleft()), payload)
            else:
                self._store, self._place = None, ""
        return bool(data)

    def _take(self, connection: socket.socket, payload: bytes) -> None:
        place, ticket = Ticket.unpacked(payload)
        self._server.sendall(wire.frame(TAKEN))
        connection.setblocking(False)
        found = _Connection(connection, ticket, time.monotonic())
        self._selector.register(connection, selectors.EVENT_READ, found)
        self._open.add(found)
        if place == self._place:
            return
        self._store, self._place = None, ""
        try:
            self._store, self._place = ox.Store.read_only(place), place
        except (OSError, RuntimeError, ValueError):  # dropped for a newer one: connections go back
            return

    def _tell(self) -> None:
        """What was done; while there are connections, also that nothing was."""
        if self._times or self._closed or self._open:
            self._server.sendall(wire.json_frame(TOLD, [self._closed, self._times]))
            self._times, self._closed = {}, 0

    # --- connections -----------------------------------------------------------------------------------

    def _attend(self, connection: _Connection) -> None:
        start, ticket = time.perf_counter(), connection.ticket
        try:
            data = connection.socket.recv(_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(connection)
            return
        response = self._response(ticket, data)
        if response is None:
            self._give(connection, b"", data)
            return
        try:
            sent = connection.socket.send(response)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._close(connection)
            return
        times = self._times.setdefault(f"{ticket.method} {ticket.path}", [])
        times.append(round(time.perf_counter() - start, 6))
        connection.spoke = time.monotonic()
        if sent < len(response):
            self._give(connection, response[sent:], b"")

    def _response(self, ticket: Ticket, data: bytes) -> bytes | None:
        """The answer to what a client sent; None for what the server is to look at."""
        request = _Request()
        parser = httptools.HttpRequestParser(request)
        try:
            parser.feed_data(data)
            if request.begun != 1 or request.ended != 1 or parser.get_http_version() != "1.1":
                return None
            url = httptools.parse_url(request.url)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return None
        method = parser.get_method().decode("ascii")
        headers = dict(request.headers)
        if (
            constant(request.headers) != ticket.headers
            or len(headers) != len(request.headers)
            or url.path != ticket.path.encode()
            or method != ticket.method
            or not parser.should_keep_alive()
        ):
            return None
        text = text_of(method, url.query or b"", headers, request.body)
        found = self._look_up(text, ticket) if text is not None else None
        if found is None:
            return None
        return b"HTTP/1.1 200 OK\r\n%b%bx-request-id: %b\r\ncontent-length: %d\r\n\r\n%b" % (
            self._now(),
            ticket.lines,
            identifier_of(headers.get(b"x-request-id", b"")),
            len(found),
            found,
        )

    def _look_up(self, text: str, ticket: Ticket) -> bytes | None:
        (newest,) = NUMBER.unpack_from(self._newest)
        if self._store is None or newest != ticket.commit:
            return None
        try:
            lookup = lookup_of(text)
            job = replace(ticket.job, text=text)
            found = answer(self._store, job, lookup) if lookup is not None else None
        except MemoryError:
            os._exit(wire.MEMORY_EXIT)
        except Exception:  # noqa: BLE001 - whatever it is, the server meets it again, and tells it
            return None
        return None if found is None else found[1]

    def _now(self) -> bytes:
        now = int(time.time())
        if self._date[0] != now:
            self._date = now, b"date: %b\r\n" % formatdate(now, usegmt=True).encode()
        return self._date[1]

    def _give(self, connection: _Connection, unsent: bytes, unread: bytes) -> None:
        """Give a connection back to the server."""
        self._selector.unregister(connection.socket)
        self._open.discard(connection)
        data = wire.frame(GIVE, parcel(unsent, unread))
        sent = socket.send_fds(self._server, [data], [connection.socket.fileno()])
        self._server.sendall(data[sent:])
        connection.socket.close()

    def _give_all(self) -> None:
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RD)  # so that nothing more is sent here while the process ends
        self._tell()
        for connection in list(self._open):
            self._give(connection, b"", b"")

    def _close(self, connection: _Connection) -> None:
        self._selector.unregister(connection.socket)
        self._open.discard(connection)
        self._closed += 1
        connection.socket.close()

    def _close_resting(self) -> None:
        late = time.monotonic() - self._patience
        for connection in [found for found in self._open if found.spoke < late]:
            try:
                connection.socket.recv(1, socket.MSG_PEEK)  # has spoken, while others were attended to
            except OSError:
                self._close(connection)


def main() -> None:
    """Run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes the connection
    fd, newest, limit_mb, patience = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    server = socket.socket(fileno=fd)
    limit_address_space(limit_mb)
    memory = Memory()
    threading.Thread(target=watch, args=(limit_mb, os.getppid(), memory), daemon=True).start()
    number = mmap.mmap(newest, NUMBER.size, access=mmap.ACCESS_READ)
    outpost = Outpost(server, number, patience, memory, limit_mb)

    def leave(*_: object) -> None:
        outpost.leaving = True

    signal.signal(signal.SIGTERM, leave)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        outpost.run()


if __name__ == "__main__":
    main()
