"""Requests to one server: what it answers, and why it does not.

Server-sent events are read as https://html.spec.whatwg.org/multipage/server-sent-events.html says. Nothing is
followed to another address, so a token goes to no other server than the one that was named.
"""

from __future__ import annotations

import http.client
import json
import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from graphrag_rdf.client.formats import events
from graphrag_rdf.errors import GraphRagError, UsageError, without_credentials
from graphrag_rdf.loopback import is_loopback
from graphrag_rdf.trace.messages import GraphRagResponse

log = logging.getLogger(__name__)

_CONNECT = 10.0
_SILENCE = 120.0
"""Seconds without a byte after which the server counts as gone; it says every 15 s that it is alive."""
_LONGEST = 1 << 20
"""Bytes of a problem document, or of a text, that are read."""
_LONGEST_ANSWER = 1 << 28


class ServerError(GraphRagError):
    """A server cannot be reached, is none of ours, or refuses."""


class Connection:
    """A server by its address.

    Args:
        url: http://HOST:PORT, or https; a path before the server's own is kept.
        token: sent with every request.

    Raises:
        UsageError: when the address is none.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if parts.scheme not in ("http", "https") or not host or parts.username or parts.query:
            shown = without_credentials(url)
            raise UsageError(f"{shown!r} is not the address of a server", hint="e.g. http://127.0.0.1:7878")
        self._secure = parts.scheme == "https"
        self._host, self._port, self._path = host, port, parts.path
        self._token = token
        if token and not self._secure and not is_loopback(host):
            log.warning("the token is sent to %s without encryption; use https", host)

    def _json(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        holds: str,
        patience: float = _SILENCE,
    ) -> dict[str, Any]:
        """What a request that is answered with JSON gives.

        Args:
            holds: a key that the answer of a server of ours has.
            patience: seconds to wait for the answer.
        """
        sent = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        connection, response = self._request(method, path, headers, sent, patience=patience)
        try:
            self._require(response, "application/json")
            found = self._object(self._all(response, _LONGEST_ANSWER).decode("utf-8", "replace"))
            if holds not in found:
                raise self._not_ours(f"its answer has no {holds!r}")
            return found
        finally:
            connection.close()

    def _request(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | None = None,
        *,
        patience: float = _SILENCE,
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=_CONNECT)
        try:
            connection.connect()
            connection.sock.settimeout(patience)
            with suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent: it says why
                connection.request(method, self._path + path, body, headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> ServerError:
        if isinstance(error, ssl.SSLCertVerificationError):
            return ServerError(f"{self.url} shows a certificate that is not trusted: {error.verify_message}")
        if isinstance(error, http.client.HTTPException | ValueError | ssl.SSLError):
            return self._not_ours("what answers there is no server of ours")
        if isinstance(error, TimeoutError):
            return ServerError(f"{self.url} does not answer", hint="is the server overloaded, or stopped?")
        reason = "there is no such host" if isinstance(error, socket.gaierror) else _reason(error)
        return ServerError(
            f"{self.url} cannot be reached: {reason}", hint="start it with: graphrag-rdf serve"
        )

    def _require(self, response: http.client.HTTPResponse, media_type: str) -> None:
        """Raise what a response says, unless it is what was asked for."""
        kind = (response.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
        if response.status == 200 and kind == media_type:
            return
        if kind != "application/problem+json":
            raise self._not_ours(f"it answers {response.status} {kind or 'without a type'}")
        try:
            problem = json.loads(self._all(response))
            detail, hint = str(problem["detail"]), problem.get("hint")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._not_ours("its refusal is no problem document") from None
        raise self._refusal(response, detail, hint)

    def _refusal(self, response: http.client.HTTPResponse, detail: str, hint: Any) -> GraphRagError:
        way = hint if isinstance(hint, str) else None
        if response.status == 401:
            way = "give it with --token-file FILE, or GRAPHRAG_RDF_CLIENT__TOKEN in the environment"
        again = response.headers.get("Retry-After", "")
        if response.status in (429, 503):
            way = f"try again in {again} s" if again.isdigit() else "try again later"
        message = f"{self.url} says: {detail}"
        return (UsageError if response.status in (400, 404, 409, 422) else ServerError)(message, hint=way)

    def _not_ours(self, why: str) -> ServerError:
        return ServerError(
            f"{self.url} is not a graphrag-rdf server: {why}",
            hint="graphrag-rdf serve tells its address when it starts",
        )

    def _cut(self, seen: int) -> ServerError:
        return ServerError(
            f"{self.url} broke off after {seen} messages: the answer is not whole",
            hint="ask again; the server's log tells more",
        )

    # --- what comes -----------------------------------------------------------------------------------

    def _all(self, response: http.client.HTTPResponse, most: int = _LONGEST) -> bytes:
        try:
            return response.read(most)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error

    def _events(self, response: http.client.HTTPResponse) -> Iterator[str]:
        seen = 0
        try:
            for data in events(iter(response.readline, b"")):
                yield data
                seen += 1
        except TimeoutError as error:
            raise ServerError(f"{self.url} fell silent after {seen} messages") from error
        except (OSError, http.client.HTTPException) as error:
            raise self._cut(seen) from error

    def _message(self, data: str) -> GraphRagResponse:
        found = self._object(data)
        try:
            return GraphRagResponse.from_json(found)
        except (ValueError, TypeError, AttributeError) as error:
            raise self._not_ours(f"it sends what is no message ({error})") from None

    def _object(self, data: str) -> dict[str, Any]:
        try:
            found = json.loads(data)
        except ValueError as error:
            raise self._not_ours(f"it sends what is no message ({error})") from None
        if not isinstance(found, dict):
            raise self._not_ours("it sends what is no message")
        if "detail" in found and "kind" not in found:
            raise ServerError(f"{self.url} says: {found['detail']}", hint=found.get("hint"))
        return found


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
