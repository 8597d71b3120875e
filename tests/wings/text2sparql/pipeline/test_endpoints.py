"""Questions over several endpoints: two servers of ours, and `oxigraph serve`, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from pydantic import ValidationError

from graphrag_rdf.checks import run_shapes
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.verify import verify
from tests.pipeline.test_with_a_model import settings
from tests.support.endpoints import Server, oxigraph, serve
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine
from tests.wings.text2sparql.pipeline.test_querying import writing

PREFIXES = """
PREFIX ex: <http://example.org/ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
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
DESCRIPTION = f"""{HEAD}
@prefix void: <http://rdfs.org/ns/void#> .
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
    filled = {"ships": SHIPS, "harbours": HARBOURS, "crews": CREW + DESCRIPTION.replace(HEAD, "").replace("@prefix void: <http://rdfs.org/ns/void#> .", "")}
    try:
        for name, server in made.items():
            server.start()
            server.fill(quads("@prefix void: <http://rdfs.org/ns/void#> .\n" + filled[name]))
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
    import shutil

    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    with open_engine(folder, config=settings(scripted_server, **{"sparql.endpoints": listed})) as opened:
        yield opened


def asked(engine: Engine, question: str = "What is the tonnage of the Petrel?", **more: Any) -> dict[str, Any]:
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
    text = render_trace(trace)
    assert f"Endpoint {ships}: 2 row(s)" in text.replace("\n      ", " ")
    assert run_shapes(federated.store.quads()) == []
    checks = {check.check: check for check in verify(federated, trace.iri)}
    assert [check for check in checks.values() if check.ok is False] == []
    assert checks["endpoints"].ok is None
    assert harbours in checks["endpoints"].detail
