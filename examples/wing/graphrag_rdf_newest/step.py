"""The step `newest_first`: of the chunks that were found, those of the newest documents come first."""

from __future__ import annotations

from collections.abc import Iterator

from pyoxigraph import Literal

from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.steps.focus import FOCUS_NODE
from graphrag_rdf.steps.kinds import StepKind, Way, register
from graphrag_rdf.steps.selection import fit_chunks, record_chunks
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.messages import GraphRagResponse


def newest_first(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Order the chunks that `search_chunks` found by their documents' dates, and select those that fit."""
    del parameters
    step = context.recorder.step(FOCUS_NODE, label="Newest First")
    context.recorder.say(step, RAG.mode, Literal("newest"))
    rows = context.select(step, "newest/order", chunks=[hit.chunk for hit in state.passages])
    places = {row["chunk"]: place for place, row in enumerate(rows)}
    state.passages.sort(key=lambda hit: places.get(hit.chunk, len(places)))
    room = state.exploring["chunk_tokens"], state.exploring["whole_chunks"]
    state.chunks = fit_chunks(context, state, step, state.passages, state.exploring, *room)
    record_chunks(context, state, step, 0)
    yield context.recorder.finish(step)


NEWEST_FIRST = register(
    StepKind(
        "newest_first",
        FOCUS_NODE,
        "Puts the chunks of the newest documents first.",
        {"date": Way(newest_first, templates=("newest/order", "retrieval/chunks"))},
    )
)
