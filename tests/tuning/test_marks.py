"""What marks say of passages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.feedback import add_mark
from graphrag_rdf.tuning.weights import graded_by_marks

QUESTION = "Who designed Drumlaw Head Lighthouse?"


@pytest.fixture
def engine(sample_folder: Path, tmp_path: Path) -> Iterator[Engine]:
    """The sample store, to write on."""
    shutil.copytree(sample_folder, tmp_path / "store")
    with Engine.open(tmp_path / "store", config=load_settings().settings) as opened:
        yield opened


def asked(engine: Engine) -> tuple[NamedNode, dict[str, Any]]:
    *_, last = engine.ask(QUESTION)
    assert last.answer is not None
    return find_trace(engine.store, last.answer["question_iri"]), last.answer


def mark(engine: Engine, session: NamedNode, rating: Any, **where: Any) -> None:
    add_mark(engine.store, session, rating, graph=engine.store.renderer.trace_graph, **where)


def test_an_answer_speaks_for_what_it_cites(engine: Engine) -> None:
    assert graded_by_marks(engine.store, "graph_rag") == {}
    session, answer = asked(engine)
    cited = {source["chunk"] for citation in answer["citations"] for source in citation["sources"]}
    mark(engine, session, "helpful")
    assert graded_by_marks(engine.store, "graph_rag") == {QUESTION: dict.fromkeys(cited, 1)}
    assert graded_by_marks(engine.store, "another") == {}
    mark(engine, session, "wrong")
    assert graded_by_marks(engine.store, "graph_rag") == {QUESTION: dict.fromkeys(cited, -1)}


def test_what_is_said_of_a_citation_wins_and_the_majority_counts(engine: Engine) -> None:
    session, answer = asked(engine)
    (chunk, *_) = [source["chunk"] for source in answer["citations"][0]["sources"]]
    mark(engine, session, "wrong")
    mark(engine, session, "helpful", citation=1)
    assert graded_by_marks(engine.store, "graph_rag")[QUESTION][chunk] == 1
    mark(engine, session, "wrong", citation=1, by="A")
    assert chunk not in graded_by_marks(engine.store, "graph_rag").get(QUESTION, {})  # one each
    again, _ = asked(engine)  # the same question, in another trace
    mark(engine, again, "wrong", citation=1, by="B")
    assert graded_by_marks(engine.store, "graph_rag")[QUESTION][chunk] == -1
