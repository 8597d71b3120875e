"""Our server in front of a store behind an endpoint (`oxigraph serve`): what works in front of a folder
works, and what cannot is said.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pyoxigraph as ox
import pytest
from websockets.sync.client import connect

from graphrag_rdf import Engine
from graphrag_rdf.config import RemoteSection, Settings
from tests.support.commands import COMPANY, HARBOUR, documents_in
from tests.support.endpoint import TOKENS, WRITE, Endpoint
from tests.support.endpoints import MAKERS, Server, oxigraph
from tests.support.gateway import Gateway, Passed, Said

QUESTION = "Who founded the Tarnay Electric Light Company?"
FOUNDED = """
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT ?who { ?w rdfs:label ?who . ?w <http://trustgraph.ai/r/founded> ?c .
?c rdfs:label "Tarnay Electric Light Company"@en }
"""
SRJ = "application/sparql-results+json"
ENDLESS = "SELECT (COUNT(*) AS ?n) { " + " . ".join(f"?s{n} ?p{n} ?o{n}" for n in range(6)) + " }"
SECRET = "remote-secret-2f6b1c"
LONG = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"


def opened(url: str, folder: Path) -> Engine:
    """The store behind an endpoint, for a program on another computer."""
    return Engine.open(url, config=Settings(remote=RemoteSection(folder=folder, retries=0)))


def started(url: str, folder: Path, *options: str, **env: str) -> Endpoint:
    """Our server over the endpoint at a URL."""
    more = {"GRAPHRAG_RDF_REMOTE__FOLDER": str(folder), "GRAPHRAG_RDF_REMOTE__RETRIES": "0", **TOKENS, **env}
    return Endpoint.start(url, *options, **more)


@pytest.fixture(scope="module")
def engine_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`oxigraph serve` with two small documents in it."""
    server, place = oxigraph(), tmp_path_factory.mktemp("filled")
    server.start()
    with opened(server.url, place / "beside") as engine:
        engine.ingest([documents_in(place)])
    yield server
    server.stop()


@pytest.fixture(scope="module")
def gateway(engine_server: Server) -> Iterator[Gateway]:
    """In front of it; what it is told to do is forgotten after each test."""
    with Gateway(engine_server.url) as found:
        yield found


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `front` keeps its files."""
    return tmp_path_factory.mktemp("front")


@pytest.fixture(scope="module")
def _front(gateway: Gateway, beside: Path) -> Iterator[Endpoint]:
    env = {"GRAPHRAG_RDF_SERVER__MAX_ROWS": "20000", "GRAPHRAG_RDF_SERVER__READERS": "2"}
    env["GRAPHRAG_RDF_REMOTE__TOKEN"] = SECRET
    with started(gateway.url, beside, "--query-timeout", "2", **env) as front:
        yield front


@pytest.fixture
def front(_front: Endpoint, gateway: Gateway) -> Iterator[Endpoint]:
    """Our server over the gateway, with a token: queries end after 2 s and 20,000 rows, two run at once."""
    yield _front
    gateway.judge = lambda request: None


@pytest.fixture
def client(front: Endpoint) -> Iterator[httpx.Client]:
    """A client that may write."""
    with front.client(WRITE) as found:
        yield found


@pytest.fixture(scope="module")
def mortal() -> Iterator[Server]:
    """`oxigraph serve` on a disk, which may be killed and emptied."""
    server = oxigraph(on_disk=True)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def spare(mortal: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Our server over it."""
    with started(mortal.url, tmp_path_factory.mktemp("spare"), GRAPHRAG_RDF_REMOTE__RETRIES="1") as found:
        yield found


def query(client: httpx.Client, text: str, accept: str = SRJ, **parameters: str) -> httpx.Response:
    """A query by POST."""
    return client.post("/sparql", data={"query": text, **parameters}, headers={"Accept": accept})


def rows(response: httpx.Response) -> list[dict[str, str]]:
    """Variable → value of each row."""
    assert response.status_code == 200, response.text
    found = response.json()["results"]["bindings"]
    return [{name: term["value"] for name, term in row.items()} for row in found]


def only(marker: str, answer: Said) -> Callable[[Passed], Said | None]:
    """A judge that answers what has a marker in it."""
    return lambda request: answer if marker in request.body else None


# --- SPARQL -------------------------------------------------------------------------------------------


def test_queries_are_answered_by_the_endpoint(client: httpx.Client, gateway: Gateway) -> None:
    assert rows(query(client, FOUNDED)) == [{"who": "Walter Pennock"}]
    assert FOUNDED in {request.body for request in gateway.passed}  # as it is
    assert query(client, "ASK { ?s ?p ?o }").json()["boolean"] is True
    got = client.get("/query", params={"query": FOUNDED})
    assert rows(got) == [{"who": "Walter Pennock"}]
    assert int(got.headers["graphrag-commit"]) > 0


