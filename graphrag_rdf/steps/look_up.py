"""Look-ups: the model that selects says what is still missing, and the program searches for it.

The words of a question of several steps do not name everything that it asks for: the wife of the builder of a
bridge. Once the builder is found, his name is searched for like a question of its own, by activation with the
parameters of exploration. The best chunks that were not selected before are added to the selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.steps.activate import Activation
from graphrag_rdf.steps.chunks import RANKED, fit_chunks
from graphrag_rdf.steps.ground import concepts_by_rules
from graphrag_rdf.steps.nodes.focus import LOOK_UP, LookUp
from graphrag_rdf.steps.state import Context, Parameters, Selection, State
from graphrag_rdf.trace.recorder import Step

_SHARE = 0.25  # of the best chunk's score: those below it share little more than common words


def look_up(
    context: Context, state: State, step: Step, parameters: Parameters, phrases: Sequence[str]
) -> list[Selection]:
    """Search for phrases; record each search with the step. They share `lookup_tokens`, and what one of them
    leaves is for the next.

    Args:
        phrases: none of which was searched for before.

    Returns:
        The chunks that are added to the selection; those of the first phrase first.
    """
    found: list[Selection] = []
    room = parameters["lookup_tokens"]
    for number, phrase in enumerate(phrases):
        tokens = room // (len(phrases) - number)
        chunks = _look_up(context, state, step, parameters, phrase, found, tokens)
        found += chunks
        room -= sum(_tokens(state, chunk) for chunk in chunks)
    state.chunks = [*found, *state.chunks]
    return found


def _look_up(
    context: Context,
    state: State,
    step: Step,
    parameters: Parameters,
    phrase: str,
    beside: Sequence[Selection],
    tokens: int,
) -> list[Selection]:
    node = context.recorder.item(step, LOOK_UP, LookUp(phrase, index=len(state.looked_up)))
    state.looked_up.append(phrase)
    recorded = len(step.quads)
    asked = replace(
        state,
        question=phrase,
        concepts=[],
        also=(),
        seeds=[],
        edges=[],
        hits=[],
        passages=[],
        include=(),
        history=(),
    )
    asked.concepts = concepts_by_rules(context, asked, step)
    run = Activation(context, asked, state.exploring, step)
    run.spread()
    run.rank_passages()
    run.gather()
    ranked = asked.passages[:RANKED]
    good = [hit for hit in ranked if hit.score >= _SHARE * ranked[0].score]
    taken = {one.passage.chunk: one for one in (*state.chunks, *beside) if one.passage}
    for hit in good:
        if hit.chunk in taken:  # what is missing may be there, overlooked
            taken[hit.chunk].passed_over = False
    fresh = [hit for hit in good if hit.chunk not in taken]
    chunks = fit_chunks(context, asked, step, fresh, parameters, tokens)
    for chunk in chunks:
        chunk.look_up = node
        chunk.reasoning = f"look-up “{phrase}”: {chunk.reasoning}"
    calls = [quad.object for quad in step.quads[recorded:] if quad.predicate == RAG.call]
    step.quads += [context.recorder.quad(node, RAG.call, call) for call in calls]
    _merge(state, asked)
    return chunks


def _tokens(state: State, selection: Selection) -> int:
    assert selection.passage is not None  # noqa: S101
    text, _ = state.texts[selection.passage.chunk.value]
    offset, length = selection.window or (0, len(text))
    return count_tokens(text[offset : offset + length])


def _merge(state: State, asked: State) -> None:
    """Add the sentences and facts of a look-up to those that were found before."""
    known = {hit.sentence for hit in state.hits}
    state.hits = [*(hit for hit in asked.hits if hit.sentence not in known), *state.hits]
    facts = {edge.triple for edge in state.edges}
    state.edges = [*(edge for edge in asked.edges if edge.triple not in facts), *state.edges]
