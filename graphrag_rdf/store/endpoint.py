"""A SPARQL endpoint over HTTP: where it is, how long one waits for it, and what its refusals mean."""

from __future__ import annotations

import http.client
import logging
import random
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from graphrag_rdf.errors import (
    EndpointError,
    EndpointErrorKind,
    MalformedError,
    UsageError,
    without_credentials,
)
from graphrag_rdf.loopback import is_loopback

if TYPE_CHECKING:
    from graphrag_rdf.store.wrapper import Connected, Reply, Request, Stream

log = logging.getLogger(__name__)

RESULTS = "application/sparql-results+json"
GRAPH = "application/n-triples, text/turtle;q=0.5"
_ANYTHING = "*/*"

_PASSING = frozenset({429, 502, 503, 504})
"""Statuses that may pass."""
_NOT_RUN = frozenset({429, 503})
"""Those of them by which an endpoint says that it has not begun."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0
SEE_ITS_LOG = "the endpoint's own log tells more; what was committed before is intact"
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

    @property
    def has_credentials(self) -> bool:
        """Whether the endpoint is told who asks."""
        return self.token is not None or self.user is not None

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

    What is idempotent may be sent twice when the connection broke before its answer came. An update that is
    not is sent again only where it cannot have been run. An endpoint that was out of reach for all tries is
    asked only once from then on, until it answers: who waits for it is told at once.
    """

    def __init__(self, addresses: Addresses, settings: RemoteSettings | None = None) -> None:
        self.addresses = addresses
        self.settings = settings or RemoteSettings()
        self._lost = False
        if self.settings.has_credentials:
            _warn_of_listeners(addresses)

    def query(self, sparql: str, accept: str = RESULTS) -> Reply:
        """The answer to a query.

        Raises:
            UsageError: when the endpoint finds the query malformed.
            EndpointError: when there is no answer, or the endpoint says that it is a part only.
        """
        url = self.addresses.query
        reply = self._send(url, sparql, accept=accept, update=False, headers={})
        _require_whole(reply)
        return reply

    def update(
        self, sparql: str, headers: Mapping[str, str] | None = None, *, idempotent: bool = True
    ) -> Reply:
        """Send an update.

        Args:
            idempotent: run twice it does what it does once, as INSERT DATA and DELETE DATA do.

        Raises:
            UsageError: when the endpoint finds it malformed.
            EndpointError: when it is refused, or there is no answer.
        """
        return self._send(
            self.addresses.update,
            sparql,
            accept=_ANYTHING,
            update=True,
            headers=headers or {},
            idempotent=idempotent,
        )

    def open(
        self,
        sparql: str,
        accept: str,
        *,
        connected: Connected,
        timeout: float,
        parameters: Iterable[tuple[str, str]] = (),
    ) -> Stream:
        """The answer to a query, to be read as it comes. It is asked for once: somebody is waiting.

        Args:
            connected: told of the connection.
            timeout: seconds for each part of the answer, instead of the setting.
            parameters: of the protocol, beside the query.

        Raises:
            UsageError, EndpointError: as of `query`.
        """
        from graphrag_rdf.store.wrapper import Reply

        url = self.addresses.query
        request = self._request(url, sparql, accept, {}, timeout=timeout, parameters=parameters)
        try:
            answer = request.open(connected)
        except (OSError, http.client.HTTPException) as error:
            if _is_timeout(error):
                raise _timed_out(url, timeout) from error
            raise _unreachable(url, error) from error
        if isinstance(answer, Reply):
            raise _refused(answer, self.settings, update=False)
        self._lost = False
        try:
            _require_whole(answer)
        except EndpointError:
            answer.close()
            raise
        return answer

    def _request(
        self,
        url: str,
        text: str,
        accept: str,
        headers: Mapping[str, str],
        *,
        timeout: float,
        update: bool = False,
        parameters: Iterable[tuple[str, str]] = (),
    ) -> Request:
        from graphrag_rdf.store.wrapper import Credentials, Request

        settings = self.settings
        return Request(
            url,
            text,
            update=update,
            accept=accept,
            credentials=Credentials(settings.user, settings.password, settings.token),
            timeout=timeout,
            headers=headers,
            parameters=parameters,
        )

    def _send(
        self,
        url: str,
        text: str,
        *,
        accept: str,
        update: bool,
        headers: Mapping[str, str],
        idempotent: bool = True,
    ) -> Reply:
        settings = self.settings
        passing = _PASSING if idempotent else _NOT_RUN
        request = self._request(url, text, accept, headers, timeout=settings.timeout, update=update)
        for attempt in range(settings.retries + 1):
            last = attempt == settings.retries or self._lost
            try:
                reply = request.send()
            except (OSError, http.client.HTTPException) as error:
                if not (idempotent or _is_refused_connection(error)):
                    raise _unknown(url, error) from error
                if _is_timeout(error):
                    raise _timed_out(url, settings.timeout) from error
                if last:
                    self._lost = True
                    raise _unreachable(url, error) from error
                self._wait(attempt, None, f"{url}: {error}")
                continue
            self._lost = reply.status in passing and last
            if reply.status in passing and not last:
                self._wait(attempt, reply.headers.get("retry-after"), f"{url}: status {reply.status}")
                continue
            if reply.status >= 300:
                raise _refused(reply, self.settings, update=update)
            return reply
        raise AssertionError("unreachable")

    def _wait(self, attempt: int, asked: str | None, why: str) -> None:
        seconds = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE) * random.uniform(0.75, 1.25)  # noqa: S311
        if asked is not None and asked.isascii() and asked.isdigit():
            seconds = min(float(asked), _LONGEST_PAUSE)
        log.info("%s; again in %.1f s", without_credentials(why), seconds)
        time.sleep(seconds)


