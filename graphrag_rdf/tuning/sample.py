"""Samples of chunks for the tuning of prompts, and held-out ones for the comparison."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from pyoxigraph import NamedNode

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.extract.prompts import is_clean
from graphrag_rdf.ingest.files import begin
from graphrag_rdf.ingest.files import plans as planned
from graphrag_rdf.ingest.plan import incoming
from graphrag_rdf.rdf.terms import node_of, text_of, to_python
from graphrag_rdf.store.base import Store, select_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.documents.discover import Discovery
    from graphrag_rdf.ingest.report import IngestReport

Selection: TypeAlias = Literal["random", "auto"]
"""How chunks are chosen: at random by a seed; or of `SUBSET` random ones those that name the most."""
SUBSET = 300
"""Number of chunks from which `auto` chooses."""
EXCERPT = 500
"""Maximum length of the text of an example, in characters."""
_BATCH = 200

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with the data for an extraction."""

    chunk: NamedNode
    text: str
    title: str
    language: str | None


@dataclass(frozen=True, slots=True)
class Sample:
    """The sampled chunks, the held-out chunks, and the number of all chunks."""

    seen: tuple[Passage, ...]
    held_out: tuple[Passage, ...]
    all: int


def draw(store: Store, selection: Selection, *, limit: int, held_out: int, seed: int) -> Sample:
    """Sample chunks of a store. The same store and seed give the same sample.

    The held-out chunks are drawn at random first, whatever the selection, and are at most a third of all.

    Args:
        limit: number of chunks to sample.
        held_out: number of chunks to hold out.
    """
    (row,) = store.select("tuning/count-passages")
    number = int(str(to_python(row["number"])))
    apart = _random(store, seed, (), min(held_out, number // 3))
    if selection == "auto":
        candidates = _random(store, seed, apart, SUBSET)
        named: dict[NamedNode, set[str]] = {chunk: set() for chunk in candidates}
        for chunk, _, _, entity in _sentences(store, candidates):
            if entity is not None:
                named[chunk].add(entity)
        seen = cover(named, limit)
    else:
        seen = _random(store, seed, apart, limit)
    return Sample(_passages(store, seen), _passages(store, apart), number)


def cover(things: Mapping[K, Iterable[Hashable]], number: int) -> list[K]:
    """Keys that together have the most different things, chosen greedily.

    They cover at least 63 % of the best choice (Nemhauser, Wolsey and Fisher 1978). Ties are in order of the
    mapping, and so are the keys that add nothing.
    """
    left = {key: set(values) for key, values in things.items()}
    chosen: list[K] = []
    while left and len(chosen) < number:
        best = max(left, key=lambda key: len(left[key]))
        new = left.pop(best)
        chosen.append(best)
        for values in left.values():
            values.difference_update(new)
    return chosen


def excerpts(store: Store, passages: Sequence[Passage]) -> list[Passage]:
    """For each chunk, the consecutive sentences that mention the most entities, at most `EXCERPT` characters.

    Chunks of table rows only, or without mentions, have none.
    """
    found: dict[NamedNode, dict[tuple[int, int], set[str]]] = {}
    for chunk, offset, length, entity in _sentences(store, [passage.chunk for passage in passages]):
        mentioned = found.setdefault(chunk, {}).setdefault((offset, length), set())
        if entity is not None:
            mentioned.add(entity)
    out = []
    for passage in passages:
        place = _densest(list(found.get(passage.chunk, {}).items()), passage.text)
        if place is not None:
            text = passage.text[place[0] : place[1]].strip()
            out.append(Passage(passage.chunk, text, passage.title, passage.language))
    return out


def _densest(sentences: Sequence[tuple[tuple[int, int], set[str]]], text: str) -> tuple[int, int] | None:
    best, most = None, 0
    for first, ((start, _), named) in enumerate(sentences):
        if not named:
            continue
        mentioned: set[str] = set()
        end = start
        for (offset, length), entities in sentences[first:]:
            if offset + length - start > EXCERPT or text[end:offset].strip():  # a row is in between
                break
            if not is_clean(text[end : offset + length]):
                break
            mentioned |= entities
            end = offset + length
            if len(mentioned) > most:
                best, most = (start, end), len(mentioned)
    return best


def _random(store: Store, seed: int, without: Sequence[NamedNode], limit: int) -> list[NamedNode]:
    if not limit:
        return []
    rows = store.select("tuning/random-passages", seed=str(seed), without=without, limit=limit)
    return [node_of(row["chunk"]) for row in rows]


def _passages(store: Store, chunks: Sequence[NamedNode]) -> tuple[Passage, ...]:
    known = {}
    for row in select_in_batches(store, "tuning/passages", "chunks", chunks, _BATCH):
        language = text_of(row["language"]) if "language" in row else None
        chunk = node_of(row["chunk"])
        known[chunk] = Passage(chunk, text_of(row["text"]), text_of(row["title"]), language)
    return tuple(known[chunk] for chunk in chunks if chunk in known)


def _sentences(store: Store, chunks: Sequence[NamedNode]) -> list[tuple[NamedNode, int, int, str | None]]:
    """(chunk, offset, length, mentioned entity or None), in order."""
    out = []
    for row in select_in_batches(store, "tuning/sentences", "chunks", chunks, _BATCH):
        offset, length = (int(str(to_python(row[name]))) for name in ("offset", "length"))
        entity = text_of(row["entity"]) if "entity" in row else None
        out.append((node_of(row["chunk"]), offset, length, entity))
    return out


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
