"""Questions over several endpoints: two servers of ours, and `oxigraph serve`, on loopback."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from pydantic import ValidationError

from graphrag_rdf.checks import run_shapes
from graphrag_rdf.config import Settings, trust
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.store.base import Answer
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.verify import verify
from graphrag_rdf.wings.text2sparql import endpoints, services
from tests.pipeline.test_with_a_model import settings
from tests.support.endpoints import Server, oxigraph, serve
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine
from tests.wings.text2sparql.pipeline.test_querying import writing

PREFIXES = """
PREFIX ex: <http://example.org/ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX void: <http://rdfs.org/ns/void#>
"""
HEAD = PREFIXES.replace("PREFIX", "@prefix").replace(">\n", "> .\n")
SHIPS = """
ex:petrel a ex:Ship ; rdfs:label "Petrel" ; ex:tonnage 120 ; ex:home ex:skell .
ex:heron a ex:Ship ; rdfs:label "Heron" ; ex:tonnage 95 ; ex:home ex:tarn ; ex:papers [ ex:number "7" ] .
"""
HARBOURS = """
ex:skell a ex:Harbour ; rdfs:label "Skell" ; ex:berths 12 .
ex:tarn a ex:Harbour ; rdfs:label "Tarn" ; ex:berths 3 .
"""
SHIP_SHAPES = f"""{HEAD}
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
[] a sh:NodeShape ; sh:targetClass ex:Ship ;
  sh:property [ sh:path ex:tonnage ; sh:datatype xsd:integer ] , [ sh:path ex:home ; sh:class ex:Harbour ] ,
    [ sh:path ex:papers ] .
"""
DESCRIPTION = """
ex:data void:classPartition [ void:class ex:Crew ; void:propertyPartition [ void:property ex:sailed ] ] .
ex:sailed rdfs:label "sailed on" .
"""
CREW = 'ex:ada a ex:Crew ; rdfs:label "Ada Finch" ; ex:sailed "Petrel" .'
EXAMPLE = f"""{HEAD}
@prefix sh: <http://www.w3.org/ns/shacl#> .
ex:q a sh:SPARQLExecutable ; rdfs:comment "The tonnage of each ship" ;
  sh:select "SELECT ?ship ?t {{ ?ship <http://example.org/ns#tonnage> ?t }}" .
