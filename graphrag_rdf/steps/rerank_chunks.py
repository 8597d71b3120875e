"""Focus of Document RAG: the order of the chunks that were found, by a reranker and by how they differ.

It writes a node only if it changes the order: with a reranker, or with diversity. Diversity is maximal
marginal relevance: each next chunk is the one with the highest

    balance × relevance − (1 − balance) × likeness

relevance   the score, with the best candidate 1 and the worst 0
likeness    share of equal content words (Jaccard) with the chosen chunk that is most like it
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal as Choose

from pydantic import Field
from pyoxigraph import Literal

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.steps.exploration import PassageHit
from graphrag_rdf.steps.focus import FOCUS_NODE
from graphrag_rdf.steps.kinds import Share, Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.reranking import rerank_passages, reranks
from graphrag_rdf.steps.scores import best, scaled
from graphrag_rdf.steps.search import QuestionSearch
from graphrag_rdf.steps.search_chunks import TEMPLATES, ChunkParameters, find_sentences
from graphrag_rdf.steps.selection import fit_chunks, record_chunks
from graphrag_rdf.steps.sources import chunk_texts
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step


class RerankParameters(StepParameters):
    """Of the order of chunks."""

    rerank_limit: Some = Field(20, description="chunks that the reranker scores, and diversity chooses from")
    rerank_weight: Share = Field(
        0.5, description="with a reranker (setting rerank.model): its share of a chunk's score"
    )
    diversity: Choose["none", "mmr"] = Field("none", description="mmr: prefer chunks that differ")
    balance: Share = Field(0.7, description="of mmr: 1 is relevance alone, 0 difference alone")


def rerank(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Rerank the chunks that `search_chunks` found, and select those that fit.

    Raises:
        ConfigError: after another exploration.
    """
    exploring = state.exploring
    if not ChunkParameters.model_fields.keys() <= exploring.keys():
        raise ConfigError(tr("rerank_chunks needs a step search_chunks before it"))
    modes = ["rerank"] if reranks(context, parameters) else []
    modes += ["mmr"] if parameters["diversity"] == "mmr" else []
    if not modes:
        return
    step = context.recorder.step(FOCUS_NODE, label="Chunk Selection")
    context.recorder.say(step, RAG.mode, Literal("+".join(modes)))
    rerank_passages(context, state, step, parameters)
    if "mmr" in modes:
        _diversify(context, state, step, parameters, exploring["chunk_limit"])
    find_sentences(QuestionSearch(context, state, parameters, step), state, exploring)
    room = exploring["chunk_tokens"], exploring["whole_chunks"]
    state.chunks = fit_chunks(context, state, step, state.passages, exploring, *room)
    record_chunks(context, state, step, 0)
    yield context.recorder.finish(step)


def _diversify(context: Context, state: State, step: Step, parameters: Parameters, number: int) -> None:
    """Choose so many of the best chunks one by one; the others follow in their order."""
    among = state.passages[: parameters["rerank_limit"]]
    texts = chunk_texts(context, state, step, [hit.chunk.value for hit in among])
    words = {iri: frozenset(analyse(text, state.language)) for iri, (text, _) in texts.items()}
    remaining = {hit.chunk.value: hit for hit in among if hit.chunk.value in words}
    relevance = dict(zip(remaining, scaled([hit.score for hit in remaining.values()]), strict=True))
    balance: float = parameters["balance"]
    chosen: list[PassageHit] = []

    def value(iri: str) -> float:
        alike = (_jaccard(words[iri], words[hit.chunk.value]) for hit in chosen)
        return balance * relevance[iri] - (1 - balance) * max(alike, default=0.0)

    while remaining and len(chosen) < number:
        chosen.append(remaining.pop(best(remaining, value)[0]))
    taken = {hit.chunk for hit in chosen}
    state.passages = [*chosen, *(hit for hit in state.passages if hit.chunk not in taken)]


def _jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second) if first or second else 0.0


RERANK_CHUNKS = register(
    StepKind(
        "rerank_chunks",
        FOCUS_NODE,
        "Reranks the chunks that search_chunks found, and prefers those that differ.",
        {"rerank": Way(rerank, RerankParameters, templates=TEMPLATES)},
    )
)