@pytest.mark.parametrize(
    "media_type",
    [SRJ, "application/sparql-results+xml", "text/tab-separated-values", "text/csv"],
)
def test_results_in_every_format(client: httpx.Client, engine_server: Server, media_type: str) -> None:
    text = (
        "SELECT ?s ?o { GRAPH <urn:graph:source> { ?s ?p ?o } FILTER(isTRIPLE(?o)) } ORDER BY ?s ?o LIMIT 9"
    )
    found = query(client, text, f"{media_type};version=1.2")
    assert found.headers["content-type"].startswith(media_type)
    if media_type == "text/csv":
        assert found.text.count("<<(") == 9
        return
    wanted = httpx.post(f"{engine_server.url}/query", data={"query": text}, headers={"Accept": media_type})
    form = ox.QueryResultsFormat.from_media_type(media_type)
    assert form is not None
    seen, direct = (ox.parse_query_results(data.content, form) for data in (found, wanted))
    assert [list(row) for row in seen] == [list(row) for row in direct]


@pytest.mark.parametrize("media_type", ["text/turtle", "application/n-triples", "application/rdf+xml"])
def test_graphs_in_every_format(client: httpx.Client, media_type: str) -> None:
    text = "CONSTRUCT { ?s ?p ?o } { GRAPH <urn:graph:source> { ?s ?p ?o FILTER(isTRIPLE(?o)) } }"
    found = query(client, text, f"{media_type};version=1.2")
    assert found.headers["content-type"].startswith(media_type)
    form = ox.RdfFormat.from_media_type(media_type)
    assert form is not None
    assert sum(isinstance(quad.object, ox.Triple) for quad in ox.parse(found.content, form)) > 20


def test_what_a_client_cannot_take_is_not_sent(client: httpx.Client) -> None:
    text = "SELECT ?o { GRAPH <urn:graph:source> { ?s ?p ?o } FILTER(isTRIPLE(?o)) }"
    old = query(client, text, f"{SRJ}; version=1.1")
    assert {row["o"]["type"] for row in old.json()["results"]["bindings"]} == {"uri"}
    assert query(client, text, "image/png").status_code == 406


def test_the_dataset_of_the_protocol(client: httpx.Client) -> None:
    text = "SELECT ?s { ?s a <https://trustgraph.ai/ns/Chunk> }"
    assert rows(query(client, text)) == []
    of_source = query(client, text, **{"default-graph-uri": "urn:graph:source"})
    assert len(rows(of_source)) == 2
    named = "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }"
    assert rows(query(client, named, **{"named-graph-uri": "urn:graph:source"})) == [
        {"g": "urn:graph:source"}
    ]
    assert query(client, text, **{"default-graph-uri": "a b"}).status_code == 400
    assert query(client, text, **{"union-default-graph": ""}).status_code == 501


def test_bookkeeping_is_outside_of_graph(client: httpx.Client) -> None:
    found = rows(query(client, "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }"))
    graphs = {row["g"] for row in found}
    assert "urn:graph:source" in graphs
    assert "urn:graph:system" not in graphs
    assert query(client, "ASK { GRAPH <urn:graph:system> { ?s ?p ?o } }").json()["boolean"]


def test_relative_iris_are_of_the_address_that_was_called(client: httpx.Client, front: Endpoint) -> None:
    assert rows(query(client, "SELECT (<x> AS ?iri) {}")) == [{"iri": f"{front.url}/x"}]
    assert rows(query(client, "BASE <urn:own:> SELECT (STR(<urn:own:x>) AS ?iri) {}")) == [
        {"iri": "urn:own:x"}
    ]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", 403),
        ("SELECT * { S\\u0045RVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", 403),
        ("ASK { ?s ?p '\\u0027 } SERVICE <http://127.0.0.1:1/> {} #' }", 403),
        ('define get:soft "soft" SELECT * FROM <http://127.0.0.1:1/> { ?s ?p ?o }', 400),
        ("INSERT DATA { <urn:s> <urn:p> 1 }", 400),
        ("", 400),
        ("# nothing", 400),
    ],
)
def test_what_is_not_passed_on(client: httpx.Client, gateway: Gateway, text: str, status: int) -> None:
    found = query(client, text)
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    assert text not in {request.body for request in gateway.passed}


@pytest.mark.parametrize(
    "text",
    [
        "ASK { FILTER(CONTAINS('the service', 'service')) }",
        "ASK { FILTER('download' = 'download') } VALUES ?x { 1 2 }",
        "PREFIX service: <urn:service:> ASK { FILTER(service:load = service:load) }",
    ],
)
def test_words_that_only_look_like_calls_pass(client: httpx.Client, text: str) -> None:
    assert query(client, text).json()["boolean"] is True


