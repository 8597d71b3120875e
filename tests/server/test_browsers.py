"""The link that `serve` prints: one browser exchanges its token for a cookie, and may write."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.endpoint import Endpoint

FILE = {"files": ("lamp.md", b"Mona Kell founded the Lantern Society in 1901.\n")}


def link_of(server: Endpoint, number: int = 1) -> str:
    """The link that was printed last, once so many were."""
    for _ in range(200):
        links = re.findall(r"http://\S+/\?token=\S+", "".join(server.log))
        if len(links) >= number:
            return str(links[-1])
        time.sleep(0.02)
    raise AssertionError("".join(server.log))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    running = Endpoint.start(tmp_path_factory.mktemp("browsers") / "store")
    yield running
    running.stop()


def test_a_link_works_once_and_the_terminal_prints_the_next(server: Endpoint) -> None:
    printed = "".join(server.log).count("/?token=")
    link = link_of(server)
    with httpx.Client() as browser:
        welcome = browser.get(link)
        assert welcome.status_code == 303
        assert welcome.headers["location"] == "/"
        cookie = welcome.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert browser.get(server.url).status_code == 200
    assert httpx.get(link).status_code == 403
    assert "terminal" in httpx.get(link).text
    assert httpx.get(f"{server.url}/?token=guessed-and-wrong").status_code == 403
    assert link_of(server, printed + 1) != link


def test_the_browser_adds_documents_without_a_token_others_do_not(server: Endpoint) -> None:
    with httpx.Client(base_url=server.url, headers={"Accept": "text/html"}) as browser:
        assert "Token of role write" not in browser.get(link_of(server), follow_redirects=True).text
        assert 'id="upload-token"' not in browser.get("/documents").text
        assert 'type="file"' in browser.get("/documents").text
        added = browser.post("/documents", files=FILE, headers={"Accept": "application/json"}, timeout=60)
        assert added.status_code == 200, added.text
        foreign = {"Origin": "http://evil.example"}
        assert browser.post("/documents", files=FILE, headers=foreign).status_code == 403
        other_port = {"Sec-Fetch-Site": "same-site"}
        assert browser.post("/documents", files=FILE, headers=other_port).status_code == 403
    assert httpx.post(f"{server.url}/documents", files=FILE).status_code == 401
    forged = {"Cookie": "graphrag-rdf-00000000=x; a=b"}
    assert httpx.post(f"{server.url}/documents", files=FILE, headers=forged).status_code == 401


@pytest.mark.parametrize("options", [["--read-only"], ["--host", "0.0.0.0"], ["--anonymous", "write"]])
def test_no_link_where_it_would_open_nothing_or_too_much(
    options: list[str], documents_store: Path, tmp_path: Path
) -> None:
    store = documents_store if "--read-only" in options else tmp_path / "store"
    server = Endpoint.start(store, *options)
    try:
        httpx.get(f"{server.url}/health")
        assert "token=" not in "".join(server.log)
        assert httpx.get(f"{server.url}/?token=anything-at-all").status_code == 403
    finally:
        server.stop()


def test_an_empty_store_offers_files_and_the_sample_documents(tmp_path: Path) -> None:
    with Endpoint.start(tmp_path / "store") as server, httpx.Client(base_url=server.url) as client:
        client.headers["Accept"] = "text/html"
        assert "Read the sample documents" not in client.get("/").text, "it cannot write"
        empty = client.get(link_of(server), follow_redirects=True).text
        for offer in ('type="file"', "Read the sample documents", "Connect a language model"):
            assert offer in empty
        done = client.post("/samples", timeout=120)
        assert (done.status_code, done.headers["location"]) == (303, "/")
        begun = client.get("/").text
        assert "11 documents" in begun
        question = html.unescape(
            begun.partition('href="/?question=')[2].partition("</a>")[0].partition(">")[2]
        )
        assert question.endswith("?")
        answer = client.post(
            "/ask", json={"question": question}, headers={"Accept": "*/*"}, timeout=60
        ).json()
        assert answer["citations"], f"{question}: {answer['answer']}"
