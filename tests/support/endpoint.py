"""A server in a process of its own, on loopback, as people start it; and raw requests to it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from tests.support.commands import environment, program

WRITE, ADMIN, READ = "write-token-for-tests", "admin-token-for-tests", "read-token-for-tests"
TOKENS = {
    "GRAPHRAG_RDF_SERVER__WRITE_TOKEN": WRITE,
    "GRAPHRAG_RDF_SERVER__ADMIN_TOKEN": ADMIN,
    "GRAPHRAG_RDF_SERVER__READ_TOKEN": READ,
}
_READY = re.compile(r"(?:serving |：)(http://[^\s;；]+)[;；]")


def bearer(token: str) -> dict[str, str]:
    """The header of a token."""
    return {"Authorization": f"Bearer {token}"}


@dataclass
class Endpoint:
    """A running server."""

    store: Path
    process: subprocess.Popen[str]
    url: str
    log: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, store: Path | str, *options: str, **env: str) -> Self:
        """Start one and wait until it takes requests; with a line for each in its log."""
        command = program("--store", str(store), "serve", "--port", "0", "-v", *options)
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment(**env)
        )
        log: list[str] = []
        assert process.stderr is not None
        for line in process.stderr:
            log.append(line)
            if (ready := _READY.search(line)) is not None:
                break
        else:
            raise AssertionError(f"the server did not start: {''.join(log)}")
        reader = threading.Thread(target=lambda: log.extend(process.stderr or ()), daemon=True)
        reader.start()
        found = cls(Path(store), process, ready[1], log)
        found.wait()
        return found

    def wait(self) -> None:
        """Until it answers."""
        for _ in range(200):
            try:
                httpx.get(f"{self.url}/health", timeout=5, verify=False)  # certificates take long to load
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError(f"the server does not answer: {''.join(self.log)}")

    def stop(self, number: int = signal.SIGTERM, timeout: float = 40) -> int:
        """End it; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """An HTTP client of it."""
        headers = bearer(token) if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, verify=False, **options)

    @property
    def address(self) -> tuple[str, int]:
        """Where to connect to."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def connect(self) -> socket.socket:
        """A connection of one's own."""
        return socket.create_connection(self.address, timeout=30)

    def raw(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send bytes as they are, and read to the end: (status, headers, body as sent)."""
        with self.connect() as connection:
            connection.sendall(request.replace(b"HOST", self.url.removeprefix("http://").encode()))
            data = b""
            while piece := connection.recv(65536):
                data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return int(status.split()[1]) if status else 0, headers, body

    def children(self) -> list[int]:
        """The server's reader processes."""
        path = Path(f"/proc/{self.process.pid}/task")
        if not path.exists():
            import psutil

            return [child.pid for child in psutil.Process(self.process.pid).children()]
        found: list[int] = []
        for task in path.iterdir():
            with suppress(FileNotFoundError):  # a thread that ended meanwhile
                found += map(int, (task / "children").read_text().split())
        return found


def wire_request(endpoint: Endpoint, query: str, *lines: str) -> bytes:
    """A request as it stands on the wire."""
    host = endpoint.url.removeprefix("http://")
    head = ["POST /sparql HTTP/1.1", f"Host: {host}", "Content-Type: application/sparql-query", *lines]
    return "\r\n".join([*head, f"Content-Length: {len(query)}", "", query]).encode()


def wire_answers(connection: socket.socket, count: int) -> list[tuple[int, dict[str, str], bytes]]:
    """Responses with a length, one after the other."""
    data, found = b"", []
    while len(found) < count:
        head, end, rest = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        length = int(headers.get("content-length", 0)) if end else 0
        if not end or len(rest) < length:
            piece = connection.recv(1 << 16)
            assert piece, "the connection was closed"
            data += piece
            continue
        found.append((int(lines[0].split()[1]), headers, rest[:length]))
        data = rest[length:]
    return found


def alive(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return not Path("/proc").is_dir()
    return state != "Z"


def eventually(check: Any, seconds: float = 30) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to hold")
