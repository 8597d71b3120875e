"""Authority of documents as a factor of what they say.

    weight = 1 + authority_weight × (2 × authority - 1)
    score = score before × weight / highest weight                            (queries/selection/weighed)

The authority of a chunk, sentence or fact is the highest of its documents, 0.5 for a document that has none.
So a store without authorities is ranked as before. Facts that were read from no text count as 0.5, too.
"""

from __future__ import annotations

from pyoxigraph import NamedNode

from graphrag_rdf.steps.exploration import Edge, PassageHit
from graphrag_rdf.steps.kept import held
from graphrag_rdf.steps.sources import chunk_of
from graphrag_rdf.steps.state import Context, Parameters, SentenceHit, State
from graphrag_rdf.trace.recorder import Step


def weigh_found(context: Context, state: State, step: Step, parameters: Parameters) -> None:
    """Weigh the facts, sentences and chunks of the state, and put them into their new order."""
    weight = parameters["authority_weight"]
    if weight <= 0 or "authority" not in held(context.store, state):
        return
    found: list[Edge | SentenceHit | PassageHit] = [*state.edges, *state.hits, *state.passages]
    rows = context.decide(
        step,
        "selection/weighed",
        found=[(place, one.score) for place, one in enumerate(found)],
        chunks=[(place, NamedNode(chunk)) for place, one in enumerate(found) for chunk in _chunks(one)],
        weight=weight,
    )
    places = []
    for row in rows:
        places.append(row["place"])
        one = found[places[-1]]
        one.score, one.authority = row["score"], row["authority"]
    hits, passages = len(state.edges), len(state.edges) + len(state.hits)
    state.edges, state.hits, state.passages = (
        [state.edges[place] for place in places if place < hits],
        [state.hits[place - hits] for place in places if hits <= place < passages],
        [state.passages[place - passages] for place in places if passages <= place],
    )


def _chunks(one: Edge | SentenceHit | PassageHit) -> list[str]:
    if isinstance(one, PassageHit):
        return [one.chunk.value]
    sentences = one.sentences if isinstance(one, Edge) else (one.sentence,)
    return sorted({chunk_of(sentence.value) for sentence in sentences})
