"""A server under load: questions and documents a second, memory, open files, disk, what a deletion costs.

    python -m benchmarks.load                           all parts, on a store of 400,000 quads
    python -m benchmarks.load --parts questions         one of: questions, remote, ingest, growth, forget
    python -m benchmarks.load --parts growth --questions 5000

A real `graphrag-rdf serve` answers clients over HTTP (threads with a connection each, kept alive), without a
model. The baselines are one client, and the same server with `--read-only`, which streams traces and stores
none: the difference is the cost of traces. The remote store is `oxigraph serve` on the same quads. Clients
and servers share the machine, so CPU time of the servers is shown, too.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psutil

from benchmarks.common import Figure, folder_bytes, percentile, show, slowdown, table
from benchmarks.endpoint import free_port, serving
from benchmarks.growth import fill
from benchmarks.synthetic import Collection
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.files import Upload
from graphrag_rdf.store.base import plain_quads

_CLIENTS = (1, 4, 16)
_FIRST = Upload("first.txt", b"The ferry Alba left Oban.")
"""Read after the made-up data, so that what follows from these is settled."""
_FACTS = 20_000
_PARTS = ("questions", "remote", "ingest", "growth", "forget")
_SOON = {"GRAPHRAG_RDF_FORGET__REWRITE_AFTER": "20"}
_STEPS = 5
"""Rows of the table of growth."""


def main() -> int:
    """Build the store once, and measure each part on a copy of it."""
    parser = argparse.ArgumentParser(prog="benchmarks.load", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=_PARTS, default=_PARTS)
    parser.add_argument("--facts", type=int, default=_FACTS, help="20 quads each")
    parser.add_argument("--seconds", type=float, default=20, help="for each cell of the tables")
    parser.add_argument("--clients", type=int, nargs="+", default=_CLIENTS)
    parser.add_argument("--questions", type=int, default=5_000, help="of the part growth")
    parser.add_argument("--store", type=Path, help="keep the store in this folder; used again if it is there")
    asked = parser.parse_args()
    collection = Collection(asked.facts)
    place = Path(tempfile.mkdtemp(prefix="graphrag-load-"))
    try:
        whole = asked.store or place / "whole"
        with Engine.open(whole, config=Settings(store=str(whole))) as engine:
            fill(engine, collection)
            engine.ingest_uploads([_FIRST])
            print(f"{engine.store.count():,} quads; {slowdown():.1f} × slower than at its best just now")
        bench = Bench(place, whole, collection, asked.seconds, asked.clients, asked.questions)
        for part in asked.parts:
            getattr(bench, part)()
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return 0


@dataclass(frozen=True)
class Cell:
    """What clients got: requests a second, seconds of each, CPU seconds of the servers for one."""

    rate: float
    times: Sequence[float]
    cpu: float

    def row(self, first: Cell) -> list[str]:
        """Cells of a table, beside the first one of it."""
        return [
            f"{self.rate:.1f}",
            f"{self.rate / first.rate:.2f} ×",
            f"{percentile(self.times, 0.5) * 1000:.0f} ms",
            f"{percentile(self.times, 0.95) * 1000:.0f} ms",
            f"{self.cpu * 1000:.0f} ms",
        ]


_HEAD = ("a second", "beside one client", "p50", "p95", "CPU each")


@dataclass
class Bench:
    """The parts of the benchmark.

    Attributes:
        place: for temporary files.
        whole: the store, of which each part serves a copy.
    """

    place: Path
    whole: Path
    collection: Collection
    seconds: float
    clients: Sequence[int]
    count: int

    # --- questions ---------------------------------------------------------------------------------

    def questions(self) -> None:
        """Questions a second of the embedded store, with traces and without."""
        rows = []
        for name, options in (("embedded", ()), ("embedded, --read-only", ("--read-only",))):
            with self._copy() as folder, _served(str(folder), *options) as server:
                rows += self._asked(name, [server])
        self._print("Questions, embedded", rows)

    def remote(self) -> None:
        """Questions a second of a store behind `oxigraph serve`."""
        program = shutil.which("oxigraph", path=str(Path(sys.executable).parent)) or shutil.which("oxigraph")
        if program is None:
            print("remote: skipped, the command oxigraph is not installed (PyPI: oxigraph)")
            return
        with self._copy() as folder, Engine.open(folder, config=Settings(store=str(folder))) as engine:
            dump = self.place / "whole.nq"
            with dump.open("w", encoding="utf-8") as file:
                file.writelines(f"{quad} .\n" for quad in plain_quads(engine.store))
        data, port = self.place / "data", free_port()
        subprocess.run(
            [program, "load", "--location", str(data), "--file", str(dump)],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        command = [program, "serve", "--location", str(data), "--bind", f"127.0.0.1:{port}"]
        home = {"GRAPHRAG_RDF_REMOTE__FOLDER": str(self.place / "remote")}
        with serving(command, port) as engine, _served(f"http://127.0.0.1:{port}", env=home) as server:
            rows = self._asked("remote", [server, Server(engine, port)])
        self._print("Questions, behind oxigraph serve", rows)

    def _asked(self, name: str, servers: Sequence[Server]) -> list[list[str]]:
        questions = _asking(self.collection)
        _load(servers, questions, 4, self.seconds / 2)  # warm
        cells = [(clients, _load(servers, questions, clients, self.seconds)) for clients in self.clients]
        first = cells[0][1]
        return [[name, str(clients), *cell.row(first)] for clients, cell in cells]

    def _print(self, title: str, rows: Sequence[Sequence[str]]) -> None:
        print(f"\n## {title}\n\nThis machine is {slowdown():.1f} × slower than at its best just now.\n")
        table(("store", "clients", *_HEAD), rows)

    # --- documents ---------------------------------------------------------------------------------

    def ingest(self) -> None:
        """Documents of ten chunks a second, each a request of its own."""
        rows: list[list[str]] = []
        first: Cell | None = None
        with self._copy() as folder, _served(str(folder)) as server:
            documents = _documents(self.collection)
            _load([server], documents, 1, self.seconds / 4)
            for clients in (1, 4):
                cell = _load([server], documents, clients, self.seconds)
                first = first or cell
                rows.append([f"{clients} writing", str(clients), *cell.row(first)])
        self._print("Documents of one chunk", rows)

    # --- many questions ----------------------------------------------------------------------------

    def growth(self) -> None:
        """Memory, open files and disk over many questions of four clients, about a tenth of the store."""
        rows, folder, collection = [], self.place / "small", Collection(self.collection.facts // 10)
        with Engine.open(folder, config=Settings(store=str(folder))) as engine:
            fill(engine, collection)
        with _served(str(folder)) as server:
            ask, before, held = _asking(collection), folder_bytes(folder), 0.0
            steps = [self.count // _STEPS] * _STEPS
            for number, count in enumerate(steps, start=1):
                cell = _load([server], ask, 4, count=count)
                size, memory = folder_bytes(folder), server.memory_mb()
                rows.append(
                    [
                        f"{(number - 1) * count + 1:,} to {number * count:,}",
                        f"{cell.rate:.1f}",
                        f"{percentile(cell.times, 0.95) * 1000:.0f} ms",
                        f"{memory:.0f} MB",
                        f"{memory - held:+.0f} MB" if held else "",
                        str(server.files()),
                        f"{(size - before) / count / 1000:.0f} kB",
                    ]
                )
                before, held = size, memory
        print(f"\n## {self.count:,} questions of four clients\n")
        table(("questions", "a second", "p95", "memory", "more", "open files", "disk each"), rows)

    # --- deleting ----------------------------------------------------------------------------------

    def forget(self) -> None:
        """CPU seconds of deleting a document, and how long other writes and questions wait meanwhile."""
        figures = []
        with self._copy() as folder, _served(str(folder), env=_SOON) as server:
            _load([server], _asking(self.collection), 4, count=100)
            for number in range(3):
                document = quote(self.collection.document(number).value, safe="")
                with _writing(server, self.collection) as waited:
                    time.sleep(1)
                    cpu, start = server.cpu_seconds(), time.perf_counter()
                    server.request("DELETE", f"/documents/{document}")
                    took, cpu = time.perf_counter() - start, server.cpu_seconds() - cpu
                    time.sleep(1)
                figures += [
                    Figure(f"deleting document {number + 1}", f"{cpu:.1f} CPU s, {took:.1f} s", "≤ 5 CPU s"),
                    Figure(
                        "longest wait of another write meanwhile", f"{max(waited['write']):.2f} s", "≤ 2 s"
                    ),
                    Figure("longest question meanwhile", f"{max(waited['question']):.2f} s"),
                ]
            with _writing(server, self.collection) as waited:
                time.sleep(30)
            figures += [
                Figure(
                    "longest write while the files are rewritten", f"{max(waited['write']):.2f} s", "≤ 2 s"
                ),
                Figure("longest question meanwhile", f"{max(waited['question']):.2f} s"),
            ]
        show("Deleting documents", figures)

    @contextmanager
    def _copy(self) -> Iterator[Path]:
        folder = self.place / "copy"
        shutil.copytree(self.whole, folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


# --- servers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    """A server under load."""

    pid: int
    port: int
    token: str = ""

    def _processes(self) -> list[psutil.Process]:
        own = psutil.Process(self.pid)
        return [own, *own.children(recursive=True)]

    def cpu_seconds(self) -> float:
        """CPU seconds of its processes so far, with those that have ended."""
        own = psutil.Process(self.pid).cpu_times()
        running = sum(sum(each.cpu_times()[:2]) for each in self._processes())
        return float(running + own.children_user + own.children_system)

    def memory_mb(self) -> float:
        """Resident memory of the process that answers, in 10^6 bytes."""
        return float(psutil.Process(self.pid).memory_info().rss / 1e6)

    def files(self) -> int:
        """Open file descriptors of the process that answers."""
        return int(psutil.Process(self.pid).num_fds())

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json",
        connection: http.client.HTTPConnection | None = None,
    ) -> bytes:  # fmt: skip
        """The body of a response.

        Raises:
            SystemExit: for another status than success.
        """
        used = connection or self.connect()
        headers = {"Content-Type": kind, "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        used.request(method, path, body, headers)
        response = used.getresponse()
        found = response.read()
        if response.status >= 300:
            raise SystemExit(f"{method} {path}: {response.status} {found[:500]!r}")
        return found

    def connect(self) -> http.client.HTTPConnection:
        """A connection that is kept alive."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)


