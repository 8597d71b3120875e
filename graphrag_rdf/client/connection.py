"""Requests to one server, with httpx: its answers, and why there is none.

Server-sent events are read as https://html.spec.whatwg.org/multipage/server-sent-events.html says. Redirects
and proxies of the environment are not followed, so a token reaches only the server that was named.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from graphrag_rdf.client.formats import events
from graphrag_rdf.errors import GraphRagError, UsageError, system_cause, without_credentials
from graphrag_rdf.i18n import language, tr
from graphrag_rdf.loopback import is_loopback
from graphrag_rdf.trace.messages import GraphRagResponse

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

_CONNECT = 10.0
_SILENCE = 120.0
"""Seconds without a byte after which a request fails; the server sends a sign of life every 15 s."""
_LONGEST = 1 << 20
"""Bytes of a problem document, or of a text, that are read."""
_LONGEST_ANSWER = 1 << 28


class ServerError(GraphRagError):
    """A server cannot be reached, is not a graphrag-rdf server, or refuses."""


class Connection:
    """A server by its address.

    Args:
        url: http://HOST:PORT, or https; a path before the server's own is kept.
        token: sent with every request.

    Raises:
        UsageError: when the address is malformed.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        try:
            parts = urlsplit(self.url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if parts.scheme not in ("http", "https") or not host or parts.username or parts.query:
            shown = without_credentials(url)
            raise UsageError(
                tr("{shown!r} is not the address of a server").format(shown=shown),
                hint=tr("e.g. http://127.0.0.1:7878"),
            )
        self.token = token
        if token and parts.scheme == "http" and not is_loopback(host):
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
        """The JSON object that answers a request.

        Args:
            holds: a key that the answer of a graphrag-rdf server has.
            patience: seconds to wait for the answer.
        """
        sent = None if body is None else encoded(body)
        with self._answer(method, path, "application/json", sent, patience=patience) as response:
            reply = self._object(self._all(response, _LONGEST_ANSWER))
        if holds not in reply:
            raise self._not_ours(tr("its answer has no {holds!r}").format(holds=holds))
        return reply

    def _text(self, path: str) -> str:
        with self._answer("GET", path, "text/plain") as response:
            return self._all(response)

    @contextmanager
    def _answer(
        self,
        method: str,
        path: str,
        accept: str,
        body: bytes | None = None,
        sent: str = "application/json",
        *,
        patience: float = _SILENCE,
    ) -> Iterator[httpx.Response]:
        """The answer to a request, open for the length of a block.

        Args:
            accept: the media type that the answer must have.
            sent: that of the body.

        Raises:
            GraphRagError: there is no answer, or a different one.
        """
        import ssl

        import httpx

        headers = {"Accept": accept, "Accept-Language": language(), "Content-Type": sent}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        timeout = httpx.Timeout(patience, connect=_CONNECT)
        secure = ssl.create_default_context() if self.url.startswith("https:") else False
        with httpx.Client(verify=secure, timeout=timeout, trust_env=False) as client:
            try:
                request = client.build_request(method, self.url + path, content=body, headers=headers)
                response = client.send(request, stream=True)
            except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                raise self._unreachable(error) from error
            try:
                self._require(response, accept)
                yield response
            finally:
                response.close()

    def _unreachable(self, error: Exception) -> ServerError:
        import socket
        import ssl

        import httpx

        cause: BaseException = error
        while (below := cause.__cause__ or cause.__context__) is not None:
            cause = below
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ServerError(
                tr("{url} shows a certificate that is not trusted: {verify_message}").format(
                    url=self.url, verify_message=cause.verify_message
                )
            )
        if isinstance(error, httpx.TimeoutException):
            return ServerError(
                tr("{url} does not answer").format(url=self.url),
                hint=tr("is the server overloaded, or stopped?"),
            )
        if isinstance(cause, ssl.SSLError) or not isinstance(error, httpx.NetworkError):
            return self._not_ours(tr("its answer is not HTTP"))
        reason = tr("there is no such host") if isinstance(cause, socket.gaierror) else _reason(cause)
        return ServerError(
            tr("{url} cannot be reached: {reason}").format(url=self.url, reason=reason),
            hint=tr("start it with: graphrag-rdf serve"),
        )

    def _require(self, response: httpx.Response, media_type: str) -> None:
        """Raise what a response reports, unless it is the answer that was asked for."""
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if response.status_code == 200 and kind == media_type:
            return
        if kind != "application/problem+json":
            raise self._not_ours(
                (
                    tr("it answers {status} {type}") if kind else tr("it answers {status} without a type")
                ).format(status=response.status_code, type=kind)
            )
        try:
            problem = json.loads(self._all(response))
            detail, hint = str(problem["detail"]), problem.get("hint")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._not_ours(tr("its refusal is not a problem document")) from None
        raise self._refusal(response, detail, hint)

    def _refusal(self, response: httpx.Response, detail: str, hint: Any) -> GraphRagError:
        way = hint if isinstance(hint, str) else None
        status, again = response.status_code, response.headers.get("Retry-After", "")
        if status == 401 and (way is None or "Authorization: Bearer" in way):
            way = tr("give it with --token-file FILE, or GRAPHRAG_RDF_CLIENT__TOKEN in the environment")
        if status in (429, 503):
            way = (
                tr("try again in {again} s").format(again=again) if again.isdigit() else tr("try again later")
            )
        message = tr("{url} says: {detail}").format(url=self.url, detail=detail)
        return (UsageError if status in (400, 404, 409, 422) else ServerError)(message, hint=way)

    def _not_ours(self, why: str) -> ServerError:
        return ServerError(
            tr("{url} is not a graphrag-rdf server: {why}").format(url=self.url, why=why),
            hint=tr("graphrag-rdf serve prints its address when it starts"),
        )

    def _cut(self, seen: int) -> ServerError:
        return ServerError(
            tr("{url} broke off after {seen} messages: the answer is not complete").format(
                url=self.url, seen=seen
            ),
            hint=tr("ask again; see also the server's log"),
        )

    # --- bodies ---------------------------------------------------------------------------------------

    def _all(self, response: httpx.Response, most: int = _LONGEST) -> str:
        import httpx

        data = bytearray()
        try:
            for piece in response.iter_bytes():
                data += piece
                if len(data) > most:
                    break
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        return data[:most].decode("utf-8", "replace")

    def _events(self, response: httpx.Response) -> Iterator[str]:
        import httpx

        seen = 0
        try:
            for data in events(_lines(response.iter_bytes())):
                yield data
                seen += 1
        except httpx.TimeoutException as error:
            raise ServerError(
                tr("{url} fell silent after {seen} messages").format(url=self.url, seen=seen)
            ) from error
        except httpx.HTTPError as error:
            raise self._cut(seen) from error

    def _message(self, data: str) -> GraphRagResponse:
        reply = self._object(data)
        try:
            return GraphRagResponse.from_json(reply)
        except (ValueError, TypeError, AttributeError) as error:
            raise self._not_ours(tr("a message is malformed ({error})").format(error=error)) from None

    def _object(self, data: str) -> dict[str, Any]:
        try:
            reply = json.loads(data)
        except ValueError as error:
            raise self._not_ours(tr("a message is malformed ({error})").format(error=error)) from None
        if not isinstance(reply, dict):
            raise self._not_ours(tr("a message is malformed"))
        if "detail" in reply and "kind" not in reply:
            raise ServerError(
                tr("{url} says: {detail}").format(url=self.url, detail=reply["detail"]),
                hint=reply.get("hint"),
            )
        return reply


def encoded(body: dict[str, Any]) -> bytes:
    """A JSON body."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Lines that end with \\n; texts may hold the other line ends of Unicode."""
    partial = b""
    for piece in pieces:
        *lines, partial = (partial + piece).split(b"\n")
        yield from lines
    if partial:
        yield partial


def _reason(error: BaseException) -> str:
    return system_cause(error)
