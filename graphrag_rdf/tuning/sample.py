"""Which passages a model looks at, and which are held out to compare prompts with."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from pyoxigraph import NamedNode

from graphrag_rdf.extract.prompts import is_clean
from graphrag_rdf.rdf.terms import node_of, text_of, to_python
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.batches import select_in_batches

Selection: TypeAlias = Literal["random", "top", "auto", "all"]
"""How passages are chosen: at random by a seed; the first; of a random `SUBSET` those that together name the
most different things; all.
"""
SUBSET = 300
"""Passages among which `auto` chooses."""
EXCERPT = 500
"""Characters of a worked example's passage at most."""
_BATCH = 200

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as an extraction sees it."""

    chunk: NamedNode
    text: str
    title: str
    language: str | None


@dataclass(frozen=True, slots=True)
class Sample:
    """Passages that are looked at, and others that are held out; `all` counts what there is."""

    seen: tuple[Passage, ...]
    held_out: tuple[Passage, ...]
    all: int


def draw(store: Store, selection: Selection, *, limit: int, held_out: int, seed: int) -> Sample:
    """Choose passages of a store. The same store and seed give the same.

    Those held out are drawn at random first, whatever the selection, and are a third of all passages at most.

    Args:
        limit: passages to look at; without meaning for `all`.
        held_out: passages to hold out.
    """
    (row,) = store.select("tuning/count-passages")
    number = int(str(to_python(row["number"])))
    apart = _random(store, seed, (), min(held_out, number // 3))
    if selection == "all":
        seen = _first(store, apart, number)
    elif selection == "top":
        seen = _first(store, apart, limit)
    elif selection == "auto":
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
    """Keys that together have the most different things, chosen greedily: each adds the most to those before.

    That covers at least 63 % of what the best choice would (Nemhauser, Wolsey and Fisher 1978). Among equals
    the first comes first; when nothing is added any more, the rest follow in their order.
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
    """Of each passage the sentences in a row that mention the most, `EXCERPT` characters of a page at most.

    Passages that are all rows of tables, or in which nothing is mentioned, give none.
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
            if offset + length - start > EXCERPT or text[end:offset].strip():  # a row stands between
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


def _first(store: Store, without: Sequence[NamedNode], limit: int) -> list[NamedNode]:
    rows = store.select("tuning/first-passages", without=without, limit=limit)
    return [node_of(row["chunk"]) for row in rows]


def _passages(store: Store, chunks: Sequence[NamedNode]) -> tuple[Passage, ...]:
    known = {}
    for row in select_in_batches(store, "tuning/passages", "chunks", chunks, _BATCH):
        language = text_of(row["language"]) if "language" in row else None
        chunk = node_of(row["chunk"])
        known[chunk] = Passage(chunk, text_of(row["text"]), text_of(row["title"]), language)
    return tuple(known[chunk] for chunk in chunks if chunk in known)


def _sentences(store: Store, chunks: Sequence[NamedNode]) -> list[tuple[NamedNode, int, int, str | None]]:
    """(chunk, offset, length, entity that it mentions), in order; sentences that mention nothing too."""
    out = []
    for row in select_in_batches(store, "tuning/sentences", "chunks", chunks, _BATCH):
        offset, length = (int(str(to_python(row[name]))) for name in ("offset", "length"))
        entity = text_of(row["entity"]) if "entity" in row else None
        out.append((node_of(row["chunk"]), offset, length, entity))
    return out
