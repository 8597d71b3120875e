"""Passages: which chunks the explored facts and sentences speak for."""

from __future__ import annotations

from collections.abc import Mapping

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.labels import one_label
from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.steps.deciding import decide
from graphrag_rdf.steps.mentions import chunk_of
from graphrag_rdf.steps.nodes.exploration import PassageHit, PassagePath, RelationPath
from graphrag_rdf.steps.search import label_of, number_of
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.documents import shown_names
from graphrag_rdf.trace.recorder import Step

_WEIGHTS = {"sentences": 2 / 3, "words": 1 / 3}  # as in selection/chunk-ranking
_SEARCHED = 200  # chunks asked of the index


def rank_by_sentences(context: Context, state: State, step: Step, limit: int) -> list[PassageHit]:
    """The best chunks by the best of their sentences that exploration found, and by their own words."""
    sentences: dict[str, float] = {hit.sentence.value: hit.score for hit in state.hits}
    for edge in state.edges:
        for sentence in edge.sentences:
            sentences[sentence.value] = max(sentences.get(sentence.value, 0.0), edge.score)
    index = context.text_index
    words = (
        index.search(state.question, kind="chunk", k=_SEARCHED, language=state.language, also=state.also)
        if index is not None
        else []
    )
    rows = decide(
        context,
        step,
        "selection/chunk-ranking",
        sentences=[(NamedNode(chunk_of(iri)), score) for iri, score in sorted(sentences.items())],
        words=[(NamedNode(hit.iri), hit.score / words[0].score) for hit in words],
        limit=limit,
    )
    entities = {hit.sentence.value: hit.entities for hit in state.hits}
    best: dict[str, str] = {}
    for iri in sorted(sentences, key=lambda iri: (-sentences[iri], iri)):
        best.setdefault(chunk_of(iri), iri)
    return [_hit(row, best, sentences, entities) for row in rows]


def _hit(
    row: Row,
    best: Mapping[str, str],
    scores: Mapping[str, float],
    entities: Mapping[str, tuple[NamedNode, ...]],
) -> PassageHit:
    chunk = node_of(row["chunk"])
    signals = {"sentences": number_of(row["bySentences"]), "words": number_of(row["byWords"])}
    hit = PassageHit(chunk=chunk, score=number_of(row["score"]), signals=signals, weights=dict(_WEIGHTS))
    if (iri := best.get(chunk.value)) is not None:
        mentioned = entities.get(iri) or (None,)
        path = PassagePath(mentioned[0], scores[iri], 1.0, sentence=NamedNode(iri))
        path.share = _WEIGHTS["sentences"] * path.value
        hit.paths.append(path)
    return hit


def describe(
    context: Context, passages: list[PassageHit], *, paths: bool, language: str | None = None
) -> list[dict[str, object]]:
    """The keys of `retrieve`'s `results[]`; labels in this language (BCP 47) where there are several."""
    rows = context.store.select("retrieval/chunks", chunks=[passage.chunk for passage in passages])
    texts = {text_of(row["chunk"]): row for row in rows}
    names = shown_names(context.store, (text_of(row["document"]) for row in rows))
    told = _told(context, passages, language) if paths else {}
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
                "name": names.get(text_of(row["document"]), text_of(row["title"])),
                "text": text_of(row["text"]),
                "signals": passage.signals,
                "weights": passage.weights,
                **_before(passage),
                "paths": [_path(path, told) for path in passage.paths] if paths else [],
                **({"relations": [_relation(path, told) for path in passage.relations]} if paths else {}),
            }
        )
    return out


def _before(passage: PassageHit) -> dict[str, object]:
    """What a reranked passage was before."""
    if passage.rank_before is None:
        return {}
    return {
        "rerank_score": passage.reranked,
        "rank_before": passage.rank_before,
        "score_before": passage.score_before,
    }


def _path(path: PassagePath, told: Mapping[NamedNode | None, str]) -> dict[str, object]:
    """The keys of `results[].paths[]`."""
    return {
        "entity": to_json(path.entity),
        "entity_label": told.get(path.entity),
        "sentence": to_json(path.sentence),
        "sentence_text": told.get(path.sentence),
        "mentions": path.mentions,
        "activation": path.activation,
        "similarity": path.similarity,
        "weight": path.weight,
        "share": path.share,
    }


def _relation(path: RelationPath, told: Mapping[NamedNode | None, str]) -> dict[str, object]:
    """The keys of `results[].relations[]`."""
    return {
        "signal": path.signal,
        "origin": to_json(path.origin),
        "origin_label": told.get(path.origin),
        "near": to_json(path.near_entity),
        "near_label": told.get(path.near_entity),
        "base": path.base,
        "strength": path.strength,
        "share": path.share,
    }


def _told(context: Context, passages: list[PassageHit], language: str | None) -> dict[NamedNode | None, str]:
    """What paths and relations are told by: labels of entities, titles of passages, texts of sentences."""
    paths = [path for passage in passages for path in passage.paths]
    relations = [path for passage in passages for path in passage.relations]
    origins = {path.chunk for path in relations if path.chunk is not None}
    named = {path.entity for path in paths} | {path.entity for path in relations}
    named |= {path.near_entity for path in relations}
    entities = sorted((entity for entity in named if entity), key=str)
    sentences = sorted({path.sentence for path in paths if path.sentence}, key=str)
    found: dict[NamedNode | None, str] = {}
    if entities:
        rows = context.store.select("retrieval/names", things=entities)
        for row in one_label(rows, language):
            found[node_of(row["thing"])] = label_of(row.get("label"), row["thing"])
    if origins:
        for row in context.store.select("retrieval/chunks", chunks=sorted(origins, key=str)):
            found[node_of(row["chunk"])] = text_of(row["title"])
    if sentences:
        for row in context.store.select("retrieval/sentence-texts", sentences=sentences):
            found[node_of(row["sentence"])] = text_of(row["text"])
    return found
