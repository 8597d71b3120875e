"""What steps write into the trace of the facts and seeds that they found.

Shared by the ways of exploring, so that every trace says the same things in the same terms.
"""

from __future__ import annotations

from pyoxigraph import Literal

from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.steps.nodes.exploration import CONSIDERED, EXPLORATION, SEED
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.recorder import Step, TraceRecorder


def begin_exploration(context: Context, state: State, parameters: Parameters, mode: str) -> Step:
    """The step of an exploration. Look-ups of later steps search with its parameters."""
    state.exploring = parameters
    step = context.recorder.step(EXPLORATION)
    context.recorder.say(step, RAG.mode, Literal(mode))
    return step


def record_exploration(
    recorder: TraceRecorder, step: Step, state: State, candidates: int, considered_limit: int
) -> None:
    """What every exploration writes: counts, seeds with how they matched, the best considered edges."""
    recorder.say(step, TG.edgeCount, integer(len(state.edges)))
    recorder.say(step, RAG.candidateCount, integer(candidates))
    for seed in state.seeds:
        recorder.say(step, TG.entity, seed.entity)
    recorder.items(step, SEED, state.seeds)
    for rank, edge in enumerate(state.edges[:considered_limit], start=1):
        edge.rank, edge.edge_id = rank, edge.label_hash
        recorder.item(step, CONSIDERED, edge)
