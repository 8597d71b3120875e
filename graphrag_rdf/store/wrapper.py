"""SPARQLWrapper with POST requests and responses as bytes.

Additions to SPARQLWrapper: redirects are not followed, because they would turn an update into a GET and send
the credentials to another address. Errors keep their status, headers and text. Requests to this computer
bypass proxies. Responses from the network are compressed. An incomplete response is an error, even if the
connection just ends.
"""

from __future__ import annotations

import gzip
import http.client
import shutil
import socket
import tempfile
import urllib.request
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from SPARQLWrapper import (
    BASIC,
    CONSTRUCT,
    DESCRIBE,
    INSERT,
    POST,
    POSTDIRECTLY,
    SELECT,
    URLENCODED,
    SPARQLWrapper,
)

from graphrag_rdf import __version__
from graphrag_rdf.loopback import is_loopback

_EXCERPT = 500
_IN_MEMORY = 4 << 20


@dataclass(frozen=True, slots=True)
class Credentials:
    """User and password (basic), a token (bearer), or none."""

    user: str | None = None
    password: str | None = None
    token: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"


@dataclass(frozen=True, slots=True)
class Reply:
    """A response of an endpoint.

    Attributes:
        url: of the request.
        headers: by name in lower case.
        file: the body; a large one is on disk.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    file: IO[bytes] = field(repr=False)

    @property
    def body(self) -> bytes:
        """The body, in memory."""
        self.file.seek(0)
        return self.file.read()

    @property
    def media_type(self) -> str:
        """Of the body, without parameters."""
        return _media_type(self.headers)

    @property
    def excerpt(self) -> str:
        """The beginning of the body, for messages."""
        self.file.seek(0)
        return " ".join(self.file.read(_EXCERPT * 4).decode(errors="replace").split())[:_EXCERPT]


class Stream:
    """A response of an endpoint, as a stream.

    Attributes:
        url: of the request.
        headers: by name in lower case.
        tells_end: whether an incomplete response can be detected.
    """

    def __init__(self, url: str, response: http.client.HTTPResponse) -> None:
        self.url, self.status = url, response.status
        self.headers = _headers(response)
        self.tells_end = response.chunked or response.length is not None
        self._response = response

    @property
    def media_type(self) -> str:
        """Of the body, without parameters."""
        return _media_type(self.headers)

    def read(self, size: int = -1) -> bytes:
        """The next bytes; none at the end.

        Raises:
            OSError, http.client.HTTPException: when the connection broke before the end.
        """
        data = self._response.read() if size < 0 else self._response.read(size)
        if not data and size and self._response.length:
            raise http.client.IncompleteRead(b"", self._response.length)
        return data

    def close(self) -> None:
        """Close the connection."""
        self._response.close()


def _headers(response: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


Connected = Callable[[socket.socket], None]
"""Called with an established connection; another thread may shut it down to cancel."""


class _Telling(urllib.request.AbstractHTTPHandler):
    """A handler of urllib that reports its connections."""

    def __init__(self, connected: Connected) -> None:
        super().__init__()
        self._connected = connected

    def do_open(self, http_class: Any, req: Any, **options: Any) -> Any:
        """See `urllib.request.AbstractHTTPHandler`."""

        def made(host: str, **more: Any) -> Any:
            connection = http_class(host, **more)
            connect = connection.connect

            def telling() -> None:
                connect()
                self._connected(connection.sock)

            connection.connect = telling
            return connection

        return super().do_open(made, req, **options)


class _TellingHttp(_Telling, urllib.request.HTTPHandler):
    pass


class _TellingHttps(_Telling, urllib.request.HTTPSHandler):
    pass


@cache  # creating it reads certificates
def _opener(*, near: bool) -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirect, *_proxies(near=near))


def _proxies(*, near: bool) -> list[urllib.request.BaseHandler]:
    """No proxies for this computer; otherwise urllib uses those of the environment."""
    return [urllib.request.ProxyHandler({})] if near else []


class Request(SPARQLWrapper):
    """One query or update.

    Args:
        url: its parameters are kept.
        text: the query or update.
        update: whether it is an update.
        accept: media types, as in HTTP.
        timeout: seconds.
        headers: additional headers.
        parameters: of the protocol, in addition to the query.
    """

    def __init__(
        self,
        url: str,
        text: str,
        *,
        update: bool,
        accept: str,
        credentials: Credentials,
        timeout: float,
        headers: Mapping[str, str],
        parameters: Iterable[tuple[str, str]] = (),
    ) -> None:
        parts = urlsplit(url)
        self._url = url
        super().__init__(urlunsplit(parts._replace(query="")), agent=f"graphrag-rdf/{__version__}")
        for name, value in [*parse_qsl(parts.query), *parameters]:
            self.addParameter(name, value)
        self.setMethod(POST)
        self.setRequestMethod(POSTDIRECTLY if update else URLENCODED)  # Virtuoso 7 hangs on direct queries
        self.setOnlyConneg(onlyConneg=True)
        self.queryString, self.queryType = text, INSERT if update else SELECT  # known, so not guessed
        self._seconds = timeout
        self._near = is_loopback(parts.hostname or "")
        self._opener = _opener(near=self._near)
        if credentials.user is not None:
            self.setHTTPAuth(BASIC)
            self.setCredentials(credentials.user, credentials.password)
        elif credentials.token is not None:
            self.addCustomHttpHeader("Authorization", f"Bearer {credentials.token}")
        for name, value in {"Accept": accept, **headers}.items():
            self.addCustomHttpHeader(name, value)

    def _query(self) -> tuple[Any, str]:
        return self._opener.open(self._createRequest(), timeout=self._seconds), self.returnFormat

    def send(self) -> Reply:
        """Send it, and read the whole response, whatever its status.

        Raises:
            OSError, http.client.HTTPException: when there is no complete response.
        """
        response: Any
        if not self._near:
            self.addCustomHttpHeader("Accept-Encoding", "gzip")
        try:
            response = self.query().response
        except HTTPError as refusal:
            response = refusal
        with response:
            return _reply(self._url, response)

    def open(self, connected: Connected) -> Stream | Reply:
        """Send it; return a stream, or a whole error response.

        Raises:
            OSError, http.client.HTTPException: when there is no response.
        """
        self._opener = urllib.request.build_opener(
            _NoRedirect, _TellingHttp(connected), _TellingHttps(connected), *_proxies(near=self._near)
        )
        try:
            response: Any = self.query().response
        except HTTPError as refusal:
            with refusal:
                return _reply(self._url, refusal)
        return Stream(self._url, response)


def _reply(url: str, response: Any) -> Reply:
    """A response, read to its end and decompressed.

    Raises:
        OSError, http.client.HTTPException: when it is incomplete or damaged.
    """
    headers = _headers(response)
    came: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the reply's
    shutil.copyfileobj(response, came)
    promised = headers.get("content-length", "")
    if promised.isdigit() and came.tell() < int(promised):  # http.client does not check this
        raise http.client.IncompleteRead(b"", int(promised) - came.tell())
    came.seek(0)
    if headers.get("content-encoding", "").lower() not in ("gzip", "x-gzip"):
        return Reply(url, response.status, headers, came)
    unpacked: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
    try:
        with came, gzip.GzipFile(fileobj=came, mode="rb") as packed:
            shutil.copyfileobj(packed, unpacked)
    except (EOFError, zlib.error) as error:
        raise OSError(f"damaged compressed response: {error}") from error
    return Reply(url, response.status, headers, unpacked)


def asks_for_graph(sparql: str) -> bool:
    """Whether a query is a CONSTRUCT or DESCRIBE."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the endpoint rejects invalid queries
        return SPARQLWrapper("", agent="")._parseQueryType(sparql) in (CONSTRUCT, DESCRIBE)
