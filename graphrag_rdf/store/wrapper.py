"""SPARQLWrapper, as we need it: one request by POST, answered with bytes.

What it does not do by itself: a redirection is not followed, since it would turn an update into a GET, and
take the credentials along to wherever it points. A refusal keeps its status, headers and text. What is on
this computer is never asked for through a proxy. Answers that come over a network are compressed. An answer
that is cut off is none, also where the connection just ends.
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
    """Who asks: user and password (basic), or a token (bearer), or nobody."""

    user: str | None = None
    password: str | None = None
    token: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"


@dataclass(frozen=True, slots=True)
class Reply:
    """What an endpoint said.

    Attributes:
        url: that was asked.
        headers: by name in lower case.
        file: the body; what is large is on the disk.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    file: IO[bytes] = field(repr=False)

    @property
    def body(self) -> bytes:
        """The body, wholly in memory."""
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
    """What an endpoint says, read as it comes.

    Attributes:
        url: that was asked.
        headers: by name in lower case.
        tells_end: whether an answer that is cut off can be told from a whole one.
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
        """Let go of the connection."""
        self._response.close()


def _headers(response: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


Connected = Callable[[socket.socket], None]
"""Told of a connection once it stands; another thread may shut it down to give up."""


class _Telling(urllib.request.AbstractHTTPHandler):
    """A handler of urllib that tells of its connections."""

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


@cache  # it reads certificates
def _opener(*, near: bool) -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirect, *_proxies(near=near))


def _proxies(*, near: bool) -> list[urllib.request.BaseHandler]:
    """None for what is near; else urllib takes those that the environment names."""
    return [urllib.request.ProxyHandler({})] if near else []


class Request(SPARQLWrapper):
    """One query or update.

    Args:
        url: where to; parameters in it are kept.
        text: the query or update.
        update: which of the two it is.
        accept: media types, as in HTTP.
        timeout: seconds.
        headers: more of them.
        parameters: of the protocol, beside the query.
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
        self.queryString, self.queryType = text, INSERT if update else SELECT  # known: nothing to guess
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
        """Send it, and read the answer to its end, whatever its status.

        Raises:
            OSError, http.client.HTTPException: when there is no answer, or not all of it.
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
        """Send it; the answer as it comes, or a refusal, whole.

        Raises:
            OSError, http.client.HTTPException: when there is no answer.
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
    """An answer, read to its end and unpacked.

    Raises:
        OSError, http.client.HTTPException: when it is not all there, or damaged.
    """
    headers = _headers(response)
    came: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the reply's
    shutil.copyfileobj(response, came)
    promised = headers.get("content-length", "")
    if promised.isdigit() and came.tell() < int(promised):  # pieces are read without complaint
        raise http.client.IncompleteRead(b"", int(promised) - came.tell())
    came.seek(0)
    if headers.get("content-encoding", "").lower() not in ("gzip", "x-gzip"):
        return Reply(url, response.status, headers, came)
    unpacked: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
    try:
        with came, gzip.GzipFile(fileobj=came, mode="rb") as packed:
            shutil.copyfileobj(packed, unpacked)
    except (EOFError, zlib.error) as error:
        raise OSError(f"its compressed answer is damaged ({error})") from error
    return Reply(url, response.status, headers, unpacked)


def asks_for_graph(sparql: str) -> bool:
    """Whether a query is a CONSTRUCT or DESCRIBE."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is no query at all is the endpoint's to refuse
        return SPARQLWrapper("", agent="")._parseQueryType(sparql) in (CONSTRUCT, DESCRIBE)
