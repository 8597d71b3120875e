"""Conditional requests to the graph store (RFC 9110 §13): a client overwrites only what it has seen."""

from __future__ import annotations

import httpx
import pytest

G = "/store?graph=urn:g"
TURTLE = {"Content-Type": "text/turtle"}
LONG = " ".join(f"<urn:s{n}> <urn:p> {n} ." for n in range(200))
"""Long enough to be compressed."""


@pytest.fixture
def tag(client: httpx.Client) -> str:
    """The tag of a graph that is there."""
    client.put(G, content="<urn:s> <urn:p> 1 .", headers=TURTLE).raise_for_status()
    return client.get(G).headers["etag"]


def objects(client: httpx.Client) -> set[str]:
    """The objects of the graph."""
    lines = client.get(G, headers={"Accept": "application/n-triples"}).text.splitlines()
    return {line.split('"')[1] for line in lines}


def test_a_write_is_made_once_on_what_was_seen(tag: str, client: httpx.Client) -> None:
    assert not tag.startswith("W/")
    headers = {**TURTLE, "If-Match": f'"other", {tag}'}
    assert client.put(G, content="<urn:s> <urn:p> 2 .", headers=headers).status_code == 204
    late = client.put(G, content="<urn:s> <urn:p> 3 .", headers=headers)
    assert late.status_code == 412
    assert late.headers["content-type"] == "application/problem+json"
    for method in ("POST", "DELETE"):
        assert client.request(method, G, content="", headers=headers).status_code == 412
    assert objects(client) == {"2"}
    assert client.get(G, headers={"If-Match": tag}).status_code == 412
    assert client.delete(G, headers={"If-Match": client.get(G).headers["etag"]}).status_code == 204
    assert client.get(G, headers={"If-Match": tag}).status_code == 404


def test_a_graph_is_made_only_if_it_is_not_there(tag: str, client: httpx.Client) -> None:
    fresh = {**TURTLE, "If-None-Match": "*"}
    assert client.put(G, content="<urn:s> <urn:p> 2 .", headers=fresh).status_code == 412
    assert client.put("/store?graph=urn:h", content="", headers=fresh).status_code == 201
    assert client.put("/store?default", content="", headers=fresh).status_code == 412
    now = client.get(G).headers["etag"]
    assert now != tag
    for seen, status in ((now, 412), (f"W/{now}", 412), (tag, 204)):
        headers = {**TURTLE, "If-None-Match": seen}
        assert client.put(G, content="", headers=headers).status_code == status
    there = {**TURTLE, "If-Match": "*"}
    assert client.put("/store?graph=urn:i", content="", headers=there).status_code == 412
    assert client.get("/store?graph=urn:i").status_code == 404
    assert client.put(G, content="<urn:s> <urn:p> 4 .", headers=there).status_code == 204
    assert objects(client) == {"4"}


def test_facts_with_evidence_are_not_replaced_unseen(writer: httpx.Client) -> None:
    def put(address: str = "/store?default", **headers: str) -> httpx.Response:
        return writer.put(address, content="<urn:s> <urn:p> 1 .", headers={**TURTLE, **headers})

    refused = put()
    assert refused.status_code == 428
    assert "triples of the facts" in refused.json()["detail"]
    every = writer.get("/store?default", headers={"Accept": "text/turtle"})
    same = writer.put("/store?default", content=every.content, headers=TURTLE)
    assert same.status_code == 204
    assert put(**{"If-Match": writer.get("/store?default").headers["etag"]}).status_code == 204
    assert put("/store?default&replace=all").status_code == 204


def test_dates_are_no_condition_but_tags_beside_them_are(tag: str, client: httpx.Client) -> None:
    """RFC 9110, section 13.1.4: what has no modification date ignores the header."""
    old = {**TURTLE, "If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}
    assert client.put(G, content="<urn:s> <urn:p> 2 .", headers=old).status_code == 204
    refused = client.put(G, content="<urn:s> <urn:p> 3 .", headers={**old, "If-Match": tag})
    assert refused.status_code == 412
    assert objects(client) == {"2"}


def test_tags_of_solutions_are_weak_and_hold_nothing(tag: str, client: httpx.Client) -> None:
    assert tag
    weak = client.get("/sparql", params={"query": "SELECT * { ?s ?p ?o } ORDER BY ?s"}).headers["etag"]
    assert weak.startswith("W/")
    refused = client.put(G, content="", headers={**TURTLE, "If-Match": weak})
    assert refused.status_code == 412
    assert "weak" in refused.json()["detail"]


def test_compressed_and_plain_have_tags_of_their_own(client: httpx.Client) -> None:
    """RFC 9110 §8.8.3.3; either is known again, and holds a write."""
    client.put(G, content=LONG, headers=TURTLE).raise_for_status()
    plain = client.get(G, headers={"Accept-Encoding": "identity"})
    zipped = client.get(G, headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert zipped.headers["content-encoding"] == "gzip"
    assert plain.headers["etag"] != zipped.headers["etag"]
    for found in (plain, zipped):
        assert client.get(G, headers={"If-None-Match": found.headers["etag"]}).status_code == 304
    assert client.get(G, headers={"If-None-Match": "*"}).status_code == 304
    held = {**TURTLE, "If-Match": zipped.headers["etag"]}
    assert client.put(G, content="", headers=held).status_code == 204


def test_a_version_has_a_tag_of_its_own(tag: str, client: httpx.Client) -> None:
    """What may be sent to who asks for RDF 1.2 may not be sent to who asks for 1.1."""
    old = client.get(G, headers={"Accept": "text/turtle; version=1.1", "If-None-Match": tag})
    assert old.status_code == 200
    assert old.headers["etag"] != tag


@pytest.mark.parametrize("refusal", ["gzip;q=0", "identity, gzip;q=0.0", "br, *;q=0"])
def test_who_refuses_gzip_gets_none(refusal: str, client: httpx.Client) -> None:
    """RFC 9110 §12.5.3."""
    client.put(G, content=LONG, headers=TURTLE).raise_for_status()
    assert "content-encoding" not in client.get(G, headers={"Accept-Encoding": refusal}).headers


def test_no_part_of_a_graph_is_put(tag: str, client: httpx.Client) -> None:
    """RFC 9110 §14.5: a server that cannot put a part says so, and does not take it for the whole."""
    assert tag
    part = {**TURTLE, "Content-Range": "bytes 0-18/40"}
    assert client.put(G, content="<urn:s> <urn:p> 2 .", headers=part).status_code == 400
    assert objects(client) == {"1"}


def test_a_coding_that_is_not_spoken_is_told_which_is(client: httpx.Client) -> None:
    """RFC 9110 §15.5.16."""
    found = client.put(G, content=b"x", headers={**TURTLE, "Content-Encoding": "br"})
    assert found.status_code == 415
    assert found.headers["accept-encoding"] == "gzip"


def test_a_byte_order_mark_is_no_term(client: httpx.Client) -> None:
    """Editors on Windows write one."""
    assert client.put(G, content=b"\xef\xbb\xbf<urn:s> <urn:p> 7 .", headers=TURTLE).status_code == 201
    query = {"Content-Type": "application/sparql-query"}
    assert client.post("/sparql", content=b"\xef\xbb\xbfASK {}", headers=query).json()["boolean"] is True
    assert objects(client) == {"7"}
