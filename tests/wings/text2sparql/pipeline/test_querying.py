"""Questions as SPARQL, over the wire to a scripted model: what is tried, corrected, answered and cited."""

from __future__ import annotations

import errno
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Quad

from graphrag_rdf import layout
from graphrag_rdf.checks import run_shapes
from graphrag_rdf.config import Settings, load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.exchange import import_file
from graphrag_rdf.rdf.namespaces import RAG, RDFS, Graphs
from graphrag_rdf.sparql.render import with_prefixes
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.verify import verify
from tests.pipeline.test_with_a_model import settings
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.stores import open_engine

QUESTION = "What did Rhoda Tennant invent?"
R = "http://trustgraph.ai/r/"
E = "http://trustgraph.ai/e/"
INVENTED = f"<{E}rhoda-tennant> <{R}invented-value> ?thing"
GOOD = f"SELECT ?thing ?name {{ {INVENTED} OPTIONAL {{ ?thing rdfs:label ?name }} }}"
WHOLE = ("schema/properties", "schema/classes", "schema/ends", "predicates/merged")
COUNT = f"SELECT (COUNT(DISTINCT ?thing) AS ?count) {{ ?who <{R}invented-value> ?thing }}"


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
    assert f"{R}invented-value" in asked.prompt
    assert re.search(r"^\[1\] .*reversing gear", answered.prompt, re.MULTILINE | re.IGNORECASE)
    trace = engine.traces["last"]
    assert [step.kind for step in trace.steps] == ["question", "grounding", "query", "synthesis"]
    assert "SELECT ?thing ?name" in render_trace(trace)
    assert run_shapes(engine.store.quads()) == []
    assert [check for check in verify(engine, trace.iri) if not check.ok] == []


