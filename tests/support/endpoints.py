"""SPARQL endpoints of several makes, started for tests: each empties, fills, dies and comes back."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyoxigraph import NamedNode, Quad, RdfFormat, parse, serialize

from graphrag_rdf.rdf.namespaces import RAG, STORE_NODE, Graphs
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.store.updates import data
from tests.support import endpoint as own
from tests.support.commands import environment, program
from tests.support.gateway import Gateway, Passed, Said
from tests.support.jena import jena_program

_BATCH = 2_000


@dataclass
class Server:
    """A process that serves SPARQL.

    Attributes:
        url: what `--store` gets.
        update_url: where updates go, if that does not tell.
        remote: the settings `remote` that clients need.
        dialect: that it must be found to speak.
    """

    url: str
    command: list[str]
    folder: Path
    update_url: str | None = None
    remote: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    dialect: Dialect = "rdf12"
    numbers_commits: bool = False
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            self.command, stdout=log, stderr=log, cwd=self.folder, env=environment(**self.env)
        )
        log.close()
        for _ in range(400):
            assert self.process.poll() is None, (self.folder / "log").read_text(errors="replace")
            try:
                if self.ask("ASK { }") is not None:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError((self.folder / "log").read_text(errors="replace"))

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it, and take its data away."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- data, behind the back of the program --------------------------------------------------------

    def _post(self, url: str, kind: str, text: str) -> httpx.Response:
        headers = {"Content-Type": f"application/sparql-{kind}", "Accept": "*/*"}
        if token := self.remote.get("token"):
            headers |= own.bearer(token)
        return httpx.post(url, content=text.encode(), headers=headers, timeout=60, verify=False)

    def ask(self, text: str) -> bool | None:
        """The answer to an ASK; None when the server is not ready."""
        found = self._post(f"{self.url}/query" if self.update_url is None else self.url, "query", text)
        return None if found.status_code != 200 else "true" in found.text

    def update(self, text: str) -> None:
        """Run an update."""
        found = self._post(self.update_url or f"{self.url}/update", "update", text)
        assert found.status_code < 300, found.text

    def fill(self, quads: Iterable[Quad]) -> None:
        """Hold these quads, as they are, and nothing else; commit numbers are left to who counts them."""
        own_numbers = (RAG.commit, RAG.contentCommit) if self.numbers_commits else ()
        kept = [q for q in quads if q.subject != STORE_NODE or q.predicate not in own_numbers]
        kept.sort(key=lambda quad: quad.graph_name != Graphs.SYSTEM)  # our server migrates what has none
        first = True
        for start in range(0, max(len(kept), 1), _BATCH):
            parts = ["DROP SILENT ALL"] if first else []
            parts.append(data("INSERT", kept[start : start + _BATCH], self.dialect))
            self.update(" ;\n".join(filter(None, parts)))
            first = False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="graphrag-rdf-endpoint-"))


def oxigraph(*options: str, on_disk: bool = False) -> Server:
    """`oxigraph serve` of the PyPI package `oxigraph`; in memory unless it has to die and come back."""
    name = Path(sys.executable).with_name("oxigraph")
    found = str(name) if name.exists() else shutil.which("oxigraph")
    if found is None:
        pytest.skip("the command oxigraph is not installed: pip install oxigraph")
    port, folder = _free_port(), _folder()
    place = ["--location", str(folder / "data")] if on_disk else []
    command = [found, "serve", *place, "--bind", f"127.0.0.1:{port}", *options]
    return Server(f"http://127.0.0.1:{port}", command, folder)


@dataclass
class Classic(Server):
    """`oxigraph serve` with a union for its default graph, behind what takes triple terms for errors: as
    engines of RDF 1.1 are."""

    def start(self) -> None:
        """See `Server.start`."""
        super().start()
        self.gateway = Gateway(self.url, _knows_no_triple_terms)
        self.gateway.__enter__()
        self.url = self.gateway.url

    def stop(self) -> None:
        """See `Server.stop`."""
        self.gateway.__exit__(None, None, None)
        super().stop()


def _knows_no_triple_terms(request: Passed) -> Said | None:
    return Said(400, b"what is <<?") if re.search(r"<<[ (]", request.body) else None


def classic() -> Server:
    """See `Classic`."""
    server = oxigraph("--union-default-graph")
    return Classic(server.url, server.command, server.folder, dialect="classic")


def serve() -> Server:
    """Our own server, on a folder, with a token that may write."""
    port, folder = _free_port(), _folder()
    return Server(
        f"http://127.0.0.1:{port}",
        program("--store", str(folder / "store"), "serve", "--port", str(port)),
        folder,
        remote={"token": own.WRITE},
        env=own.TOKENS,
        numbers_commits=True,
    )


def jena() -> Server:
    """Apache Jena ARQ, in memory, behind the few lines of Java beside the tests."""
    port, folder = _free_port(), _folder()
    command = [*jena_program("JenaServer", folder), str(port)]
    return Server(f"http://127.0.0.1:{port}", command, folder, dialect="rdf-star")


_VIRTUOSO = """
[Database]
DatabaseFile = virtuoso.db
ErrorLogFile = virtuoso.log
LockFile = virtuoso.lck
TransactionFile = virtuoso.trx
xa_persistent_file = virtuoso.pxa
[TempDatabase]
DatabaseFile = virtuoso-temp.db
TransactionFile = virtuoso-temp.trx
[Parameters]
ServerPort = {sql}
DirsAllowed = .
NumberOfBuffers = 10000
MaxDirtyBuffers = 6000
[HTTPServer]
ServerPort = {http}
ServerRoot = .
[SPARQL]
ResultSetMaxRows = {rows}
"""


@dataclass
class Virtuoso(Server):
    """Virtuoso, which lets nobody write until it is told to, and takes queries in forms only."""

    sql_port: int = 0

    def start(self) -> None:
        """See `Server.start`."""
        super().start()
        grants = (
            'GRANT SPARQL_UPDATE TO "SPARQL"; '
            "DB.DBA.RDF_DEFAULT_USER_PERMS_SET('nobody', 7); log_enable(3, 1);"
        )
        subprocess.run(
            ["isql-vt", str(self.sql_port), "dba", "dba", f"exec={grants}"], check=True, capture_output=True
        )

    def ask(self, text: str) -> bool | None:
        """See `Server.ask`."""
        headers = {"Accept": "application/sparql-results+json"}
        found = httpx.post(self.url, data={"query": text}, headers=headers, timeout=60, verify=False)
        return None if found.status_code != 200 else '"value": "1"' in found.text

    def fill(self, quads: Iterable[Quad]) -> None:
        """See `Server.fill`; its own graphs stay."""
        for graph in (*_GRAPHS, *{q.graph_name for q in quads}):
            self.update(f"CLEAR SILENT GRAPH {graph}")
        kept = list(quads)
        for start in range(0, len(kept), 200):
            self.update(data("INSERT", kept[start : start + 200], self.dialect))


_GRAPHS = (
    *(Graphs.FACTS, Graphs.SOURCE, Graphs.RETRIEVAL, Graphs.DERIVED, Graphs.SYSTEM),
    NamedNode("urn:graph:explainability"),
)


def virtuoso(rows: int = 1_000_000) -> Server:
    """Virtuoso 7, which knows no triple terms and whose default graph is a union.

    Args:
        rows: what it gives at most.
    """
    if shutil.which("virtuoso-t") is None or shutil.which("isql-vt") is None:
        pytest.skip("Virtuoso is not installed: apt install virtuoso-opensource-7-bin")
    sql, http, folder = _free_port(), _free_port(), _folder()
    (folder / "virtuoso.ini").write_text(_VIRTUOSO.format(sql=sql, http=http, rows=rows))
    url = f"http://127.0.0.1:{http}/sparql"
    command = ["virtuoso-t", "+foreground", "+configfile", "virtuoso.ini"]
    small = {"batch_quads": 200}  # it compiles an update, and gives up on a long one
    return Virtuoso(url, command, folder, update_url=url, remote=small, dialect="classic", sql_port=sql)


MAKERS: dict[str, Callable[..., Server]] = {
    "oxigraph": oxigraph,
    "classic": classic,
    "serve": serve,
    "jena": jena,
    "virtuoso": virtuoso,
}
"""Kind of store → what makes its server. `embedded` is not among them."""

KINDS = ("embedded", *MAKERS)


class Pool:
    """Running servers of one kind, so that not each test starts one."""

    def __init__(self, kind: str) -> None:
        self._make = MAKERS[kind]
        self._idle: list[Server] = []
        self._all: list[Server] = []

    def take(self, quads: Iterable[Quad] = ()) -> Server:
        """A server that holds these quads."""
        if not self._idle:
            fresh = self._make()
            self._all.append(fresh)
            fresh.start()
            self._idle.append(fresh)
        server = self._idle.pop()
        server.fill(quads)
        return server

    def give_back(self, server: Server) -> None:
        """Let another have it."""
        self._idle.append(server)

    def close(self) -> None:
        """End them all."""
        for server in self._all:
            server.stop()
        self._all.clear()
        self._idle.clear()


def save(quads: Iterable[Quad], file: Path) -> None:
    """Keep quads in a file."""
    with file.open("wb") as out:
        serialize(quads, out, format=RdfFormat.N_QUADS)


def saved(file: Path) -> list[Quad]:
    """What `save` kept; nothing without a file."""
    return list(parse(path=str(file), format=RdfFormat.N_QUADS)) if file.exists() else []
