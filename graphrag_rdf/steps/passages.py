"""Passages: which chunks the explored facts and sentences speak for."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.state import Context, State

_WORDS_WEIGHT = 0.5  # of the chunk's own BM25, beside its best sentence


@dataclass(slots=True)
class RankedPassage:
    """A chunk with its score and the parts of it.

    Attributes:
        signals: what the score is made of.
        paths: what led to it: (sentence, entities it mentions, score) of its sentences, best first.
    """

    chunk: NamedNode
    score: float = 0.0
    signals: dict[str, float] = field(default_factory=dict)
    paths: list[tuple[NamedNode, tuple[NamedNode, ...], float]] = field(default_factory=list)


def rank_passages(context: Context, state: State, k: int) -> list[RankedPassage]:
    """The k best chunks: the best of a chunk's sentences by exploration, plus its own words.

    Ties are broken by IRI, so that the ranking is deterministic. An exploration that ranked passages itself
    (activation) is taken at its word.
    """
    if state.passages:  # the exploration ranked them itself
        hits = {hit.sentence.value: hit for hit in state.hits}
        return [
            RankedPassage(
                passage.chunk,
                passage.score,
                passage.signals,
                [
                    (node, hits[node.value].entities if node.value in hits else (), strength)
                    for node, strength in passage.carriers
                ],
            )
            for passage in state.passages[:k]
        ]
    found: dict[str, RankedPassage] = {}
    sentences: dict[str, float] = {hit.sentence.value: hit.score for hit in state.hits}
    for edge in state.edges:
        for sentence in edge.sentences:
            sentences[sentence.value] = max(sentences.get(sentence.value, 0.0), edge.score)
    entities = {hit.sentence.value: hit.entities for hit in state.hits}
    for iri, score in sentences.items():
        chunk = iri.partition("#")[0]
        passage = found.setdefault(chunk, RankedPassage(NamedNode(chunk)))
        passage.paths.append((NamedNode(iri), entities.get(iri, ()), score))
    if context.text_index is not None:
        chunks = context.text_index.search(state.question, kind="chunk", k=200, language=state.language)
        best = chunks[0].score if chunks else 1.0
        for hit in chunks:
            passage = found.setdefault(hit.iri, RankedPassage(NamedNode(hit.iri)))
            passage.signals["words"] = hit.score / best
    for passage in found.values():
        passage.paths.sort(key=lambda path: (-path[2], path[0].value))
        passage.signals["sentences"] = passage.paths[0][2] if passage.paths else 0.0
        passage.signals.setdefault("words", 0.0)
        passage.score = passage.signals["sentences"] + _WORDS_WEIGHT * passage.signals["words"]
    return sorted(found.values(), key=lambda passage: (-passage.score, passage.chunk.value))[:k]


def describe(context: Context, passages: list[RankedPassage], *, paths: bool) -> list[dict[str, object]]:
    """The keys of `retrieve`'s `results[]`."""
    rows = context.store.select("retrieval/chunks", chunks=[passage.chunk for passage in passages])
    texts = {text_of(row["chunk"]): row for row in rows}
    out: list[dict[str, object]] = []
    present = [passage for passage in passages if passage.chunk.value in texts]  # else forgotten meanwhile
    for rank, passage in enumerate(present, start=1):
        row = texts[passage.chunk.value]
        out.append(
            {
                "rank": rank,
                "score": passage.score,
                "chunk": passage.chunk.value,
                "document": text_of(row["document"]),
                "title": text_of(row["title"]),
                "text": text_of(row["text"]),
                "signals": passage.signals,
                "paths": [
                    {"sentence": s.value, "entities": [e.value for e in entities], "score": score}
                    for s, entities, score in passage.paths
                ]
                if paths
                else [],
            }
        )
    return out
