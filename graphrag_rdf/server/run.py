"""uvicorn over the app: started with what the settings say, stopped in order."""

from __future__ import annotations

import json
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graphrag_rdf.config import ServerSection
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError

if TYPE_CHECKING:
    import uvicorn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_BACKLOG = 1024
_CONNECTIONS = 2048
_GRACE = 30
"""Seconds that a stop waits for what is under way."""


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
    from graphrag_rdf.server.connection import BoundedProtocol, with_lane
    from graphrag_rdf.server.envelope import NoAborts

    app = create_app(engine, settings)
    listening = _listen(settings)
    url = _url(settings, listening)
    note_address(engine, url)
    logging.getLogger("uvicorn.error").addFilter(NoAborts())
    config = uvicorn.Config(
        app,
        http=BoundedProtocol if settings.trusted_proxies else with_lane(app.state.lane),
        ws="websockets-sansio",
        ws_max_size=1 << 16,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=_GRACE,
        backlog=_BACKLOG,
        limit_concurrency=_CONNECTIONS,
        lifespan="on",
    )
    ready(url)
    with listening:
        _quiet(uvicorn.Server(config)).run(sockets=[listening])


def _quiet(server: uvicorn.Server) -> uvicorn.Server:
    """Let a signal end the server and no more: uvicorn would raise it again once everything is closed."""

    @contextmanager
    def capture_signals() -> Iterator[None]:
        before = {number: signal.signal(number, server.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    server.capture_signals = capture_signals  # type: ignore[method-assign]
    return server


def note_address(engine: Engine, url: str) -> None:
    """Write the address beside the note of who holds the store, for other processes that want it."""
    if engine.place is None or engine.read_only:
        return
    holder = engine.place.holder
    note: dict[str, Any] = json.loads(holder.read_text("utf-8"))
    holder.write_text(json.dumps({**note, "url": url}), encoding="utf-8")


def _listen(settings: ServerSection) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"{settings.host}:{settings.port} cannot be listened on: {error}", hint="take another with --port"
        ) from error


def _url(settings: ServerSection, listening: socket.socket) -> str:
    """An address that it answers to: one that listens everywhere is found on loopback."""
    port = listening.getsockname()[1]
    name = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"
