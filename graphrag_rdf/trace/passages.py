"""The passages that an activation ranked, and what their scores are made of."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.store.base import Store
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.documents import shown_names
from graphrag_rdf.trace.labels import label_of, read_labels


@dataclass(frozen=True, slots=True)
class Share:
    """A path to a passage, and what it adds to the score.

    Attributes:
        entity, label: the active entity that it comes from.
        mentions: how often the passage mentions it; None on a path by a sentence.
        sentence: the words by which it comes; None of a path by mentions, and when the sentence is gone.
        similarity: of the sentence to the question.
    """

    share: float
    entity: str
    label: str
    mentions: int | None
    sentence: str | None
    activation: float | None
    similarity: float | None


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation by which the composite score came to a passage, and what it adds to the score.

    Attributes:
        signal: relates, cooccurs, or the type of the relation.
        origin, label: the passage (with its document's title) or entity that it starts from.
        near: of an entity the one named near it.
    """

    share: float
    signal: str
    origin: str
    label: str
    near: str | None
    strength: float | None


_BY_PATHS = ("entities", "carrier")
"""Signals that the paths of an activation add up to."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A ranked passage; `title`, `name` and `document` are None when its chunk is gone.

    Attributes:
        name: as of `items.Source`.
        recomputed: the same score, computed again from the paths.
        signals: what the score is the sum of, by the name of the signal.
        relations: of a composite score, the largest share first.
        others: what no path gives: the share of the passage's own words and meaning, and of a reranker.
        rerank_score: what a reranker gave it, on its own scale; None where none was asked.
        rank_before, score_before: before reranking; None without it.
    """

    step: str
    rank: int
    chunk: str
    score: float
    recomputed: float | None
    title: str | None
    name: str | None
    document: str | None
    shares: tuple[Share, ...]
    signals: dict[str, float] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()
    rerank_score: float | None = None
    rank_before: int | None = None
    score_before: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The keys of `passages[]` of an exploration."""
        return {name: value for name, value in asdict(self).items() if name != "step"} | {
            "others": self.others
        }

    @property
    def others(self) -> float:
        """What is left of the score beside the paths."""
        return self.score - sum(share.share for share in self.shares)

    @property
    def own(self) -> dict[str, float]:
        """What no path gives, by the name of the signal."""
        return {name: share for name, share in self.signals.items() if share > 0 and name not in _BY_PATHS}


def read_passages(store: Store, session: NamedNode) -> dict[str, list[Passage]]:
    """The passages of a trace by the step that ranked them, best first."""
    scored = store.select("trace/passage-scores", session=session)
    if not scored:
        return {}
    paths = store.select("trace/passage-paths", session=session)
    labels = read_labels(store, [row["entity"] for row in paths])
    sentences = sorted({rows.node(row, "sentence") for row in paths if "sentence" in row}, key=str)
    words = {
        rows.must(row, "sentence"): rows.must(row, "text")
        for row in (store.select("retrieval/sentence-texts", sentences=sentences) if sentences else ())
    }
    chunks = sorted({rows.node(row, "chunk") for row in scored}, key=str)
    found = {rows.must(row, "chunk"): row for row in store.select("retrieval/chunks", chunks=chunks)}
    names = shown_names(store, (rows.must(row, "document") for row in found.values()))
    shares: defaultdict[tuple[str, int | None], list[Share]] = defaultdict(list)
    for row in paths:
        shares[rows.must(row, "step"), rows.whole(row, "rank")].append(
            Share(
                share=rows.number(row, "share") or 0.0,
                entity=rows.must(row, "entity"),
                label=label_of(row["entity"], labels),
                mentions=rows.whole(row, "mentions"),
                sentence=words.get(rows.text(row, "sentence") or ""),
                activation=rows.number(row, "activation"),
                similarity=rows.number(row, "similarity"),
            )
        )
    reranked = {
        (rows.must(row, "step"), rows.whole(row, "rank")): row
        for row in store.select("trace/reranked", session=session)
    }
    signals: defaultdict[tuple[str, int | None], dict[str, float]] = defaultdict(dict)
    for row in store.select("trace/passage-shares", session=session):
        place_of_share = rows.must(row, "step"), rows.whole(row, "rank")
        signals[place_of_share][rows.must(row, "signal")] = rows.number(row, "share") or 0.0
    relations = _read_relations(store, session)
    out: defaultdict[str, list[Passage]] = defaultdict(list)
    for row in scored:
        step, rank, chunk = rows.must(row, "step"), rows.whole(row, "rank") or 0, rows.must(row, "chunk")
        place = found.get(chunk, {})
        out[step].append(
            Passage(
                step=step,
                rank=rank,
                chunk=chunk,
                score=rows.number(row, "score") or 0.0,
                recomputed=rows.number(row, "recomputed"),
                title=rows.text(place, "title"),
                name=names.get(rows.text(place, "document") or "", rows.text(place, "title")),
                document=rows.text(place, "document"),
                shares=tuple(shares[step, rank]),
                signals=signals[step, rank],
                relations=tuple(relations[step, rank]),
                rerank_score=rows.number(reranked.get((step, rank), {}), "rerank"),
                rank_before=rows.whole(reranked.get((step, rank), {}), "rank_before"),
                score_before=rows.number(reranked.get((step, rank), {}), "score_before"),
            )
        )
    return out


def _read_relations(store: Store, session: NamedNode) -> defaultdict[tuple[str, int | None], list[Relation]]:
    found: defaultdict[tuple[str, int | None], list[Relation]] = defaultdict(list)
    related = store.select("trace/passage-relations", session=session)
    if not related:
        return found
    origins = sorted({rows.node(row, "origin") for row in related}, key=str)
    titles = {
        rows.must(row, "chunk"): rows.must(row, "title")
        for row in store.select("retrieval/chunks", chunks=origins)
    }
    things = [row[name] for row in related for name in ("origin", "near") if name in row]
    labels = read_labels(store, things)
    for row in related:
        origin = rows.must(row, "origin")
        found[rows.must(row, "step"), rows.whole(row, "rank")].append(
            Relation(
                share=rows.number(row, "share") or 0.0,
                signal=rows.must(row, "signal"),
                origin=origin,
                label=titles.get(origin) or label_of(row["origin"], labels),
                near=label_of(row["near"], labels) if "near" in row else None,
                strength=rows.number(row, "strength"),
            )
        )
    return found