def test_comments_do_not_hide_the_facts(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(writing(f"# Select what you ask for\n{GOOD}"))  # type: ignore[arg-type]
    *_, last = engine.ask(QUESTION, "sparql")
    assert last.answer is not None, last.error
    assert len(last.answer["citations"]) == 1


def test_no_room_for_a_copy_of_the_store_is_told(
    engine: Engine, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    scripted_server.answer_with(writing(GOOD, GOOD, GOOD))  # type: ignore[arg-type]
    monkeypatch.setattr(layout, "new_copy", full)
    *_, last = engine.ask(QUESTION, "sparql")
    assert last.answer is not None, last.error
    (warning,) = (one for one in last.answer["warnings"] if one["type"] == "query_failed")
    assert "cannot be started: [Errno 28] No space left on device" in warning["detail"]


def test_a_count_cites_the_facts_that_were_counted(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(writing(COUNT, answer="One thing. [1]"))  # type: ignore[arg-type]
    *_, last = engine.ask("How many things were invented?", "sparql")
    assert last.answer is not None, last.error
    assert {one["edge"]["p_label"] for one in last.answer["citations"]} == {"invented"}


def test_a_sum_is_supported_by_its_row(engine: Engine, scripted_server: ScriptedServer) -> None:
    where = f"{{ ?who <{R}invented-value> ?x ; rdfs:label ?name }} GROUP BY ?who ?name"
    query = f"SELECT ?who ?name (SUM(41) AS ?total) {where}"
    scripted_server.answer_with(writing(query, answer="Rhoda Tennant has 41. [1]"))  # type: ignore[arg-type]
    *_, last = engine.ask("How much has Rhoda Tennant?", "sparql")
    assert last.answer is not None, last.error
    assert last.answer["warnings"] == []
    assert last.answer["citations"]
    shown = scripted_server.requests[-1].prompt
    assert "who | total\n[1] Rhoda Tennant | 41" in shown, "equal columns are shown once"


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
    query = f"SELECT ?thing {{ <{E}rhoda-tennant> <{R}invented-value>+ ?thing }}"
    scripted_server.answer_with(writing(query))  # type: ignore[arg-type]
    *_, last = engine.ask(QUESTION, "sparql")
    assert last.answer is not None, last.error
    assert last.answer["citations"] == []
    assert "rows_uncited" in [warning["type"] for warning in last.answer["warnings"]]


def test_the_first_rows_of_many_are_cited(tmp_path: Path, scripted_server: ScriptedServer) -> None:
    """More things than the solutions in which the facts of rows are looked for."""
    people = "".join(
        f'<urn:p{number}> <urn:height> {number} ; rdfs:label "P{number}" .\n' for number in range(2100)
    )
    graph = f"@prefix rdfs: <{RDFS.label.value.removesuffix('label')}> .\n{people}"
    query = "SELECT ?n ?height { ?p rdfs:label ?n ; <urn:height> ?height } ORDER BY DESC(?height) LIMIT 2"
    scripted_server.answer_with(writing(query, answer="P2099 [1]. P2098 [2]."))  # type: ignore[arg-type]
    with open_engine(tmp_path / "store", config=settings(scripted_server)) as engine:
        file = tmp_path / "heights.ttl"
        file.write_text(graph)
        import_file(engine, file)
        *_, last = engine.ask("Who are the two highest?", "sparql")
    assert last.answer is not None, last.error
    assert [(one["marker"], one["edge"]["s"]) for one in last.answer["citations"]] == [
        ("[1]", "urn:p2099"),
        ("[2]", "urn:p2098"),
    ]


def test_prefixes_of_the_examples_are_given(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(writing(GOOD))  # type: ignore[arg-type]
    assert [*engine.ask(QUESTION, "sparql")]
    (prompt,) = [one.prompt for one in scripted_server.requests if "Write a SPARQL" in one.prompt]
    names, _, examples = prompt.partition("<examples>")
    assert "rag:canonicalEntity" in examples.partition("</examples>")[0]
    assert f"rag: {RAG.canonicalEntity.value.removesuffix('canonicalEntity')}" in names


def test_it_gives_up_after_two_corrections(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(writing(*["SELECT"] * 3))  # type: ignore[arg-type]
    *_, last = engine.ask(QUESTION, "sparql")
    assert last.answer is not None, last.error
    assert last.answer["answered"] is False
    assert "query_failed" in [warning["type"] for warning in last.answer["warnings"]]
    assert len(engine.traces["last"].steps[2].items["attempts"]) == 3


# --- without a model --------------------------------------------------------------------------------------


@pytest.fixture
def ruled(sample_folder: Path, tmp_path: Path) -> Iterator[Engine]:
    """The sample store, without a model."""
    folder = tmp_path / "ruled"
    shutil.copytree(sample_folder, folder)
    with open_engine(folder, config=Settings()) as opened:
        yield opened


def asked(engine: Engine, question: str) -> dict[str, Any]:
    *_, last = engine.ask(question, "sparql")
    assert last.answer is not None, last.error
    return last.answer


def kinds(answer: dict[str, Any]) -> set[str]:
    return {warning["type"] for warning in answer["warnings"]} - {"no_llm"}


@pytest.mark.parametrize(
    ("question", "template", "told"),
    [
        (
            "Who invented the reversing gear?",
            "cookbook/who-did-words",
            "Rhoda Tennant, object reversing gear [1]",
        ),
        # also a word by which people ask for a query: "Which model found …?"
        ("Who founded the Tarnay Electric Light Company?", "cookbook/who-did", "Walter Pennock [1]"),
        ("How many did Elspeth Marwick design?", "cookbook/how-many", "1 [1]"),
        ("When was the Skell Tidal Station opened?", "cookbook/when-was", "1936-05-03 [1]"),
        ("Did Elspeth Marwick design the Skell Tidal Station?", "cookbook/is-it-so", "yes [1]"),
        ("Did Rhoda Tennant design the Skell Tidal Station?", "cookbook/is-it-so", "no"),
        ("Who opened what Elspeth Marwick designed?", "cookbook/two-steps", "Beatrice Pennock [1]"),
    ],
)
def test_without_a_model_a_template_is_filled_and_its_rows_are_cited(
    ruled: Engine, question: str, template: str, told: str
) -> None:
    answer = asked(ruled, question)
    assert answer["answer"].startswith(told)
    assert (answer["answered"], kinds(answer)) == (True, set())
    assert answer["result"]["template"] == template
    assert bool(answer["citations"]) == (told != "no")
    trace = ruled.traces["last"]
    (attempt,) = trace.steps[2].items["attempts"]
    assert attempt.template == template
    assert json.loads(attempt.values).keys() == answer["result"]["values"].keys()
    assert f"Template {template}" in render_trace(trace)
    assert [check for check in verify(ruled, trace.iri) if not check.ok] == []


def test_the_trace_of_a_template_has_the_right_shape(ruled: Engine) -> None:
    asked(ruled, "Who succeeded Elspeth Marwick?")
    assert run_shapes(ruled.store.quads()) == []


def test_without_a_model_words_that_no_query_uses_are_told(ruled: Engine) -> None:
    answer = asked(ruled, "Which stations did Elspeth Marwick design?")
    assert "Skell Tidal Station" in answer["answer"]
    (told,) = [one["detail"] for one in answer["warnings"] if one["type"] == "words_ignored"]
    assert "stations" in told


@pytest.mark.parametrize("question", ["Which planet has the most moons?", "What colour is happiness?"])
def test_a_question_that_fits_no_template_is_not_answered(ruled: Engine, question: str) -> None:
    answer = asked(ruled, question)
    assert (answer["answered"], kinds(answer)) == (False, {"no_query_fits"})
    assert "result" not in answer


OWN = """# name: own/gear
# kind: select
# summary: Whatever was thought up by somebody.
# asks: ["Which contrivances are due to {entity}?"]
# params:
#   entity: {type: iri, sample: "http://trustgraph.ai/e/ada"}
# returns: [thing]
SELECT ?thing WHERE { {{ entity }} <http://trustgraph.ai/r/invented-value> ?thing }
"""


def test_a_template_of_the_users_folder_is_matched(sample_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_folder, tmp_path / "store")
    (tmp_path / "queries" / "own").mkdir(parents=True)
    (tmp_path / "queries" / "own" / "gear.rq").write_text(OWN, "utf-8")
    settings = load_settings(overrides={"queries": str(tmp_path / "queries")})
    with open_engine(tmp_path / "store", config=settings.settings) as engine:
        answer = asked(engine, "Which contrivances are due to Rhoda Tennant?")
    assert answer["result"]["template"] == "own/gear"
    assert answer["answer"] == "reversing gear [1]"


STORED = """PREFIX sh: <http://www.w3.org/ns/shacl#>
INSERT DATA { GRAPH <urn:own> {
  <urn:q:gear> a sh:SPARQLExecutable ; rdfs:comment "Contrivances of the island" ; sh:select "%s"
} }"""


def test_a_query_that_the_store_keeps_is_matched_and_shown_to_a_model(
    engine: Engine, ruled: Engine, scripted_server: ScriptedServer
) -> None:
    query = f"SELECT ?thing {{ ?who <{R}invented-value> ?thing }}"
    for one in (engine, ruled):
        one.store.update(with_prefixes(STORED % query))
    answer = asked(ruled, "Which contrivances of the island are there?")
    assert (answer["result"]["template"], answer["answer"]) == ("urn:q:gear", "reversing gear [1]")
    scripted_server.answer_with(writing(GOOD))  # type: ignore[arg-type]
    asked(engine, "Which contrivances of the island did Rhoda Tennant invent?")
    prompt = next(one.prompt for one in scripted_server.requests if "Write a SPARQL" in one.prompt)
    assert f"# Contrivances of the island\n{query}" in prompt


def test_a_stored_query_that_calls_out_is_not_run(ruled: Engine) -> None:
    ruled.store.update(with_prefixes(STORED % "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"))
    answer = asked(ruled, "Contrivances of the island")
    assert (answer["answered"], kinds(answer)) == (False, {"query_failed"})


def test_a_model_sees_ends_of_relations_and_similar_queries(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(writing(GOOD))  # type: ignore[arg-type]
    asked(engine, "How many things did Rhoda Tennant invent?")
    prompt = next(one.prompt for one in scripted_server.requests if "Write a SPARQL" in one.prompt)
    assert re.search(rf"<{R}was-opened-on-value> .*\(2\), Place → xsd:date, e\.g\. 1912-01-22", prompt)
    examples = prompt.partition("<examples>")[2].partition("</examples>")[0]
    assert f"<{E}rhoda-tennant>" in examples, "the query that fits has the question's values"
    assert examples.count("\n# ") <= 3
    scripted_server.answer_with(writing(GOOD))  # type: ignore[arg-type]
    list(engine.ask("How many did she make?", "sparql", settings={"query.examples": "0"}))
    assert "<examples>" not in scripted_server.requests[-2].prompt


def test_what_is_the_same_for_each_question_is_read_once(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    def shown(question: str) -> tuple[str, dict[str, bool]]:
        scripted_server.answer_with(writing(GOOD))  # type: ignore[arg-type]
        asked(engine, question)
        prompt = next(one.prompt for one in scripted_server.requests if "Write a SPARQL" in one.prompt)
        scripted_server.requests.clear()
        calls = [call for step in engine.traces["last"].steps for call in step.calls]
        found = [(call.template, bool(call.cached)) for call in calls if call.template in WHOLE]
        assert len(found) == len(WHOLE)
        return prompt, {str(template): cached for template, cached in found}

    assert set(shown(QUESTION)[1].values()) == {False}
    prompt, cached = shown("Who invented the reversing gear?")
    assert set(cached.values()) == {True}
    invented, designed = NamedNode(f"{R}invented-value"), NamedNode(f"{R}designed")
    assert f"<{invented.value}>|" not in prompt
    merged = Quad(designed, RAG.canonicalRelation, invented, Graphs.DERIVED)
    engine.store.commit(Changes(add=[merged], content=False))
    prompt, cached = shown("Who made the reversing gear?")
    assert f"<{invented.value}>|<{designed.value}>" in prompt
    assert cached == {**dict.fromkeys(WHOLE, True), "schema/ends": False, "predicates/merged": False}


def test_the_relations_of_an_entity_that_are_left_out_are_counted(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(lambda _: "ASK { ?s ?p ?o }")
    list(engine.ask("What did Elspeth Marwick do?", "sparql"))
    assert "more relation(s)\n" in scripted_server.requests[0].prompt
