"""Aggregates in a model's query: a missing GROUP BY is named, and those over nothing are no results."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_rdf.checks import run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.text2sparql.aggregates import ungrouped
from tests.support.scripted_server import ScriptedServer
from tests.wings.text2sparql.pipeline.test_querying import GOOD, R, writing

NOTHING = f'{{ ?who <{R}invented-value> ?thing ; rdfs:label "Nobody At All" }}'


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ("SELECT ?who (COUNT(?x) AS ?n) { ?who ?p ?x }", "?who"),
        ("SELECT ?who ?name (SUM(?x) AS ?n) WHERE { ?who ?p ?x } GROUP BY ?who ORDER BY ?name", "?who ?name"),
        ("SELECT * { { SELECT ?a (MAX(?x) AS ?n) { ?a ?p ?x } } ?a ?q ?b }", "?a"),
        ("SELECT ?a { ?a ?p ?x } GROUP BY (STR(?a) AS ?text)", "?text ?a"),
    ],
)
def test_a_variable_that_is_not_grouped_is_named(query: str, listed: str) -> None:
    assert f"write GROUP BY {listed} after" in (ungrouped(query) or "")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?who ?x { ?who ?p ?x }",
        "SELECT (COUNT(?x) AS ?n) { ?who ?p ?x }",
        "SELECT DISTINCT ?who (COUNT(?x) AS ?n) { ?who ?p ?x } GROUP BY ?who HAVING (COUNT(?x) > 1)",
        "SELECT ?t (MIN(?x) AS ?n) { ?a ?p ?x } GROUP BY (STR(?a) AS ?t) ORDER BY ?n LIMIT 1",
        "SELECT ?a ?n { ?a ?q ?b { SELECT ?a (MAX(?x) AS ?n) { ?a ?p ?x } GROUP BY ?a } }",
        "SELECT ?a (COUNT(",
        "SELECT",
        "",
    ],
)
def test_other_queries_are_left_alone(query: str) -> None:
    assert ungrouped(query) is None


def asked(engine: Engine, question: str) -> dict[str, Any]:
    *_, last = engine.ask(question, "sparql")
    assert last.answer is not None, last.error
    return last.answer


def kinds(answer: dict[str, Any]) -> list[str]:
    return [warning["type"] for warning in answer["warnings"]]


def test_a_sum_of_nothing_is_no_result(engine: Engine, scripted_server: ScriptedServer) -> None:
    query = f"SELECT (SUM(?thing) AS ?sum) (COUNT(?thing) AS ?n) {NOTHING}"
    scripted_server.answer_with(writing(query, query, query))  # type: ignore[arg-type]
    answer = asked(engine, "How much was invented?")
    assert answer["answered"] is False
    assert "query_failed" in kinds(answer)
    attempts = engine.traces["last"].steps[2].items["attempts"]
    told = "it returns nothing: nothing matches its WHERE, which makes COUNT and SUM meaningless"
    assert [attempt.problem for attempt in attempts] == [told] * 3


def test_a_count_of_nothing_is_corrected(engine: Engine, scripted_server: ScriptedServer) -> None:
    query = f"SELECT (COUNT(?thing) AS ?n) {NOTHING}"
    scripted_server.answer_with(writing(query, GOOD))  # type: ignore[arg-type]
    answer = asked(engine, "How many things were invented?")
    assert (answer["answered"], answer["warnings"]) == (True, [])


def test_a_count_of_nothing_that_the_model_repeats_is_an_answer(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    query = f"SELECT (COUNT(?thing) AS ?n) {NOTHING}"
    scripted_server.answer_with(writing(query, query, answer="None. [1]"))  # type: ignore[arg-type]
    answer = asked(engine, "How many things did nobody invent?")
    assert answer["answered"] is True
    assert "nothing_counted" in kinds(answer)
    assert answer["result"]["rows"][0]["n"]["value"] == "0"
    assert "nothing matches its WHERE" in render_trace(engine.traces["last"]).replace("\n      ", " ")
    assert run_shapes(engine.store.quads()) == []


def test_a_zero_that_something_has_is_a_result(engine: Engine, scripted_server: ScriptedServer) -> None:
    query = f"SELECT (SUM(0) AS ?sum) {{ ?who <{R}invented-value> ?thing }}"
    scripted_server.answer_with(writing(query, answer="0. [1]"))  # type: ignore[arg-type]
    answer = asked(engine, "How much do inventors owe?")
    assert (answer["answered"], answer["warnings"]) == (True, [])
