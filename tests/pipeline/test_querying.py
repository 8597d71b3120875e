"""Questions as SPARQL, over the wire to a scripted model: what is tried, corrected, answered and cited."""

from __future__ import annotations

import re

import pytest

from graphrag_rdf.checks import run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.trace.text import render_trace
from tests.support.scripted_server import Reply, Request, ScriptedServer

QUESTION = "What did Rhoda Tennant invent?"
R = "http://trustgraph.ai/r/"
E = "http://trustgraph.ai/e/"
INVENTED = f"<{E}rhoda-tennant> <{R}invented> ?thing"
GOOD = f"SELECT ?thing ?name {{ {INVENTED} OPTIONAL {{ ?thing rdfs:label ?name }} }}"
COUNT = f"SELECT (COUNT(DISTINCT ?thing) AS ?count) {{ ?who <{R}invented> ?thing }}"


def writing(*queries: str, answer: str = "It was the reversing gear. [1]") -> object:
    """A model that writes these queries in turn, then the answer."""
    left = list(queries)

    def reply(request: Request) -> str | Reply | None:
        if "Write a SPARQL" in request.prompt:
            return f"Here it is:\n```sparql\n{left.pop(0)}\n```"
        return answer

    return reply


def test_the_rows_lead_to_the_characters(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(writing(GOOD))  # type: ignore[arg-type]
    *_, last = engine.ask(QUESTION, "sparql")
    assert last.answer is not None, last.error
    assert last.answer["warnings"] == []
    (citation,) = last.answer["citations"]
    assert citation["edge"]["p_label"] == "invented"
    assert "invented the reversing gear" in citation["sources"][0]["quote"]
    asked, answered = scripted_server.requests[-2:]
    assert f"{E}rhoda-tennant" in asked.prompt
    assert f"{R}invented" in asked.prompt
    assert re.search(r"^\[1\] .*reversing gear", answered.prompt, re.MULTILINE | re.IGNORECASE)
    trace = engine.traces["last"]
    assert [step.kind for step in trace.steps] == ["question", "grounding", "query", "synthesis"]
    assert "SELECT ?thing ?name" in render_trace(trace)
    assert run_shapes(engine.store.quads()) == []
    assert [check for check in engine.traces.verify(trace.iri) if not check.ok] == []


def test_a_count_cites_the_facts_that_were_counted(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(writing(COUNT, answer="One thing. [1]"))  # type: ignore[arg-type]
    *_, last = engine.ask("How many things were invented?", "sparql")
    assert last.answer is not None, last.error
    assert {one["edge"]["p_label"] for one in last.answer["citations"]} == {"invented"}


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT ?x { ?x <http://trustgraph.ai/r/invent> ?y }", "does not know"),
        ("SELECT ?x { ?x rdfs:label }", "malformed"),
        ("DELETE WHERE { ?s ?p ?o }", "neither a SELECT nor an ASK"),
        ("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", "SERVICE is not allowed"),
        ("CONSTRUCT { ?s ?p ?o } { SELECT * { ?s ?p ?o } }", "neither a SELECT nor an ASK"),
        ("SELECT ?x { ?x <r/invented> ?y }", "not a whole IRI: r/invented"),
        ('SELECT ?x { ?x rdfs:label "Nobody At All" }', "returns nothing"),
        ("SELECT ?s { ?s ?p ?o . ?s2 ?p2 ?o2 }", "more than 200 rows"),
    ],
)
def test_what_does_not_do_is_corrected(
    engine: Engine, scripted_server: ScriptedServer, query: str, problem: str
) -> None:
    before = engine.store.count()
    scripted_server.answer_with(writing(query, GOOD))  # type: ignore[arg-type]
    *_, last = engine.ask(QUESTION, "sparql")
    assert last.answer is not None, last.error
    assert last.answer["answered"] is True
    (first, second) = engine.traces["last"].steps[2].items["attempts"]
    assert problem in first.problem
    assert second.problem is None
    asked = [one.prompt for one in scripted_server.requests if "Write a SPARQL" in one.prompt]
    assert problem in asked[-1]
    assert engine.store.count() > before, "nothing was deleted, a trace was added"


@pytest.mark.embedded
def test_a_query_over_the_time_limit_is_corrected(engine: Engine, scripted_server: ScriptedServer) -> None:
    endless = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"?s{n} ?p{n} ?o{n} ." for n in range(6)) + " }"
    scripted_server.answer_with(writing(endless, GOOD))  # type: ignore[arg-type]
    *_, last = engine.ask(QUESTION, "sparql", settings={"query.seconds": "1"})
    assert last.answer is not None, last.error
    assert last.answer["answered"] is True
    (first, second) = engine.traces["last"].steps[2].items["attempts"]
    assert first.problem == "the query took longer than 1 s"
    assert second.problem is None
    assert engine.place is not None
    assert list(engine.place.snapshots.iterdir()) == [], "the copy of the store is gone"


def test_rows_without_facts_are_told(engine: Engine, scripted_server: ScriptedServer) -> None:
    query = f"SELECT ?thing {{ <{E}rhoda-tennant> <{R}invented>+ ?thing }}"
    scripted_server.answer_with(writing(query))  # type: ignore[arg-type]
    *_, last = engine.ask(QUESTION, "sparql")
    assert last.answer is not None, last.error
    assert last.answer["citations"] == []
    assert "rows_uncited" in [warning["type"] for warning in last.answer["warnings"]]


def test_it_gives_up_after_two_corrections(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(writing(*["SELECT"] * 3))  # type: ignore[arg-type]
    *_, last = engine.ask(QUESTION, "sparql")
    assert last.answer is not None, last.error
    assert last.answer["answered"] is False
    assert "query_failed" in [warning["type"] for warning in last.answer["warnings"]]
    assert len(engine.traces["last"].steps[2].items["attempts"]) == 3
