"""Checks of every request before its route, WebSockets included: host, origin, token, rate.

Any web page that the user opens may send requests to a server on loopback. Pages of other sites are
detected by Origin and Sec-Fetch-Site, names that were rebound to our address (DNS rebinding) by Host.
"""

from __future__ import annotations

import ipaddress
import time
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from graphrag_rdf import loopback
from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.access import Access
from graphrag_rdf.server.http.problems import Problem

_ANY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, not listened on
_FOREIGN = (b"cross-site", b"same-site")
_READING = ("GET", "HEAD")


class Gate:
    """Decides whether a request may pass.

    Args:
        hosts: allowed names in Host, without ports.
        origins: sites whose pages may send requests; `*` for any.
    """

    def __init__(self, *, hosts: frozenset[str], origins: frozenset[str], access: Access, rate: Rate) -> None:
        self._hosts = hosts
        self._origins = origins
        self._access = access
        self._rate = rate
        self._check_place = lru_cache(maxsize=256)(self._place)

    def check(self, scope: Scope) -> None:
        """Check a request, and put its client and role into its state.

        Raises:
            Problem: it may not pass.
        """
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        by_name = dict(headers)
        if sum(name == b"host" for name, _ in headers) != 1:
            raise Problem(400, tr("a request must name exactly one host"))
        reads = scope.get("method", "GET") in _READING  # a WebSocket begins as a GET
        place = map(by_name.get, (b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode"))
        self._check_place(*place, reads)
        self.count(scope)  # before the token: guessing is slow
        role, token = self._access.identify(by_name.get(b"authorization"), by_name.get(b"cookie"))
        scope.setdefault("state", {}).update(role=role, token=token, client=token or _address(scope))

    def count(self, scope: Scope) -> None:
        """Count a request of a client; each message of a WebSocket is one.

        Raises:
            Problem: 429 when there were too many.
        """
        self._rate.take(_address(scope))

    def _place(
        self, host: bytes | None, origin: bytes | None, site: bytes | None, mode: bytes | None, reads: bool
    ) -> None:
        """Check that a request uses a name of this server, and comes from no page of another site.

        A link on another site is allowed: it only reads. A form is not: it sends its Origin.
        """
        name = (host or b"").decode("latin-1")
        if host_name(name) is None:
            raise Problem(400, tr("a request must name exactly one host"))
        if host_name(name) not in self._hosts:
            raise Problem(
                421,
                tr("this server is not called {name!r}").format(name=name),
                hint=tr("allow the name with: graphrag-rdf serve --allow-host NAME"),
            )
        if origin is not None:
            page = origin.decode("latin-1")
            own = page in (f"http://{name}", f"https://{name}")
            if not own and page not in self._origins and "*" not in self._origins:
                raise Problem(
                    403,
                    tr("pages of {page} may not send requests to this server").format(page=page),
                    hint=tr("allow them with serve --cors"),
                )
        elif site in _FOREIGN and not (reads and (mode == b"navigate" or self._origins)):
            raise Problem(403, tr("pages of other sites may not send requests to this server"))


class Guard:
    """ASGI middleware that passes a request on or refuses it."""

    def __init__(self, app: ASGIApp, *, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            self._gate.check(scope)
        except Problem as problem:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": problem.detail[:120]})
            else:
                await problem.response_to(scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else "local"


@lru_cache(maxsize=256)
def host_name(header: str) -> str | None:
    """The name in a Host header, in lower case and without port and brackets; None when it is malformed."""
    try:
        parts = urlsplit(f"//{header}")
        name, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if not name or parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    return name.rstrip(".")


def known_hosts(listening: str, allowed: Iterable[str]) -> frozenset[str]:
    """The names of a server that listens on an address.

    If it listens on all addresses, they must be listed: an open port does not allow any name.
    """
    names = {*loopback.NAMES, *(name.lower().rstrip(".") for name in allowed)}
    if listening not in _ANY_ADDRESS:
        names.add(_plain(listening))
    return frozenset(names)


def _plain(address: str) -> str:
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address.lower()


# --- limits of one client ------------------------------------------------------------------------------

_CLIENTS = 10_000
"""Clients that are remembered; the least recent one is dropped."""


class Rate:
    """A bucket of tokens for each client (token bucket): bursts up to a minute's worth.

    Args:
        per_minute: requests; None for any number.
    """

    def __init__(self, per_minute: int | None) -> None:
        self.per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count one request.

        Raises:
            Problem: 429 with Retry-After when there were too many.
        """
        if self.per_minute is None:
            return
        moment = time.monotonic()
        level, then = self._buckets.pop(client, (float(self.per_minute), moment))
        level = min(self.per_minute, level + (moment - then) * self.per_minute / 60)
        if level < 1:
            self._buckets[client] = level, moment
            wait = int((1 - level) * 60 / self.per_minute) + 1
            raise Problem(
                429,
                tr("more than {per_minute} requests in a minute").format(per_minute=self.per_minute),
                headers={"Retry-After": str(wait)},
            )
        self._buckets[client] = level - 1, moment
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)


class Concurrency:
    """Counts the queries that each client has running.

    Args:
        limit: of one client.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._running: Counter[str] = Counter()

    @contextmanager
    def slot(self, client: str) -> Iterator[None]:
        """Hold one place.

        Raises:
            Problem: 429 with Retry-After when all places are taken.
        """
        self.enter(client)
        try:
            yield
        finally:
            self.leave(client)

    def enter(self, client: str) -> None:
        """Take a place; see `slot`."""
        if self._running[client] >= self._limit:
            raise Problem(
                429,
                tr("you have {limit} queries running already").format(limit=self._limit),
                headers={"Retry-After": "1"},
            )
        self._running[client] += 1

    def leave(self, client: str) -> None:
        """Give a place back."""
        self._running[client] -= 1
        if self._running[client] <= 0:
            del self._running[client]
