"""`/traces/{id}/feedback` and `/cache`: what people write without SPARQL."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.conftest import copy_of
from tests.support.endpoint import READ, TOKENS, WRITE, Endpoint, bearer
from tests.support.scripted_server import Request, ScriptedServer, number_of, shown

QUESTION = "Who founded the Tarnay Electric Light Company?"
HTML = {"Accept": "text/html"}


@pytest.fixture
def run(writer: httpx.Client) -> str:
    """The name of a fresh trace."""
    answer = writer.post("/ask", json={"question": QUESTION}).raise_for_status().json()
    return str(answer["question_iri"].rpartition(":")[2])


def marks(client: httpx.Client, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/traces/{run}/feedback").raise_for_status().json()["items"]
    return found


def test_mark_change_and_take_back(writer: httpx.Client, stranger: httpx.Client, run: str) -> None:
    place = f"/traces/{run}/feedback"
    found = writer.post(place, json={"rating": "wrong", "citation": 1, "note": "another one"}).json()
    assert (found["rating"], found["citation"], found["note"]) == ("wrong", 1, "another one")
    assert writer.post(
        f"/traces/urn:trustgraph:session:{run}/feedback", json={"rating": "helpful"}
    ).is_success
    assert {mark["rating"] for mark in marks(stranger, run)} == {"wrong", "helpful"}
    writer.post(place, json={"rating": "wrong", "edge": 1, "by": "R. Tennant"}).raise_for_status()
    assert {mark["by"] for mark in marks(stranger, run)} == {None, "R. Tennant"}
    assert writer.post(place, json={"rating": "none"}).json() == {"taken_back": True}
    assert writer.post(place, json={"rating": "none"}).json() == {"taken_back": False}
    trace = stranger.get(f"/traces/{run}", headers={"Accept": "application/json"}).json()
    assert {mark["rating"] for mark in trace["feedback"]} == {"wrong"}
    query = "ASK { GRAPH ?g { ?m a <https://w3id.org/graphrag-rdf/ns#Feedback> } }"
    assert stranger.get("/sparql", params={"query": query}).json()["boolean"] is True


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"rating": "splendid"}, 422),
        ({"rating": "wrong", "citation": 0}, 422),
        ({"rating": "wrong", "citation": 99}, 400),
        ({"rating": "wrong", "citation": 1, "edge": 1}, 400),
        ({"rating": "wrong", "note": "x" * 5000}, 422),
        ({"rating": "wrong", "target": "urn:x"}, 422),
        ([], 422),
        ("wrong", 422),
    ],
)
def test_what_cannot_be_marked(body: Any, status: int, writer: httpx.Client, run: str) -> None:
    found = writer.post(f"/traces/{run}/feedback", json=body)
    assert found.status_code == status, found.text
    assert marks(writer, run) == []


def test_traces_that_are_not_there(writer: httpx.Client) -> None:
    for name in ("nothing", "00000000-0000-0000-0000-000000000000", "urn:x", "%3Cscript%3E"):
        assert writer.post(f"/traces/{name}/feedback", json={"rating": "wrong"}).status_code == 404
        assert writer.get(f"/traces/{name}/feedback").status_code == 404


def test_other_bodies_are_refused(writer: httpx.Client, run: str) -> None:
    place = f"/traces/{run}/feedback"
    assert writer.post(place, content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
    assert writer.post(place, content=b"{", headers={"Content-Type": "application/json"}).status_code == 400
    big = json.dumps({"rating": "wrong", "note": "x" * 20_000})
    assert writer.post(place, content=big, headers={"Content-Type": "application/json"}).status_code == 413
    assert writer.put(place).status_code == 405


def test_marking_needs_a_token_that_may_write(server: Endpoint, stranger: httpx.Client, run: str) -> None:
    place, body = f"/traces/{run}/feedback", {"rating": "wrong"}
    assert stranger.post(place, json=body).status_code == 401
    assert stranger.post(place, data=body).status_code == 401
    assert stranger.post(place, json=body, headers=bearer(READ)).status_code == 403
    assert stranger.post(place, data={**body, "token": READ}).status_code == 403
    assert stranger.post(place, data={**body, "token": "guess"}).status_code == 401
    assert stranger.request("DELETE", "/cache").status_code == 401
    assert stranger.request("DELETE", "/cache", headers=bearer(READ)).status_code == 403
    assert marks(stranger, run) == []


# --- the form of the page ------------------------------------------------------------------------------


def test_the_page_has_a_form_that_marks(stranger: httpx.Client, run: str) -> None:
    page = stranger.get(f"/traces/{run}", headers=HTML).text
    assert f'action="/traces/{run}/feedback"' in page
    assert 'value="citation-1"' in page
    assert 'id="mark-token"' in page
    assert re.search("Not cited: chunk [0-9]+ of [^<]+</option>", page)
    assert "“”" not in page
    fields = {"rating": "wrong", "about": "citation-1", "note": "<b>no</b>", "by": "", "token": WRITE}
    sent = stranger.post(f"/traces/{run}/feedback", data=fields)
    assert sent.status_code == 303
    assert sent.headers["location"] == f"/traces/{run}#marks"
    page = stranger.get(f"/traces/{run}", headers=HTML).text
    assert "Marked wrong: what is cited as [1]: <bdi>&lt;b&gt;no&lt;/b&gt;" in page
    assert "Marked wrong" in page.partition('id="marks"')[2], "where the form leads back to"
    assert WRITE not in page
    for about in ("citation-", "edge-x", "nothing-1", "answer-1", "citation-1e9"):
        found = stranger.post(f"/traces/{run}/feedback", data={**fields, "about": about})
        assert found.status_code == 422, about


def test_forms_of_other_sites_mark_nothing(documents_store: Path, tmp_path: Path) -> None:
    """Also where everybody may write: the server's own address in a page of another site is no licence."""
    store = copy_of(documents_store, tmp_path)
    with Endpoint.start(store, "--anonymous", "write") as server, server.client() as client:
        answer = client.post("/ask", json={"question": QUESTION}).json()
        run = answer["question_iri"].rpartition(":")[2]
        place, body = f"/traces/{run}/feedback", {"rating": "wrong", "about": "answer"}
        navigated = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        foreign = {"Origin": "https://evil.example"}
        for headers in (navigated, {**navigated, **foreign}, {"Origin": "null"}):
            assert client.post(place, data=body, headers=headers).status_code == 403
        assert client.request("DELETE", "/cache", headers=foreign).status_code == 403
        assert client.post(place, data=body, headers={"Host": "evil.example"}).status_code == 421
        assert marks(client, run) == []
        page = client.get(f"/traces/{run}", headers=HTML).text
        assert 'id="mark-token"' not in page
        assert client.post(place, data=body, headers={"Origin": server.url}).status_code == 303
        assert len(marks(client, run)) == 1


