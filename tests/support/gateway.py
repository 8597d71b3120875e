"""A gateway in front of an endpoint: it keeps what passes, refuses what it is told to, and can break."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs

import httpx


@dataclass(frozen=True, slots=True)
class Passed:
    """A request that came."""

    path: str
    sent: str
    headers: dict[str, str]

    @property
    def body(self) -> str:
        """The query or update."""
        if "form-urlencoded" not in self.headers.get("content-type", ""):
            return self.sent
        return parse_qs(self.sent)["query"][0]

    @property
    def is_update(self) -> bool:
        """Whether it is an update, not a query."""
        return "sparql-update" in self.headers.get("content-type", "")


@dataclass(frozen=True, slots=True)
class Said:
    """An answer of the gateway's own; status 0 breaks the connection off."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class Gateway:
    """A server on loopback.

    Args:
        target: URL of the endpoint behind it; without one every request needs an answer of `judge`.
        judge: what to answer to a request; None passes it on.
    """

    def __init__(
        self, target: str = "", judge: Callable[[Passed], Said | None] = lambda request: None
    ) -> None:
        self.passed: list[Passed] = []
        self.judge = judge
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Passed(self.path, text, headers)
                gateway.passed.append(request)
                answer = gateway.judge(request)
                if answer is None:
                    kept = {
                        k: v for k, v in headers.items() if k in ("content-type", "accept", "authorization")
                    }
                    answer = gateway._pass_on(target + self.path, text, kept)
                if answer.status == 0:
                    self.close_connection = True
                    self.connection.close()
                    return
                self.send_response(answer.status)
                for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                    self.send_header(name, value)
                with suppress(ConnectionError):  # whoever asked does not wait any more
                    self.end_headers()
                    self.wfile.write(answer.body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._client = httpx.Client(timeout=60, verify=False)  # one for all: each takes long to make
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def _pass_on(self, url: str, text: str, headers: dict[str, str]) -> Said:
        """What the endpoint says; nothing when it is not there."""
        try:
            found = self._client.post(url, content=text.encode(), headers=headers)
        except httpx.TransportError:
            return Said(0)
        keep = ("content-type", "graphrag-commit")
        kept = {name: value for name, value in found.headers.items() if name in keep}
        return Said(found.status_code, found.content, kept)

    @property
    def updates(self) -> list[str]:
        """The updates that came."""
        return [request.body for request in self.passed if request.is_update]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._client.close()


def in_turn(*answers: Said | None) -> Callable[[Passed], Said | None]:
    """A judge that gives these answers, then the last of them for ever."""
    left = list(answers)

    def judge(_: Passed) -> Said | None:
        return left.pop(0) if len(left) > 1 else left[0]

    return judge
