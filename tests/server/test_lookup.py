"""Look-ups: which queries are answered without a process of their own, and that it makes no difference."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pyoxigraph as ox
import pytest

from graphrag_rdf.server.execution.lookup import FAN_OUT, MOST, lookup_of
from tests.support.endpoint import READ, TOKENS, Endpoint, wire_answers, wire_request

P = "PREFIX e: <urn:e:> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
LOOKUPS = [
    "SELECT ?p ?o { <urn:s> ?p ?o }",
    "SELECT * WHERE { ?s <urn:p> ?o . } LIMIT 10",
    "select $o where{ e:s a $o } limit 1000",
    "SELECT ?s { ?s ?p 'text'@en } LIMIT 5",
    "SELECT ?s { ?s <urn:p> 7 }",
    "ASK { <urn:s> ?p ?o }",
    "SELECT ?o ?l { e:s ?p ?o . ?o rdfs:label ?l }",
    "SELECT ?o ?l { ?o rdfs:label ?l . <urn:s> ?p ?o } LIMIT 7",
    "SELECT * { ?s <urn:p> <urn:o> . ?x ?q ?s . } LIMIT 3",
    "ASK WHERE { <urn:s> <urn:p> ?o . ?o a ?t }",
]
OTHERS = [
    "SELECT ?p ?o { <urn:s> ?p ?o } LIMIT 1001",
    "SELECT ?p ?o { <urn:s> ?p ?o } LIMIT 10 OFFSET 99999999",
    "SELECT DISTINCT ?p { ?s ?p ?o } LIMIT 10",
    "SELECT ?x { ?x ?p ?x } LIMIT 1",
    "SELECT ?x { _:b ?p _:b } LIMIT 1",
    "SELECT ?x { <urn:s> <urn:p>+ ?x } LIMIT 1",
    "SELECT ?x { <urn:s> !<urn:p> ?x } LIMIT 1",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "SELECT ?s { ?s ?p ?o } ORDER BY ?s LIMIT 1",
    "SELECT ?s FROM <urn:g> { ?s ?p ?o } LIMIT 1",
    "SELECT ?s { ?s ?p ?o FILTER(?o > 1) } LIMIT 1",
    "SELECT ?s { GRAPH <urn:g> { ?s ?p ?o } } LIMIT 1",
    "SELECT ?s { ?s ?p ?o } # LIMIT 1",
    "SELECT ?s { ?s ?p ?o } VALUES ?s { 1 }",
    "SELECT * { ?a ?b ?c . ?d ?e ?f } LIMIT 1",
    "SELECT * { ?a ?b ?c . ?c ?e ?f } LIMIT 1",
    "SELECT * { <urn:s> ?p ?o . ?x ?y ?z } LIMIT 1",
    "SELECT * { <urn:s> ?p ?o . ?x ?p ?z } LIMIT 1",
    "SELECT * { <urn:s> ?p ?o . ?o <urn:p> <urn:class> } LIMIT 1",
    "SELECT * { <urn:s> ?p ?o . ?o ?q ?o } LIMIT 1",
    "SELECT * { <urn:s> <urn:p> <urn:o> . ?o ?q ?r } LIMIT 1",
    "SELECT * { ?s <urn:p> ?o . ?o ?q ?r } LIMIT 1",
    "SELECT * { <urn:s> ?p ?o . ?o ?q ?r . ?r ?t ?u } LIMIT 1",
    "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 1",
    "ASK { SELECT ?s { ?s ?p ?o } }",
]


@pytest.mark.parametrize("query", LOOKUPS)
def test_lookups(query: str) -> None:
    assert lookup_of(P + query) is not None
    ox.Store().query(P + query)


@pytest.mark.parametrize("query", OTHERS)
def test_what_may_take_long(query: str) -> None:
    assert lookup_of(P + query) is None


def test_what_a_hop_starts_from() -> None:
    found = lookup_of(P + "SELECT * { ?x ?q ?s . ?s a e:T }")
    assert found is not None
    rdf_type = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    assert found.probe == (None, rdf_type, ox.NamedNode("urn:e:T"))


@pytest.fixture(scope="module")
def hub() -> ox.Store:
    """Two hundred thousand labels, one thing with many edges, one with few."""
    store = ox.Store()
    label, edge = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label"), ox.NamedNode("urn:edge")
    things = [ox.NamedNode(f"urn:thing:{n}") for n in range(200_000)]
    store.bulk_extend(ox.Quad(thing, label, ox.Literal(thing.value)) for thing in things)
    store.bulk_extend(ox.Quad(ox.NamedNode("urn:hub"), edge, thing) for thing in things[: FAN_OUT + 1])
    store.bulk_extend(ox.Quad(ox.NamedNode("urn:few"), edge, thing) for thing in things[:FAN_OUT])
    return store


def test_hubs_go_to_a_reader(hub: ox.Store) -> None:
    for name, small in (("urn:hub", False), ("urn:few", True)):
        found = lookup_of(f"SELECT * {{ <{name}> ?p ?o . ?o <urn:label> ?l }}")
        assert found is not None
        assert found.is_small(hub) is small


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { <urn:few> ?p ?o . ?o <http://www.w3.org/2000/01/rdf-schema#label> ?l }",
        "SELECT * { ?o <http://www.w3.org/2000/01/rdf-schema#label> ?l . <urn:few> ?p ?o }",
        "SELECT * { <urn:few> ?p ?o . ?o <urn:nothing> ?l }",
        "SELECT * { <urn:few> <urn:edge> ?o . ?o ?q ?l }",
        "SELECT * { ?s ?p ?o } LIMIT 1000",
    ],
)
def test_the_engine_starts_from_the_constant(query: str, hub: ox.Store) -> None:
    """A look-up reads a few hundred entries, however large the store is."""
    assert lookup_of(query) is not None
    start = time.process_time()
    for _ in range(20):
        hub.query(query).serialize(format=ox.QueryResultsFormat.JSON)  # type: ignore[union-attr]
    assert (time.process_time() - start) / 20 < 0.02


# --- over HTTP ----------------------------------------------------------------------------------------


@pytest.fixture
def filled(client: httpx.Client) -> httpx.Client:
    """A star of more than a thousand edges, and one of a few."""
    triples = "\n".join(
        f"<urn:hub> <urn:p{n % 3}> <urn:o{n}> . <urn:o{n}> a <urn:T> ." for n in range(MOST + 100)
    )
    few = "<urn:s> a <urn:e:T> ; <urn:p> <urn:o1> , <urn:o2> , 'text'@en , 7 ."
    client.put(
        "/store?default", content=triples + few, headers={"Content-Type": "text/turtle"}
    ).raise_for_status()
    return client


def bindings(client: httpx.Client, query: str) -> list[str]:
    """The rows of an answer, in some order."""
    found = client.post("/sparql", content=query, headers={"Content-Type": "application/sparql-query"})
    assert found.status_code == 200, found.text
    assert client.get("/sparql", params={"query": query}).json() == found.json()
    return sorted(map(str, found.json()["results"]["bindings"]))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?p ?o { <urn:s> ?p ?o }",
        "SELECT ?p ?o { <urn:hub> ?p ?o }",
        "SELECT * { ?s ?p 'text'@en } LIMIT 9",
        "SELECT * { <urn:s> ?p ?o . ?o a ?t }",
        "SELECT * { <urn:hub> ?p ?o . ?o a ?t }",
        "SELECT * { ?s <urn:p1> <urn:o1> . ?s ?p ?x }",
        "SELECT ?p ?o { <urn:nothing> ?p ?o }",
    ],
)
def test_the_short_way_and_the_long_way_give_the_same(query: str, filled: httpx.Client) -> None:
    """A comment makes a query take the long way; longer answers take it by themselves."""
    assert lookup_of(query) is not None
    assert lookup_of(f"{query} # the long way") is None
    assert bindings(filled, query) == bindings(filled, f"{query} # the long way")


def test_the_short_way_refuses_as_the_long_way_does(filled: httpx.Client) -> None:
    for query, status in (("SELECT * { <urn:s> x:y ?o }", 400), ("SELECT * { <relative> ?p ?o }", 200)):
        assert filled.get("/sparql", params={"query": query}).status_code == status
    lookup = {"query": "SELECT * { <urn:s> ?p ?o }"}
    assert filled.get("/sparql", params=lookup, headers={"Accept": "text/turtle"}).status_code == 406
    first = filled.get("/sparql", params=lookup)
    assert first.headers["content-type"] == "application/sparql-results+json"
    for name in ("etag", "vary", "graphrag-commit", "content-security-policy", "x-request-id"):
        assert first.headers[name]
    again = filled.get("/sparql", params=lookup, headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    chunked = filled.post(
        "/sparql",
        content=iter([b"SELECT * { <urn:s>", b" ?p ?o }"]),
        headers={"Content-Type": "application/sparql-query"},
    )
    assert chunked.json() == first.json()


# --- the short way, which the connection takes itself ---------------------------------------------------

LOOKUP = "SELECT ?o { <urn:s> <urn:p> ?o } LIMIT 9"


def test_requests_in_one_packet_are_answered_in_their_order(endpoint: Endpoint, filled: httpx.Client) -> None:
    long = f"{LOOKUP} # the long way"
    requests = [LOOKUP, long, LOOKUP, "nonsense", LOOKUP]
    with endpoint.connect() as connection:
        for _ in range(2):
            connection.sendall(b"".join(wire_request(endpoint, query) for query in requests))
            found = wire_answers(connection, len(requests))
            assert [status for status, _, _ in found] == [200, 200, 200, 400, 200]
            bodies = {body for status, _, body in found if status == 200}
            assert len(bodies) == 1


def test_a_request_in_pieces(endpoint: Endpoint, filled: httpx.Client) -> None:
    whole = wire_request(endpoint, LOOKUP, "X-Request-Id: mine")
    with endpoint.connect() as connection:
        for cut in (1, 40, len(whole) - len(LOOKUP) - 1, len(whole) - 3):
            connection.sendall(whole[:cut])
            time.sleep(0.05)
            connection.sendall(whole[cut:])
            ((status, headers, body),) = wire_answers(connection, 1)
            assert status == 200
            assert headers["x-request-id"] == "mine"
            assert len(json.loads(body)["results"]["bindings"]) == 4


def test_both_ways_have_the_same_headers(endpoint: Endpoint, filled: httpx.Client) -> None:
    with endpoint.connect() as connection:
        connection.sendall(
            wire_request(endpoint, LOOKUP) + wire_request(endpoint, f"{LOOKUP} # the long way")
        )
        (_, short, _), (_, long, _) = wire_answers(connection, 2)
    for headers in (short, long):
        for varying in ("x-request-id", "date", "last-modified"):
            headers.pop(varying, None)
    assert short == long


def test_the_last_request_of_a_connection(endpoint: Endpoint, filled: httpx.Client) -> None:
    status, headers, body = endpoint.raw(wire_request(endpoint, LOOKUP, "Connection: close"))
    assert status == 200
    assert headers["connection"] == "close"
    assert json.loads(body)["results"]["bindings"]


def test_the_short_way_is_guarded_and_counted(tmp_path: Path) -> None:
    """Each request takes one of its minute's, whichever way it goes; metrics know of both."""
    env = {**TOKENS, "GRAPHRAG_RDF_SERVER__REQUESTS_PER_MINUTE": "9"}
    with Endpoint.start(tmp_path / "store", "--anonymous", "nothing", **env) as endpoint:
        lookup = {"content": LOOKUP, "headers": {"Content-Type": "application/sparql-query"}}
        with endpoint.client() as stranger:
            assert stranger.post("/sparql", **lookup).status_code == 401
            evil = {**lookup["headers"], "Origin": "https://evil.example"}  # type: ignore[dict-item]
            assert stranger.post("/sparql", content=LOOKUP, headers=evil).status_code == 403
        with endpoint.client(READ) as client:
            found = [client.post("/sparql", **lookup).status_code for _ in range(10)]  # /health took some
        assert 200 in found
        assert found[-1] == 429
        assert found.count(200) >= 5
