"""`sparql`: an empty result names the change of the query that finds something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run

QUOTES = "SELECT ?text { ?evidence tg:sourceText ?text }"
CONTAINED = "SELECT ?graph { ?s rdfs:label 'Andrew Orr'@en . ?graph tg:contains << ?s ?p ?o >> }"
FOREIGN = "PREFIX tg: <http://trustgraph.ai/ns/> SELECT ?text { ?evidence tg:sourceText ?text }"


@pytest.mark.parametrize("form", ["table", "json", "xml", "csv", "tsv"])
def test_what_other_graphs_hold(run: Run, store: Path, form: str) -> None:
    found = run("sparql", "--format", form, QUOTES)
    assert "nothing found. With all graphs as the default graph" in found.err
    assert "nothing found" not in found.out
    assert len(run("sparql", "--union", "--format", "csv", QUOTES).out.splitlines()) > 2


def test_several_changes_at_once(run: Run, store: Path) -> None:
    found = run("sparql", CONTAINED)
    assert "all graphs as the default graph and <<( s p o )>>" in found.err
    corrected = CONTAINED.replace("<<", "<<(").replace(">>", ")>>")
    assert "<<( ?s ?p ?o )>>" in found.err
    assert len(run("sparql", "--union", "--format", "csv", corrected).out.splitlines()) > 1


def test_a_prefix_with_another_namespace(run: Run, store: Path) -> None:
    assert "the namespace <https://trustgraph.ai/ns/>" in run("sparql", FOREIGN).err


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_counts_of_nothing(run: Run, store: Path, form: str) -> None:
    found = run(
        "sparql",
        "--format",
        form,
        "SELECT (COUNT(*) AS ?n) (MIN(?text) AS ?first) { ?e tg:sourceText ?text }",
    )
    assert "nothing found. With all graphs as the default graph, the pattern matches" in found.err
    assert (
        "nothing found"
        not in run("sparql", "--format", form, "SELECT (SUM(?n) AS ?sum) { VALUES ?n { 0 } }").err
    )


def test_questions_with_yes_or_no(run: Run, store: Path) -> None:
    found = run("sparql", "ASK { ?evidence tg:sourceText ?text }")
    assert found.out == "no\n"
    assert "the answer is yes" in found.err


def test_the_union_is_kept(run: Run, store: Path) -> None:
    found = run("sparql", "--union", "SELECT * { ?subgraph tg:contains << ?s ?p ?o >> }")
    assert "nothing found. With <<( s p o )>>" in found.err
    assert "sparql --union 'SELECT * { ?subgraph tg:contains <<( ?s ?p ?o )>> }'" in found.err


@pytest.mark.parametrize("form", ["table", "turtle", "nquads"])
@pytest.mark.parametrize(
    "query",
    [
        "CONSTRUCT { ?e a tg:Evidence } WHERE { ?e tg:sourceText ?text }",
        "CONSTRUCT WHERE { ?e tg:sourceText ?text }",
        "DESCRIBE ?e { ?e tg:sourceText ?text }",
        "CONSTRUCT { ?e ?p ?text } { ?e ?p ?text . { ?e tg:sourceText ?text } }",
    ],
)
def test_empty_graphs(run: Run, store: Path, form: str, query: str) -> None:
    found = run("sparql", "--format", form, query)
    assert "nothing found. With all graphs as the default graph, the pattern matches" in found.err


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?x { ?x rdfs:label 'Nobody at all' }",
        "SELECT ?x FROM <urn:graph:retrieval> { ?x rdfs:label 'Andrew Orr' }",
        "SELECT ?x { ?x rdfs:label 'Andrew Orr'@en }",
    ],
)
def test_no_explanation_where_none_is_due(run: Run, store: Path, query: str) -> None:
    assert "nothing found" not in run("sparql", query).err


def test_union_is_not_for_updates(run: Run, store: Path) -> None:
    found = run("sparql", "--union", "--update", "INSERT DATA { <urn:a> <urn:b> <urn:c> }")
    assert found.code == 2
    assert "--union is for queries" in found.err
