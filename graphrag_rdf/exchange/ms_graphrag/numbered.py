"""Rows of an exported table: each thing has a row with an id and a number, by which others refer to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
Cells = dict[str, object]


class Numbered(Generic[K]):
    """The rows of a table, in order.

    Ids depend on what a row is about, so the same store gives the same ids.
    """

    def __init__(self) -> None:
        self._rows: dict[K, Cells] = {}

    def add(self, thing: K, **cells: object) -> Cells:
        """Add the row of a thing."""
        own = cells.pop("id", None) or hashlib.sha256(str(thing).encode()).hexdigest()
        row: Cells = {"id": own, "human_readable_id": len(self._rows), **cells}
        self._rows[thing] = row
        return row

    def __contains__(self, thing: object) -> bool:
        """Whether a thing has a row."""
        return thing in self._rows

    def __iter__(self) -> Iterator[Cells]:
        """The rows."""
        return iter(self._rows.values())

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def things(self) -> Iterator[K]:
        """What the rows are about."""
        return iter(self._rows)

    def row(self, thing: K) -> Cells:
        """The row of a thing."""
        return self._rows[thing]

    def ids(self, things: Iterable[K]) -> list[object]:
        """The ids of things that have a row, in order, each once."""
        return [self._rows[thing]["id"] for thing in dict.fromkeys(things) if thing in self._rows]

    def number(self, thing: K) -> int | None:
        """The number of a thing's row."""
        row = self._rows.get(thing)
        return None if row is None else int(str(row["human_readable_id"]))
