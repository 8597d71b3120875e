"""Whether the files of a database can be read: every quad through every index of the engine.

The engine keeps each quad in three indexes, and in three more by graph, each sorted in another order. A query
reads the one that fits its pattern, so a damaged block of another goes unnoticed until a query needs it. The
engine compares every block that it reads with a checksum.
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
    """What differs between the indexes of the engine.

    Raises:
        OSError: when a block cannot be read; the message names its file, as a rule.
    """
    graphs: list[Graph] = [DefaultGraph(), *engine.named_graphs()]
    whole = _Sum()
    whole.add(engine)
    if (counted := len(engine)) != whole.count:
        yield f"{counted:,} quads are counted, {whole.count:,} are there"
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
    """How many quads there are, and what their hashes add up to."""

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
        yield f"{expected.count:,} quads, looked up {place} {found.count:,}, or others"


def _by(engine: ox.Store, part: str, graph: Graph | None) -> Iterator[Quad]:
    """All quads, looked up by each of their subjects, predicates or objects."""
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
        # Looked up by 255, the engine (0.5.13) also returns 256: it misses ends of ranges at a byte of 0xff.
        found = engine.quads_for_pattern(*pattern[part], graph)
        yield from (quad for quad in found if getattr(quad, part) == term)