def test_a_call_that_might_hide_is_not_evaluated_here(client: httpx.Client) -> None:
    """The text is parsed, with what looks like a call misspelt; to evaluate it would take for ever."""
    many = " ".join(f"VALUES ?v{n} {{ {' '.join(map(str, range(40)))} }}" for n in range(6))
    start = time.monotonic()
    found = query(client, f"ASK {{ {many} FILTER(CONTAINS('service', STR(?v0 + ?v1 + ?v5 + 1000))) }}")
    assert found.status_code == 504  # by the time limit of the query itself
    assert time.monotonic() - start < 10


def test_mistakes_are_told_at_their_place(client: httpx.Client) -> None:
    found = query(client, "SELECT * {\n ?s ?p }")
    assert found.status_code == 400
    assert "line 2" in found.json()["detail"]
    assert query(client, "SELECT ?s { ?s ?p ?o } GROUP BY ?p").status_code == 400


def test_the_description_is_true(client: httpx.Client) -> None:
    graph = ox.Store()
    graph.load(client.get("/sparql", headers={"Accept": "text/turtle"}).content, ox.RdfFormat.TURTLE)
    sd = "http://www.w3.org/ns/sparql-service-description#"
    said = {
        quad.object.value.removeprefix(sd)
        for quad in graph.quads_for_pattern(None, None, None)
        if isinstance(quad.object, ox.NamedNode)
    }
    assert {"SPARQL11Query", "SPARQL12Query", "SPARQL11Update", "urn:graph:source"} <= said
    assert not {"EmptyGraphs", "UnionDefaultGraph", "BasicFederatedQuery", "urn:graph:system"} & said


# --- limits -------------------------------------------------------------------------------------------


def test_a_query_that_takes_too_long(client: httpx.Client) -> None:
    start = time.monotonic()
    found = query(client, ENDLESS)
    assert found.status_code == 504
    assert "2 s" in found.json()["detail"]
    assert time.monotonic() - start < 10
    assert query(client, "ASK {}").status_code == 200


def test_too_many_rows_are_a_problem_or_an_aborted_transfer(client: httpx.Client) -> None:
    """Of a small answer the problem; a large one is cut off, and never looks whole."""
    try:
        large = query(client, LONG, "text/csv")
    except httpx.RemoteProtocolError:
        pass
    else:  # on a busy machine its time is up before there are 64 kB of it
        assert large.status_code == 504
    few = query(client, f"SELECT (1 AS ?x) {LONG.removeprefix('SELECT *')}", "text/csv")
    limit = {503: "20,000 rows", 504: "2 s"}[few.status_code]
    assert limit in few.json()["detail"]


def test_a_client_that_hangs_up_frees_its_place(gateway: Gateway, tmp_path: Path) -> None:
    """One query runs at once; one that nobody waits for any more is cut off, though nothing ever comes."""
    released = threading.Event()

    def judge(request: Passed) -> Said | None:
        if "urn:slow" in request.body:
            released.wait(60)
        return None

    gateway.judge = judge
    one = {"GRAPHRAG_RDF_SERVER__READERS": "1"}
    try:
        with (
            started(gateway.url, tmp_path, "--query-timeout", "60", **one) as front,
            front.client() as client,
        ):
            with pytest.raises(httpx.ReadTimeout):
                client.post("/sparql", data={"query": "ASK { <urn:slow> ?p ?o }"}, timeout=0.4)
            assert query(client, "ASK {}").status_code == 200  # before its own time limit
    finally:
        released.set()


@pytest.mark.parametrize(
    "body",
    [
        b'{"head":{"vars":["s"]},"results":{"bindings":[{"s":{"type":"uri","value":"urn:a"}},',
        b'{"head":{"vars":["s"]},"results":{"bindings":[]}}',
        b"<html>nothing of the kind</html>",
        b"",
    ],
)
def test_an_answer_that_breaks_off_is_never_passed_on(
    client: httpx.Client, gateway: Gateway, body: bytes
) -> None:
    headers = {"Content-Type": SRJ, "Content-Length": str(len(body) + 10)}
    for said in (Said(200, body, headers), Said(200, body[:-1], {"Content-Type": SRJ})):
        gateway.judge = only("urn:broken", said)
        found = query(client, "SELECT * { <urn:broken> ?p ?o }")
        assert found.status_code == 502, found.text
        assert "traceback" not in found.text.lower()


def test_a_graph_that_breaks_off_between_two_lines(client: httpx.Client, gateway: Gateway) -> None:
    body = b"<urn:s> <urn:p> <urn:o> .\n"
    headers = {"Content-Type": "application/n-triples", "Content-Length": str(len(body) + 30)}
    gateway.judge = only("urn:broken", Said(200, body, headers))
    assert query(client, "CONSTRUCT WHERE { <urn:broken> ?p ?o }", "text/turtle").status_code == 502


