"""The questions as SPARQL over the sample documents: their gold queries return what the file says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from graphrag_rdf.sparql.render import with_prefixes
from graphrag_rdf.store.base import Answer
from graphrag_rdf.wings.evaluation.sparql import (
    SparqlOptions,
    SparqlQuestion,
    evaluate_sparql,
    is_right,
    load_sparql_questions,
    rows_of,
)
from tests.steps.conftest import sample_folder, samples

__all__ = ["sample_folder", "samples"]

FILE = Path(__file__).parents[2] / "examples" / "sparql-questions.jsonl"
QUESTIONS = load_sparql_questions(FILE)


def test_they_are_of_seven_kinds() -> None:
    kinds = Counter(one.kind for one in QUESTIONS)
    assert (len(QUESTIONS), len({one.question for one in QUESTIONS})) == (55, 55)
    assert min(kinds.values()) >= 4
    assert set(kinds) == {"count", "list", "comparison", "superlative", "date", "join", "ask"}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: str(one.id))
def test_a_gold_query_returns_the_rows_of_the_file(samples: Engine, question: SparqlQuestion) -> None:
    assert question.rows, "no question without an answer"
    found = samples.store.query(with_prefixes(question.gold or ""))
    if found.boolean is not None:
        assert json.dumps([[found.boolean]]) == json.dumps(question.rows)
        return
    assert found.rows
    assert len(found.variables) == len(question.rows[0])
    assert is_right(samples, Answer(found.variables, found.rows), rows_of(question), ordered=False)


@pytest.mark.slow
def test_without_a_model_most_queries_that_fit_are_right(samples: Engine) -> None:
    found = evaluate_sparql(samples, QUESTIONS, SparqlOptions())
    assert found["right"] >= 24
    assert found["right"] >= 0.8 * sum(row["found"] > 0 for row in found["questions"])
