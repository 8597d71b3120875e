"""Reads every quad of a database through every index of the engine.

The engine stores each quad in three indexes, and in three more by graph, each in another order. A query reads
the index that fits its pattern, so damage in another one goes unnoticed. The engine verifies a checksum of
every block that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import pyoxigraph as ox
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad

Graph: TypeAlias = NamedNode | BlankNode | DefaultGraph

_MASK = (1 << 64) - 1
_FILE = re.compile(r"[^\s:]*/(?:[0-9]+\.(?:sst|log)|MANIFEST-[0-9]+|CURRENT|OPTIONS-[0-9]+)")


def file_of(message: str) -> str | None:
    """The file that an error of the engine names."""
    found = _FILE.search(message)
    return found[0] if found else None


def engine_faults(engine: ox.Store) -> Iterator[str]:
    """Differences between the indexes of the engine.

    Raises:
        OSError: when a block cannot be read; the message usually names its file.
    """
    graphs: list[Graph] = [DefaultGraph(), *engine.named_graphs()]
    whole = _Sum()
    whole.add(engine)
    if (counted := len(engine)) != whole.count:
        yield f"the database counts {counted:,} quads but has {whole.count:,}"
    for part in ("subject", "predicate", "object"):
        yield from _compared(f"by {part}", whole, _by(engine, part, None))
    found = {graph: _Sum() for graph in graphs}
    for quad in engine:
        found.setdefault(quad.graph_name, _Sum()).add((quad,))
    for graph, expected in found.items():
        place = f"in {graph}" if graph in graphs else f"in {graph}, which is not listed,"
        yield from _compared(place, expected, engine.quads_for_pattern(None, None, None, graph))
        for part in ("subject", "predicate", "object"):
            yield from _compared(f"{place} by {part}", expected, _by(engine, part, graph))


class _Sum:
    """The number of quads, and the sum of their hashes."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.count = self.total = 0

    def add(self, quads: Iterable[Quad]) -> None:
        for quad in quads:
            self.count += 1
            self.total = (self.total + hash(quad)) & _MASK


def _compared(place: str, expected: _Sum, quads: Iterable[Quad]) -> Iterator[str]:
    found = _Sum()
    found.add(quads)
    if (found.count, found.total) != (expected.count, expected.total):
        yield f"the index {place} has {found.count:,} quads, or others, instead of {expected.count:,}"


def _by(engine: ox.Store, part: str, graph: Graph | None) -> Iterator[Quad]:
    """All quads, found by each of their subjects, predicates or objects."""
    seen: set[int] = set()  # hashes: the terms would take several times the memory
    for quad in engine.quads_for_pattern(None, None, None, graph):
        term = getattr(quad, part)
        if (known := hash(term)) in seen:
            continue
        seen.add(known)
        pattern = {
            "subject": (term, None, None),
            "predicate": (None, term, None),
            "object": (None, None, term),
        }
        # For 255, the engine (0.5.13) also returns 256: it misses the end of a range at the byte 0xff.
        found = engine.quads_for_pattern(*pattern[part], graph)
        yield from (quad for quad in found if getattr(quad, part) == term)