def test_an_endpoint_that_says_it_gives_a_part_only(client: httpx.Client, gateway: Gateway) -> None:
    """As Virtuoso does, with status 200."""
    body = json.dumps(
        {"head": {"vars": ["s"]}, "results": {"bindings": [{"s": {"type": "uri", "value": "urn:a"}}] * 5}}
    ).encode()
    for header, status in (({"X-SQL-State": "S1TAT"}, 504), ({"X-SPARQL-MaxRows": "5"}, 502)):
        gateway.judge = only("urn:part", Said(200, body, {"Content-Type": SRJ, **header}))
        assert query(client, "SELECT * { <urn:part> ?p ?o }").status_code == status


def test_a_graph_of_which_the_endpoint_gives_a_part(client: httpx.Client, gateway: Gateway) -> None:
    """As Virtuoso does, without a word: it is seen by counting."""
    some = Said(200, b"<urn:s> <urn:p> <urn:o> .\n", {"Content-Type": "application/n-triples"})
    gateway.judge = only("CONSTRUCT", some)
    found = client.get("/store?graph=urn:graph:source", headers={"Accept": "application/n-triples"})
    assert found.status_code == 502
    assert re.search(r"sent 1 of the \d+ triples", found.json()["detail"])


@pytest.mark.parametrize(
    ("status", "seen"), [(401, 502), (403, 502), (404, 502), (500, 502), (502, 502), (503, 503), (504, 504)]
)
def test_a_refusal_of_the_endpoint_is_a_problem(
    client: httpx.Client, gateway: Gateway, status: int, seen: int
) -> None:
    gateway.judge = only("urn:refused", Said(status, b"no", {"Content-Type": "text/plain"}))
    found = query(client, "ASK { <urn:refused> ?p ?o }")
    assert found.status_code == seen
    assert found.headers["content-type"] == "application/problem+json"
    assert gateway.url not in found.text  # its address is none of the client's
    assert client.get("/resource?iri=urn:refused").status_code == seen


# --- writing ------------------------------------------------------------------------------------------


def test_an_update_is_seen_at_once_and_numbered(client: httpx.Client, engine_server: Server) -> None:
    before = int(query(client, "ASK {}").headers["graphrag-commit"])
    done = client.post("/update", data={"update": "INSERT DATA { GRAPH <urn:mine> { <urn:s> <urn:p> <x> } }"})
    assert done.status_code == 204, done.text
    assert int(done.headers["graphrag-commit"]) > before
    assert len(rows(query(client, "SELECT * { GRAPH <urn:mine> { ?s ?p ?o } }"))) == 1
    assert engine_server.ask("ASK { GRAPH <urn:mine> { ?s ?p ?o FILTER(STRENDS(STR(?o), '/x')) } }")
    assert client.post("/update", data={"update": "DROP GRAPH <urn:mine>"}).status_code == 204
    assert query(client, "ASK { GRAPH <urn:mine> { ?s ?p ?o } }").json()["boolean"] is False


def test_an_update_whose_answer_is_lost_is_run_once(
    client: httpx.Client, engine_server: Server, gateway: Gateway
) -> None:
    more = "DELETE { ?s ?p ?n } INSERT { ?s ?p ?more } WHERE { ?s ?p ?n . BIND(?n + 1 AS ?more) }"
    more = f"WITH <urn:counts> {more}"

    def judge(request: Passed) -> Said | None:
        if "<urn:counts>" not in request.body or not request.is_update:
            return None
        engine_server.update(request.body)
        return Said(0)

    assert client.put("/store?graph=urn:counts", content="<urn:s> <urn:p> 1 .").status_code == 201
    gateway.judge = judge
    lost = client.post("/update", data={"update": more})
    assert lost.status_code == 502
    assert "was lost during the update" in lost.json()["detail"]
    assert "retry-after" not in lost.headers
    gateway.judge = lambda request: None
    assert rows(query(client, "SELECT ?n { GRAPH <urn:counts> { ?s ?p ?n } }")) == [{"n": "2"}]
    assert client.delete("/store?graph=urn:counts").status_code == 204


