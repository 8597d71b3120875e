"""SHACL shapes of the user as a gate of the graph store and of updates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pyoxigraph as ox
import pytest

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.exchange import import_file
from tests.support.endpoint import Endpoint

pytest.importorskip("pyshacl")

SH = "http://www.w3.org/ns/shacl#"
TURTLE = {"Content-Type": "text/turtle"}
PREFIXES = "@prefix : <http://example.org/> .\n"
SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://example.org/> .
:ships a sh:NodeShape ; sh:targetClass :Ship ; sh:property :captains .
:captains sh:path :captain ; sh:minCount 1 ; sh:class :Person ; sh:message "a ship has a captain, a person" .
"""
GOOD = f"{PREFIXES} :petrel a :Ship ; :captain :ada . :ada a :Person ."
BAD = f"{PREFIXES} :petrel a :Ship ; :captain :kell ."
ASK = "ASK { <http://example.org/petrel> ?p ?o }"
GRAPH = "/store?graph=" + quote("http://example.org/fleet", safe="")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Endpoint]]:
    folder = tmp_path_factory.mktemp("gate")
    (folder / "shapes.ttl").write_text(SHAPES)
    found: dict[str, Endpoint] = {}
    try:
        for mode in ("reject", "report"):
            env = {
                "GRAPHRAG_RDF_VALIDATION__SHAPES": f"{folder}/shapes.ttl",
                "GRAPHRAG_RDF_VALIDATION__MODE": mode,
            }
            found[mode] = Endpoint.start(folder / mode, "--anonymous", "write", **env)
        yield found
    finally:
        for server in found.values():
            server.stop()


@pytest.fixture
def client(servers: dict[str, Endpoint]) -> Iterator[httpx.Client]:
    with servers["reject"].client() as client:
        client.post("/update", data={"update": "DROP ALL"}).raise_for_status()
        yield client


def has_petrel(client: httpx.Client) -> bool:
    answer = client.get("/sparql", params={"query": ASK}, headers={"Accept": "application/json"})
    return bool(answer.json()["boolean"])


def report_of(response: httpx.Response) -> set[ox.Triple]:
    form = ox.RdfFormat.from_media_type(response.headers["content-type"])
    return {quad.triple for quad in ox.parse(response.content, form)}


@pytest.mark.parametrize("accept", ["text/turtle", "application/rdf+xml", "application/n-triples", "*/*"])
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_a_graph_that_breaks_the_shapes_is_refused_with_the_report(
    method: str, accept: str, client: httpx.Client
) -> None:
    headers = {**TURTLE, "Accept": accept}
    refused = client.request(method, "/store?default", content=BAD, headers=headers)
    assert refused.status_code == 422
    found = report_of(refused)
    assert {t.object.value for t in found if t.predicate.value == f"{SH}conforms"} == {"false"}
    assert {t.object.value for t in found if t.predicate.value == f"{SH}value"} == {"http://example.org/kell"}
    assert {t.object.value for t in found if t.predicate.value == f"{SH}sourceShape"} == {
        "http://example.org/captains"
    }
    assert b"file:" not in refused.content
    assert not has_petrel(client)


def test_a_client_that_accepts_no_rdf_gets_a_problem_document(client: httpx.Client) -> None:
    headers = {**TURTLE, "Accept": "image/png"}
    refused = client.post("/store?default", content=BAD, headers=headers)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert "shapes" in refused.json()["detail"]


def test_a_graph_that_conforms_is_written(client: httpx.Client) -> None:
    assert client.post("/store?default", content=GOOD, headers=TURTLE).status_code == 204
    assert has_petrel(client)


def test_data_are_seen_with_what_is_there(client: httpx.Client) -> None:
    ada = f"{PREFIXES} :ada a :Person ."
    assert client.post("/store?default", content=ada, headers=TURTLE).status_code == 204
    ship = f"{PREFIXES} :petrel a :Ship ; :captain :ada ."
    assert client.post("/store?default", content=ship, headers=TURTLE).status_code == 204
    replaced = client.put("/store?default", content=ship, headers=TURTLE)
    assert replaced.status_code == 422, "PUT takes the type of the captain away"
    assert client.delete("/store?default").status_code == 204, "no ship is left"


def test_named_graphs_are_validated_with_the_facts(client: httpx.Client) -> None:
    assert client.put(GRAPH, content=BAD, headers=TURTLE).status_code == 422
    person = f"{PREFIXES} :kell a :Person ."
    assert client.post("/store?default", content=person, headers=TURTLE).status_code == 204
    assert client.put(GRAPH, content=BAD, headers=TURTLE).status_code == 201


def test_datasets_are_validated(client: httpx.Client) -> None:
    trig = f"{PREFIXES} :g {{ :petrel a :Ship }}"
    refused = client.post("/store", content=trig, headers={"Content-Type": "application/trig"})
    assert refused.status_code == 422


