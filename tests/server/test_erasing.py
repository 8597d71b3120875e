"""Documents are forgotten while clients ask questions, read pages and run queries: the store stays whole."""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.commands import environment, places, program
from tests.support.endpoint import ADMIN, WRITE, Endpoint, bearer
from tests.support.scripted_server import Request, ScriptedServer, in_parts, offered

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

    Args:
        threads: clients.
        pause: seconds of each between two requests.

    Attributes:
        seen: how often each came: a status, or the kind of an error.
    """

    def __init__(self, threads: int, pause: float = 0.05) -> None:
        self._pause = pause
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
                if self._end.wait(self._pause):
                    return
                if not self.url:  # the first server is not there yet
                    continue
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


@contextmanager
def served(store: Path, asking: Asking, **more: str) -> Iterator[tuple[Endpoint, httpx.Client]]:
    """A server that the clients ask."""
    env = {"GRAPHRAG_RDF_SERVER__WRITE_TOKEN": WRITE, "GRAPHRAG_RDF_SERVER__READERS": "2", **more}
    with Endpoint.start(store, **env) as endpoint, endpoint.client(WRITE) as client:
        asking.url = endpoint.url
        yield endpoint, client


def delete(client: httpx.Client, number: int, *, wait: bool = True) -> httpx.Response:
    """Forget one.

    Args:
        wait: until the files are rewritten.
    """
    asked = {"wait": str(wait).lower()}
    return client.delete(f"/documents/documents/{number:03}.txt", params=asked, timeout=120)


@pytest.mark.slow
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


@pytest.mark.parametrize("late", ["focus", "look-up"])
def test_an_answer_under_way_does_not_bring_back_what_is_forgotten(
    tmp_path: Path, scripted_server: ScriptedServer, late: str
) -> None:
    """The model has read the document, and answers only after it is forgotten."""
    store = store_of(tmp_path, 1)
    asked, forgotten = threading.Event(), threading.Event()

    def reply(request: Request) -> str:
        if "knowledge graph will be searched" in request.prompt:
            return f"{word(0)}\nWalter Pennock"
        if late == "focus" or "Searched for already" in request.prompt:
            asked.set()
            assert forgotten.wait(60)
        notes = [{"id": each, "reasoning": f"{word(0)} is named"} for each in offered(request.prompt)]
        looks = [{"missing": word(0)}] if late == "look-up" else []
        return in_parts(request.prompt, [*notes, *looks], f"{word(0)} met Walter Pennock. [1]")

    scripted_server.answer_with(reply)
    env = {
        "GRAPHRAG_RDF_LLM__MODEL": "openai/scripted",
        "GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url,
        "GRAPHRAG_RDF_LLM__API_KEY": "sk-planted",
    }
    with served(store, Asking(0), **env) as (_, client), ThreadPoolExecutor(1) as pool:
        question = {"question": f"Whom did {word(0)} meet?"}
        answering = pool.submit(lambda: client.post("/ask", json=question, timeout=120))
        try:
            assert asked.wait(60)
            assert f"{word(0)} met Walter Pennock" in scripted_server.requests[-1].prompt
            assert delete(client, 0).status_code == 200
        finally:
            forgotten.set()
        answer = answering.result()
        assert answer.status_code == 200, answer.text
        assert "source_forgotten" in {warning["type"] for warning in answer.json()["warnings"]}
        assert places(store, word(0)) == []
    assert places(store, word(0)) == []
    checked = run(store, "check", "--full")
    assert checked.stdout == "no errors, no warnings\n"


def test_a_database_that_cannot_be_replaced_goes_on_serving(tmp_path: Path) -> None:
    """The error says that the text is still there; the same request finishes once there is a way."""
    store = store_of(tmp_path, 1)
    obstacle = store / "oxigraph.current"
    with Asking(1) as asking, served(store, asking) as (_, client):
        obstacle.mkdir()
        for _ in range(2):
            response = delete(client, 0)
            assert response.status_code == 503
            assert "still hold" in response.json()["detail"]
            assert listed(client) == {"documents/kept.txt"}
        assert places(store, word(0))
        obstacle.rmdir()
        assert delete(client, 0).status_code == 200
        assert places(store, word(0)) == []
        assert delete(client, 0).status_code == 404
    assert asking.odd == []


def is_pending(client: httpx.Client) -> bool:
    """Whether files may still hold forgotten text, as the server says."""
    found = client.get("/diagnostics", headers=bearer(ADMIN)).raise_for_status().json()
    return bool(found["erasure_pending"])


def test_deletions_are_answered_before_the_files_are_rewritten_once(tmp_path: Path) -> None:
    store = store_of(tmp_path, 3)
    more = {"GRAPHRAG_RDF_FORGET__REWRITE_AFTER": "20", "GRAPHRAG_RDF_SERVER__ADMIN_TOKEN": ADMIN}
    with served(store, Asking(0), **more) as (_, client):
        for number in (0, 1):
            response = delete(client, number, wait=False)
            assert (response.status_code, response.json()["erasure_pending"]) == (200, True)
            found = client.post("/retrieve", json={"question": f"Whom did {word(number)} meet?"}).json()
            assert word(number) not in json.dumps(found["results"])
            assert delete(client, number, wait=False).status_code == 404
        assert listed(client) == {"documents/kept.txt", "documents/002.txt"}
        assert is_pending(client)
        end = time.monotonic() + 60
        while is_pending(client) and time.monotonic() < end:
            time.sleep(0.2)
        assert (store / "oxigraph.current").read_text() == "oxigraph.1"  # once
        end = time.monotonic() + 60
        while (store / "oxigraph").exists() and time.monotonic() < end:  # until its readers have left
            time.sleep(0.2)
        assert [places(store, word(number)) for number in (0, 1)] == [[], []]
    assert run(store, "check").stdout.startswith("no errors, no warnings\n")


def test_a_server_that_stops_rewrites_the_files_first(tmp_path: Path) -> None:
    store = store_of(tmp_path, 1)
    with served(store, Asking(0)) as (_, client):
        assert delete(client, 0, wait=False).json()["erasure_pending"]
        assert places(store, word(0))
    assert places(store, word(0)) == []


def test_the_next_run_rewrites_the_files_that_a_killed_server_left(tmp_path: Path) -> None:
    store = store_of(tmp_path, 1)
    with served(store, Asking(0)) as (endpoint, client):
        assert delete(client, 0, wait=False).json()["erasure_pending"]
        endpoint.process.send_signal(signal.SIGKILL)
        endpoint.process.wait()
    assert places(store, word(0))
    checked = run(store, "check")
    assert (checked.returncode, "erasures-finished" in checked.stdout) == (0, True)
    assert places(store, word(0)) == []
    assert run(store, "check").stdout.startswith("no errors, no warnings\n")


@pytest.mark.slow
def test_many_documents_are_forgotten_under_load_and_kills(tmp_path: Path) -> None:
    """Each tenth time the server is killed somewhere in between, and what it was asked is asked again.

    Meanwhile traces are pruned, as people do: else the store grows by each question, and each erasure, which
    writes the whole store anew, takes longer than the one before.
    """
    count, chance = 200, random.Random(7)
    store, begun = store_of(tmp_path, count + 1), time.monotonic()
    took, killed = [0.0], 0
    with Asking(4, pause=0.5) as asking:
        for first in range(0, count + 1, 10):
            with served(store, asking) as (endpoint, client):
                for number in range(max(first - 1, 0), min(first + 9, count)):
                    start = time.monotonic()
                    response = delete(client, number)
                    took.append(time.monotonic() - start)
                    fine = (200, 404) if number == first - 1 else (200,)
                    assert response.status_code in fine, response.text
                    assert places(store, word(number)) == []
                assert len(listed(client)) == count + 1 - number
                if first == count:
                    break
                with ThreadPoolExecutor(1) as pool:
                    going = pool.submit(delete, client, first + 9)
                    time.sleep(chance.uniform(0, 1.25 * max(took[-9:])))
                    endpoint.process.send_signal(signal.SIGKILL)
                    endpoint.process.wait()
                    killed += going.exception() is not None
            pruned = run(store, "trace", "prune", "--keep", "20")
            assert pruned.returncode == 0, pruned.stderr
    kinds = {kind for kind in asking.seen if kind != 200}
    print(f"{count} deletions in {time.monotonic() - begun:.0f} s, the slowest {max(took):.1f} s")
    print(f"{killed} were cut off by kills; answers: {dict(asking.seen)}")
    assert asking.odd == []
    assert kinds <= {"ConnectError", "ReadError", "RemoteProtocolError", "WriteError"}
    checked = run(store, "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert sorted(path.name for path in store.glob("oxigraph*")) == ["oxigraph", "oxigraph.lock"]
