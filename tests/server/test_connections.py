"""Several requests on one connection, in whatever pieces they come: each is answered and counted in turn."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.endpoint import Endpoint, wire_answers, wire_request

QUERY = "SELECT ?o { <urn:s> <urn:p> ?o } LIMIT 9"
LONG = "SELECT (COUNT(*) AS ?n) { ?a <urn:q> ?b . ?c <urn:q> ?d }"


@pytest.fixture(autouse=True)
def _filled(client: httpx.Client) -> None:
    triples = "<urn:s> <urn:p> <urn:o1> , <urn:o2> , 7 . " + " ".join(
        f"<urn:o> <urn:q> {n} ." for n in range(300)
    )
    headers = {"Content-Type": "text/turtle"}
    client.put("/store?default", content=triples, headers=headers).raise_for_status()


def queries_counted(client: httpx.Client) -> int:
    """Successful queries by POST, as the metrics have them."""
    found = re.search(
        r'^graphrag_rdf_requests_total\{area="sparql",method="POST",status="2xx"\} (\S+)',
        client.get("/metrics").text,
        re.MULTILINE,
    )
    return int(float(found[1])) if found else 0


def test_requests_in_one_packet_are_answered_in_order(endpoint: Endpoint, client: httpx.Client) -> None:
    before = queries_counted(client)
    with endpoint.connect() as connection:
        for _ in range(2):
            connection.sendall(
                b"".join(wire_request(endpoint, query) for query in (QUERY, LONG, QUERY, "nonsense", QUERY))
            )
            found = wire_answers(connection, 5)
            assert [status for status, _, _ in found] == [200, 200, 200, 400, 200]
            assert found[0][2] == found[2][2] == found[4][2]
            assert len(json.loads(found[0][2])["results"]["bindings"]) == 3
            assert json.loads(found[1][2])["results"]["bindings"][0]["n"]["value"] == "90000"
    assert queries_counted(client) == before + 8


def test_a_request_in_pieces(endpoint: Endpoint) -> None:
    whole = wire_request(endpoint, QUERY, "X-Request-Id: mine")
    with endpoint.connect() as connection:
        for cut in (1, 40, len(whole) - len(QUERY) - 1, len(whole) - 3):
            connection.sendall(whole[:cut])
            time.sleep(0.05)
            connection.sendall(whole[cut:])
            ((status, headers, body),) = wire_answers(connection, 1)
            assert status == 200
            assert headers["x-request-id"] == "mine"
            assert len(json.loads(body)["results"]["bindings"]) == 3


def test_a_body_in_chunks(client: httpx.Client) -> None:
    pieces = iter([QUERY[:20].encode(), QUERY[20:].encode()])
    found = client.post("/sparql", content=pieces, headers={"Content-Type": "application/sparql-query"})
    assert len(found.json()["results"]["bindings"]) == 3


def test_the_last_request_of_a_connection(endpoint: Endpoint) -> None:
    status, headers, body = endpoint.raw(wire_request(endpoint, QUERY, "Connection: close"))
    assert status == 200
    assert headers["connection"] == "close"
    assert json.loads(body)["results"]["bindings"]


def test_more_requests_than_are_read_at_once(endpoint: Endpoint) -> None:
    """A head may be cut anywhere by the end of a packet."""
    many = 1000
    with endpoint.connect() as connection, ThreadPoolExecutor(1) as pool:
        requests = wire_request(endpoint, LONG) + wire_request(endpoint, QUERY) * many
        sending = pool.submit(connection.sendall, requests)
        assert {status for status, _, _ in wire_answers(connection, many + 1)} == {200}
        sending.result()
