"""The SPARQL endpoint under load: requests a second and 95th percentile, beside `oxigraph serve`.

    python -m benchmarks.endpoint --facts 1000000

Both serve the same files to the same clients (threads with a connection each, kept alive), cell by cell in
turn, so that a busy machine slows both. The CPU time of the server for one request is told beside. Ours
isolates queries in processes that can be killed; `oxigraph serve` (PyPI: oxigraph) does not. Without it, the
baseline is the barest ASGI app under uvicorn, which answers nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.common import Figure, percentile, show, table
from benchmarks.synthetic import Collection, entity, predicate
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import PREFIXES
from graphrag_rdf.store.embedded import EmbeddedStore

CLIENTS = (1, 8, 32)
_COPY = "baseline"
_SECONDS = 3.0
_ASKED = 40
_PREFIXES = "".join(f"PREFIX {name}: <{PREFIXES[name]}> " for name in ("tg", "prov", "rdfs"))
_ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?a != ?h) }"

Query = Callable[[random.Random], str]


def queries(entities: int) -> Mapping[str, Query]:
    """Kind of query → one of that kind, about an entity drawn at random."""

    def about(template: str) -> Query:
        return lambda draw: _PREFIXES + template.replace("ENTITY", str(entity(draw.randrange(entities))))

    return {
        "point": about("SELECT ?p ?o { ENTITY ?p ?o } LIMIT 20"),
        "one hop": about("SELECT ?p ?o ?label { ENTITY ?p ?o . ?o rdfs:label ?label } LIMIT 50"),
        "2 hops + provenance": about(
            "SELECT ?p ?m ?q ?o ?chunk { ENTITY ?p ?m . ?m ?q ?o . GRAPH <urn:graph:source> "
            "{ ?subgraph tg:contains <<( ?m ?q ?o )>> ; prov:wasDerivedFrom ?chunk } } LIMIT 50"
        ),
        "aggregate": lambda draw: (
            f"SELECT (COUNT(DISTINCT ?o) AS ?n) {{ ?s {predicate(draw.randrange(20))} ?o }}"
        ),
        "join of all": lambda draw: (  # takes more than 50 ms from a million facts on
            f"SELECT (COUNT(*) AS ?n) {{ ?s {predicate(draw.randrange(20))} ?m . "
            f"?m {predicate(draw.randrange(20))} ?o }}"
        ),
    }


def main() -> int:
    """Build, measure both, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.endpoint", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="for each cell of the table")
    parser.add_argument("--store", type=Path, help="keep the store in this folder; used again if it is there")
    asked = parser.parse_args()
    folder = asked.store or Path(tempfile.mkdtemp(prefix="graphrag-bench-"))
    collection = Collection(asked.facts)
    try:
        print(f"building a store of {asked.facts:,} facts", file=sys.stderr, flush=True)
        _build(folder, collection)
        kinds = queries(collection.entities)
        print(f"asking {_ASKED + 1} questions", file=sys.stderr, flush=True)
        with _ours(folder, 60) as ours:
            events = _first_events(ours, collection.questions(_ASKED + 1))
        with _baseline(folder) as theirs, _ours(folder, 60) as ours:
            _print(asked.facts, _measure((ours, theirs), kinds, asked.seconds), theirs.name)
            time.sleep(8)  # readers that grew are replaced while nobody asks
            rest = max(child.memory_info().rss for child in psutil.Process(ours.pid).children()) / 1e6
        with _ours(folder, 1) as ours:
            late = _kill_latency(ours)
        show(
            "Endpoint: isolation",
            [
                Figure("largest reader at rest", f"{rest:.0f} MB", "≤ 60 MB"),
                Figure(
                    "an endless query is answered, after its limit of 1 s",
                    f"{late * 1000:.0f} ms",
                    "≤ 200 ms",
                ),
            ],
        )
        cold, warm = events[0], events[1:]
        show(
            "Endpoint: time from a question to its first event",
            [
                Figure("the first question after the start", f"{cold * 1000:.0f} ms", "≤ 100 ms"),
                Figure(f"p50 of {len(warm)}", f"{percentile(warm, 0.5) * 1000:.1f} ms", "≤ 100 ms"),
                Figure(f"p95 of {len(warm)}", f"{percentile(warm, 0.95) * 1000:.1f} ms", "≤ 100 ms"),
            ],
        )
    finally:
        if asked.store is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def _build(folder: Path, collection: Collection) -> None:
    built = (folder / "oxigraph" / "CURRENT").exists()
    with Engine.open(folder, config=Settings(store=str(folder))) as engine:
        if not built:
            for make in collection.layers().values():
                engine.store.bulk_add(make())
            engine.store.optimize()
        engine.indexer.catch_up()
        shutil.rmtree(folder / _COPY, ignore_errors=True)
        assert isinstance(engine.store, EmbeddedStore)
        engine.store.snapshot(folder / _COPY)


