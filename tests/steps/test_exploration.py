"""What steps write of what they found, in terms that every way of exploring shares."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG, Graphs
from graphrag_rdf.rdf.terms import double
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.kinds import triples
from graphrag_rdf.trace.reader import read_trace

S = NamedNode("http://example.org/s")
P = NamedNode("http://example.org/p")


def test_parts_of_a_score_are_doubles_and_an_unknown_part_is_not_said() -> None:
    edge = Edge((S, P, Literal("x", language="en")), "s", "p", "x", 1, "out", S, lexical=0.5, graph=1.0)
    said = dict(triples(edge, RAG.ConsideredEdge))
    assert said[RAG.lexicalScore] == double(0.5)
    assert said[RAG.graphScore] == double(1.0)
    assert not {RAG.vectorScore, RAG.rerankScore} & said.keys()
    assert said[TG.edge] == Triple(S, P, Literal("x", language="en"))


@pytest.mark.parametrize("pipeline", ["hops_rag", "graph_rag"])
def test_both_ways_of_exploring_tell_the_same_things(samples: Engine, pipeline: str) -> None:
    """Seeds with how they matched, and considered facts, the best first: written, or told from the hits."""
    (*_, last) = samples.ask("Who owned the Petrel?", pipeline)
    assert last.answer is not None
    session = find_trace(samples.store, str(last.answer["question_iri"]))
    trace = read_trace(samples.store, session)
    step = next(step for step in trace.steps if step.kind == "exploration")
    assert step.items["seeds"]
    assert all(seed.score and seed.matched_by and seed.matched_text for seed in step.items["seeds"])
    facts = step.items["considered"]
    assert 3 < len(facts) <= 30
    assert [fact.rank for fact in facts] == list(range(1, 1 + len(facts)))
    assert [fact.score for fact in facts] == sorted((fact.score for fact in facts), reverse=True)
    assert all(fact.fact and 0 <= fact.lexical <= 1 for fact in facts)
    assert any(fact.selected for fact in facts)
    written = {
        quad.subject
        for quad in samples.store.quads(Graphs.RETRIEVAL)
        if quad.predicate == RDF.type and quad.object == RAG.ConsideredEdge
    }
    assert ({fact.iri for fact in facts} <= written) == (pipeline == "hops_rag")
