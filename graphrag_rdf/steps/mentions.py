"""What sentences mention: asked once in a question, however many steps want to know it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.trace.recorder import Step


def mentions_of(
    context: Context, state: State, step: Step, sentences: Iterable[str]
) -> Mapping[str, tuple[NamedNode, ...]]:
    """The canonical entities that sentences mention or that their passages are about, sorted.

    Args:
        step: records the query for those that were not asked for before.
        sentences: IRIs.

    Returns:
        sentence → entities, for each of the sentences.
    """
    wanted = set(sentences)
    unknown = sorted(wanted - state.mentioned.keys())
    if unknown:
        chunks = {chunk_of(sentence) for sentence in unknown} - state.topics.keys()
        run = context.store.run(
            "retrieval/mentioned-entities",
            sentences=[NamedNode(iri) for iri in unknown],
            chunks=[NamedNode(iri) for iri in sorted(chunks)],
        )
        context.recorder.queried(step, run)
        state.topics.update({chunk: set() for chunk in chunks})
        mentioned: dict[str, set[NamedNode]] = {sentence: set() for sentence in unknown}
        for row in run.rows:
            known = mentioned if "sentence" in row else state.topics
            known[node_of(row.get("sentence") or row["chunk"]).value].add(node_of(row["entity"]))
        for sentence, entities in mentioned.items():
            ordered = sorted(entities | state.topics[chunk_of(sentence)], key=lambda entity: entity.value)
            state.mentioned[sentence] = tuple(ordered)
    return {sentence: state.mentioned[sentence] for sentence in wanted}


def left_out(state: State, mentioned: Iterable[NamedNode]) -> bool:
    """Whether a sentence is about what must not be followed: an entity that is excluded, and nothing beside
    it that the question names.
    """
    if not state.exclude:
        return False
    named = {seed.entity for seed in state.seeds}
    entities = set(mentioned)
    return not entities.isdisjoint(state.exclude) and entities.isdisjoint(named)


def chunk_of(sentence: str) -> str:
    """The chunk of a sentence, whose IRI is the chunk's with a fragment."""
    return sentence.partition("#")[0]
