"""Samples of chunks for the tuning of prompts."""

from __future__ import annotations

from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.store.base import Store


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with its text and the title of its document."""

    chunk: NamedNode
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class Sample:
    """The sampled chunks, and the number of all chunks."""

    seen: tuple[Passage, ...]
    all: int


def draw(store: Store, *, limit: int, seed: int) -> Sample:
    """Sample chunks of a store at random. The same store and seed give the same sample."""
    (row,) = store.select("tuning/count-passages")
    rows = store.select("tuning/random-passages", seed=str(seed), limit=limit)
    passages = (Passage(row["chunk"], row["text"], row["title"]) for row in rows)
    return Sample(tuple(passages), row["number"])
