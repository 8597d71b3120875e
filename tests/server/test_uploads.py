"""`POST /documents` and `DELETE /documents/{id}`: documents in and out while the server serves."""

from __future__ import annotations

import json
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks
from graphrag_rdf.config import Settings
from tests.support.commands import COMPANY, HARBOUR
from tests.support.endpoint import WRITE, Endpoint, eventually
from tests.support.scripted_server import Reply, Request, ScriptedServer

FOUNDED = "Who founded the Tarnay Electric Light Company?"
EVENTS = {"Accept": "text/event-stream"}


def files(**texts: str) -> list[tuple[str, tuple[str, bytes]]]:
    """The parts of a form: documents by the stem of their name."""
    return [("files", (f"documents/{stem}.txt", text.encode())) for stem, text in texts.items()]


def events(response: httpx.Response) -> list[tuple[str, Any]]:
    """(kind, data) of a stream of events."""
    found = []
    for block in response.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_documents_are_ingested_and_asked_at_once(client: httpx.Client) -> None:
    report = client.post("/documents", files=files(company=COMPANY, harbour=HARBOUR)).json()
    assert report["documents"]["added"] == 2
    assert report["facts"] > 0
    assert report["failures"] == []
    answer = client.post("/ask", json={"question": FOUNDED}).json()
    assert "Walter Pennock founded" in answer["answer"]
    assert answer["citations"][0]["sources"][0]["document"].endswith("documents/company.txt")
    assert client.get("/documents/documents/company.txt").status_code == 200


def test_the_same_again_changes_nothing_and_an_edit_what_it_touches(client: httpx.Client) -> None:
    first = client.post("/documents", files=files(company=COMPANY, harbour=HARBOUR))
    again = client.post("/documents", files=files(company=COMPANY, harbour=HARBOUR))
    assert again.json()["documents"]["unchanged"] == 2
    assert again.headers["graphrag-commit"] == first.headers["graphrag-commit"]
    refreshed = client.post("/documents?refresh=true", files=files(company=COMPANY)).json()
    assert (refreshed["documents"]["unchanged"], refreshed["chunks"]["added"]) == (0, 0)
    assert client.post("/documents?refresh=yes", files=files(company=COMPANY)).status_code == 400
    edited = client.post("/documents", files=files(company=COMPANY.replace("1897", "1898"))).json()
    assert (edited["documents"]["updated"], edited["chunks"]["removed"]) == (1, 1)
    answer = client.post("/ask", json={"question": FOUNDED}).json()["answer"]
    assert "1898" in answer
    assert "1897" not in answer


def test_progress_as_events(client: httpx.Client) -> None:
    response = client.post("/documents", files=files(company=COMPANY, harbour=HARBOUR), headers=EVENTS)
    assert response.headers["content-type"].startswith("text/event-stream")
    found = events(response)
    assert [kind for kind, _ in found] == ["progress", "progress", "report"]
    assert [data["path"] for _, data in found[:2]] == ["documents/company.txt", "documents/harbour.txt"]
    assert found[-1][1]["documents"]["added"] == 2


def test_what_cannot_be_read_is_reported_and_the_rest_goes_on(client: httpx.Client) -> None:
    sent = [*files(company=COMPANY), ("files", ("a.exe", b"MZ\0\1")), ("files", ("b.pdf", b"no pdf at all"))]
    report = client.post("/documents", files=sent).json()
    assert report["documents"]["added"] == 1
    assert {failure["path"] for failure in report["failures"]} == {"a.exe", "b.pdf"}
    assert all(failure["stage"] == "read" and failure["reason"] for failure in report["failures"])


@pytest.mark.parametrize(
    "name", ["../secret.txt", "/etc/x.txt", "a//b.txt", "a/./b.txt", "..\\b.txt", "a\x1bb.txt", "x" * 1100]
)
def test_names_that_lead_elsewhere_are_refused(client: httpx.Client, name: str) -> None:
    response = client.post("/documents", files=[("files", (name, b"Ada wrote it."))])
    assert response.status_code == 400
    assert response.json()["detail"]
    assert client.get("/documents", headers={"Accept": "application/json"}).json()["items"] == []


