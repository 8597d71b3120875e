"""A SPARQL endpoint over HTTP: where it is, how long one waits for it, and what its refusals mean."""

from __future__ import annotations

import http.client
import logging
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from graphrag_rdf.errors import StoreError, UsageError
from graphrag_rdf.loopback import is_loopback

if TYPE_CHECKING:
    from graphrag_rdf.store.wrapper import Reply

log = logging.getLogger(__name__)

RESULTS = "application/sparql-results+json"
GRAPH = "application/n-triples, text/turtle;q=0.5"
_ANYTHING = "*/*"

_PASSING = frozenset({429, 502, 503, 504})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0
_RDF4J = re.compile(r"/repositories/[^/]+\Z")


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """How an endpoint is spoken to.

    Attributes:
        user, password: of HTTP Basic authentication.
        token: of HTTP Bearer authentication.
        timeout: seconds for one request.
        retries: of a request that failed for a reason that may pass.
        batch_quads, batch_bytes: what one update request holds at most.
    """

    user: str | None = None
    password: str | None = None
    token: str | None = None
    timeout: float = 60.0
    retries: int = 5
    batch_quads: int = 5_000
    batch_bytes: int = 4 << 20

    def __repr__(self) -> str:
        return f"RemoteSettings(timeout={self.timeout}, retries={self.retries}, …)"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where queries and updates go."""

    query: str
    update: str

    @classmethod
    def of(cls, url: str, query: str | None = None, update: str | None = None) -> Addresses:
        """The addresses of an endpoint.

        Args:
            url: of a server (`/query` and `/update` are added), of what takes queries, or of both.
            query, update: given explicitly; they win.

        Raises:
            UsageError: when one is no address, or holds a password.
        """
        for each in filter(None, (url, query, update)):
            _check(each)
        guessed = _guess(url)
        return cls(query or guessed.query, update or guessed.update)


def _check(url: str) -> None:
    parts = urlsplit(url)
    try:
        host = parts.hostname
        _ = parts.port
    except ValueError:
        host = None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError("the store's address is no http:// or https:// URL", hint="--store http://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"the address of {host} holds a user or password, which would be shown",
            hint="set GRAPHRAG_RDF_REMOTE__USER and GRAPHRAG_RDF_REMOTE__PASSWORD instead",
        )


def _guess(url: str) -> Addresses:
    """What servers do: Oxigraph and ours have /query and /update, RDF4J and GraphDB …/statements."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")

    def at(place: str) -> str:
        return urlunsplit(parts._replace(path=place))

    if not path:
        return Addresses(at("/query"), at("/update"))
    if path.endswith("/query"):
        return Addresses(url, at(path.removesuffix("query") + "update"))
    if _RDF4J.search(path):
        return Addresses(url, at(f"{path}/statements"))
    return Addresses(url, url)


