"""A SPARQL endpoint over HTTP: its addresses, retries and errors."""

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
    system_cause,
    without_credentials,
)
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.loopback import is_loopback

if TYPE_CHECKING:
    from graphrag_rdf.store.wrapper import Connected, Reply, Request, Stream

log = logging.getLogger(__name__)

RESULTS = "application/sparql-results+json"
GRAPH = "application/n-triples, text/turtle;q=0.5"
_ANYTHING = "*/*"
_IN_RDF12 = {each: f"{each.partition(',')[0]};version=1.2" for each in (RESULTS, GRAPH)}
"""What our own server is asked for, which gives RDF 1.1 otherwise. Others may refuse the parameter."""
COMMIT_HEADER = "graphrag-commit"
"""Header with the commit number of our own server (see server.service), in lower case."""

_PASSING = frozenset({429, 502, 503, 504})
"""Statuses of temporary errors."""
_NOT_RUN = frozenset({429, 503})
"""Those of them that mean that the request was not executed."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0
SEE_ITS_LOG = later("see the log of the endpoint. Everything committed before is intact")
_RDF4J = re.compile(r"/repositories/[^/]+\Z")


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """Credentials, time limits and sizes of requests to an endpoint.

    Attributes:
        user, password: of HTTP Basic authentication.
        token: of HTTP Bearer authentication.
        timeout: seconds for one request.
        retries: after temporary errors.
        batch_quads, batch_bytes: limits of one update request.
        lag: seconds that reads may be behind writes, as with replicas.
        replicas: how many servers answer reads in turn; each must have a write before it is relied on.
    """

    user: str | None = None
    password: str | None = None
    token: str | None = None
    timeout: float = 60.0
    retries: int = 5
    batch_quads: int = 5_000
    batch_bytes: int = 4 << 20
    lag: float = 10.0
    replicas: int = 1

    @property
    def has_credentials(self) -> bool:
        """Whether requests have credentials."""
        return self.token is not None or self.user is not None

    def __repr__(self) -> str:
        return f"RemoteSettings(timeout={self.timeout}, retries={self.retries}, …)"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses for queries and for updates."""

    query: str
    update: str

    @classmethod
    def of(cls, url: str, query: str | None = None, update: str | None = None) -> Addresses:
        """The addresses of an endpoint.

        Args:
            url: of a server (`/query` and `/update` are added), for queries, or for both.
            query, update: explicit addresses, which override it.

        Raises:
            UsageError: when one is no HTTP address, or contains a password.
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
        raise UsageError(
            tr("the address of the store must be an http:// or https:// URL"),
            hint=tr("--store http://HOST:PORT"),
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            tr("the address of {host} contains a user or password, which messages would show").format(
                host=host
            ),
            hint=tr("remove them, and set GRAPHRAG_RDF_REMOTE__USER and GRAPHRAG_RDF_REMOTE__PASSWORD"),
        )


def _guess(url: str) -> Addresses:
    """Usual addresses: /query and /update of Oxigraph and ours, …/statements of RDF4J and GraphDB."""
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
    """Sends requests with retries, and translates errors.

    An idempotent request is sent again after a lost connection. Another update is sent again only if it
    cannot have been executed. Once an endpoint was unreachable for all tries, each request is tried only once
    until the endpoint answers, so that errors are reported at once.
    """

    def __init__(self, addresses: Addresses, settings: RemoteSettings | None = None) -> None:
        self.addresses = addresses
        self.settings = settings or RemoteSettings()
        self._lost = False
        self._is_ours = False
        if self.settings.has_credentials:
            _warn_of_listeners(addresses)

    def query(self, sparql: str, accept: str = RESULTS) -> Reply:
        """The response to a query.

        Raises:
            UsageError: when the endpoint finds the query malformed.
            EndpointError: when there is no response, or the endpoint reports that it is incomplete.
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
            idempotent: running it twice has the same effect as once, as for INSERT DATA and DELETE DATA.

        Raises:
            UsageError: when the endpoint finds it malformed.
            EndpointError: when it is refused, or there is no response.
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
        """The response to a query, as a stream. There are no retries, because a client is waiting.

        Args:
            connected: called with the connection.
            timeout: seconds for each part of the response, instead of the setting.
            parameters: of the protocol, in addition to the query.

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
            accept=_IN_RDF12.get(accept, accept) if self._is_ours else accept,
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
            self._is_ours |= COMMIT_HEADER in reply.headers
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
        log.info("%s; next try in %.1f s", without_credentials(why), seconds)
        time.sleep(seconds)


def _is_refused_connection(error: Exception) -> bool:
    """Whether the connection was refused, so that the endpoint received nothing."""
    return isinstance(getattr(error, "reason", None), ConnectionRefusedError)


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError)


def _timed_out(url: str, seconds: float) -> EndpointError:
    return EndpointError(
        tr("{url} did not answer within {seconds:g} seconds").format(url=url, seconds=seconds),
        "timeout",
        hint=tr("raise the setting remote.timeout. Everything committed before is intact"),
        address=url,
    )


def _unknown(url: str, error: Exception) -> EndpointError:
    return EndpointError(
        tr("the connection to {url} was lost during the update: {error}").format(
            url=url, error=_cause(error)
        ),
        "refused",
        hint=tr("check whether the update was executed before you send it again"),
        address=url,
    )


def _require_whole(reply: Reply | Stream) -> None:
    """Raise EndpointError for an incomplete result, which Virtuoso sends with status 200."""
    url, limit = reply.url, reply.headers.get("x-sparql-maxrows")
    if limit is not None:
        raise EndpointError(
            tr("{url} limits results to {limit} rows, and this one has more").format(url=url, limit=limit),
            "refused",
            hint=tr("raise its limit (in virtuoso.ini: ResultSetMaxRows), or add a LIMIT to the query"),
            address=url,
        )
    if reply.status == 206 or reply.headers.get("x-sql-state", "").startswith("S1T"):
        raise EndpointError(
            tr("{url} sent an incomplete result: the query reached its time limit").format(url=url),
            "timeout",
            hint=tr("raise its limit (in virtuoso.ini: MaxQueryExecutionTime), or simplify the query"),
            address=url,
        )


def _warn_of_listeners(addresses: Addresses) -> None:
    """Warn if credentials are sent over the network without encryption."""
    parts = map(urlsplit, (addresses.query, addresses.update))
    for host in dict.fromkeys(part.hostname or "" for part in parts if part.scheme == "http"):
        if not is_loopback(host):
            log.warning("credentials are sent to %s without encryption. Use https", host)


def _unreachable(url: str, error: Exception) -> EndpointError:
    return EndpointError(
        tr("cannot reach {url}: {error}").format(url=url, error=_cause(error)),
        "unreachable",
        hint=tr(
            "check that the endpoint runs, and run the same command again to continue. Everything committed "
            "before is intact"
        ),
        address=url,
    )


def _cause(error: Exception) -> object:
    cause = getattr(error, "reason", None) or error
    return system_cause(cause)  # the text without the number


def _refused(reply: Reply, settings: RemoteSettings, *, update: bool) -> EndpointError | UsageError:
    """The error for an HTTP status."""
    url, status = reply.url, reply.status
    if status == 400:
        template = tr("{url} reports a malformed update") if update else tr("{url} reports a malformed query")
        return MalformedError(_with_cause(reply, template.format(url=url)), url)
    if status in (503, 504):
        kind: EndpointErrorKind = "unreachable" if status == 503 else "timeout"
        message = _with_cause(reply, _failed(url, status, update=update))
        return EndpointError(message, kind, hint=tr(SEE_ITS_LOG), address=url)
    message, hint = _in_words(reply, settings, update=update)
    return EndpointError(message, "refused", hint=hint, address=url)


def _in_words(reply: Reply, settings: RemoteSettings, *, update: bool) -> tuple[str, str]:
    """(message, hint)."""
    url, status = reply.url, reply.status
    if status == 401 and settings.has_credentials:
        return (
            tr("{url} rejected the credentials (401)").format(url=url),
            tr("check GRAPHRAG_RDF_REMOTE__TOKEN, or GRAPHRAG_RDF_REMOTE__USER and …__PASSWORD"),
        )
    if status == 401:
        return (
            f"{url} requires credentials (401)",
            tr("set GRAPHRAG_RDF_REMOTE__TOKEN, or GRAPHRAG_RDF_REMOTE__USER and …__PASSWORD"),
        )
    if status in (403, 405) and update:
        return (
            _with_cause(
                reply,
                tr("{url} accepts no updates from this client ({status})").format(url=url, status=status),
            ),
            tr(
                "check the credentials, and set remote.update_url if updates have another address. The "
                "endpoint may also be read-only"
            ),
        )
    if status == 403:
        return _with_cause(reply, tr("{url} refuses this client (403)").format(url=url)), tr(
            "use credentials that may read"
        )
    if status in (404, 405):
        return (
            tr("{url} is not a SPARQL endpoint ({status})").format(url=url, status=status),
            tr("set remote.query_url and remote.update_url"),
        )
    if status == 413:
        return (
            (
                tr("{url} accepts no update of this size (413)")
                if update
                else tr("{url} accepts no query of this size (413)")
            ).format(url=url),
            tr("lower the setting remote.batch, or raise the limit of the endpoint"),
        )
    if status < 400:
        return (
            tr("{url} redirects to {address} ({status})").format(
                url=url, address=reply.headers.get("location", tr("nowhere")), status=status
            ),
            tr("use that address, if you trust it"),
        )
    return _with_cause(reply, _failed(url, status, update=update)), tr(SEE_ITS_LOG)


def _failed(url: str, status: int, *, update: bool) -> str:
    message = (
        tr("{url} failed to run the update (status {status})")
        if update
        else tr("{url} failed to run the query (status {status})")
    )
    return message.format(url=url, status=status)


def _with_cause(reply: Reply, message: str) -> str:
    """A message with the beginning of the endpoint's own text, unless that is a page."""
    return message if "html" in reply.media_type or not reply.excerpt else f"{message}: {reply.excerpt}"
