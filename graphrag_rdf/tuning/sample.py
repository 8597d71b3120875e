"""Samples of chunks for the tuning of prompts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.files import begin
from graphrag_rdf.ingest.files import plans as planned
from graphrag_rdf.ingest.plan import incoming
from graphrag_rdf.rdf.terms import node_of, text_of, to_python
from graphrag_rdf.store.base import Store, select_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.documents.discover import Discovery
    from graphrag_rdf.ingest.report import IngestReport

_BATCH = 200


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with the data for an extraction."""

    chunk: NamedNode
    text: str
    title: str
    language: str | None


@dataclass(frozen=True, slots=True)
class Sample:
    """The sampled chunks, and the number of all chunks."""

    seen: tuple[Passage, ...]
    all: int


def draw(store: Store, *, limit: int, seed: int) -> Sample:
    """Sample chunks of a store at random. The same store and seed give the same sample."""
    (row,) = store.select("tuning/count-passages")
    rows = store.select("tuning/random-passages", seed=str(seed), limit=limit)
    chunks = [node_of(row["chunk"]) for row in rows]
    return Sample(_passages(store, chunks), int(str(to_python(row["number"]))))


def _passages(store: Store, chunks: Sequence[NamedNode]) -> tuple[Passage, ...]:
    known = {}
    for row in select_in_batches(store, "tuning/passages", "chunks", chunks, _BATCH):
        language = text_of(row["language"]) if "language" in row else None
        chunk = node_of(row["chunk"])
        known[chunk] = Passage(chunk, text_of(row["text"]), text_of(row["title"]), language)
    return tuple(known[chunk] for chunk in chunks if chunk in known)


FILES = 200
"""Maximum number of files to read; the seed chooses among more."""


@contextmanager
def read_into_memory(
    found: Discovery, settings: Settings, seed: int
) -> Iterator[tuple[Engine, IngestReport]]:
    """A store in memory with the chunks of documents and their mentions, without calls to a model.

    Args:
        settings: for reading and splitting the documents.
        seed: chooses the files, if there are more than `FILES`.

    Yields:
        the store, and the report with the failures.
    """
    if len(found.sources) > FILES:
        order = sorted(
            found.sources, key=lambda source: hashlib.sha256(f"{seed} {source.identity}".encode()).digest()
        )
        found = replace(found, sources=tuple(order[:FILES]))
    extract = settings.extract.model_copy(update={"use": "rules", "synonyms": None})
    plain = Settings(store=":memory:", documents=settings.documents, extract=extract)
    with Engine.open(config=plain) as engine, engine.keeping_indexes():
        begun = begin(engine, refresh=False, progress=None, mentions_only=True, stop=None)
        most = settings.documents.max_bytes
        report = begun.run.run(incoming(planned(begun.run.planner(most, found.sources), found), most))
        yield engine, report
