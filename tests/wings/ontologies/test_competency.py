"""Competency questions: files with SPARQL, and the results that the graph must give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.errors import UsageError
from graphrag_rdf.wings.ontologies.competency import Answered, answer_questions, question_files, write_results
from tests.support.stores import open_engine

FACTS = """INSERT DATA {
  <urn:petrel> rdfs:label "Petrel" ; <urn:owner> "Kell, Mona" ; <urn:built> 1903 .
  <urn:gull> rdfs:label "Gull" ; <urn:owner> "" ; <urn:built> 1911 .
  GRAPH <urn:g> { <urn:tern> rdfs:label "Tern" }
}"""
SHIPS = "SELECT ?name ?year { ?s rdfs:label ?name ; <urn:built> ?year }"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with open_engine(":memory:", config=Settings()) as engine:
        engine.store.update(f"PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> {FACTS}")
        yield engine


def asked(engine: Engine, folder: Path, query: str, expected: str | None = None) -> Answered:
    (folder / "q.rq").write_text(query)
    if expected is not None:
        (folder / "q.csv").write_text(expected)
    (answer,) = answer_questions(engine.store, question_files([folder]))
    return answer


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (SHIPS, None),
        (SHIPS, "name,year\nGull,1911\nPetrel,1903\n"),
        (SHIPS, "name,year\r\nPetrel,1903\r\nGull,1911\r\n"),
        (SHIPS, "\ufeffyear\n1903\n1911\n"),  # fewer columns, with a byte order mark
        (f"{SHIPS} ORDER BY DESC(?year)", "name,year\nGull,1911\nPetrel,1903\n"),
        ("SELECT ?o { ?s <urn:owner> ?o }", 'o\n"Kell, Mona"\n\n'),  # the second owner is empty
        ("ASK { ?s <urn:built> 1903 }", None),
        ("SELECT ?x { ?x a <urn:none> }", "x\n"),
    ],
)
def test_what_passes(engine: Engine, tmp_path: Path, query: str, expected: str | None) -> None:
    found = asked(engine, tmp_path, query, expected)
    assert (found.passed, found.why) == (True, "")


@pytest.mark.parametrize(
    ("query", "expected", "why"),
    [
        ("SELECT ?x { ?x a <urn:none> }", None, "there are no rows"),
        ("ASK { ?s <urn:built> 1904 }", None, "the answer is no"),
        (SHIPS, "name,year\nGull,1911\n", "unexpected rows: 1"),
        (SHIPS, "name,year\nGull,1911\nPetrel,1903\nPetrel,1903\n", "missing rows: 1"),
        (SHIPS, "name,age\nGull,1911\n", "q.csv has columns that the query does not select: age"),
        (f"{SHIPS} ORDER BY ?year", "name\nGull\nPetrel\n", "the rows are in another order"),
        ("SELECT ?x { ?x a :Ship }", None, "the prefix : is not declared"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", None, "the query is neither SELECT nor ASK"),
        ("", None, "the query is neither SELECT nor ASK"),
    ],
)
def test_what_fails(engine: Engine, tmp_path: Path, query: str, expected: str | None, why: str) -> None:
    found = asked(engine, tmp_path, query, expected)
    assert not found.passed
    assert why in found.why


def test_differing_rows_are_told(engine: Engine, tmp_path: Path) -> None:
    found = asked(engine, tmp_path, f"# Which ships?\n{SHIPS}", "name,year\nGull,1911\nPetrel,1904\n")
    assert found.question == "Which ships?"
    assert (found.rows, found.missing, found.unexpected) == (2, [("Petrel", "1904")], [("Petrel", "1903")])


def test_a_file_that_is_no_text_fails_and_others_are_asked(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.rq").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.rq").write_text(SHIPS)
    found = [*answer_questions(engine.store, question_files([tmp_path, tmp_path / "b.rq"]))]
    assert [answer.passed for answer in found] == [False, True]
    assert "cannot be read" in found[0].why


def test_results_are_written_once_and_then_hold(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(SHIPS)
    (tmp_path / "ask.rq").write_text("ASK {}")
    files = question_files([tmp_path])
    assert write_results(engine.store, files) == [tmp_path / "q.csv"]
    assert write_results(engine.store, files) == []
    assert all(answer.passed for answer in answer_questions(engine.store, files))
    engine.store.update(
        "INSERT DATA { <urn:skua> <http://www.w3.org/2000/01/rdf-schema#label> 'Skua' ; <urn:built> 1 }"
    )
    assert [answer.passed for answer in answer_questions(engine.store, files)] == [True, False]


def test_all_graphs_as_one(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text("ASK { ?s rdfs:label 'Tern' }")
    files = question_files([tmp_path])
    (alone,) = answer_questions(engine.store, files)
    (together,) = answer_questions(engine.store, files, union=True)
    assert (alone.passed, together.passed) == (False, True)


def test_paths_without_questions_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.rq"):
        with pytest.raises(UsageError):
            question_files([path])
