"""Documents are forgotten while clients ask questions, read pages and run queries: the store stays whole."""

from __future__ import annotations

import itertools
import subprocess
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.support.commands import environment, program
from tests.support.endpoint import WRITE, Endpoint, bearer

pytestmark = pytest.mark.embedded

KEPT = "Walter Pennock founded the Tarnay Electric Light Company in 1897. He lived in Port Merrin."
REQUESTS = (
    ("POST", "/ask", {"json": {"question": "Who founded the Tarnay Electric Light Company?"}}),
    ("GET", "/documents", {"headers": {"Accept": "text/html"}}),
    ("GET", "/entities", {}),
    ("GET", "/sparql", {"params": {"query": "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"}}),
    (
        "GET",
        "/sparql",
        {"params": {"query": "SELECT ?o { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?o }"}},
    ),
    ("GET", "/traces", {}),
)
"""What clients ask for all the time."""


def word(number: int) -> str:
    """A word that only one document has."""
    letters = "".join("bdfgklmnprstvz"[int(digit)] + "aeiou"[int(digit) % 5] for digit in f"{number:03}")
    return f"Quill{letters}feather"


def run(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program on a store."""
    return subprocess.run(
        program("--store", store, *arguments), capture_output=True, text=True, env=environment(), check=False
    )


def store_of(folder: Path, count: int) -> Path:
    """A store with a document that is kept, and so many that will go."""
    documents = folder / "documents"
    documents.mkdir()
    (documents / "kept.txt").write_text(KEPT)
    for number in range(count):
        text = f"{word(number)} met Walter Pennock in Leeds. {word(number)} wrote to Person {number % 7}."
        (documents / f"{number:03}.txt").write_text(text)
    done = run(folder / "store", "ingest", str(documents))
    assert done.returncode == 0, done.stderr
    return folder / "store"


class Asking:
    """Clients that ask without end.

    Attributes:
        seen: how often each came: a status, or the kind of an error.
    """

    def __init__(self, threads: int) -> None:
        self.seen: Counter[object] = Counter()
        self.odd: list[str] = []
        self.url = ""
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(threads)]

    def __enter__(self) -> Asking:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, first: int) -> None:
        with httpx.Client(timeout=60, headers=bearer(WRITE)) as client:
            for method, path, options in itertools.islice(itertools.cycle(REQUESTS), first, None):
                if self._end.is_set():
                    return
                try:
                    response = client.request(method, f"{self.url}{path}", **options)  # type: ignore[arg-type]
                except httpx.TransportError as error:
                    self.seen[type(error).__name__] += 1
                    time.sleep(0.05)
                    continue
                self.seen[response.status_code] += 1
                if response.status_code != 200:
                    self.odd.append(f"{path}: {response.status_code} {response.text[:300]}")


def listed(client: httpx.Client) -> set[str]:
    """The identities of all documents."""
    found = client.get("/documents", params={"limit": 1000}).raise_for_status().json()
    return {item["identity"] for item in found["items"]}


def places(store: Path, words: str) -> list[str]:
    """Files in which the words stand, as they are or compressed."""
    found = []
    for path in sorted(store.rglob("*")):
        try:
            data = path.read_bytes()
        except OSError:  # a folder, or gone by now
            continue
        with suppress(zlib.error):
            data += zlib.decompress(data)
        if words.encode() in data:
            found.append(str(path.relative_to(store)))
    return found


@contextmanager
def served(store: Path, asking: Asking) -> Iterator[tuple[Endpoint, httpx.Client]]:
    """A server that the clients ask."""
    env = {"GRAPHRAG_RDF_SERVER__WRITE_TOKEN": WRITE, "GRAPHRAG_RDF_SERVER__READERS": "2"}
    with Endpoint.start(store, verbose=False, **env) as endpoint, endpoint.client(WRITE) as client:
        asking.url = endpoint.url
        yield endpoint, client


def delete(client: httpx.Client, number: int) -> httpx.Response:
    """Forget one."""
    return client.delete(f"/documents/documents/{number:03}.txt", timeout=120)


def test_documents_are_forgotten_under_load(tmp_path: Path) -> None:
    store, count = store_of(tmp_path, 12), 10
    with Asking(3) as asking, served(store, asking) as (endpoint, client):
        for number in range(count):
            response = delete(client, number)
            assert response.status_code == 200, response.text
            assert response.json()["warnings"] == []
            assert places(store, word(number)) == []
        assert listed(client) == {"documents/kept.txt", "documents/010.txt", "documents/011.txt"}
        assert endpoint.process.poll() is None
    assert asking.odd == []
    assert sum(asking.seen.values()) > count
    checked = run(store, "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