def _is_refused_connection(error: Exception) -> bool:
    """Whether nobody can have received anything."""
    return isinstance(getattr(error, "reason", None), ConnectionRefusedError)


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError)


def _timed_out(url: str, seconds: float) -> EndpointError:
    return EndpointError(
        f"{url} did not answer within {seconds:g} seconds",
        "timeout",
        hint="set remote.timeout higher; what was committed before is intact",
        address=url,
    )


def _unknown(url: str, error: Exception) -> EndpointError:
    return EndpointError(
        f"{url} did not say whether it ran the update: {_cause(error)}",
        "refused",
        hint="look whether it was run before you send it again",
        address=url,
    )


def _require_whole(reply: Reply | Stream) -> None:
    """Refuse what is marked as a part of an answer: Virtuoso gives one with status 200."""
    url, limit = reply.url, reply.headers.get("x-sparql-maxrows")
    if limit is not None:
        raise EndpointError(
            f"{url} gives no more than {limit} rows, and the answer was cut off there",
            "refused",
            hint="have it give more (in virtuoso.ini: ResultSetMaxRows), or ask for fewer with LIMIT",
            address=url,
        )
    if reply.status == 206 or reply.headers.get("x-sql-state", "").startswith("S1T"):
        raise EndpointError(
            f"{url} gave a part of the answer only: its time was up",
            "timeout",
            hint="give its queries more time (in virtuoso.ini: MaxQueryExecutionTime), or ask for less",
            address=url,
        )


def _warn_of_listeners(addresses: Addresses) -> None:
    """Say so when whoever is on the way can read who asks."""
    parts = map(urlsplit, (addresses.query, addresses.update))
    for host in dict.fromkeys(part.hostname or "" for part in parts if part.scheme == "http"):
        if not is_loopback(host):
            log.warning("user, password or token are sent to %s without encryption; use https", host)


def _unreachable(url: str, error: Exception) -> EndpointError:
    return EndpointError(
        f"{url} cannot be reached: {_cause(error)}",
        "unreachable",
        hint="see whether the endpoint runs; what was committed is intact, and the same command goes on",
        address=url,
    )


def _cause(error: Exception) -> object:
    cause = getattr(error, "reason", None) or error
    return getattr(cause, "strerror", None) or cause  # the words without the number


def _refused(reply: Reply, settings: RemoteSettings, *, update: bool) -> EndpointError | UsageError:
    """What a status says, in words."""
    url, status = reply.url, reply.status
    said = f": {reply.excerpt}" if reply.excerpt and _readable(reply) else ""
    what = "update" if update else "query"
    if status == 400:
        return MalformedError(f"{url} finds the {what} malformed{said}", url)
    if status in (503, 504):
        kind: EndpointErrorKind = "unreachable" if status == 503 else "timeout"
        message, hint = f"{url} failed to run the {what} (status {status}){said}", SEE_ITS_LOG
        return EndpointError(message, kind, hint=hint, address=url)
    message, hint = _in_words(reply, said, settings, update=update)
    return EndpointError(message, "refused", hint=hint, address=url)


def _in_words(reply: Reply, said: str, settings: RemoteSettings, *, update: bool) -> tuple[str, str]:
    """(what was refused, the way out)."""
    url, status, what = reply.url, reply.status, "update" if update else "query"
    if status == 401 and settings.has_credentials:
        return (
            f"{url} does not take the user or token that it was given (401)",
            "see what GRAPHRAG_RDF_REMOTE__TOKEN, or GRAPHRAG_RDF_REMOTE__USER and …__PASSWORD, are set to",
        )
    if status == 401:
        return (
            f"{url} wants to know who asks (401)",
            "set GRAPHRAG_RDF_REMOTE__TOKEN, or GRAPHRAG_RDF_REMOTE__USER and …__PASSWORD",
        )
    if status in (403, 405) and update:
        return (
            f"{url} takes no updates from this client ({status}){said}",
            "the endpoint is read-only, wants another token, or takes updates at another address: "
            "remote.update_url",
        )
    if status == 403:
        return f"{url} refuses this client (403){said}", "give a token or user that may read"
    if status in (404, 405):
        return f"{url} takes no SPARQL ({status})", "set remote.query_url and remote.update_url"
    if status == 413:
        return (
            f"{url} takes no {what} of this size (413)",
            "set remote.batch lower, or its limit higher",
        )
    if status < 400:
        return (
            f"{url} points elsewhere, to {reply.headers.get('location', 'nowhere')} ({status})",
            "name that address, if you trust it",
        )
    return f"{url} failed to run the {what} (status {status}){said}", SEE_ITS_LOG


def _readable(reply: Reply) -> bool:
    return "html" not in reply.media_type