def test_updates_pass_the_same_checks(client: httpx.Client, front: Endpoint) -> None:
    def status(update: str, **parameters: str) -> int:
        return client.post("/update", data={"update": update, **parameters}).status_code

    assert status("LOAD <http://127.0.0.1:1/>") == 403
    assert status("L\\u004FAD <http://127.0.0.1:1/>") == 403
    assert status("INSERT DATA { nonsense") == 400
    assert status("INSERT { <urn:s> <urn:p> ?g } WHERE { GRAPH ?g { ?s a ?t } }") == 204
    assert query(client, "ASK { <urn:s> <urn:p> <urn:graph:system> }").json()["boolean"] is False
    copy = "INSERT { GRAPH <urn:copy> { ?s a ?t } } WHERE { ?s a ?t }"
    assert status(copy, **{"using-graph-uri": "urn:graph:source"}) == 204
    assert query(client, "ASK { GRAPH <urn:copy> { ?s a <https://trustgraph.ai/ns/Chunk> } }").json()[
        "boolean"
    ]
    assert status("DROP GRAPH <urn:copy> ; DELETE WHERE { <urn:s> ?p ?o }") == 204
    with front.client() as stranger:
        assert stranger.post("/update", data={"update": "CLEAR ALL"}).status_code == 401


def test_what_others_write_stops_no_update(
    client: httpx.Client, engine_server: Server, tmp_path: Path
) -> None:
    """Commit numbers tell of another program; an update does not rest on what was known before."""
    before = client.get("/").json()["counts"]["documents"]
    with opened(engine_server.url, tmp_path) as other:
        other.store.update("INSERT DATA { GRAPH <urn:theirs> { <urn:s> <urn:p> 1 } }")
        file = tmp_path / "theirs.txt"
        file.write_text("Nora Fell founded the Ness Gazette in 1911.\n", encoding="utf-8")
        other.ingest([file])
    assert client.get("/").json()["counts"]["documents"] == before + 1  # pages see it
    asked = {"question": "Who founded the Ness Gazette?"}
    assert "Nora Fell" in client.post("/ask", json=asked).json()["answer"]  # and questions
    (theirs,) = (d["iri"] for d in client.get("/documents").json()["items"] if "theirs" in d["iri"])
    assert client.delete(f"/documents/{theirs.partition('/doc/')[2]}").status_code == 200
    done = client.post("/update", data={"update": "DROP GRAPH <urn:theirs>"})
    assert done.status_code == 204, done.text
    assert query(client, "ASK { GRAPH <urn:theirs> { ?s ?p ?o } }").json()["boolean"] is False


def test_there_are_no_validators(client: httpx.Client) -> None:
    """Others may change the store, and nobody here would know."""
    found = client.get("/sparql", params={"query": "ASK {}"}, headers={"If-None-Match": "*"})
    assert found.status_code == 200
    assert "etag" not in found.headers
    newest = int(found.headers["graphrag-commit"])
    for number, status in ((newest, 200), (newest + 5, 412)):
        headers = {"GraphRAG-Min-Commit": str(number)}
        assert client.get("/sparql", params={"query": "ASK {}"}, headers=headers).status_code == status


def test_the_graph_store_protocol(client: httpx.Client) -> None:
    turtle, place = {"Content-Type": "text/turtle"}, "/store?graph=urn:g"
    assert client.get(place).status_code == 404
    put = client.put(place, content="<urn:s> <urn:p> <urn:o>, <<( <urn:a> <urn:b> 1 )>> .", headers=turtle)
    assert put.status_code == 201
    assert put.headers["location"].endswith("/store?graph=urn%3Ag")
    assert client.head(place).status_code == 200
    assert client.post(place, content="<urn:s> <urn:p> [ <urn:q> 2 ] .", headers=turtle).status_code == 204
    found = client.get(place, headers={"Accept": "application/n-triples;version=1.2"})
    assert len(found.text.splitlines()) == 4
    assert "<<(" in found.text
    whole = client.get("/store", headers={"Accept": "application/n-quads"})
    graphs = {quad.graph_name for quad in ox.parse(whole.content, ox.RdfFormat.N_QUADS)}
    assert {ox.NamedNode("urn:g"), ox.NamedNode("urn:graph:source"), ox.DefaultGraph()} <= graphs
    assert ox.NamedNode("urn:graph:system") not in graphs
    assert client.put(place, content="<urn:s> <urn:p> 3 .", headers=turtle).status_code == 204
    assert len(client.get(place, headers={"Accept": "application/n-triples"}).text.splitlines()) == 1
    for header, value, status in (
        ("If-None-Match", "*", 412),
        ("If-Match", "*", 204),
        ("If-Match", '"a-tag"', 412),  # there are none: what nobody can know does not hold
    ):
        sent = client.put(place, content="<urn:s> <urn:p> 3 .", headers={**turtle, header: value})
        assert sent.status_code == status, header
    assert client.delete(place).status_code == 204
    assert client.delete(place).status_code == 404
    quads = {"Content-Type": "application/n-quads"}
    assert client.post("/store", content='<urn:s> <urn:p> "1" <urn:h> .', headers=quads).status_code == 204
    assert client.delete("/store?graph=urn:h").status_code == 204
    assert client.post("/store", content='<urn:s> <urn:p> "1" _:b .', headers=quads).status_code == 400
    large = "\n".join(f'<urn:s{n}> <urn:p> "{"x" * 1000}" .' for n in range(4500))
    assert client.put(place, content=large, headers=turtle).status_code == 413
    assert client.get(place).status_code == 404


