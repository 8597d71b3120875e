"""Ranked chunks as `retrieve` lists them."""

from __future__ import annotations

from collections.abc import Mapping

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.terms import one_label
from graphrag_rdf.steps.exploration import PassageHit, PassagePath, explain
from graphrag_rdf.steps.search import label_of
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.trace.documents import shown_names


def describe(
    context: Context, state: State, passages: list[PassageHit], *, paths: bool
) -> list[dict[str, object]]:
    """The keys of `retrieve`'s `results[]`.

    Args:
        paths: whether to tell what the scores are made of.
    """
    if paths and state.inputs is not None:
        explain(context.store, passages, state.inputs.given)
    rows = context.store.select("retrieval/chunks", chunks=[passage.chunk for passage in passages])
    texts = {row["chunk"].value: row for row in rows}
    places = context.store.select("provenance/places", chunks=[row["chunk"] for row in rows])
    pages = {row["chunk"]: row["page_number"] for row in reversed(places)}  # the first that a chunk touches
    names = shown_names(context.store, (row["document"] for row in rows))
    told = _told(context, passages, state.language) if paths else {}
    out: list[dict[str, object]] = []
    present = [passage for passage in passages if passage.chunk.value in texts]  # else forgotten meanwhile
    for rank, passage in enumerate(present, start=1):
        row = texts[passage.chunk.value]
        sums = {} if passage.total is None else {"sum": passage.total}
        scale = 1 + (passage.total or 0.0)  # of parts of the score to those of the sum
        out.append(
            {
                "rank": rank,
                "score": passage.score,
                **sums,
                "chunk": passage.chunk.value,
                "document": row["document"],
                "title": row["title"],
                "name": names.get(row["document"], row["title"]),
                "uri": row["location"],
                "page_number": pages.get(passage.chunk.value),
                "char_offset": row["offset"],
                "char_length": len(row["text"]),
                "text": row["text"],
                "signals": passage.signals,
                "weights": {name: weight * scale for name, weight in passage.weights.items()},
                **_before(passage),
                "paths": [_path(path, told) for path in passage.paths] if paths else [],
                **({"relations": _relations(passage, told, scale)} if paths else {}),
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
        "activation": path.activation,
        "number": path.number,
        "topic": path.topic,
        "share": path.share,
    }


def _relations(
    passage: PassageHit, told: Mapping[NamedNode | None, str], scale: float
) -> list[dict[str, object]]:
    """The keys of `results[].relations[]`."""
    return [
        {
            "signal": path.signal,
            "origin": to_json(path.origin),
            "origin_label": told.get(path.origin),
            "near": to_json(path.near_entity),
            "near_label": told.get(path.near_entity),
            "base": path.base,
            "strength": path.strength,
            "share": path.share * scale,
        }
        for path in passage.relations
    ]


def _told(context: Context, passages: list[PassageHit], language: str | None) -> dict[NamedNode | None, str]:
    """What paths and relations are told by: labels of entities, titles of passages."""
    paths = [path for passage in passages for path in passage.paths]
    relations = [path for passage in passages for path in passage.relations]
    origins = {path.chunk for path in relations if path.chunk is not None}
    named = {path.entity for path in paths} | {path.entity for path in relations}
    named |= {path.near_entity for path in relations}
    entities = sorted((entity for entity in named if entity), key=str)
    found: dict[NamedNode | None, str] = {}
    if entities:
        rows = context.store.select("retrieval/names", things=entities)
        for row in one_label(rows, language):
            found[row["thing"]] = label_of(row["label"], row["thing"])
    if origins:
        for row in context.store.select("retrieval/chunks", chunks=sorted(origins, key=str)):
            found[row["chunk"]] = row["title"]
    return found