# --- servers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    """A server under load."""

    name: str
    pid: int
    port: int
    path: str

    def cpu_seconds(self) -> float:
        """CPU seconds of its processes so far, with those that have ended."""
        server = psutil.Process(self.pid)
        times = [process.cpu_times() for process in (server, *server.children())]
        running = sum(time.user + time.system for time in times)
        return float(running + times[0].children_user + times[0].children_system)


@contextmanager
def _baseline(folder: Path) -> Iterator[Server]:
    program = shutil.which("oxigraph", path=str(Path(sys.executable).parent)) or shutil.which("oxigraph")
    port = free_port()
    if program is None:
        bare = "benchmarks.endpoint:bare_app"
        command = [sys.executable, "-m", "uvicorn", bare, "--port", str(port), "--no-access-log"]
        with _process("barest ASGI app", command, port, "/") as found:
            yield found
        return
    location = str(folder / _COPY)
    command = [program, "serve-read-only", "--location", location, "--bind", f"127.0.0.1:{port}"]
    with _process("oxigraph serve", command, port, "/query") as found:
        yield found


async def bare_app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
    """The least that an ASGI app can do."""
    if scope["type"] != "http":
        return
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})


@contextmanager
def _ours(folder: Path, limit: float) -> Iterator[Server]:
    """Our server; its queries are ended after so many seconds."""
    port = free_port()
    command = [sys.executable, "-m", "graphrag_rdf", "--store", str(folder), "serve", "--port", str(port)]
    with _process("graphrag-rdf serve", [*command, "--query-timeout", str(limit)], port, "/sparql") as found:
        yield found


@contextmanager
def _process(name: str, command: list[str], port: int, path: str) -> Iterator[Server]:
    with serving(command, port) as pid:
        yield Server(name, pid, port, path)


@contextmanager
def serving(command: Sequence[str], port: int, env: Mapping[str, str] | None = None) -> Iterator[int]:
    """Run a server until the end of a block; its process, once it listens at a port."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **(env or {})}
    )
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                time.sleep(0.1)
            else:
                break
        time.sleep(1)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:  # oxigraph waits for connections that are kept alive
            process.kill()
            process.wait()


def free_port() -> int:
    """A port of this computer that nothing listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


# --- clients ----------------------------------------------------------------------------------------


class Client:
    """One connection that is kept alive, as thin as can be: the client must not be what is measured."""

    def __init__(self, port: int, path: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=600)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/sparql-query\r\n"
            "Accept: application/sparql-results+json\r\nContent-Length: "
        ).encode()

    def ask(self, query: str) -> int:
        """Send a query, read the whole answer; its status."""
        body = query.encode()
        self._socket.sendall(b"%b%d\r\n\r\n%b" % (self._head, len(body), body))
        data = self._socket.recv(1 << 16)
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._socket.recv(1 << 16)
        head = data[:end].lower()
        place = head.find(b"content-length:")
        if place >= 0:
            length = int(head[place + 15 :].split(b"\r\n", 1)[0])
            missing = length - (len(data) - end - 4)
            while missing > 0:
                missing -= len(self._socket.recv(1 << 16))
        else:
            while not data.endswith(b"0\r\n\r\n"):
                data += self._socket.recv(1 << 16)
        return int(head[9:12])