def test_a_store_that_is_emptied_is_one_again(spare: Endpoint, mortal: Server) -> None:
    with spare.client(WRITE) as client:
        assert client.post("/update", data={"update": "DROP ALL"}).status_code == 204
        assert client.get("/health").json()["status"] == "ok"
        assert mortal.ask(
            "ASK { GRAPH <urn:graph:system> { ?e <https://w3id.org/graphrag-rdf/ns#dialect> 'rdf12' } }"
        )
        files = {"files": ("company.txt", COMPANY)}
        assert client.post("/documents", files=files).json()["documents"]["added"] == 1


# --- questions, documents, pages ----------------------------------------------------------------------


def test_questions_of_every_kind(client: httpx.Client, front: Endpoint) -> None:
    answer = client.post("/ask", json={"question": QUESTION})
    assert answer.status_code == 200, answer.text
    assert "Walter Pennock" in answer.json()["answer"]
    assert answer.json()["citations"][0]["sources"][0]["quote"]
    events = client.post("/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"})
    assert "event: grounding" in events.text
    assert "Walter Pennock" in events.text
    ranked = client.post("/retrieve", json={"question": QUESTION}).json()
    assert "Walter Pennock founded" in ranked["results"][0]["text"]
    with connect(f"ws{front.url.removeprefix('http')}/ask/ws") as socket:
        socket.send(json.dumps({"question": QUESTION}))
        messages: list[dict[str, Any]] = []
        while not messages or not messages[-1].get("end_of_session"):
            messages.append(json.loads(socket.recv(timeout=30)))
    assert "Walter Pennock" in messages[-1]["answer"]["answer"]


def test_pages_traces_and_linked_data(client: httpx.Client) -> None:
    question = client.post("/ask", json={"question": QUESTION}).json()["question_iri"]
    run = question.rpartition(":")[2]
    for path, text in {
        "/": QUESTION,
        f"/traces/{run}": "Walter Pennock",
        "/traces": QUESTION,
        "/documents": "company.txt",
        "/documents/documents/company.txt": "Beatrice Pennock",
        "/entities": "Walter Pennock",
        "/entities/walter-pennock": "founded",
        "/resource?iri=http://trustgraph.ai/e/walter-pennock": "founded",
        "/dataset": "urn:graph:source",
        "/queries": "server/about",
        "/ontology": "Chunk",
        "/sparql-editor?query=SELECT+%3Fp+%7B+%3Fs+%3Fp+%3Fo+%7D": "rdf:type",
        f"/ask?session={run}": QUESTION,
    }.items():
        page = client.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
        assert page.status_code == 200, (path, page.text)
        assert text in page.text, path
    trace = client.get(f"/traces/{run}", headers={"Accept": "application/trig"})
    assert "Walter Pennock founded" in trace.text
    marked = client.post(f"/traces/{run}/feedback", json={"rating": "helpful"})
    assert marked.status_code == 200, marked.text
    assert client.get(f"/traces/{run}/feedback").json()["items"][0]["rating"] == "helpful"
    inside = client.get("/resource?iri=urn:nothing-at-all")
    assert inside.status_code == 404
    assert client.get("/cache").status_code == 200
    assert "graphrag_rdf_commit" in client.get("/metrics").text


def test_documents_come_and_go_and_facts_are_decided(client: httpx.Client) -> None:
    text = "Ada Kerrow founded the Skerry Mail in 1902.\n"
    sent = client.post("/documents", files={"files": ("mail/skerry.txt", text)})
    assert sent.status_code == 200, sent.text
    assert sent.json()["documents"]["added"] == 1
    asked = {"question": "Who founded the Skerry Mail?"}
    assert "Ada Kerrow" in client.post("/ask", json=asked).json()["answer"]
    fact = {"subject": "Ada Kerrow", "predicate": "founded", "object": "Skerry Mail"}
    decided = client.post("/facts", json={**fact, "by": "me"})
    assert decided.status_code == 200, decided.text
    assert client.get("/facts/decisions").json()["items"]
    gone = client.delete("/documents/mail/skerry.txt")
    assert gone.status_code == 200
    assert gone.json()["removed"]["chunks"] == 1
    assert "Ada Kerrow" not in client.post("/ask", json=asked).json()["answer"]


