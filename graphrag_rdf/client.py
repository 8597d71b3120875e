"""Questions and documents to a server of ours over HTTP: the same messages as of a run in this process.

Server-sent events are read as https://html.spec.whatwg.org/multipage/server-sent-events.html says. Nothing is
followed to another address, so a token goes to no other server than the one that was named.
"""

from __future__ import annotations

import http.client
import json
import logging
import socket
import ssl
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.loopback import is_loopback
from graphrag_rdf.trace.messages import GraphRagResponse

log = logging.getLogger(__name__)

NUMBERS: Mapping[str, str] = {
    "exploration.entity_limit": "entity_limit",
    "exploration.triple_limit": "triple_limit",
    "exploration.max_path_length": "max_path_length",
    "exploration.edge_limit": "edge_limit",
    "synthesis.max_sentences": "max_sentences",
    "synthesis.suggestions": "suggestions",
}
"""Parameter of a step → what a question over HTTP calls it: all that a client may set."""

_CONNECT = 10.0
_SILENCE = 120.0
"""Seconds without a byte after which the server counts as gone; it says every 15 s that it is alive."""
_LONGEST = 1 << 20
"""Bytes of a problem document that are read."""


class ServerError(GraphRagError):
    """A server cannot be reached, is none of ours, or refuses."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a question over HTTP may say.

    Attributes:
        numbers: of `NUMBERS`, by the name that HTTP has for them.
        session: the earlier session that this question goes on with.
    """

    question: str
    pipeline: str = "graph_rag"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    session: str | None = None
    numbers: Mapping[str, int] | None = None

    def as_json(self) -> dict[str, Any]:
        """The body of `POST /ask`."""
        out: dict[str, Any] = {"question": self.question, "pipeline": self.pipeline, **(self.numbers or {})}
        given = {"include": list(self.include), "exclude": list(self.exclude), "session": self.session}
        return out | {name: value for name, value in given.items() if value}


class Client:
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
            raise UsageError(f"{url!r} is not the address of a server", hint="e.g. http://127.0.0.1:7878")
        self._secure = parts.scheme == "https"
        self._host, self._port, self._path = host, port, parts.path
        self._token = token
        if token and not self._secure and not is_loopback(host):
            log.warning("the token is sent to %s without encryption; use https", host)

    def ask(self, question: Question) -> Generator[GraphRagResponse, None, None]:
        """The messages of a run. Closing the iterator hangs up, which cancels the run.

        Raises:
            ServerError: when the server cannot be reached, is none of ours, refuses, or breaks off.
        """
        body = json.dumps(question.as_json(), ensure_ascii=False).encode("utf-8", "replace")
        headers = {"Accept": "text/event-stream", "Content-Type": "application/json"}
        connection, response = self._request("POST", "/ask", headers, body)
        ended, seen = False, 0
        try:
            self._require(response, "text/event-stream")
            for data in self._events(response):
                message = self._message(data)
                seen, ended = seen + 1, message.end_of_session
                yield message
            if not ended:
                raise self._cut(seen)
        finally:
            connection.close()

    def ingest(
        self, documents: Sequence[tuple[str, bytes]], progress: Callable[[int, int, str], None]
    ) -> dict[str, Any]:
        """Send documents; the report of the run, as `ingest --format json`. Hanging up stops the run.

        Args:
            documents: (identity, content).
            progress: hears of each finished chunk.

        Raises:
            ServerError: as `ask`.
        """
        kind, body = form_of(documents)
        headers = {"Accept": "text/event-stream", "Content-Type": kind}
        connection, response = self._request("POST", "/documents", headers, body)
        try:
            self._require(response, "text/event-stream")
            for data in self._events(response):
                found = self._object(data)
                if "done" not in found:
                    return found
                progress(found["done"], found["total"], found["path"])
            raise ServerError(
                f"{self.url} broke off: the ingest may not be whole", hint="send the same again: it goes on"
            )
        finally:
            connection.close()

    def trace_text(self, trace: str) -> str:
        """A trace for people, as `trace show`.

        Raises:
            ServerError: as `ask`.
        """
        address = f"/traces/{quote(trace, safe='')}"
        connection, response = self._request("GET", address, {"Accept": "text/plain"})
        try:
            self._require(response, "text/plain")
            return self._all(response).decode("utf-8", "replace")
        finally:
            connection.close()

    # --- the connection --------------------------------------------------------------------------------

    def _request(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=_CONNECT)
        try:
            connection.connect()
            connection.sock.settimeout(_SILENCE)
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
        return (UsageError if response.status in (400, 422) else ServerError)(message, hint=way)

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

    def _all(self, response: http.client.HTTPResponse) -> bytes:
        try:
            return response.read(_LONGEST)
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


def form_of(files: Sequence[tuple[str, bytes]]) -> tuple[str, bytes]:
    """(media type, body) of a form with files (RFC 7578).

    Args:
        files: (name, content).
    """
    boundary = uuid.uuid4().hex
    parts = []
    for name, content in files:
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{quoted}"\r\n\r\n'
        parts += [head.encode("utf-8", "replace"), content, b"\r\n"]
    return f"multipart/form-data; boundary={boundary}", b"".join([*parts, f"--{boundary}--\r\n".encode()])


def events(lines: Iterable[bytes]) -> Iterator[str]:
    """The data of each server-sent event; comments, names and ids are passed over.

    An event that ends without an empty line after it was cut off, and is dropped, as the standard says.
    """
    data: list[str] = []
    for line in lines:
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            if data:
                yield "\n".join(data)
            data = []
            continue
        name, _, value = text.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))


def read_token(path: Path) -> str:
    """The token of a file: the first one, where lines are `role TOKEN` as the server has them.

    Raises:
        UsageError: when there is none.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    words = next((found for line in lines if (found := line.partition("#")[0].split())), [])
    if len(words) not in (1, 2) or not words[-1].isascii():
        raise UsageError(f"{path} holds no token", hint="one line: TOKEN, or: read TOKEN")
    return words[-1]


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
