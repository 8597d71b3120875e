"""What steps write into the trace of the edges, sentences and seeds that they found.

Shared by the ways of exploring and by focus, so that every trace says the same things in the same terms.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyoxigraph import Literal, NamedNode
from pyoxigraph import Triple as TripleTerm

from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import Term, double, integer
from graphrag_rdf.steps.labels import edge_id
from graphrag_rdf.steps.state import Context, Edge, Parameters, SentenceHit, State
from graphrag_rdf.trace.recorder import Step, TraceRecorder


def begin_exploration(context: Context, state: State, parameters: Parameters, mode: str) -> Step:
    """The step of an exploration. Look-ups of later steps search with its parameters."""
    state.exploring = parameters
    step = context.recorder.step("exploration", TG.Exploration)
    context.recorder.say(step, RAG.mode, Literal(mode))
    return step


def record_exploration(
    recorder: TraceRecorder, step: Step, state: State, candidates: int, considered_limit: int
) -> None:
    """What every exploration writes: counts, seeds with how they matched, the best considered edges."""
    recorder.say(step, TG.edgeCount, integer(len(state.edges)))
    recorder.say(step, RAG.candidateCount, integer(candidates))
    for index, seed in enumerate(state.seeds):
        recorder.say(step, TG.entity, seed.entity)
        recorder.item(
            step,
            RAG.seed,
            "seed",
            index,
            (RDF.type, RAG.Seed),
            (TG.entity, seed.entity),
            (TG.score, double(seed.score)),
            (RAG.matchedBy, Literal(seed.matched_by)),
            (RAG.matchedText, Literal(seed.matched_text)),
            (RAG.index, integer(index)),
        )
    for index, edge in enumerate(state.edges[:considered_limit]):
        node = recorder.item(
            step,
            RAG.consideredEdge,
            "considered",
            index,
            (RDF.type, RAG.ConsideredEdge),
            (RAG.edgeId, Literal(edge_id(edge.s_label, edge.p_label, edge.o_label))),
            *score_facts(edge),
            (RAG.hop, integer(edge.hop)),
            (RAG.direction, Literal(edge.direction)),
            (RAG.rank, integer(index + 1)),
        )
        step.quads.append(recorder.quad(node, TG.edge, edge_term(edge)))


def score_facts(
    item: Edge | SentenceHit, score: float | None = None
) -> Iterable[tuple[NamedNode, Term | None]]:
    """The score of an edge or sentence and its parts, as predicates and doubles.

    Args:
        score: of a model, in the place of its own.
    """
    return (
        (TG.score, double(item.score if score is None else score)),
        (RAG.lexicalScore, double(item.lexical)),
        (RAG.vectorScore, None if item.vector is None else double(item.vector)),
        (RAG.graphScore, double(item.graph)),
        (RAG.rerankScore, None if item.reranked is None else double(item.reranked)),
    )


def edge_term(edge: Edge) -> Term:
    """The fact of an edge as a triple term."""
    return TripleTerm(*edge.triple)
