"""Marks of answers: written as annotations, shown, and gone with their trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyoxigraph import NamedNode, Quad

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import OA, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.store.base import plain_quads
from graphrag_rdf.trace.catalogue import delete_trace, find_trace
from graphrag_rdf.trace.feedback import add_mark, read_marks, take_back
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.text import render_trace
from tests.support.sample_stores import sample_engine


@pytest.fixture
def engine() -> Iterator[Engine]:
    with sample_engine() as made:
        yield made


@pytest.fixture
def session(engine: Engine) -> NamedNode:
    return find_trace(engine.store, "last")


def mark(engine: Engine, session: NamedNode, rating: Any = "wrong", **options: Any) -> Any:
    return add_mark(engine.store, session, rating, graph=Graphs.RETRIEVAL, **options)


def quads(engine: Engine) -> set[Quad]:
    return set(plain_quads(engine.store))


def test_an_answer_is_marked(engine: Engine, session: NamedNode) -> None:
    made = mark(engine, session, "helpful", note="just so", by="R. T.")
    said = {q.predicate: q.object for q in quads(engine) if q.subject == NamedNode(made.iri)}
    assert said[OA.motivatedBy] == OA.assessing
    assert said[OA.hasTarget] == NamedNode(made.target)
    assert {q.object for q in quads(engine) if q.subject.value == made.iri and q.predicate == RDF.type} == {  # type: ignore[union-attr]
        OA.Annotation,
        RAG.Feedback,
    }
    assert read_marks(engine.store, session) == [made]
    assert (made.rating, made.note, made.by, made.about) == ("helpful", "just so", "R. T.", "the answer")


def test_what_an_answer_rests_on_is_marked(engine: Engine, session: NamedNode) -> None:
    cited = mark(engine, session, citation=1)
    ranked = mark(engine, session, "helpful", edge=cited.rank)
    assert ranked.target == cited.target, "the same selection by its number in the answer and by its rank"
    (left,) = read_marks(engine.store, session)
    assert (left.rating, left.about) == ("helpful", "what is cited as [1]")


def test_a_new_mark_takes_the_place_of_the_old(engine: Engine, session: NamedNode) -> None:
    before = quads(engine)
    mark(engine, session, "helpful", note="at first")
    mark(engine, session, "wrong")
    mark(engine, session, "helpful", by="somebody else")
    found = read_marks(engine.store, session)
    assert {(m.rating, m.note, m.by) for m in found} == {
        ("wrong", None, None),
        ("helpful", None, "somebody else"),
    }
    assert take_back(engine.store, session)
    assert take_back(engine.store, session, by="somebody else")
    assert not take_back(engine.store, session)
    commits = {RAG.commit, RAG.contentCommit}
    assert {q for q in quads(engine) ^ before if q.predicate not in commits} == set()


@pytest.mark.parametrize("where", [{"citation": 99}, {"edge": 999}, {"citation": 1, "edge": 1}])
def test_what_is_not_there_cannot_be_marked(
    engine: Engine, session: NamedNode, where: dict[str, int]
) -> None:
    with pytest.raises(UsageError):
        mark(engine, session, **where)
    assert read_marks(engine.store, session) == []


def test_shown_with_the_trace(engine: Engine, session: NamedNode) -> None:
    mark(engine, session, citation=1, note="another ship")
    trace = read_trace(engine.store, session, engine.blobs)
    assert "Marked wrong: what is cited as [1]: another ship" in render_trace(trace)
    assert to_json(trace)["feedback"][0]["citation"] == 1
    assert "another ship" in render_page(engine.store, trace)


def test_listed_by_a_template(engine: Engine, session: NamedNode) -> None:
    mark(engine, session, "helpful")
    selections = read_trace(engine.store, session).selections
    for selection in selections:
        mark(engine, session, edge=selection.rank)
    found = engine.store.select("trace/feedback")
    assert len(found) == len(selections) + 1
    assert {row["session"] for row in found} == {session}
    assert sum("sentence" in row for row in found) == sum(s.sentence is not None for s in selections)
    edges = engine.store.select("trace/edge-feedback")
    assert {(text_of(row["helpful"]), text_of(row["wrong"])) for row in edges} <= {("0", "1")}
    assert len(edges) == sum(selection.fact is not None for selection in selections)


def test_gone_with_the_trace(engine: Engine, session: NamedNode) -> None:
    mark(engine, session, note="a note")
    mark(engine, session, citation=1)
    delete_trace(engine.store, engine.blobs, session)
    assert not any(q.predicate == OA.hasTarget or "a note" in str(q) for q in quads(engine))


def test_notes_are_forgotten_with_the_documents(engine: Engine, session: NamedNode) -> None:
    mark(engine, session, note="the Petrel was sold")
    mark(engine, session, citation=1, note="the Petrel sank")
    trace = read_trace(engine.store, session)
    documents = sorted({source.document for s in trace.selections for source in s.sources if source.document})
    forget_documents(engine, find_documents(engine.store, documents))
    assert not any("the Petrel s" in str(q) for q in quads(engine))
    assert [m.note for m in read_marks(engine.store, session)] == [None, None]


def test_a_marked_store_is_sound(engine: Engine, session: NamedNode) -> None:
    content = engine.store.content_commit()
    mark(engine, session)
    mark(engine, session, citation=1)
    assert engine.store.content_commit() == content, "no answer is made invalid by a mark"
    assert run_checks(engine.store, engine.blobs) == []
    pytest.importorskip("pyshacl")
    assert run_shapes(plain_quads(engine.store)) == []
