"""A stop ends in time, whatever clients, threads and processes do; and finishes writes."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from tests.support.endpoint import Endpoint, alive, eventually, wire_request

ENDLESS = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?a = ?l) }"
EVERYTHING = "SELECT * WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"


def fill(endpoint: Endpoint, count: int = 300) -> None:
    """Enough that a cross product does not end."""
    triples = " ".join(f"<urn:s{n}> <urn:count> {n} ." for n in range(count))
    with endpoint.client() as client:
        client.post("/update", data={"update": f"INSERT DATA {{ {triples} }}"}).raise_for_status()


def stopped(endpoint: Endpoint, number: int = signal.SIGTERM) -> float:
    """Seconds that a stop takes; it is no fault."""
    start = time.monotonic()
    assert endpoint.stop(number) == 0
    return time.monotonic() - start


@pytest.mark.slow
def test_clients_that_stall_hold_up_nothing(tmp_path: Path) -> None:
    """Half a body, a stream that nobody reads, half a head, a WebSocket that rests; and stopped readers."""
    with Endpoint.start(tmp_path / "store", "--anonymous", "write") as endpoint:
        fill(endpoint)
        host = endpoint.url.removeprefix("http://").encode()
        body, stream, head = endpoint.connect(), endpoint.connect(), endpoint.connect()
        body.sendall(
            b"POST /update HTTP/1.1\r\nHost: %b\r\nContent-Type: application/sparql-update\r\n"
            b"Content-Length: 100\r\n\r\nINSERT" % host
        )
        stream.sendall(wire_request(endpoint, EVERYTHING))
        head.sendall(b"GET / HTTP/1.1\r\nHost")
        with connect(f"ws://{host.decode()}/ask/ws", proxy=None):
            time.sleep(1)
            children = endpoint.children()
            for pid in children:
                os.kill(pid, signal.SIGSTOP)
            assert stopped(endpoint) < 10
        for connection in (body, stream, head):
            connection.close()
    eventually(lambda: not any(alive(pid) for pid in children))


@pytest.mark.slow
@pytest.mark.parametrize("store", [":memory:", "folder"])
def test_a_query_that_does_not_end_holds_up_nothing(store: str, tmp_path: Path) -> None:
    """Also one in a thread, which nothing can end."""
    place = store if store == ":memory:" else tmp_path / store
    with Endpoint.start(place, "--anonymous", "write", "--query-timeout", "300") as endpoint:
        fill(endpoint)
        with ThreadPoolExecutor(1) as pool, endpoint.client() as client:
            sent = pool.submit(client.post, "/sparql", data={"query": ENDLESS})
            time.sleep(1)
            assert stopped(endpoint) < 20
            answer = sent.result()
            assert answer.status_code == 503
            assert "stopping" in answer.json()["detail"]


@pytest.mark.slow
def test_a_write_is_finished_and_answered_first(tmp_path: Path) -> None:
    """However long other clients wait; and no other is taken."""
    place = tmp_path / "store"
    with Endpoint.start(place, "--anonymous", "write") as endpoint:
        fill(endpoint, 1500)
        long = "INSERT { ?a <urn:with> ?d } WHERE { ?a <urn:count> ?b . ?d <urn:count> ?e FILTER(?b < 250) }"
        with ThreadPoolExecutor(1) as pool, endpoint.client() as client:
            sent = pool.submit(client.post, "/update", data={"update": long})
            time.sleep(0.3)
            assert stopped(endpoint) < 60
            assert sent.result().status_code == 204
    with Endpoint.start(place) as again, again.client() as client:
        query = "SELECT (COUNT(*) AS ?n) { ?a <urn:with> ?d }"
        found = client.post("/sparql", data={"query": query}, headers={"Accept": "application/json"}).json()
        assert found["results"]["bindings"][0]["n"]["value"] == str(250 * 1500)


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    """In the middle of a write, too, of which then nothing is stored."""
    place = tmp_path / "store"
    with Endpoint.start(place, "--anonymous", "write") as endpoint:
        fill(endpoint)
        never = f"INSERT {{ <urn:a> <urn:b> ?n }} WHERE {{ {{ {ENDLESS} }} }}"
        with ThreadPoolExecutor(1) as pool, httpx.Client(timeout=30, verify=False) as client:
            sent = pool.submit(client.post, f"{endpoint.url}/update", data={"update": never})
            time.sleep(1)
            endpoint.process.send_signal(signal.SIGINT)
            time.sleep(1)
            assert endpoint.process.poll() is None
            children = endpoint.children()
            assert endpoint.stop(signal.SIGTERM, timeout=5) == 130
            with pytest.raises(httpx.TransportError):
                sent.result()
    eventually(lambda: not any(alive(pid) for pid in children))
    eventually(lambda: "once more to stop at once" in "".join(endpoint.log))
    with Endpoint.start(place) as again, again.client() as client:
        found = client.get(
            "/sparql", params={"query": "ASK { <urn:a> ?p ?o }"}, headers={"Accept": "application/json"}
        )
        assert json.loads(found.text)["boolean"] is False
