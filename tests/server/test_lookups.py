"""What the store holds as JSON and RDF: traces, documents, entities, any IRI; the description of the API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pyoxigraph as ox
import pytest
from starlette.routing import Route

from graphrag_rdf.server.routes.openapi import description, routes
from tests.support.endpoint import Endpoint

TURTLE = {"Accept": "text/turtle"}
QUESTION = "Who founded the Tarnay Electric Light Company?"


@pytest.fixture
def client(answering: Endpoint) -> Iterator[httpx.Client]:
    """A client of a server over two documents that has answered `QUESTION`, and maybe others."""
    with answering.client() as found:
        if not completed(found):
            found.post("/ask", json={"question": QUESTION}, timeout=60).raise_for_status()
        yield found


def items(client: httpx.Client, path: str, **parameters: Any) -> list[dict[str, Any]]:
    """The items of a list."""
    found = client.get(path, params=parameters)
    assert found.status_code == 200, found.text
    return list(found.json()["items"])


def completed(client: httpx.Client) -> list[dict[str, Any]]:
    """The traces of answers to `QUESTION`."""
    return [t for t in items(client, "/traces") if t["outcome"] == "completed" and t["question"] == QUESTION]


def triples(response: httpx.Response) -> list[ox.Quad]:
    """What a response in RDF holds."""
    assert response.status_code == 200, response.text
    rdf_format = ox.RdfFormat.from_media_type(response.headers["content-type"])
    return list(ox.parse(response.content, rdf_format))


def test_traces(client: httpx.Client) -> None:
    newest = completed(client)[0]
    uuid = newest["iri"].rpartition(":")[2]
    for name in (uuid, uuid[:8], quote(newest["iri"], safe="")):
        found = client.get(f"/traces/{name}")
        assert found.status_code == 200
        assert found.json()["question"] == newest["question"]
    assert triples(client.get(f"/traces/{uuid}", headers=TURTLE))
    assert {
        q.graph_name for q in triples(client.get(f"/traces/{uuid}", headers={"Accept": "application/trig"}))
    } >= {
        ox.NamedNode("urn:graph:retrieval"),
        ox.NamedNode("urn:graph:source"),
    }
    assert items(client, "/traces", kind="nothing") == []


def test_documents(client: httpx.Client) -> None:
    listed = items(client, "/documents")
    assert len(listed) == 2
    assert len(items(client, "/documents", limit=1, offset=1)) == 1
    for document in listed:
        found = client.get(f"/documents/{quote(document['iri'], safe='')}").json()
        assert found["title"] == document["title"]
        assert triples(client.get(f"/documents/{quote(document['iri'], safe='')}", headers=TURTLE))


def test_entities(client: httpx.Client) -> None:
    (walter,) = items(client, "/entities", match="walter")
    assert walter["name"] == "Walter Pennock"
    for name in (quote(walter["iri"], safe=""), walter["iri"].rpartition("/")[2]):
        found = client.get(f"/entities/{name}").json()
        assert found["iri"] == walter["iri"]
        assert found["facts"]
        assert found["mentions"]
    about = triples(client.get(f"/entities/{quote(walter['iri'], safe='')}", headers=TURTLE))
    assert any(quad.subject.value == walter["iri"] for quad in about)


def test_any_iri(client: httpx.Client) -> None:
    chunk = client.get(
        "/sparql",
        params={
            "query": "SELECT ?c { GRAPH <urn:graph:source> { ?c <https://trustgraph.ai/ns/content> ?t } }"
        },
    ).json()["results"]["bindings"][0]["c"]["value"]
    found = client.get("/resource", params={"iri": chunk})
    assert found.json()["facts"]
    for media_type in ("application/n-triples", "application/rdf+xml", "application/ld+json"):
        inline = {"iri": chunk, "context": "inline"}
        assert triples(client.get("/resource", params=inline, headers={"Accept": media_type}))


def test_triple_terms_of_a_thing(client: httpx.Client) -> None:
    query = "SELECT ?s { GRAPH <urn:graph:source> { ?s <https://trustgraph.ai/ns/contains> ?t } } LIMIT 1"
    rows = client.get("/sparql", params={"query": query}).json()["results"]["bindings"]
    subgraph = {"iri": rows[0]["s"]["value"]}
    assert any(
        isinstance(q.object, ox.Triple)
        for q in triples(client.get("/resource", params={**subgraph, "dialect": "rdf12"}, headers=TURTLE))
    )
    old = client.get("/resource", params={**subgraph, "format": "turtle"})
    assert "rdf:subject" in old.text
    assert not any(isinstance(q.object, ox.Triple) for q in triples(old))


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/resource", 400),
        ("/resource?iri=relative", 400),
        ("/resource?iri=urn:nothing", 404),
        ("/resource?iri=urn:a&iri=urn:b", 400),
        ("/traces/0000", 404),
        ("/traces/..%2f..%2fetc%2fpasswd", 404),
        ("/documents/nothing", 404),
        ("/documents/%2fetc%2fpasswd", 404),
        ("/documents/%00", 404),
        ("/documents/a%20b", 400),
        ("/entities/nobody", 404),
        ("/traces?limit=-1", 400),
        ("/traces?limit=1000000", 400),
        ("/documents?offset=x", 400),
        ("/entities?limit=%D9%A1", 400),
        ("/nowhere", 404),
    ],
)
def test_what_is_not_there(path: str, status: int, client: httpx.Client) -> None:
    found = client.get(path)
    assert found.status_code in ({status, 400} if "%00" in path else {status}), found.text
    assert found.headers["content-type"] == "application/problem+json"


def test_what_is_not_written(client: httpx.Client) -> None:
    assert client.get("/traces", headers={"Accept": "image/png"}).status_code == 406
    assert client.post("/traces").status_code == 405
    for path, methods in {
        "/documents": "GET, HEAD, POST",
        "/documents/any": "DELETE, GET, HEAD",
        "/facts": "DELETE, GET, HEAD, POST",
        "/ask": "GET, HEAD, POST",
        "/health": "GET, HEAD",
    }.items():
        refused = client.patch(path)
        assert (refused.status_code, refused.headers["allow"]) == (405, methods)


UNNAMED = ("/sparql/", "/store/{path:path}", "/frozen")
"""Other forms of an address, and what only commands beside the server use."""


def test_the_description_names_every_route(client: httpx.Client) -> None:
    found = client.get("/openapi.json").json()
    references = set(re.findall(r'"\$ref": "([^"]*)"', json.dumps(found)))
    assert references == {"#/components/schemas/Problem"}  # and no other, which would have to be looked for
    assert found == description()
    described = {(path, method.upper()) for path, item in found["paths"].items() for method in item}
    served = {
        (re.sub(r":(?:path|int)}", "}", route.path), method)
        for route in routes()
        if isinstance(route, Route) and route.path not in (*UNNAMED, "/openapi.json")
        for method in (route.methods or ()) - {"HEAD", "QUERY"}
    }
    assert described == served


def test_health_and_metrics(client: httpx.Client) -> None:
    health = client.get("/health").json()
    assert health["status"] == "ok"
    assert health["queries"] == "isolated"
    client.get("/<script>", params={"query": "x"})
    text = client.get("/metrics").text
    assert 'graphrag_rdf_requests_total{area="health",method="GET",status="2xx"}' in text
    assert "graphrag_rdf_commit " in text
    assert "script" not in text
