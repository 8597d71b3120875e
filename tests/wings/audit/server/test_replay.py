"""`/traces/{id}/replay` and `/traces/{id}/ask-without`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import load_settings
from tests.server.conftest import copy_of
from tests.support.endpoint import TOKENS, WRITE, Endpoint
from tests.support.scripted_server import ScriptedServer

QUESTION = "Who founded the Tarnay Electric Light Company?"


@pytest.fixture
def run(stranger: httpx.Client) -> str:
    """The name of a fresh trace."""
    answer = stranger.post("/ask", json={"question": QUESTION}).raise_for_status().json()
    return str(answer["question_iri"].rpartition(":")[2])


def commit(client: httpx.Client) -> str:
    return str(client.get("/health").json()["commit"])


def test_who_may_ask_may_ask_again(stranger: httpx.Client, run: str) -> None:
    before = commit(stranger)
    done = stranger.post(f"/traces/{run}/replay", json={}).raise_for_status().json()
    assert (done["same"], done["differences"], done["replayed"]) == (True, [], None)
    without = {"documents": ["documents/company.txt"]}
    done = stranger.post(f"/traces/{run}/ask-without", json=without).raise_for_status().json()
    assert done["changed"]
    assert "Walter Pennock" in done["answer"]
    assert "Walter Pennock" not in done["answer_without"]
    assert commit(stranger) == before


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("replay", {"model": "openai/x"}, 422),
        ("replay", [], 422),
        ("ask-without", {}, 400),
        ("ask-without", {"documents": ["nowhere.txt"]}, 400),
        ("ask-without", {"facts": [["a", "b"]]}, 422),
        ("ask-without", {"store": "/tmp"}, 422),
    ],
)
def test_what_cannot_be(path: str, body: Any, status: int, stranger: httpx.Client, run: str) -> None:
    assert stranger.post(f"/traces/{run}/{path}", json=body).status_code == status


def test_other_refusals(stranger: httpx.Client, run: str) -> None:
    assert stranger.post("/traces/nothing/replay", json={}).status_code == 404
    text = {"Content-Type": "text/plain"}
    assert stranger.post(f"/traces/{run}/replay", content=b"{}", headers=text).status_code == 415


def test_a_server_that_only_reads_makes_no_copy(documents_store: Path, tmp_path: Path) -> None:
    store = copy_of(documents_store, tmp_path)
    with Endpoint.start(store, "--read-only", **TOKENS) as endpoint, endpoint.client(WRITE) as client:
        assert client.post("/traces/last/replay", json={}).status_code == 403


@pytest.mark.slow
def test_no_other_model_is_asked_than_the_servers(
    documents_store: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    store = copy_of(documents_store, tmp_path)
    llm = {"model": "openai/scripted", "api_base": scripted_server.base_url, "api_key": "sk-scripted"}
    config = load_settings(overrides={f"llm.{name}": value for name, value in llm.items()})
    with Engine.open(store, config=config) as engine:
        *_, last = engine.ask(QUESTION)
    assert last.answer is not None
    with Endpoint.start(store, **TOKENS) as endpoint, endpoint.client(WRITE) as client:
        asked = len(scripted_server.requests)
        found = client.post("/traces/last/replay", json={})
        assert (found.status_code, len(scripted_server.requests)) == (409, asked)
        assert "openai/scripted" in found.json()["detail"]