@pytest.mark.parametrize(
    "update",
    [
        "PREFIX : <http://example.org/> INSERT DATA { :petrel a :Ship }",
        "PREFIX : <http://example.org/> INSERT DATA { :x :y :z } ; INSERT DATA { GRAPH :g { :e a :Ship } }",
        "PREFIX : <http://example.org/> DELETE { :ada a :Person } WHERE { :ada a :Person }",
        "PREFIX : <http://example.org/> DELETE DATA { :tern :captain :ada }",
        "PREFIX : <http://example.org/> INSERT { :petrel a ?class } WHERE { :tern a ?class }",
        "PREFIX : <http://example.org/> ADD DEFAULT TO :g ; DELETE WHERE { :ada ?p ?o }",
    ],
)
def test_updates_that_break_the_shapes_change_nothing(update: str, client: httpx.Client) -> None:
    start = f"{PREFIXES} :tern a :Ship ; :captain :ada . :ada a :Person ."
    assert client.post("/store?default", content=start, headers=TURTLE).status_code == 204
    before = client.get("/store?default", headers={"Accept": "application/n-triples"}).text
    refused = client.post("/update", data={"update": update}, headers={"Accept": "text/turtle"})
    assert refused.status_code == 422, refused.text
    assert f"<{SH}" in refused.text
    after = client.get("/store?default", headers={"Accept": "application/n-triples"}).text
    assert sorted(after.splitlines()) == sorted(before.splitlines())
    assert not has_petrel(client)


@pytest.mark.parametrize(
    "update",
    [
        "PREFIX : <http://example.org/> DELETE DATA { :tern a :Ship }",
        "PREFIX : <http://example.org/> DELETE { ?s ?p ?o } INSERT { ?s :was ?o } WHERE { ?s ?p ?o }",
        "DROP ALL",
    ],
)
def test_updates_that_conform_are_run(update: str, client: httpx.Client) -> None:
    start = f"{PREFIXES} :tern a :Ship ; :captain :ada . :ada a :Person ."
    assert client.post("/store?default", content=start, headers=TURTLE).status_code == 204
    assert client.post("/update", data={"update": update}).status_code == 204


def test_what_was_broken_before_is_no_reason_to_refuse(servers: dict[str, Endpoint]) -> None:
    with servers["report"].client() as client:
        client.post("/update", data={"update": "DROP ALL"}).raise_for_status()
        accepted = client.post("/store?default", content=BAD, headers=TURTLE)
        assert accepted.status_code == 204
        iri = accepted.headers["GraphRAG-Validation"]
        query = (
            f"PREFIX sh: <{SH}> SELECT ?message {{ GRAPH <urn:graph:source> "
            f"{{ <{iri}> a sh:ValidationReport ; sh:result/sh:resultMessage ?message }} }}"
        )
        rows = client.get("/sparql", params={"query": query}, headers={"Accept": "text/csv"}).text
        assert "a ship has a captain, a person" in rows
        more = client.post("/store?default", content=f"{PREFIXES} :petrel :built 1911 .", headers=TURTLE)
        assert more.status_code == 204
        assert "GraphRAG-Validation" not in more.headers


def test_malformed_updates_are_reported_as_such(client: httpx.Client) -> None:
    assert client.post("/update", data={"update": "DELETE WHERE { ?s ?p }"}).status_code == 400
    assert client.post("/update", data={"update": "INSERT DATA { ?s ?p 1 }"}).status_code == 400


def test_no_copies_are_left(servers: dict[str, Endpoint], client: httpx.Client) -> None:
    client.post("/update", data={"update": "DELETE WHERE { ?s <urn:x> ?o }"}).raise_for_status()
    assert list(Path(servers["reject"].store).glob("snapshots/*/oxigraph.lock")) == []


def test_corrections_of_facts_are_refused_with_the_offender(tmp_path: Path) -> None:
    (tmp_path / "shapes.ttl").write_text(SHAPES)
    (tmp_path / "facts.ttl").write_text(GOOD)
    with Engine.open(tmp_path / "store", config=Settings()) as engine:
        import_file(engine, tmp_path / "facts.ttl")
    env = {
        "GRAPHRAG_RDF_VALIDATION__SHAPES": f"{tmp_path}/shapes.ttl",
        "GRAPHRAG_RDF_VALIDATION__MODE": "reject",
    }
    ex = "http://example.org/"
    asked = {"subject": f"<{ex}petrel>", "predicate": f"<{ex}captain>", "object": f"<{ex}ada>"}
    server = Endpoint.start(tmp_path / "store", "--anonymous", "write", **env)
    try:
        with server.client() as client:
            body = {**asked, "instead": {"object": f"<{ex}kell>"}}
            refused = client.post("/facts", json=body, headers={"Accept": "application/json"})
            assert refused.status_code == 422
            assert "petrel · captain · kell: a ship has a captain, a person" in refused.json()["detail"]
            assert refused.headers["GraphRAG-Validation"].startswith("urn:graphrag-rdf:validation:")
            assert (
                client.get("/facts/decisions", headers={"Accept": "application/json"}).json()["items"] == []
            )
            report = client.post("/facts", json=body, headers={"Accept": "text/turtle"})
            assert report.status_code == 422
            assert {t.object.value for t in report_of(report) if t.predicate.value == f"{SH}value"} == {
                f"{ex}kell"
            }
            page = client.post("/facts", json=body, headers={"Accept": "text/html"})
            assert page.status_code == 422
            assert "a ship has a captain, a person" in page.text
    finally:
        server.stop()