def test_diagnostics_and_health(front: Endpoint, client: httpx.Client, gateway: Gateway) -> None:
    found = client.get("/health").json()
    assert found["status"] == "ok"
    assert found["queries"] == "remote"
    assert found["dialect"] == "rdf12"
    assert {"snapshots", "reader-processes", "etags"} <= set(found["not_available"])
    with front.client(TOKENS["GRAPHRAG_RDF_SERVER__ADMIN_TOKEN"]) as admin:
        assert admin.get("/diagnostics").json()["store"]["quads"] > 100
    gateway.judge = lambda request: Said(0)
    ill = client.get("/health")
    assert ill.status_code == 503
    assert ill.json()["status"] == "unavailable"
    assert gateway.url not in ill.text


def test_tools(client: httpx.Client, front: Endpoint) -> None:
    pytest.importorskip("mcp")
    from tests.support.tools import over_http, talk

    async def work(tools: Any) -> None:
        found = await tools.call_tool("sparql", {"query": "ASK { ?s ?p ?o }"})
        assert found.structured_content["boolean"] is True
        answer = await tools.call_tool("ask", {"question": QUESTION})
        assert "Walter Pennock" in answer.structured_content["answer"]

    talk(over_http(front), work)


# --- an endpoint that goes and comes, and its credentials -----------------------------------------------


def test_an_endpoint_that_dies_and_comes_back(spare: Endpoint, mortal: Server) -> None:
    with spare.client(WRITE) as client:
        files = {"files": ("company.txt", COMPANY)}
        assert client.post("/documents", files=files).status_code == 200
        mortal.kill()
        try:
            for said in (
                query(client, "ASK {}"),
                client.get("/documents"),
                client.get("/sparql"),
                client.get("/store?default"),
                client.post("/update", data={"update": "INSERT DATA { <urn:s> <urn:p> 1 }"}),
                client.post("/ask", json={"question": QUESTION}),
                client.post("/documents", files={"files": ("harbour.md", HARBOUR)}),
                client.get("/health"),
            ):
                assert said.status_code == 503, (said.request.url, said.text)
                assert "Connection refused" in said.json()["detail"], said.text
                assert mortal.url not in said.text
            page = client.get("/entities", headers={"Accept": "text/html"})
            assert page.status_code == 503
            assert "cannot reach" in page.text
            events = client.post("/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"})
            assert events.status_code == 503 or "cannot reach" in events.text
        finally:
            mortal.start()
        assert client.get("/health").status_code == 200
        again = client.post("/documents", files={"files": ("harbour.md", HARBOUR)})
        assert again.status_code == 200, again.text
        assert "Walter Pennock" in client.post("/ask", json={"question": QUESTION}).json()["answer"]
    assert "Traceback" not in "".join(spare.log)


def test_an_endpoint_that_dies_in_the_middle_of_an_answer(client: httpx.Client, gateway: Gateway) -> None:
    """A question whose later queries fail is a problem with its cause, and the server goes on."""
    seen: list[Passed] = []

    def judge(request: Passed) -> Said | None:
        seen.append(request)
        return Said(0) if len(seen) > 12 else None

    gateway.judge = judge
    found = client.post("/ask", json={"question": "Who designed Drumlaw Head Lighthouse?"})
    assert found.status_code == 503, found.text
    assert "cannot reach" in found.json()["detail"]
    gateway.judge = lambda request: None
    assert client.post("/ask", json={"question": QUESTION}).status_code == 200


def test_credentials_of_the_endpoint_are_used_and_appear_nowhere(
    front: Endpoint, gateway: Gateway, engine_server: Server, beside: Path
) -> None:
    refused = False

    def judge(request: Passed) -> Said | None:
        known = request.headers.get("authorization") == f"Bearer {SECRET}"
        return None if known and not refused else Said(401, b"who are you?")

    gateway.judge = judge
    with front.client(TOKENS["GRAPHRAG_RDF_SERVER__ADMIN_TOKEN"]) as client:
        seen = [
            query(client, FOUNDED),
            client.post("/ask", json={"question": QUESTION}),
            *(
                client.get(path)
                for path in ("/health", "/diagnostics", "/metrics", "/sparql", "/openapi.json", "/store")
            ),
        ]
        assert all(found.status_code == 200 for found in seen)
        refused = True
        seen += [query(client, FOUNDED), client.get("/documents"), client.get("/health")]
        assert [found.status_code for found in seen[-3:]] == [502, 502, 503]
    text = "".join(found.text for found in seen) + "".join(front.log)
    assert SECRET not in text
    kept = [path.read_bytes() for path in beside.rglob("*") if path.is_file()]
    assert kept
    assert not any(SECRET.encode() in data for data in kept)
    assert not engine_server.ask(
        f"ASK {{ {{ ?s ?p ?o }} UNION {{ GRAPH ?g {{ ?s ?p ?o }} }} FILTER(CONTAINS(STR(?o), '{SECRET}')) }}"
    )


