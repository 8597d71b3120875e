"""`sparql`: people's own queries, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run

SELECT = "SELECT ?name { ?e rdfs:label ?name . FILTER(STR(?name) = 'Andrew Orr') }"
CONSTRUCT = "CONSTRUCT { ?e rdfs:label ?n } WHERE { ?e rdfs:label ?n . FILTER(STR(?n) = 'Andrew Orr') }"
CONTAINED = "SELECT ?t { GRAPH <urn:graph:source> { ?g tg:contains ?t } } LIMIT 1"


def test_table(run: Run, store: Path) -> None:
    assert run("sparql", SELECT).out.split() == ["?name", "Andrew", "Orr@en"]
    assert run("sparql", "ASK { ?s ?p ?o }").out == "yes\n"
    assert "rdfs:label" in run("sparql", CONSTRUCT).out


def test_triple_terms_are_readable(run: Run, store: Path) -> None:
    assert run("sparql", CONTAINED).out.splitlines()[1].startswith("<<( <http")


@pytest.mark.parametrize("form", ["json", "xml", "csv", "tsv"])
@pytest.mark.parametrize("query", [SELECT, "ASK { ?s ?p ?o }"])
def test_result_formats(run: Run, store: Path, form: str, query: str) -> None:
    found = run("sparql", "--format", form, query)
    if query.startswith("ASK"):
        assert ("true" in found.out, found.err) == (True, ""), "an answer that is yes needs no hint"
    else:
        assert "Andrew Orr" in found.out


@pytest.mark.parametrize("form", ["turtle", "trig", "nquads"])
def test_graph_formats(run: Run, store: Path, form: str) -> None:
    assert '"Andrew Orr"' in run("sparql", "--format", form, CONSTRUCT).out


@pytest.mark.parametrize(("query", "form"), [(SELECT, "turtle"), (CONSTRUCT, "csv")])
def test_formats_that_do_not_fit(run: Run, store: Path, query: str, form: str) -> None:
    found = run("sparql", "--format", form, query)
    assert found.code == 2
    assert "use --format with one of" in found.err


def test_w3c_json(run: Run, store: Path) -> None:
    found = json.loads(run("sparql", "--format", "json", SELECT).out)
    assert found["results"]["bindings"][0]["name"] == {
        "type": "literal",
        "value": "Andrew Orr",
        "xml:lang": "en",
    }


def test_from_file_and_standard_input(run: Run, store: Path, folder: Path) -> None:
    (folder / "q.rq").write_text(SELECT)
    assert "Andrew Orr" in run("sparql", "-f", "q.rq").out
    assert "Andrew Orr" in run("sparql", "-f", "-", stdin=SELECT).out
    assert "Andrew Orr" in run("sparql", "-", stdin=SELECT).out


def test_own_prefixes_win(run: Run, store: Path) -> None:
    query = "PREFIX rdfs: <urn:other:> ASK { ?s rdfs:label ?o }"
    assert run("sparql", query).out == "no\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["SELECT"], "malformed"),
        ([], "a query or a file"),
        (["-f", "nowhere.rq"], "nowhere.rq"),
        (["nowhere.rq"], "cannot read nowhere.rq"),
        (["-f", "x.rq", "ASK {}"], "a query or a file"),
        (["INSERT DATA { <urn:a> <urn:b> <urn:c> }"], "add --update"),
        (["PREFIX x: <urn:x> # so\nDELETE WHERE { ?s ?p x:o }"], "add --update"),
        (["--update", "SELECT * {}"], "malformed"),
    ],
)
def test_wrong_usage(run: Run, store: Path, arguments: list[str], told: str) -> None:
    found = run("sparql", *arguments)
    assert found.code == 2
    assert told in found.err


def test_errors_count_lines_as_written(run: Run, store: Path) -> None:
    found = run("sparql", "SELECT ?x {\n ?x rdfs:label\n nonsense }")
    assert "line 3, column" in found.err


def test_update_changes_the_store_and_keeps_the_index_in_step(run: Run, store: Path) -> None:
    found = run("sparql", "--update", 'INSERT DATA { <urn:a> rdfs:label "A new thing" }')
    assert found.code == 0
    assert found.out == "done: +1 quad\n"
    assert run("sparql", 'ASK { <urn:a> rdfs:label "A new thing" }').out == "yes\n"
    assert run("index", "status", "--format", "json").json["indexes"]["text"]["up_to_date"]


def test_control_sequences_in_results(run: Run, store: Path) -> None:
    found = run("sparql", 'SELECT ("a\\u001B[2Jb\\u009B" AS ?x) {}')
    assert not set("\x1b\x9b") & set(found.out)


def test_a_mistake_is_shown_where_it_is(run: Run, store: Path) -> None:
    found = run("sparql", "SELECT * WHERE {\n  ?s ?p }")
    assert found.code == 2
    assert "line 2, column 9" in found.err
    lines = found.err.splitlines()
    place = lines.index("    ?s ?p }")
    assert lines[place + 1].index("^") == lines[place].index("}")
    assert "[" not in found.err
    first = run("sparql", "SELECT * { ?s foo:name ?o }").err
    assert "PREFIX foo: <…>" in first
    assert first.count("PREFIX") == 1, "what the program put before it is not shown"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["SELECT (<urn:no-function>(1) AS ?x) {}"], "not supported"),
        (["--update", "DROP GRAPH <urn:missing>"], "does not exist"),
        (["--update", "CREATE GRAPH <urn:graph:source>"], "already exists"),
        (["--update", "LOAD <http://127.0.0.1:1/>"], "cannot evaluate the SPARQL: The"),
        (["SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }"], "cannot evaluate the SPARQL: The"),
    ],
)
def test_what_the_engine_cannot_do_is_no_wrong_usage(
    run: Run, store: Path, arguments: list[str], told: str
) -> None:
    found = run("sparql", *arguments)
    assert found.code == 1
    assert told in found.err
    assert run("sparql", "--update", "DROP SILENT GRAPH <urn:missing>").code == 0
    assert run("sparql", "--update", "CLEAR GRAPH <urn:missing>").code == 0