def test_what_is_no_form_of_files_is_refused(client: httpx.Client) -> None:
    assert client.post("/documents", json={"path": "/etc/passwd"}).status_code == 415
    assert client.post("/documents", files={}, data={"path": "/etc/passwd"}).status_code == 415
    twice = files(company=COMPANY) * 2
    assert "two files" in client.post("/documents", files=twice).json()["detail"]
    broken = client.post(
        "/documents", content=b"--x\r\nnonsense", headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert broken.status_code == 400
    fields = client.post("/documents", files=[("path", (None, b"/etc/passwd"))])
    assert fields.status_code == 400


def test_a_broken_form_is_no_news_for_the_log(client: httpx.Client, endpoint: Endpoint) -> None:
    form = {"Content-Type": "multipart/form-data; boundary=x", "X-Request-Id": "broken-form"}
    assert client.post("/documents", content=b"--y\r\nnonsense", headers=form).status_code == 400
    eventually(lambda: any("broken-form" in line for line in endpoint.log))
    assert not [line for line in endpoint.log if "boundary" in line]


def test_the_page_says_whether_and_how_documents_are_uploaded(
    client: httpx.Client, guarded: Endpoint, answering: Endpoint, documents_store: Path, tmp_path: Path
) -> None:
    html = {"Accept": "text/html"}
    open_to_all = client.get("/documents", headers=html).text
    assert 'enctype="multipart/form-data"' in open_to_all
    assert "Token of role write" not in open_to_all
    with guarded.client() as stranger:
        page = stranger.get("/documents", headers=html).text
        assert "Token of role write" in page
        assert "<noscript>" in page
        sent = stranger.post("/documents", files=files(company=COMPANY), headers=html)
        assert sent.status_code == 401
        assert "needs a token of role write" in sent.text
    with answering.client() as reader:  # a server without tokens
        page = reader.get("/documents", headers=html).text
        assert "open the link that the terminal" in page
        assert "multipart" not in page
    shutil.copytree(documents_store, tmp_path / "store")
    with Endpoint.start(tmp_path / "store", "--read-only") as endpoint, endpoint.client() as reader:
        page = reader.get("/documents", headers=html).text
        assert "This server is read-only" in page
        assert "multipart" not in page


def test_a_page_of_another_site_uploads_nothing(client: httpx.Client) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        sent = client.post(
            "/documents", files=files(company=COMPANY), headers={**headers, "Accept": "text/html"}
        )
        assert sent.status_code == 403
    assert client.get("/documents").json()["items"] == []


def test_the_list_is_filtered_sorted_and_turned_on_its_page(client: httpx.Client) -> None:
    client.post("/documents", files=files(company=COMPANY, harbour=HARBOUR, **texts(3)))
    asked = {"sort": "size", "match": "documents/*", "limit": "2"}
    items = client.get("/documents", params=asked).json()["items"]
    assert [item["path"] for item in items] == ["documents/harbour.txt", "documents/company.txt"]
    page = client.get("/documents", params=asked, headers={"Accept": "text/html"}).text
    assert "match=documents%2F%2A&amp;sort=size&amp;limit=2&amp;offset=2" in page
    assert 'aria-sort="ascending"' in page
    assert client.get("/documents", params={"sort": "colour"}).status_code == 400
    assert client.get("/documents", params={"failed": "maybe"}).status_code == 400
    assert client.get("/documents", params={"failed": "true"}).json()["items"] == []


def test_it_takes_the_right_to_write(guarded: Endpoint) -> None:
    with guarded.client() as stranger:
        assert stranger.post("/documents", files=files(company=COMPANY)).status_code == 401
        assert stranger.delete("/documents/documents/company.txt").status_code == 401
    with guarded.client(WRITE) as writer:
        assert writer.post("/documents", files=files(company=COMPANY)).status_code == 200
        assert writer.delete("/documents/documents/company.txt").json()["documents"] == 1


def test_a_document_is_forgotten(client: httpx.Client) -> None:
    client.post("/documents", files=files(company=COMPANY, harbour=HARBOUR))
    found = client.delete("/documents/documents/company.txt").json()
    assert found["removed"]["chunks"] == 1
    assert client.get("/documents/documents/company.txt").status_code == 404
    assert client.delete("/documents/documents/company.txt").status_code == 404
    answer = client.post("/ask", json={"question": FOUNDED}).json()
    assert "Walter Pennock" not in answer["answer"]
    assert client.get("/documents/documents/harbour.txt").status_code == 200


# --- beside other work, with a model that takes its time ------------------------------------------------


@pytest.fixture
def slow(tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Endpoint]:
    """A server with a model, two calls at a time, that anybody may write to."""
    env = {
        "GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url,
        "GRAPHRAG_RDF_LLM__API_KEY": "sk-scripted",
        "GRAPHRAG_RDF_EXTRACT__JOBS": "2",
        "GRAPHRAG_RDF_EXTRACT__CALL_CHUNKS": "1",
    }
    with Endpoint.start(
        tmp_path / "store", "--model", "openai/scripted", "--anonymous", "write", **env
    ) as it:
        yield it


def gate_of(model: ScriptedServer) -> threading.Semaphore:
    """Has a model answer one call, as a diligent one would, each further one when the gate is released."""
    gate = threading.Semaphore(1)

    def answer(request: Request) -> Reply | None:
        gate.acquire()
        return None

    model.answer_with(answer)
    return gate


def texts(count: int) -> dict[str, str]:
    """Documents of one chunk each."""
    return {f"n{number}": f"Mona Kell wrote Almanac {number} in Tarnay." for number in range(count)}


@pytest.mark.slow
def test_other_writes_do_not_wait_for_its_end(slow: Endpoint, scripted_server: ScriptedServer) -> None:
    gate = gate_of(scripted_server)
    reports: list[Any] = []
    with slow.client() as sender, slow.client() as other:
        sending = threading.Thread(
            target=lambda: reports.append(sender.post("/documents", files=files(**texts(4))).json())
        )
        sending.start()
        eventually(lambda: len(scripted_server.requests) >= 2, seconds=60)
        update = "INSERT DATA { GRAPH <urn:mine> { <urn:s> <urn:p> 1 } }"
        assert other.post("/update", data={"update": update}).status_code == 204
        asked = other.get("/sparql", params={"query": "ASK { GRAPH <urn:mine> { ?s ?p ?o } }"})
        assert asked.json()["boolean"] is True
        assert not reports
        for _ in range(8):
            gate.release()
        sending.join(30)
        assert reports[0]["documents"]["added"] == 4
    with Engine.open(config=Settings(store=str(_stopped(slow)))) as engine:
        assert engine.text_index.commit_number == engine.store.content_commit()


@pytest.mark.slow
def test_a_document_is_forgotten_whole_while_it_is_read(
    slow: Endpoint, scripted_server: ScriptedServer
) -> None:
    gate = gate_of(scripted_server)
    long = "\n\n".join(f"Mona Kell wrote Almanac {number} in Tarnay." for number in range(200))
    with (
        slow.client() as sender,
        slow.client() as other,
        slow.client() as watcher,
        ThreadPoolExecutor(2) as threads,
    ):
        sent = threads.submit(sender.post, "/documents", files=files(long=long))
        eventually(lambda: len(scripted_server.requests) >= 3, seconds=60)
        gone = threads.submit(other.delete, "/documents/documents/long.txt")
        eventually(lambda: "writes_waiting 2" in watcher.get("/metrics").text, seconds=20)
        for _ in range(50):
            gate.release()
        assert sent.result(60).json()["chunks"]["added"] > 3
        assert gone.result(60).json()["removed"]["chunks"] > 3
    with Engine.open(config=Settings(store=str(_stopped(slow)))) as engine:
        assert run_checks(engine.store, engine.blobs) == []
        assert engine.store.select("ingest/documents") == []


@pytest.mark.slow
def test_what_others_take_out_meanwhile_leaves_nothing_behind(
    slow: Endpoint, scripted_server: ScriptedServer
) -> None:
    gate = gate_of(scripted_server)
    reports: list[Any] = []
    with slow.client() as sender, slow.client() as other:
        sending = threading.Thread(
            target=lambda: reports.append(sender.post("/documents", files=files(**texts(6))).json())
        )
        sending.start()
        eventually(lambda: len(scripted_server.requests) >= 2, seconds=60)
        assert other.post("/update", data={"update": "DROP ALL"}).status_code == 204
        for _ in range(12):
            gate.release()
        sending.join(60)
        assert {failure["stage"] for failure in reports[0]["failures"]} == {"write"}
        again = sender.post("/documents", files=files(**texts(6)), timeout=60).json()
        assert again["failures"] == []
    with Engine.open(config=Settings(store=str(_stopped(slow)))) as engine:
        assert run_checks(engine.store, engine.blobs) == []
        assert len(engine.store.select("ingest/documents")) == 6


@pytest.mark.slow
def test_who_hangs_up_stops_it_and_sending_again_goes_on(
    slow: Endpoint, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(lambda request: Reply(delay=0.3, text='{"entities": [], "relations": []}'))
    sent = texts(30)
    with (
        slow.client() as client,
        client.stream("POST", "/documents", files=files(**sent), headers=EVENTS) as response,
    ):
        for line in response.iter_lines():
            if line.startswith("event: progress"):
                break
    with slow.client() as client:
        assert client.post("/update", data={"update": "INSERT DATA { <urn:s> <urn:p> 1 }"}).status_code == 204
        calls = len(scripted_server.requests)
        assert calls < 30
        scripted_server.answer_with(None)
        report = client.post("/documents", files=files(**sent), timeout=60).json()
        assert report["documents"]["unchanged"] >= 1
        assert report["stopped"] is None
        assert len(scripted_server.requests) - calls < 30


@pytest.mark.slow
def test_a_stop_of_the_server_keeps_what_was_done(slow: Endpoint, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(lambda request: Reply(delay=0.3, text='{"entities": [], "relations": []}'))
    found: list[Any] = []

    def send() -> None:
        with (
            slow.client() as client,
            client.stream("POST", "/documents", files=files(**texts(30)), headers=EVENTS) as response,
        ):
            found.extend(response.iter_lines())

    sending = threading.Thread(target=send)
    sending.start()
    eventually(lambda: len(scripted_server.requests) >= 2, seconds=60)
    assert slow.stop(signal.SIGTERM) == 0
    sending.join(20)
    assert len(scripted_server.requests) < 30
    report = json.loads(next(line for line in reversed(found) if line.startswith("data:"))[5:])
    assert report["stopped"] is not None
    with Engine.open(config=Settings(store=str(slow.store))) as engine:
        assert {problem.check for problem in run_checks(engine.store, engine.blobs)} <= {"document-finished"}
        assert len(engine.store.select("ingest/documents")) >= 1


def _stopped(endpoint: Endpoint) -> Path:
    endpoint.stop()
    place = endpoint.store.with_name("copy")
    shutil.copytree(endpoint.store, place)
    return place