"""


def quads(text: str) -> list[ox.Quad]:
    return list(ox.parse(HEAD + text, format=ox.RdfFormat.TURTLE))


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    """Ships and harbours of ours, crews of Oxigraph."""
    made = {"ships": serve(), "harbours": serve(), "crews": oxigraph()}
    filled = {"ships": SHIPS, "harbours": HARBOURS, "crews": CREW + DESCRIPTION}
    try:
        for name, server in made.items():
            server.start()
            server.fill(quads(filled[name]))
        yield made
    finally:
        for server in made.values():
            server.stop()


def address(server: Server) -> str:
    return f"{server.url}/query"


@pytest.fixture
def federated(
    servers: dict[str, Server], sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> Iterator[Engine]:
    """The sample store, with three endpoints: shapes in a file, VoID at an address, VoID in the data."""
    shapes, examples = tmp_path / "ships.ttl", tmp_path / "examples"
    shapes.write_text(SHIP_SHAPES)
    examples.mkdir()
    (examples / "1.ttl").write_text(EXAMPLE)
    listed = [
        {
            "name": "ships",
            "url": address(servers["ships"]),
            "about": "All ships of the coast.",
            "schema": str(shapes),
            "examples": str(examples),
        },
        {
            "name": "harbours",
            "url": address(servers["harbours"]),
            "schema": f"{servers['harbours'].url}/.well-known/void",
        },
        {"name": "crews", "url": address(servers["crews"])},
    ]
    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    with open_engine(folder, config=settings(scripted_server, **{"federation.endpoints": listed})) as opened:
        yield opened


def asked(
    engine: Engine, question: str = "What is the tonnage of the Petrel?", **more: Any
) -> dict[str, Any]:
    *_, last = engine.ask(question, "sparql", **more)
    assert last.answer is not None, last.error
    return last.answer


def test_two_endpoints_answer_one_question(
    federated: Engine, servers: dict[str, Server], scripted_server: ScriptedServer
) -> None:
    ships, harbours = address(servers["ships"]), address(servers["harbours"])
    query = f"""{PREFIXES}SELECT ?name ?tonnage ?berths {{
      SERVICE <{ships}> {{ ?ship rdfs:label ?name ; ex:tonnage ?tonnage ; ex:home ?home }}
      SERVICE SILENT <{harbours}> {{ ?home ex:berths ?berths }}
    }} ORDER BY ?tonnage"""
    answer_text = "The Heron: 95, 3 berths [1]. The Petrel: 120, 12 berths [2]."
    scripted_server.answer_with(writing(query, answer=answer_text))  # type: ignore[arg-type]
    answer = asked(federated)
    assert answer["warnings"] == []
    shown = scripted_server.requests[-1].prompt
    assert "name | tonnage | berths\n[1] Heron | 95 | 3\n[2] Petrel | 120 | 12" in shown
    cited = [(one["marker"], one["sources"][0]["uri"], one["edge"]["o"]) for one in answer["citations"]]
    assert cited == [
        ("[1]", ships, "name Heron, tonnage 95"),
        ("[1]", harbours, "berths 3"),
        ("[2]", ships, "name Petrel, tonnage 120"),
        ("[2]", harbours, "berths 12"),
    ]
    trace = federated.traces["last"]
    calls = [call for step in trace.steps for call in step.calls if call.endpoint]
    assert [(call.kind, call.endpoint.value, call.rows) for call in calls] == [
        ("service", ships, 2),
        ("service", harbours, 2),
    ]
    sent = federated.blobs.text(calls[1].sparql.value)
    assert sent is not None
    assert "SERVICE" not in sent
    assert "{ ?home ex:berths ?berths } LIMIT 2001" in sent
    (whole,) = (call for step in trace.steps for call in step.calls if call.kind == "query")
    rerun = federated.store.query(federated.blobs.text(whole.sparql.value) or "").rows
    assert [len(row) for row in rerun or ()] == [3, 3], "the query of the trace needs no other server"
    assert harbours in render_page(federated.store, trace)
    text = render_trace(trace)
    assert f"Endpoint {ships}: 2 row(s)" in text.replace("\n      ", " ")
    assert run_shapes(federated.store.quads()) == []
    checks = {check.check: check for check in verify(federated, trace.iri)}
    assert [check for check in checks.values() if check.ok is False] == []
    assert checks["endpoints"].ok is None
    assert harbours in checks["endpoints"].detail


def test_the_prompt_lists_what_each_endpoint_knows(
    federated: Engine, servers: dict[str, Server], scripted_server: ScriptedServer
) -> None:
    ships, crews = address(servers["ships"]), address(servers["crews"])
    query = f"{PREFIXES}SELECT ?who {{ SERVICE <{crews}> {{ ?x a ex:Crew ; rdfs:label ?who }} }}"
    scripted_server.answer_with(writing(query, answer="Ada Finch. [1]"))  # type: ignore[arg-type]
    answer = asked(federated, "Who sailed on which ship, and what is its tonnage?")
    assert answer["citations"][0]["sources"][0]["uri"] == crews
    (prompt,) = [one.prompt for one in scripted_server.requests if "Write a SPARQL" in one.prompt]
    assert f'Endpoint "ships": SERVICE <{ships}>\nAll ships of the coast.' in prompt
    assert "class <http://example.org/ns#Ship>\n   <http://example.org/ns#tonnage> → <http://www.w3" in prompt
    assert "class <http://example.org/ns#Harbour>\n   <http://example.org/ns#berths>" in prompt
    assert "<http://example.org/ns#sailed>  sailed on" in prompt
    assert "# The tonnage of each ship\nSELECT ?ship ?t" in prompt
    block = "?item a <http://example.org/ns#Harbour> ; <http://example.org/ns#berths> ?value"
    assert f"SERVICE <{address(servers['harbours'])}> {{ {block} ; rdfs:label ?label }}" in prompt
    of_harbours = prompt.partition('Endpoint "harbours"')[2].partition("Endpoint ")[0]
    assert "trustgraph.ai/ns/" not in of_harbours, "only what its default graph has"


def test_without_endpoints_the_prompt_knows_of_none(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(writing("ASK { ?s ?p ?o }", answer="Yes. [1]"))  # type: ignore[arg-type]
    asked(engine)
    (prompt,) = [one.prompt for one in scripted_server.requests if "Write a SPARQL" in one.prompt]
    assert "No SERVICE, no update" in prompt
    assert "Endpoint" not in prompt


WRONG = [
    (
        "SELECT * { SERVICE <SHIPS> { ?s ex:tonnages ?t } }",
        "ships does not know <http://example.org/ns#tonnages> ",
    ),
    (
        "SELECT * { SERVICE <SHIPS> { ?s ex:home/ex:berths ?t } }",
        "ships does not know <http://example.org/ns#berths>",
    ),
    ("SELECT * { SERVICE <SHIPS> { ?s a ex:Crew } }", "ships does not know <http://example.org/ns#Crew>"),
    ("SELECT * { SERVICE <SHIPS> { ?s rdfs:label ?l FILTER NOT EXISTS { ?s ex:old ?x } } }", "ns#old>"),
    (
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ex:tonnage ?t } }",
        "except with these addresses, in full",
    ),
    ("SELECT * { VALUES ?e { <SHIPS> } SERVICE ?e { ?s ex:tonnage ?t } }", "SERVICE is not allowed"),
    ("PREFIX s: <SHIPS> SELECT * { SERVICE s: { ?s ex:tonnage ?t } }", "SERVICE is not allowed"),
    (
        "SELECT * { SERVICE <SHIPS> { SERVICE <HARBOURS> { ?s ex:berths ?t } } }",
        "not allowed in a SERVICE",
    ),
    ("SELECT * { SERVICE <SHIPS> { ?s ex:tonnage } }", "malformed query"),
    ("SELECT * { SERVICE <SHIPS> { ?s ex:tonnage ?t } ?t }", "malformed query"),
    (
        "SELECT * { SERVICE <SHIPS> { ?s ex:tonnage ?t } ?s <urn:unheard-of> ?t }",
        "the store does not know",
    ),
    ("INSERT { ?s ?p ?o } WHERE { SERVICE <SHIPS> { ?s ?p ?o } }", "neither a SELECT nor an ASK"),
    (
        'SELECT * { SERVICE <SHIPS> { ?s rdfs:label "Nobody" } }',
        "it returns nothing. ships returned 0 row(s)",
    ),
    (
        "SELECT ?s { ?s ex:tonnage ?t }",
        "the store does not know <http://example.org/ns#tonnage>, but the endpoint ships does: use it in SER",
    ),
    (
        "SELECT (SUM(?t) AS ?sum) { ?x rdfs:label ?n SERVICE <SHIPS> { ?s rdfs:label ?n ; ex:tonnage ?t } }",
        "nothing matches its WHERE, which makes SUM meaningless. ships returned 2 row(s)",
    ),
]


@pytest.mark.parametrize("wrong", [WRONG[:7], WRONG[7:]])
def test_what_does_not_do_is_corrected(
    federated: Engine,
    servers: dict[str, Server],
    scripted_server: ScriptedServer,
    wrong: list[tuple[str, str]],
) -> None:
    ships, harbours = address(servers["ships"]), address(servers["harbours"])
    bad = [PREFIXES + query.replace("SHIPS", ships).replace("HARBOURS", harbours) for query, _ in wrong]
    good = f"{PREFIXES}SELECT ?t {{ SERVICE <{ships}> {{ ?s ex:tonnage ?t }} }} ORDER BY ?t"
    scripted_server.answer_with(writing(*bad, good, answer="95. [1]"))  # type: ignore[arg-type]
    assert asked(federated, settings={"query.repairs": str(len(wrong))})["answered"] is True
    *failed, last = federated.traces["last"].steps[2].items["attempts"]
    assert last.problem is None
    for attempt, (query, problem) in zip(failed, wrong, strict=True):
        assert problem in attempt.problem, query
    told = [one.prompt for one in scripted_server.requests if "Write a SPARQL" in one.prompt][-1]
    assert "ships does not know" in told or "malformed query" in told


def test_store_and_endpoint_are_joined(
    federated: Engine, servers: dict[str, Server], scripted_server: ScriptedServer
) -> None:
    """Facts of the store are cited as ever, beside what the endpoint returned. Blank nodes join its rows."""
    query = f"""{PREFIXES}SELECT ?thing ?tonnage ?paper {{
      <http://trustgraph.ai/e/rhoda-tennant> <http://trustgraph.ai/r/invented-value> ?thing
      SERVICE <{address(servers["ships"])}> {{ ?ship ex:tonnage ?tonnage ; ex:papers ?paper }}
    }}"""
    scripted_server.answer_with(writing(query, answer="The reversing gear, 95. [1]"))  # type: ignore[arg-type]
    answer = asked(federated)
    uris = [one["sources"][0]["uri"] for one in answer["citations"]]
    assert len(uris) == 2
    assert uris[1] == address(servers["ships"])
    assert "invented the reversing gear" in answer["citations"][0]["sources"][0]["quote"]
    assert answer["result"]["rows"][0]["paper"]["value"].startswith("urn:blank:0:")
    checks = {check.check: check for check in verify(federated, federated.traces["last"].iri)}
    assert [check for check in checks.values() if check.ok is False] == []
    assert checks["edges"].detail.startswith("1 of 1")


def test_a_count_in_an_endpoint_cites_it(
    federated: Engine, servers: dict[str, Server], scripted_server: ScriptedServer
) -> None:
    ships = address(servers["ships"])
    inside = "{ SELECT (COUNT(DISTINCT ?s) AS ?ships) { ?s a ex:Ship } }"
    outside = f"SELECT (COUNT(?s) AS ?n) {{ SERVICE <{ships}> {{ ?s a ex:Ship }} }}"
    scripted_server.answer_with(  # type: ignore[arg-type]
        writing(f"{PREFIXES}SELECT ?ships {{ SERVICE <{ships}> {inside} }}", answer="Two ships. [1]")
    )
    assert [one["edge"]["o"] for one in asked(federated)["citations"]] == ["ships 2"]
    scripted_server.answer_with(writing(PREFIXES + outside, answer="Two. [1]"))  # type: ignore[arg-type]
    answer = asked(federated, "How many ships are there?")
    assert [one["edge"]["o"] for one in answer["citations"]] == ["2 row(s): s heron; s petrel"]
    assert answer["warnings"] == []


def test_values_of_an_endpoint_that_are_not_selected_are_cited(
    federated: Engine, servers: dict[str, Server], scripted_server: ScriptedServer
) -> None:
    block = f"SERVICE <{address(servers['ships'])}> {{ ?s rdfs:label ?l ; ex:tonnage ?t ; ex:papers ?p }}"
    query = f"{PREFIXES}SELECT ?ship {{ {block} BIND(LCASE(?l) AS ?ship) }}"
    scripted_server.answer_with(writing(query, answer="The heron. [1]"))  # type: ignore[arg-type]
    assert [one["edge"]["o"] for one in asked(federated)["citations"]] == ["s heron, l Heron, t 95"]


def test_too_many_rows_are_an_error_that_the_model_reads(
    federated: Engine, servers: dict[str, Server], scripted_server: ScriptedServer
) -> None:
    ships = address(servers["ships"])
    every = f"{PREFIXES}SELECT ?t {{ SERVICE <{ships}> {{ ?s ex:tonnage ?t }} }}"
    one = f'{PREFIXES}SELECT ?t {{ SERVICE <{ships}> {{ ?s rdfs:label "Heron" ; ex:tonnage ?t }} }}'
    scripted_server.answer_with(writing(every, one, answer="95. [1]"))  # type: ignore[arg-type]
    assert asked(federated, settings={"query.service_rows": "1"})["answered"] is True
    first, _ = federated.traces["last"].steps[2].items["attempts"]
    assert "the endpoint ships returns more than 1 rows" in first.problem


# --- endpoints that misbehave ------------------------------------------------------------------------------


def calling(url: str) -> str:
    """The name of a variable that makes a VALUES block call a server."""
    elsewhere = url.replace("/sparql", "/elsewhere")
    return f"t) {{ (5) }} SERVICE <{elsewhere}> {{ ?a ?b ?c }} VALUES (?d"


class Bad:
    """An HTTP server that does what it should not."""

    def __init__(self, kind: str, target: str) -> None:
        self.elsewhere = 0
        self.asked: list[float] = []
        outer, release = self, threading.Event()
        self.release = release

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.asked.append(time.monotonic())
                if self.path == "/elsewhere":
                    outer.elsewhere += 1
                if kind == "redirect":
                    self.send_response(307)
                    self.send_header("Location", target or "/elsewhere")
                    self.end_headers()
                    return
                self.send_response(200)
                self.send_header("Content-Type", "application/sparql-results+json")
                self.flush_headers()
                while kind == "headers" and not release.wait(0.1):
                    self.wfile.write(b"X-More: y\r\n")
                self.end_headers()
                if kind == "page":
                    self.wfile.write(b"<html>Welcome</html>")
                if kind == "boolean":
                    self.wfile.write(b'{"head": {}, "boolean": true}')
                if kind == "variables":
                    name = target or calling(outer.url)
                    five = {"type": "literal", "value": "5"}
                    results = {"bindings": [{"t": five, name: five}]}
                    head = {"vars": ["t", name, "t"]}
                    self.wfile.write(json.dumps({"head": head, "results": results}).encode())
                while kind == "slow" and not release.wait(0.1):
                    self.wfile.write(b" ")
                    self.wfile.flush()

            do_GET = do_POST  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/sparql"

    def close(self) -> None:
        self.release.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("redirect", "answers with status 307: /elsewhere"),
        ("page", "sends no complete SPARQL results in JSON"),
        ("boolean", "sends no complete SPARQL results in JSON"),
        ("variables", "sends names of variables that SPARQL does not allow"),
        ("slow", "did not answer within 1 seconds"),
        ("headers", "did not answer within 1 seconds"),
        ("gone", "cannot reach"),
    ],
)
def test_an_endpoint_that_fails_is_named(
    sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer, kind: str, told: str
) -> None:
    bad = Bad(kind, "")
    if kind == "gone":
        bad.close()
    shapes, folder = tmp_path / "ships.ttl", tmp_path / "store"
    shapes.write_text(SHIP_SHAPES)
    shutil.copytree(sample_folder, folder)
    listed = [{"name": "ships", "url": bad.url, "schema": str(shapes)}]
    query = f"{PREFIXES}SELECT ?t {{ SERVICE <{bad.url}> {{ ?s ex:tonnage ?t }} }}"
    local = "SELECT ?name { <http://trustgraph.ai/e/rhoda-tennant> rdfs:label ?name }"
    scripted_server.answer_with(writing(query, local, answer="Rhoda Tennant [1]."))  # type: ignore[arg-type]
    with open_engine(folder, config=settings(scripted_server, **{"federation.endpoints": listed})) as engine:
        answer = asked(engine, settings={"query.service_seconds": "1"})
        calls = [call for step in engine.traces["last"].steps for call in step.calls if call.endpoint]
        assert calls[0].ms < 2000
        (first, _) = engine.traces["last"].steps[2].items["attempts"]
        assert "Endpoint http://127.0.0.1" in render_trace(engine.traces["last"])
    assert told in first.problem
    (warning,) = (one for one in answer["warnings"] if one["type"] == "endpoint_failed")
    assert "the endpoint ships: " in warning["detail"]
    assert bad.elsewhere == 0, "no redirect is followed, and nothing that an endpoint sends is run"
    if kind != "gone":
        bad.close()


def test_variables_that_nobody_asked_for_are_ignored(
    sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    with _one(Bad("variables", "other"), sample_folder, tmp_path, scripted_server) as engine:
        assert asked(engine)["result"]["rows"] == [{"t": {"type": "literal", "value": "5"}}]
        (whole,) = (
            call for step in engine.traces["last"].steps for call in step.calls if call.kind == "query"
        )
        assert 'VALUES (?t) { ("5") }' in (engine.blobs.text(whole.sparql.value) or "")


def test_a_query_with_rows_is_checked_before_it_runs(
    sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if a name of an answer were not."""
    bad = Bad("page", "")
    answer = Answer(variables=(calling(bad.url),), rows=[{}])
    monkeypatch.setattr(services, "ask_endpoint", lambda *_: answer)
    with _one(bad, sample_folder, tmp_path, scripted_server) as engine:
        assert asked(engine, settings={"query.repairs": "0"})["answered"] is False
        (attempt,) = engine.traces["last"].steps[2].items["attempts"]
    assert attempt.problem == "the query with the rows of ships calls other servers: it is not run"
    assert bad.asked == []


