"""What steps write of what they found, in terms that every way of exploring shares."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import double
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.trace.kinds import triples

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
def test_both_ways_of_exploring_record_the_same_things(samples: Engine, pipeline: str) -> None:
    """Seeds with how they matched, and considered edges with their score and its parts."""
    messages = samples.ask("Who owned the Petrel?", pipeline)
    step = next(m for m in messages if m.kind == "exploration")
    said: dict[object, set[NamedNode]] = {}
    kinds: dict[object, NamedNode] = {}
    for quad in step.explain_triples:
        said.setdefault(quad.subject, set()).add(quad.predicate)
        if quad.predicate == RDF.type and quad.object in (RAG.Seed, RAG.ConsideredEdge):
            kinds[quad.subject] = quad.object
    seeds = [node for node, kind in kinds.items() if kind == RAG.Seed]
    edges = [node for node, kind in kinds.items() if kind == RAG.ConsideredEdge]
    assert seeds
    assert all({TG.entity, TG.score, RAG.matchedBy, RAG.matchedText} <= said[node] for node in seeds)
    assert 3 < len(edges) <= 30
    assert all({TG.edge, TG.score, RAG.lexicalScore, RAG.hop, RAG.rank} <= said[node] for node in edges)