@dataclass(frozen=True)
class Cell:
    """What one server did: requests a second; 95th percentile and CPU time of a request, in milliseconds;
    how many requests it refused for now (503), which do not count.
    """

    rate: float
    p95: float
    cpu: float
    refused: int


def _measure(
    servers: Sequence[Server], kinds: Mapping[str, Query], seconds: float
) -> dict[tuple[str, int], list[Cell]]:
    """(kind, clients) → figures of each server."""
    found: dict[tuple[str, int], list[Cell]] = {}
    for kind, make in kinds.items():
        print(f"measuring: {kind}", file=sys.stderr, flush=True)
        for server in servers:
            _load(server, make, 4, seconds / 3)  # warm
        for clients in CLIENTS:
            found[kind, clients] = [_load(server, make, clients, seconds) for server in servers]
    return found


def _load(server: Server, make: Query, clients: int, seconds: float) -> Cell:
    times: list[float] = []
    failed: list[int] = []
    used = server.cpu_seconds()
    began = time.perf_counter()
    end = began + seconds

    def work(number: int) -> None:
        draw, client = random.Random(number), Client(server.port, server.path)
        while (start := time.perf_counter()) < end:
            status = client.ask(make(draw))
            if status == 200:
                times.append(time.perf_counter() - start)
            else:
                failed.append(status)
                time.sleep(1)  # as Retry-After says

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if set(failed) - {503} or not times:
        raise SystemExit(f"{len(failed)} of {len(failed) + len(times)} requests failed: {set(failed)}")
    took = time.perf_counter() - began
    cpu = (server.cpu_seconds() - used) / len(times)
    return Cell(len(times) / took, percentile(times, 0.95) * 1000, cpu * 1000, len(failed))


def _first_events(server: Server, questions: Sequence[str]) -> list[float]:
    """Seconds between each question and the first event of its answer; each on a connection of its own."""
    found = []
    for question in questions:
        body = json.dumps({"question": question}).encode()
        head = (
            f"POST /ask HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
            f"Accept: text/event-stream\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", server.port), timeout=600) as connection:
            start = time.perf_counter()
            connection.sendall(head.encode() + body)
            data = b""
            while b"\ndata: " not in data:
                data += connection.recv(1 << 16)
            found.append(time.perf_counter() - start)
            while connection.recv(1 << 16):  # to the end, so that one question does not slow the next
                pass
    return found


def _kill_latency(server: Server) -> float:
    """Seconds between the limit of an endless query (1 s) and its answer; the worst of five."""
    worst = 0.0
    for _ in range(5):
        client = Client(server.port, server.path)
        start = time.perf_counter()
        if client.ask(_ENDLESS) != 504:
            raise SystemExit("an endless query was not ended with 504")
        worst = max(worst, time.perf_counter() - start - 1)
    return worst


def _print(facts: int, cells: dict[tuple[str, int], list[Cell]], baseline: str) -> None:
    print(f"\n## Endpoint: {facts:,} facts, beside {baseline}\n")
    rows = [
        (
            kind,
            str(clients),
            *(f"{ours.rate:,.0f}", f"{ours.p95:.1f}", f"{ours.cpu:.2f}"),
            *(f"{theirs.rate:,.0f}", f"{theirs.p95:.1f}", f"{theirs.cpu:.2f}"),
            *(f"{ours.rate / theirs.rate:.2f} ×", f"{theirs.cpu / ours.cpu:.2f} ×"),
            f"{ours.refused} · {theirs.refused}",
        )
        for (kind, clients), (ours, theirs) in cells.items()
    ]
    beside = ("theirs: /s", "p95 ms", "CPU ms", "ratio", "by CPU", "refused")
    table(("query", "clients", "requests/s", "p95 ms", "CPU ms", *beside), rows)


if __name__ == "__main__":
    sys.exit(main())