@contextmanager
def _served(store: str, *options: str, env: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Our server of a store; one token may write."""
    port, token = free_port(), "benchmark-token-of-this-run-only"
    with tempfile.NamedTemporaryFile("w", suffix=".tokens") as tokens:
        tokens.write(f"write {token}\n")
        tokens.flush()
        command = [sys.executable, "-m", "graphrag_rdf", "--store", store, "serve", "--port", str(port)]
        with serving([*command, "--token-file", tokens.name, *options], port, env) as pid:
            yield Server(pid, port, token)


# --- clients ----------------------------------------------------------------------------------------

Request = Callable[[Server, http.client.HTTPConnection], None]


def _asking(collection: Collection) -> Request:
    """Asks the next question of a collection."""
    questions = iter(itertools.cycle(collection.questions(20_000)))
    lock = threading.Lock()

    def ask(server: Server, connection: http.client.HTTPConnection) -> None:
        with lock:
            question = next(questions)
        server.request("POST", "/ask", json.dumps({"question": question}).encode(), connection=connection)

    return ask


def _documents(collection: Collection) -> Request:
    """Sends a document of one chunk, each another one."""
    numbers = itertools.count(collection.passages)
    lock = threading.Lock()

    def send(server: Server, connection: http.client.HTTPConnection) -> None:
        with lock:
            number = next(numbers)
        text = collection.passage(number).text
        body = (
            f'--part\r\nContent-Disposition: form-data; name="file"; filename="new-{number}.txt"\r\n'
            f"Content-Type: text/plain\r\n\r\n{text}\r\n--part--\r\n"
        ).encode()
        server.request("POST", "/documents", body, "multipart/form-data; boundary=part", connection)

    return send


def _load(
    servers: Sequence[Server], request: Request, clients: int, seconds: float = 1e9, count: int = 1 << 60
) -> Cell:
    """Let clients send requests to the first server for so many seconds, or until so many were sent."""
    times: list[float] = []
    errors: list[BaseException] = []
    numbers = itertools.count()
    used = sum(server.cpu_seconds() for server in servers)
    began = time.perf_counter()

    def work() -> None:
        connection = servers[0].connect()
        try:
            while time.perf_counter() < began + seconds and next(numbers) < count:
                start = time.perf_counter()
                request(servers[0], connection)
                times.append(time.perf_counter() - start)
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    took = time.perf_counter() - began
    cpu = sum(server.cpu_seconds() for server in servers) - used
    return Cell(len(times) / took, times, cpu / len(times))


@contextmanager
def _writing(server: Server, collection: Collection) -> Iterator[dict[str, list[float]]]:
    """A client that writes small updates and one that asks, for the length of a block: seconds of each."""
    waited: dict[str, list[float]] = {"write": [], "question": []}
    ended = threading.Event()
    draw = random.Random(1)

    def update(to: Server, connection: http.client.HTTPConnection) -> None:
        triple = f"<urn:example:s> <urn:example:p> {draw.random()}"
        text = f"INSERT DATA {{ GRAPH <urn:example:load> {{ {triple} }} }}"
        to.request("POST", "/update", text.encode(), "application/sparql-update", connection)

    def work(kind: str, request: Request) -> None:
        connection = server.connect()
        while not ended.is_set():
            start = time.perf_counter()
            request(server, connection)
            waited[kind].append(time.perf_counter() - start)
            time.sleep(0.02)

    threads = [
        threading.Thread(target=work, args=("write", update)),
        threading.Thread(target=work, args=("question", _asking(collection))),
    ]
    for thread in threads:
        thread.start()
    try:
        yield waited
    finally:
        ended.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    sys.exit(main())
