"""uvicorn over the app: started with what the settings say, stopped in order."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable
from typing import Any

from graphrag_rdf.config import ServerSection
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError

_BACKLOG = 1024
_CONNECTIONS = 2048


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
    from graphrag_rdf.server.ending import Server
    from graphrag_rdf.server.envelope import NoAborts
    from graphrag_rdf.server.outposts import REST

    app = create_app(engine, settings)
    lane = app.state.lane
    listening = _listen(settings)
    url = _url(settings, listening)
    note_address(engine, url)
    logging.getLogger("uvicorn.error").addFilter(NoAborts())
    config = uvicorn.Config(
        app,
        http=with_lane(lane) if lane is not None and not settings.trusted_proxies else BoundedProtocol,
        ws="websockets-sansio",
        ws_max_size=1 << 16,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_keep_alive=int(REST),
        backlog=_BACKLOG,
        limit_concurrency=_CONNECTIONS,
        lifespan="on",
    )
    ready(url)
    with listening:
        Server(config, app.state.service).run(sockets=[listening])


def leave() -> None:
    """End the process where threads are left that nothing can end: the store is closed, they only read."""
    from graphrag_rdf.server.ending import end_now

    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        end_now(0)


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
