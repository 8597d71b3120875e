"""Synonym candidates: computed with a score, joined on by nobody unless somebody decides or asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.entity_decisions import undo
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.normalisation import (
    SynonymCandidate,
    accept_candidates,
    build_candidates,
    clear_candidates,
    read_candidates,
)
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG, Graphs
from graphrag_rdf.rdf.terms import to_python
from tests.support.stores import open_engine

TEXTS = {
    "right": "Charles Babbage built the Difference Engine. Charles Babbage lived in London.",
    "wrong": "Charles Babage drew the plans of the Analytical Engine.",
    "other": "Zelda Quimby painted the lighthouse of Port Merrin.",
}
RIGHT, WRONG = (NamedNode(f"http://trustgraph.ai/e/charles-{name}") for name in ("babbage", "babage"))
QUESTION = "What did Charles Babbage build?"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in TEXTS.items():
        (docs / f"{name}.txt").write_text(text + "\n")
    with open_engine(tmp_path / "store", config=Settings()) as opened:
        opened.ingest([docs])
        yield opened


def only(engine: Engine) -> SynonymCandidate:
    (candidate,) = build_candidates(engine)
    return candidate


def reached(engine: Engine, **settings: Any) -> dict[str, dict[NamedNode, Any]]:
    """The activated entities of a question, by IRI, with what the trace says of them."""
    given = {f"exploration.{name}": str(value) for name, value in settings.items()}
    step = next(m for m in engine.ask(QUESTION, settings=given) if m.kind == "exploration")
    nodes: dict[str, dict[NamedNode, Any]] = {}
    for triple in step.explain_triples:
        nodes.setdefault(str(triple.subject), {})[triple.predicate] = triple.object
    return {n[TG.entity].value: n for n in nodes.values() if n.get(RDF.type) == RAG.ActivatedEntity}


def test_names_that_are_nearly_the_same_are_nodes_with_a_score(engine: Engine) -> None:
    candidate = only(engine)
    assert candidate.entities == (WRONG, RIGHT)
    assert candidate.names == ("Charles Babage", "Charles Babbage")
    assert 0.7 <= candidate.score < 0.89
    assert candidate.reason == "the names are spelt alike"
    assert only(engine) == candidate, "the same when built again"
    assert not build_candidates(engine, min_score=0.95)
    assert not read_candidates(engine.store)


def test_nothing_follows_from_a_candidate(engine: Engine) -> None:
    before = {q for q in engine.store.quads() if q.predicate == RAG.canonicalEntity}
    asked = set(reached(engine))
    candidate = only(engine)
    assert {q for q in engine.store.quads() if q.predicate == RAG.canonicalEntity} == before
    assert set(reached(engine)) == asked
    assert WRONG.value not in asked
    said = {q.subject for q in engine.store.quads(Graphs.DERIVED) if q.object == RAG.SynonymCandidate}
    assert said == {candidate.iri}
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(engine.store.quads()) == []


def test_with_a_weight_activation_passes_over_it_and_the_trace_has_it(engine: Engine) -> None:
    candidate = only(engine)
    found = reached(engine, synonym_weight=0.5, threshold=0)[WRONG.value]
    assert found[RAG.carrier] == candidate.iri
    assert found[RAG.fromEntity] == RIGHT
    assert to_python(found[RAG.similarity]) == pytest.approx(0.5 * candidate.score)
    origin = reached(engine, synonym_weight=0.5, threshold=0)[RIGHT.value]
    value = float(to_python(origin[RAG.activation])) * 0.5 * candidate.score  # type: ignore[arg-type]
    assert to_python(found[RAG.activation]) == pytest.approx(value)
    least = {"synonym_weight": 0.5, "threshold": 0.9}
    assert WRONG.value not in reached(engine, **least), "below the threshold"
    plain = engine.retrieve(QUESTION, k=3)["results"]
    wide = engine.retrieve(QUESTION, k=3, settings={"exploration.synonym_weight": "0.9"})["results"]
    assert "Analytical Engine" in wide[1]["text"]
    score = {result["chunk"]: result["score"] for result in plain}.get(wide[1]["chunk"], 0.0)
    assert wide[1]["score"] > score


def test_excluded_entities_are_not_reached(engine: Engine) -> None:
    build_candidates(engine)
    settings = {"exploration.synonym_weight": "1", "exploration.threshold": "0"}
    step = next(
        m for m in engine.ask(QUESTION, settings=settings, exclude=[WRONG.value]) if m.kind == "exploration"
    )
    assert WRONG not in {triple.object for triple in step.explain_triples if triple.predicate == TG.entity}


def test_accepted_they_are_one_until_that_is_taken_back(engine: Engine) -> None:
    candidate = only(engine)
    (decision,) = accept_candidates(engine, [candidate.iri.value])
    assert set(decision.members) == {RIGHT, WRONG}
    assert decision.confidence == candidate.score
    assert not read_candidates(engine.store), "there is nothing left to decide"
    rows = engine.store.select("retrieval/canonical", entities=[RIGHT, WRONG])
    assert len({str(row["canonical"]) for row in rows}) == 1
    undo(engine, [decision])
    assert only(engine) == candidate
    with pytest.raises(UsageError, match="no candidate"):
        accept_candidates(engine, ["urn:x:nothing"])


def test_candidates_go_with_their_entities(engine: Engine) -> None:
    build_candidates(engine)
    forget_documents(engine, find_documents(engine.store, ["docs/wrong.txt"]))
    assert not read_candidates(engine.store)
    assert "babage" not in " ".join(str(quad) for quad in engine.store.quads())
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_clearing(engine: Engine) -> None:
    build_candidates(engine)
    assert clear_candidates(engine.store) == 1
    assert clear_candidates(engine.store) == 0
    assert not [q for q in engine.store.quads(Graphs.DERIVED) if q.predicate == RAG.member]
