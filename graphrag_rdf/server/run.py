"""uvicorn with the app: its configuration, its address, its start, and an orderly stop within limits.

A stop finishes writes, lets clients take their answers, and ends all. Each part has a time limit, after which
it is abandoned. No acknowledged write is lost: a write is one transaction, and everything else that is cut
off only reads.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import uvicorn

from graphrag_rdf.config import ServerSection
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.loopback import is_loopback
from graphrag_rdf.reader_process.process import kill_all
from graphrag_rdf.server.app import create_app
from graphrag_rdf.server.connection import HEAD_BYTES, BoundedProtocol
from graphrag_rdf.server.http.access import Access
from graphrag_rdf.server.http.browsers import Browsers
from graphrag_rdf.server.http.envelope import NoAborts
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.folder import Served

_FILES = 8192
"""Open files to ask for: connections, and those of the store, which wants as many as it was opened with."""

_CONNECTIONS, _BACKLOG = 2048, 1024
"""Concurrent connections, and those waiting to be accepted; fewer if few files may be open."""

_REST = 5
"""Seconds that a connection may be idle between two requests."""

READ_SECONDS = 60
"""A connection is closed when its client reads nothing for so long while an answer waits. Linux only."""


def serve(
    engine: Engine,
    settings: ServerSection,
    ready: Callable[[str], None],
    announce: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until a signal ends it (SIGINT, SIGTERM).

    Args:
        ready: called with the address once the port is taken.
        announce: called with each link by which a browser of this computer gets the role write, see
            `Browsers`; never if clients of the server may write anyway, or none may.

    Raises:
        UsageError: when the address cannot be listened on.
        ConfigError: when a token is unfit.
    """
    files = open_files()
    backlog = min(_BACKLOG, files // 8)
    app = create_app(engine, settings)
    listening = _listen(settings, backlog)
    url = _url(settings, listening)
    note_address(engine, url, app.state.service, app.state.access.own)
    logging.getLogger("uvicorn.error").addFilter(NoAborts())
    # malformed forms return an error to the client
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="websockets-sansio",
        ws_max_size=1 << 16,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=_REST,
        backlog=backlog,
        limit_concurrency=min(_CONNECTIONS, files // 2) + backlog,  # more are refused at once
        lifespan="on",
    )
    ready(url)
    access: Access = app.state.access
    if is_loopback(settings.host) and not engine.read_only and access.anonymous in ("nothing", "read"):
        access.browsers = Browsers(lambda token: announce(f"{url}/?token={token}"))
        announce(f"{url}/?token={access.browsers.token}")
    with listening:
        Server(config, app.state.service).run(sockets=[listening])


def leave() -> None:
    """End the process if threads are left that cannot be stopped. The store is closed; they only read."""
    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        end_now(0)


def note_address(engine: Engine, url: str, service: Service, token: str) -> None:
    """Add the address to the store's note about its holder, and a token, for other processes."""
    if engine.place is not None and not engine.read_only:
        engine.place.note_server(Served(url, service.frozen.key if service.frozen else None), token)


def open_files() -> int:
    """How many files may be open, after asking the system for more if needed.

    If the store's engine cannot open a file, it writes nothing until it is restarted. So connections must not
    use up all files.
    """
    try:
        import resource
    except ImportError:  # Windows, where connections are no files
        return _FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, most = (_FILES if limit == resource.RLIM_INFINITY else limit for limit in (soft, hard))
    if soft < (wanted := min(_FILES, most)):
        with suppress(OSError, ValueError):  # macOS has yet another limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return soft


def _listen(settings: ServerSection, backlog: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        listening = socket.create_server((settings.host, settings.port), family=family, backlog=backlog)
    except (OSError, OverflowError) as error:
        raise UsageError(
            tr("cannot listen on {host}:{port}: {error}").format(
                host=settings.host, port=settings.port, error=error
            ),
            hint=tr("use another port with --port"),
        ) from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # accepted connections inherit it
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, READ_SECONDS * 1000)
    return listening


def _url(settings: ServerSection, listening: socket.socket) -> str:
    """An address to reach it: loopback if it listens on all."""
    port = listening.getsockname()[1]
    name = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


# --- the stop ------------------------------------------------------------------------------------------

log = logging.getLogger(__name__)

WRITES = 60.0
"""Seconds that a stop waits for accepted writes; an ingest ends after its current chunk."""

GRACE = 5.0
"""Seconds from the signal, or two from the end of the writes, for running questions and queries."""

CLOSING = 15.0
"""Seconds for the end of processes, threads and the store."""

_TAKEN = 2.0
_LOOK = 0.05
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_FAILED, _INTERRUPTED = 1, 130


class Server(uvicorn.Server):
    """uvicorn's server with the stop that the module describes. A second signal ends the process at once."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._timer: threading.Timer | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal. uvicorn would also raise it again once everything is closed."""
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        del sig, frame
        if self.should_exit:
            end_now(_INTERRUPTED)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See the module."""
        begun = time.monotonic()
        if self._service.writes.waiting or self.server_state.tasks:
            log.warning("stopping after running requests; once more to stop at once")
        self._end_in(
            WRITES,
            _FAILED,
            f"a write that took longer than {WRITES:g} s was abandoned; nothing of it was stored",
        )
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._service.finish_writes()
        self._end_in(GRACE + CLOSING, 0, "threads that do not end were abandoned")
        await self._answered(max(_TAKEN, begun + GRACE - time.monotonic()))
        await self._cut_off()
        await self.lifespan.shutdown()

    def _end_in(self, seconds: float, code: int, why: str) -> None:
        """End the process then, whatever else it does; `why` is logged."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, _late, (code, why))
        self._timer.daemon = True
        self._timer.start()

    async def _answered(self, seconds: float) -> None:
        """Wait until all clients have their answers."""
        end = time.monotonic() + seconds
        while (self.server_state.connections or self.server_state.tasks) and time.monotonic() < end:
            await asyncio.sleep(_LOOK)

    async def _cut_off(self) -> None:
        """Disconnect the remaining clients."""
        connections = list(self.server_state.connections)
        if connections or self.server_state.tasks:
            log.warning("requests that did not end in time were cut off: %s", len(connections))
        for connection in connections:
            if isinstance(connection, BoundedProtocol):
                connection.give_up()
            else:
                connection.transport.abort()
        await self._answered(1)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        for task in list(self.server_state.tasks):
            task.cancel()


def end_now(code: int) -> None:
    """End the process and its reader processes without waiting for any thread."""
    kill_all()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, RuntimeError):  # closed, or in use by what was interrupted
            continue
    os._exit(code)


def _late(code: int, why: str) -> None:
    log.warning("%s", why)
    end_now(code)
