"""uvicorn with the app: its configuration, its address, its start and end."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from graphrag_rdf.config import ServerSection
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError

_FILES = 8192
"""Open files to ask for: connections, and those of the store, which wants as many as it was opened with."""

_CONNECTIONS, _BACKLOG = 2048, 1024
"""Concurrent connections, and those waiting to be accepted; fewer if few files may be open."""

_REST = 5
"""Seconds that a connection may be idle between two requests."""

READ_SECONDS = 60
"""A connection is closed when its client reads nothing for so long while an answer waits. Linux only."""


def serve(engine: Engine, settings: ServerSection, ready: Callable[[str], None]) -> None:
    """Serve until a signal ends it (SIGINT, SIGTERM).

    Args:
        ready: called with the address once the port is taken.

    Raises:
        UsageError: when the address cannot be listened on.
        ConfigError: when a token is unfit.
    """
    import uvicorn

    from graphrag_rdf.server.app import create_app
    from graphrag_rdf.server.connection import HEAD_BYTES, BoundedProtocol
    from graphrag_rdf.server.http.envelope import NoAborts
    from graphrag_rdf.server.shutdown import Server

    files = open_files()
    backlog = min(_BACKLOG, files // 8)
    app = create_app(engine, settings)
    listening = _listen(settings, backlog)
    url = _url(settings, listening)
    note_address(engine, url)
    logging.getLogger("uvicorn.error").addFilter(NoAborts())
    logging.getLogger("python_multipart").setLevel(
        logging.ERROR
    )  # malformed forms return an error to the client
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
    with listening:
        Server(config, app.state.service).run(sockets=[listening])


def leave() -> None:
    """End the process if threads are left that cannot be stopped. The store is closed; they only read."""
    from graphrag_rdf.server.shutdown import end_now

    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        end_now(0)


def note_address(engine: Engine, url: str) -> None:
    """Add the address to the store's note about its holder, for other processes."""
    if engine.place is None or engine.read_only:
        return
    holder = engine.place.holder
    note: dict[str, Any] = json.loads(holder.read_text("utf-8"))
    holder.write_text(json.dumps({**note, "url": url}), encoding="utf-8")


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
            f"cannot listen on {settings.host}:{settings.port}: {error}", hint="use another port with --port"
        ) from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # accepted connections inherit it
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, READ_SECONDS * 1000)
    return listening


def _url(settings: ServerSection, listening: socket.socket) -> str:
    """An address to reach it: loopback if it listens on all."""
    port = listening.getsockname()[1]
    name = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"