class Endpoint:
    """Sends requests, again where that may help, and tells what went wrong.

    An update may be sent twice when the connection broke before its answer came: what is sent must be
    idempotent, as INSERT DATA and DELETE DATA are.
    """

    def __init__(self, addresses: Addresses, settings: RemoteSettings | None = None) -> None:
        self.addresses = addresses
        self.settings = settings or RemoteSettings()
        if self.settings.token is not None or self.settings.password is not None:
            _warn_of_listeners(addresses)

    def query(self, sparql: str, accept: str = RESULTS) -> Reply:
        """The answer to a query.

        Raises:
            UsageError: when the endpoint finds the query malformed.
            StoreError: when there is no answer.
        """
        return self._send(self.addresses.query, sparql, accept=accept, update=False, headers={})

    def update(self, sparql: str, headers: Mapping[str, str] | None = None) -> Reply:
        """Send an update.

        Raises:
            UsageError: when the endpoint finds it malformed.
            StoreError: when it is refused, or there is no answer.
        """
        return self._send(self.addresses.update, sparql, accept=_ANYTHING, update=True, headers=headers or {})

    def _send(self, url: str, text: str, *, accept: str, update: bool, headers: Mapping[str, str]) -> Reply:
        from graphrag_rdf.store.wrapper import Credentials, Request

        settings = self.settings
        request = Request(
            url,
            text,
            update=update,
            accept=accept,
            credentials=Credentials(settings.user, settings.password, settings.token),
            timeout=settings.timeout,
            headers=headers,
        )
        for attempt in range(settings.retries + 1):
            last = attempt == settings.retries
            try:
                reply = request.send()
            except TimeoutError as error:
                raise self._timed_out(url) from error
            except (OSError, http.client.HTTPException) as error:
                if isinstance(getattr(error, "reason", None), TimeoutError):
                    raise self._timed_out(url) from error
                if last:
                    raise _unreachable(url, error) from error
                self._wait(attempt, None, f"{url}: {error}")
                continue
            if reply.status in _PASSING and not last:
                self._wait(attempt, reply.headers.get("retry-after"), f"{url}: status {reply.status}")
                continue
            if reply.status >= 300:
                raise _refused(url, reply, update=update)
            return reply
        raise AssertionError("unreachable")

    def _wait(self, attempt: int, asked: str | None, why: str) -> None:
        seconds = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE) * random.uniform(0.75, 1.25)  # noqa: S311
        if asked is not None and asked.isascii() and asked.isdigit():
            seconds = min(float(asked), _LONGEST_PAUSE)
        log.info("%s; again in %.1f s", why, seconds)
        time.sleep(seconds)

    def _timed_out(self, url: str) -> StoreError:
        return StoreError(
            f"{url} did not answer within {self.settings.timeout:g} seconds",
            hint="set remote.timeout higher; what was committed before is intact",
        )


def _warn_of_listeners(addresses: Addresses) -> None:
    """Say so when whoever is on the way can read who asks."""
    parts = map(urlsplit, (addresses.query, addresses.update))
    for host in dict.fromkeys(part.hostname or "" for part in parts if part.scheme == "http"):
        if not is_loopback(host):
            log.warning("user, password or token are sent to %s without encryption; use https", host)


def _unreachable(url: str, error: Exception) -> StoreError:
    cause = getattr(error, "reason", None) or error
    cause = getattr(cause, "strerror", None) or cause  # the words without the number
    return StoreError(
        f"{url} cannot be reached: {cause}",
        hint="see whether the endpoint runs; what was committed is intact, and the same command goes on",
    )


def _refused(url: str, reply: Reply, *, update: bool) -> StoreError | UsageError:
    """What a status says, in words."""
    status, said = reply.status, f": {reply.excerpt}" if reply.excerpt and _readable(reply) else ""
    what = "update" if update else "query"
    if status == 400:
        return UsageError(f"{url} finds the {what} malformed{said}")
    if status == 401:
        return StoreError(
            f"{url} wants to know who asks (401)",
            hint="set GRAPHRAG_RDF_REMOTE__TOKEN, or GRAPHRAG_RDF_REMOTE__USER and …__PASSWORD",
        )
    if status in (403, 405) and update:
        return StoreError(
            f"{url} takes no updates from this client ({status}){said}",
            hint="the endpoint is read-only, wants another token, or takes updates at another address: "
            "remote.update_url",
        )
    if status == 403:
        return StoreError(f"{url} refuses this client (403){said}", hint="give a token or user that may read")
    if status in (404, 405):
        return StoreError(
            f"{url} takes no SPARQL ({status})", hint="set remote.query_url and remote.update_url"
        )
    if status == 413:
        return StoreError(
            f"{url} takes no {what} of this size (413)", hint="set remote.batch lower, or its limit higher"
        )
    if status < 400:
        return StoreError(
            f"{url} points elsewhere, to {reply.headers.get('location', 'nowhere')} ({status})",
            hint="name that address, if you trust it",
        )
    return StoreError(f"{url} failed to run the {what} (status {status}){said}")


def _readable(reply: Reply) -> bool:
    return "html" not in reply.media_type