def test_a_server_that_only_reads_takes_no_marks(documents_store: Path, tmp_path: Path) -> None:
    store = copy_of(documents_store, tmp_path)
    with Endpoint.start(store, "--read-only", **TOKENS) as closed, closed.client(WRITE) as client:
        found = client.post("/traces/last/feedback", json={"rating": "wrong"})
        assert found.status_code == 403
        assert client.request("DELETE", "/cache").status_code == 403
        assert client.get("/cache").json()["enabled"] is False


# --- follow-ups by form ----------------------------------------------------------------------------------


def test_going_on_from_a_page(stranger: httpx.Client) -> None:
    first = stranger.post("/ask", json={"question": "Who designed Drumlaw Head Lighthouse?"}).json()
    run = first["question_iri"].rpartition(":")[2]
    assert f'name="session" value="{run}"' in stranger.get(f"/traces/{run}", headers=HTML).text
    page = stranger.get("/ask", params={"session": run}, headers=HTML, follow_redirects=True).text
    assert "Who designed Drumlaw Head Lighthouse?" in page
    sent = stranger.post("/ask", data={"question": "Where was he born?", "session": run})
    assert sent.status_code == 303
    page = stranger.get(sent.headers["location"], headers=HTML).text
    assert "Arnhythe" in page
    assert "Goes on with" in page
    assert stranger.get("/ask", params={"session": "<script>"}, headers=HTML).status_code == 404
    for session in ("last", "<script>", run[:8]):
        body = {"question": "Where was he born?", "session": session}
        assert stranger.post("/ask", json=body).status_code == 422


# --- caches -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_caches_are_told_and_emptied(
    documents_store: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    def reply(request: Request) -> str:
        if "knowledge graph will be searched" in request.prompt:
            return "Tarnay Electric Light Company"
        if "JSON Lines" in request.prompt:
            return ""
        return f"Walter Pennock founded it. [{number_of(shown(request.prompt), 'Walter Pennock founded')}]"

    scripted_server.answer_with(reply)
    env = {
        **TOKENS,
        "GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url,
        "GRAPHRAG_RDF_LLM__API_KEY": "sk-scripted",
        "GRAPHRAG_RDF_ANSWERS__CACHE": "true",
    }
    place = copy_of(documents_store, tmp_path)
    with Endpoint.start(place, "--model", "openai/scripted", **env) as server, server.client(WRITE) as client:
        asked = {"question": QUESTION}
        first, second = (client.post("/ask", json=asked, timeout=60).json() for _ in range(2))
        assert (first["cached"], second["cached"]) == (False, True)
        found = client.get("/cache").json()
        assert found["answers"] == {"enabled": True, "entries": 1, "reused": 1}
        assert found["llm"]["entries"] > 0
        assert str(tmp_path) not in json.dumps(found)
        assert client.request("DELETE", "/cache?only=nothing").status_code == 400
        gone = client.request("DELETE", "/cache?only=answers").json()
        assert gone == {"erased": 1, "answers": 1}
        assert client.request("DELETE", "/cache").json()["llm"] == found["llm"]["entries"]
        assert client.get("/cache").json()["entries"] == 0
        assert client.post("/ask", json=asked, timeout=60).json()["cached"] is False