@pytest.mark.slow
def test_a_server_that_writes_nothing(engine_server: Server, gateway: Gateway, tmp_path: Path) -> None:
    gateway.judge = lambda request: None
    updates = len(gateway.updates)
    with started(gateway.url, tmp_path, "--read-only") as front, front.client(WRITE) as client:
        assert client.post("/update", data={"update": "CLEAR ALL"}).status_code == 403
        assert client.put("/store?graph=urn:g", content="<urn:s> <urn:p> 1").status_code == 403
        found = client.post("/ask", json={"question": QUESTION}).json()
        assert "Walter Pennock" in found["answer"]
        assert "trace_not_stored" in {warning["type"] for warning in found["warnings"]}
        assert "SPARQL11Update" not in client.get("/sparql").text
    assert gateway.updates[updates:] == []


def test_what_is_otherwise_is_said_at_the_start(front: Endpoint, gateway: Gateway) -> None:
    said = "".join(front.log)
    assert re.search(r"the store is at http://127\.0\.0\.1:\d+/query", said)
    assert "no snapshots" in said


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classic", "serve", "jena", "virtuoso"])
def test_in_front_of_other_engines(tmp_path: Path, kind: str) -> None:
    """What clients do works whatever the endpoint is, and it is described as what it is."""
    server = MAKERS[kind]()
    server.start()
    names = {"batch_quads": "BATCH", "token": "TOKEN"}
    env = {f"GRAPHRAG_RDF_REMOTE__{names[name]}": str(value) for name, value in server.remote.items()}
    if server.update_url is not None:
        env["GRAPHRAG_RDF_REMOTE__UPDATE_URL"] = server.update_url
    try:
        with started(server.url, tmp_path, **env) as front, front.client(WRITE) as client:
            assert client.get("/health").json()["dialect"] == server.dialect
            assert client.post("/documents", files={"files": ("company.txt", COMPANY)}).status_code == 200
            answer = client.post("/ask", json={"question": QUESTION}).json()
            assert "Walter Pennock" in answer["answer"]
            run = answer["question_iri"].rpartition(":")[2]
            assert query(client, "ASK { GRAPH ?g { ?s ?p ?o } }").json()["boolean"] is True
            assert rows(query(client, "SELECT * { <urn:none> ?p ?o }")) == []
            graph = query(
                client, "CONSTRUCT { ?s a ?o } { GRAPH <urn:graph:source> { ?s a ?o } }", "text/turtle"
            )
            assert len(list(ox.parse(graph.content, ox.RdfFormat.TURTLE))) > 5
            contained = "SELECT ?o { GRAPH <urn:graph:source> { ?s <https://trustgraph.ai/ns/contains> ?o } }"
            terms = query(client, contained, f"{SRJ};version=1.2").json()["results"]["bindings"]
            classic = server.dialect == "classic"
            assert {row["o"]["type"] for row in terms} == {"uri" if classic else "triple"}
            assert query(client, "SELECT * { ?s ?p }").status_code == 400
            before = int(query(client, "ASK {}").headers["graphrag-commit"])
            insert = "INSERT DATA { GRAPH <urn:mine> { <urn:s> <urn:p> <urn:o> } }"
            done = client.post("/update", data={"update": insert})
            assert done.status_code == 204
            assert int(done.headers["graphrag-commit"]) == before + 1
            assert len(rows(query(client, "SELECT * { GRAPH <urn:mine> { ?s ?p ?o } }"))) == 1
            assert server.ask("ASK { GRAPH <urn:mine> { ?s ?p ?o } }")
            assert client.post("/update", data={"update": "INSERT DATA { nonsense"}).status_code == 400
            place, turtle = "/store?graph=urn:g", {"Content-Type": "text/turtle"}
            assert client.put(place, content="<urn:s> <urn:p> <urn:o> .", headers=turtle).status_code == 201
            assert "<urn:o>" in client.get(place).text
            assert client.delete(place).status_code == 204
            assert client.get(place).status_code == 404
            term = client.put(place, content="<urn:s> <urn:p> <<( <urn:a> <urn:b> 1 )>> .", headers=turtle)
            assert term.status_code == (400 if classic else 201)
            assert ("does not support triple terms" in term.text) == classic
            for path in ("/", "/traces", f"/traces/{run}", "/documents/company.txt", "/entities", "/dataset"):
                assert client.get(path, headers={"Accept": "text/html"}).status_code == 200, path
            described = client.get("/sparql", headers={"Accept": "text/turtle"}).text
            assert ("SPARQL12" in described) == (server.dialect == "rdf12")
            assert ("UnionDefaultGraph" in described) == classic
            assert client.delete("/documents/company.txt").json()["removed"]["chunks"] == 1
        log = "".join(front.log)
        assert "Traceback" not in log
        assert server.dialect in log
    finally:
        server.stop()