@contextmanager
def _one(bad: Bad, sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """The sample store with one endpoint, and a query that calls it."""
    shapes, folder = tmp_path / "ships.ttl", tmp_path / "store"
    shapes.write_text(SHIP_SHAPES)
    shutil.copytree(sample_folder, folder)
    listed = [{"name": "ships", "url": bad.url, "schema": str(shapes)}]
    query = f"{PREFIXES}SELECT ?t {{ SERVICE <{bad.url}> {{ ?s ex:tonnage ?t }} }}"
    scripted_server.answer_with(writing(query, answer="5. [1]"))  # type: ignore[arg-type]
    with open_engine(folder, config=settings(scripted_server, **{"federation.endpoints": listed})) as engine:
        yield engine
    bad.close()


def test_endpoints_that_are_down_are_tried_together_and_not_by_each_question(
    sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "_SECONDS", 1.0)
    slow, folder = [Bad("slow", ""), Bad("headers", "")], tmp_path / "store"
    listed = [{"name": f"slow {number}", "url": bad.url} for number, bad in enumerate(slow)]
    shutil.copytree(sample_folder, folder)
    scripted_server.answer_with(writing("ASK { ?s ?p ?o }", answer="Yes. [1]"))  # type: ignore[arg-type]
    with open_engine(folder, config=settings(scripted_server, **{"federation.endpoints": listed})) as engine:
        for retry, times in (60.0, 1), (60.0, 1), (0.0, 2):
            monkeypatch.setattr(endpoints, "_RETRY", retry)
            details = [one["detail"] for one in asked(engine)["warnings"]]
            assert [detail.partition(": http")[0] for detail in details] == [
                "the endpoint slow 0 is left out",
                "the endpoint slow 1 is left out",
            ]
            assert [len(bad.asked) for bad in slow] == [times, times]
    first, second = (bad.asked[0] for bad in slow)
    assert abs(first - second) < 0.9
    for bad in slow:
        bad.close()


def test_an_endpoint_without_description_is_left_out(
    servers: dict[str, Server], sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    other = Bad("redirect", f"{servers['harbours'].url}/dataset")
    listed = [
        {"name": "ships", "url": address(servers["ships"])},  # no VoID in its facts
        {"name": "moved", "url": address(servers["harbours"]), "schema": other.url},
    ]
    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    query = f"SELECT * {{ SERVICE <{address(servers['ships'])}> {{ ?s ?p ?o }} }}"
    scripted_server.answer_with(writing(*[query] * 3))  # type: ignore[arg-type]
    with open_engine(folder, config=settings(scripted_server, **{"federation.endpoints": listed})) as engine:
        answer = asked(engine)
    details = [one["detail"] for one in answer["warnings"] if one["type"] == "endpoint_failed"]
    assert "lists no classes and properties" in details[0]
    assert "answers with status 307: http" in details[1]
    assert answer["answered"] is False, "what is left out cannot be called"
    other.close()


# --- settings -----------------------------------------------------------------------------------------------


def test_a_missing_file_is_told(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> None:
    listed = [{"name": "ships", "url": "http://127.0.0.1:9/", "schema": str(tmp_path / "gone.ttl")}]
    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    with open_engine(folder, config=settings(scripted_server, **{"federation.endpoints": listed})) as engine:
        *_, last = engine.ask("Who owned the Petrel?", "sparql")
    assert last.error is not None
    assert "the endpoint ships: there is no file" in last.error["message"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"name": "a"}, "url"),
        ({"name": "a", "url": "ftp://a.example/"}, "not an http:// or https:// address"),
        ({"name": "a", "url": "http://u:p@a.example/"}, "user or password"),
        ({"name": "a", "url": "http://a.example/", "shapes": "x"}, "unknown setting"),
    ],
)
def test_settings_are_checked(scripted_server: ScriptedServer, entry: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        settings(scripted_server, **{"federation.endpoints": [entry]})


def test_an_endpoint_is_listed_once() -> None:
    entry = {"name": "a", "url": "http://a.example/"}
    with pytest.raises(ValidationError, match="same name or url"):
        Settings(federation={"endpoints": [entry, entry]})  # type: ignore[call-arg]
    assert Settings().federation.endpoints == ()  # type: ignore[attr-defined]


def test_endpoints_of_a_folder_need_trust(tmp_path: Path) -> None:
    listed = [{"name": "a", "url": "http://localhost/"}]
    assert "are sent there" in (trust.effect("federation.endpoints", listed, tmp_path) or "")
    assert trust.effect("federation.endpoints", [], tmp_path) is None
