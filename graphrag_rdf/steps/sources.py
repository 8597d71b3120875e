"""What sentences and chunks are known by: where they stand, what they mention, what they say.

Each is asked once in a question, however many steps want to know it. Facts that were read from no text
(imported, by hand) lead to the file or decision that they came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.steps.state import Context, Selection, State, Triple
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.documents import Source, read_source
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
        rows = context.select(
            step,
            "retrieval/mentioned-entities",
            sentences=[NamedNode(iri) for iri in unknown],
            chunks=[NamedNode(iri) for iri in sorted(chunks)],
        )
        state.topics.update({chunk: set() for chunk in chunks})
        mentioned: dict[str, set[NamedNode]] = {sentence: set() for sentence in unknown}
        for row in rows:
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


def attach_sources(context: Context, state: State, step: Step, selections: Sequence[Selection]) -> None:
    """Give each selection all its sources, in a query for each kind of source."""
    edges = {selection.edge.triple: selection for selection in selections if selection.edge}
    if edges:
        _attach(context, step, "provenance/sources", edges)
        bare = {triple: selection for triple, selection in edges.items() if not selection.sources}
        if bare:
            _attach(context, step, "provenance/containers", bare)
        _attach(context, step, "provenance/origins", edges)
    hits = {selection.hit.sentence.value: selection for selection in selections if selection.hit}
    for sentence, sources in sentence_sources(context, state, step, hits).items():
        hits[sentence].sources = sources


def sentence_sources(
    context: Context, state: State, step: Step, sentences: Iterable[str]
) -> Mapping[str, tuple[Source, ...]]:
    """Where sentences stand: asked once in a question, however many steps want to know it.

    Args:
        step: records the query for those that were not asked for before.
        sentences: IRIs.

    Returns:
        sentence → its sources, in the order of documents and places; those that are gone are absent.
    """
    wanted = set(sentences)
    unknown = sorted(wanted - state.sources.keys())
    if unknown:
        rows = context.select(
            step, "provenance/sentence-sources", sentences=[NamedNode(iri) for iri in unknown]
        )
        state.sources.update(dict.fromkeys(unknown, ()))
        for row in sorted(rows, key=_place):
            key, source = text_of(row["sentence"]), read_source(row)
            if source not in state.sources[key]:
                state.sources[key] = (*state.sources[key], source)
    found = {iri: state.sources[iri] for iri in wanted if state.sources[iri]}
    return dict(
        sorted(found.items(), key=lambda item: (item[1][0].document, item[1][0].char_offset or 0, item[0]))
    )


def chunk_texts(
    context: Context, state: State, step: Step, chunks: Iterable[str | None]
) -> Mapping[str, tuple[str, int]]:
    """What chunks say, and where they begin in their documents: asked once in a question, as above.

    Args:
        step: records the query for those that were not asked for before.
        chunks: IRIs; None, of what stands in no chunk, is skipped.

    Returns:
        chunk → text and offset in code points; those that are gone are absent.
    """
    wanted = {chunk for chunk in chunks if chunk is not None}
    if unknown := sorted(wanted - state.texts.keys()):
        rows = context.select(step, "retrieval/chunks", chunks=[NamedNode(chunk) for chunk in unknown])
        for row in rows:
            state.texts[text_of(row["chunk"])] = text_of(row["text"]), int(text_of(row["offset"]))
    return {chunk: state.texts[chunk] for chunk in sorted(wanted & state.texts.keys())}


def _attach(context: Context, step: Step, template: str, edges: dict[Triple, Selection]) -> None:
    rows = context.select(step, template, edges=list(edges))
    for row in sorted(rows, key=_place):
        selection = edges.get((row["s"], row["p"], row["o"]))  # type: ignore[arg-type]
        if selection is not None:
            _add(selection, row)


def _place(row: Row) -> tuple[str, int, int, str]:
    """Where a row stands among others: by document and place, the unlocated first; what has no place stays.

    Queries do not order such rows: the engine would read the texts anew for each comparison.
    """
    if "chunk" not in row:
        return "", 0, -1, ""
    offset = rows.whole(row, "offset")
    return (
        rows.must(row, "document"),
        rows.whole(row, "chunk_offset") or 0,
        -1 if offset is None else offset,
        rows.text(row, "evidence") or "",
    )


def _add(selection: Selection, row: Row) -> None:
    source = replace(read_source(row), subgraph=None, activity=None)  # a place counts once, whoever read it
    if source not in selection.sources:
        selection.sources = (*selection.sources, source)
