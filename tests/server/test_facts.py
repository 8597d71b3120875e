"""`/facts`: removing and correcting facts over HTTP."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.conftest import copy_of
from tests.support.endpoint import READ, TOKENS, WRITE, Endpoint, bearer, eventually

BORN = {"subject": "andrew orr", "predicate": "was born in", "object": "Arnhythe"}
PAGE = {"Accept": "text/html"}
HOLDS = (
    "ASK { <http://trustgraph.ai/e/andrew-orr> <http://trustgraph.ai/r/was-born-in> "
    "<http://trustgraph.ai/e/arnhythe> }"
)


def holds(client: httpx.Client) -> bool:
    return bool(client.get("/sparql", params={"query": HOLDS}).json()["boolean"])


def test_remove_list_and_take_back(writer: httpx.Client, stranger: httpx.Client) -> None:
    dry = writer.post("/facts", json={**BORN, "dry_run": True}).json()
    assert dry["removed"]["facts"] == 1
    assert holds(writer)
    done = writer.post("/facts", json={**BORN, "reason": "misread", "by": "R. T."})
    assert int(done.headers["graphrag-commit"]) > 0
    assert not holds(writer)
    [listed] = stranger.get("/facts/decisions").json()["items"]
    assert [listed] == done.json()["decisions"]
    assert (listed["reason"], listed["label"]) == ("misread", "removal by R. T.")
    undone = writer.request("DELETE", "/facts", params={"decision": listed["iri"]}).json()
    assert undone["asserted"] == [listed["fact"]]
    assert holds(writer)
    assert stranger.get("/facts/decisions").json()["items"] == []
    assert len(stranger.get("/facts/decisions", params={"all": "true"}).json()["items"]) == 1
    assert writer.request("DELETE", "/facts", params={"decision": listed["iri"]}).status_code == 400


def test_what_was_decided_about_a_fact_is_taken_back(writer: httpx.Client) -> None:
    writer.post("/facts", json=BORN).raise_for_status()
    dry = writer.request("DELETE", "/facts", params={**BORN, "dry_run": "true"}).raise_for_status().json()
    [fact] = dry["asserted"]
    assert [fact[f"{name}_label"] for name in "spo"] == ["Andrew Orr", "was born in", "Arnhythe"]
    assert not holds(writer)
    assert writer.request("DELETE", "/facts", params=BORN).json()["asserted"] == [fact]
    assert holds(writer)
    assert writer.request("DELETE", "/facts", params=BORN).status_code == 400
    for unfit in ({**BORN, "decision": "urn:x"}, {**BORN, "dry_run": "x"}, {"subject": "Andrew Orr"}):
        assert writer.request("DELETE", "/facts", params=unfit).status_code == 400


def test_a_correction_answers_at_once(writer: httpx.Client) -> None:
    done = writer.post("/facts", json={**BORN, "instead": {"object": "Tarnay"}, "with_sentences": True})
    [decision] = done.raise_for_status().json()["decisions"]
    answer = writer.post("/ask", json={"question": "Where was Andrew Orr born?"}).json()
    assert "Tarnay" in answer["answer"]
    assert "Arnhythe" not in answer["answer"]
    writer.request("DELETE", "/facts", params={"decision": decision["iri"]}).raise_for_status()
    assert "Arnhythe" in writer.post("/ask", json={"question": "Where was Andrew Orr born?"}).json()["answer"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({**BORN, "object": "nowhere"}, 400),
        ({**BORN, "instead": {}}, 422),
        ({**BORN, "instead": {"object": "Arnhythe"}}, 400),
        ({**BORN, "store": "/tmp"}, 422),
        ({**BORN, "reason": "x" * 5000}, 422),
        ({**BORN, "subject": "<nothing"}, 400),
        ([], 422),
    ],
)
def test_what_cannot_be(body: Any, status: int, writer: httpx.Client) -> None:
    found = writer.post("/facts", json=body)
    assert found.status_code == status, found.text
    assert holds(writer)


def test_deciding_needs_a_token_that_may_write(stranger: httpx.Client, writer: httpx.Client) -> None:
    assert stranger.post("/facts", json=BORN).status_code == 401
    assert stranger.post("/facts", json=BORN, headers=bearer(READ)).status_code == 403
    assert stranger.request("DELETE", "/facts", params={"decision": "urn:x"}).status_code == 401
    assert writer.post("/facts", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
    assert writer.request("DELETE", "/facts").status_code == 400
    assert writer.get("/facts/decisions", params={"all": "x"}).status_code == 400
    assert holds(stranger)


def test_a_server_that_only_reads(documents_store: Path, tmp_path: Path) -> None:
    with (
        Endpoint.start(copy_of(documents_store, tmp_path), "--read-only", **TOKENS) as endpoint,
        endpoint.client(WRITE) as client,
    ):
        assert client.post("/facts", json=BORN).status_code == 403
        assert client.get("/facts/decisions").json()["items"] == []


@pytest.mark.slow
def test_edits_beside_questions_that_bring_the_indexes_up_to_date(
    documents_store: Path, tmp_path: Path
) -> None:
    """Each is done by one of them at a time; else a manifest of one was moved away by another."""
    fact = {"subject": "Charles Babbage", "predicate": "built", "object": "Difference Engine"}
    text = b"Charles Babbage built the Difference Engine in London."
    done = threading.Event()
    with Endpoint.start(copy_of(documents_store, tmp_path), "--anonymous", "write") as endpoint:

        def ask(number: int) -> set[int]:
            found = set()
            with endpoint.client() as client:
                while not done.is_set():
                    label = f"<urn:e{number}> <http://www.w3.org/2000/01/rdf-schema#label> '{len(found)}'"
                    client.post("/update", data={"update": f"INSERT DATA {{ {label} }}"})
                    found.add(client.post("/ask", json={"question": "Who built it?"}).status_code)
            return found

        with ThreadPoolExecutor(3) as pool, endpoint.client() as client:
            client.post("/documents", files=[("f", ("engine.txt", text, "text/plain"))]).raise_for_status()
            asking = [pool.submit(ask, number) for number in range(3)]
            try:
                for _ in range(60):
                    assert client.post("/facts", json=fact).status_code == 200
                    assert client.delete("/facts", params=fact).status_code == 200
            finally:
                done.set()
            assert set().union(*(each.result() for each in asking)) == {200}


def test_what_is_wrong_with_an_index_is_told_to_the_log(documents_store: Path, tmp_path: Path) -> None:
    """Clients learn what happened, not where."""
    place = copy_of(documents_store, tmp_path)
    (place / "index" / "text" / "manifest.json").write_text("{")
    with Endpoint.start(place, "--anonymous", "write") as endpoint, endpoint.client() as client:
        refused = client.post("/facts", json=BORN)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        assert "search index" in refused.json()["detail"]
        assert str(tmp_path) not in refused.text
        eventually(lambda: str(tmp_path) in "".join(endpoint.log))


def test_two_entities_are_one_until_they_are_split(writer: httpx.Client, stranger: httpx.Client) -> None:
    walter = "/entities/walter-pennock"
    body = {"act": "merge", "other": "Beatrice Pennock", "by": "R. Tennant", "reason": "a trial"}
    assert stranger.post(walter, json=body).status_code == 401
    (decision,) = writer.post(walter, json=body).raise_for_status().json()["decisions"]
    assert decision["reason"] == "a trial"
    assert "Beatrice Pennock" in writer.get(walter, headers=PAGE).text
    assert writer.post(walter, json={"act": "merge", "other": "Nobody"}).status_code == 400
    form = {"act": "split", "other": "", "by": "", "reason": ""}
    done = writer.post(walter, data=form, headers={**PAGE, "Origin": str(writer.base_url).rstrip("/")})
    assert (done.status_code, done.headers["location"]) == (303, walter)
    assert "Beatrice Pennock</bdi>" not in writer.get(walter, headers=PAGE).text.partition("<section")[0]
