"""The tables of an export. Each thing has a row with an id and a number, by which other rows refer to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import local_name

K = TypeVar("K")
Cells = dict[str, object]
Pair = tuple[NamedNode, NamedNode]


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


@dataclass(slots=True)
class Exported:
    """All tables, as far as they are made.

    Attributes:
        names: of entities.
        day: on which the newest document was read, as ISO 8601 has it.
        loops: pairs of names that are one entity, so that their facts are in no relationship.
    """

    names: dict[NamedNode, str]
    documents: Numbered[NamedNode] = field(default_factory=Numbered)
    text_units: Numbered[NamedNode] = field(default_factory=Numbered)
    entities: Numbered[NamedNode] = field(default_factory=Numbered)
    relationships: Numbered[Pair] = field(default_factory=Numbered)
    covariates: Numbered[NamedNode] = field(default_factory=Numbered)
    communities: Numbered[NamedNode] = field(default_factory=Numbered)
    community_reports: Numbered[NamedNode] = field(default_factory=Numbered)
    day: str = ""
    loops: int = 0

    def name(self, entity: NamedNode) -> str:
        """The name of an entity."""
        return self.names.get(entity) or local_name(entity.value)

    def title(self, entity: NamedNode) -> str:
        """The title of an entity; the name of one that has no row."""
        return str(self.entities.row(entity)["title"]) if entity in self.entities else self.name(entity)


def list_in(row: Cells, column: str) -> list[Any]:
    """The list in a cell, made if there is none."""
    found = row.setdefault(column, [])
    assert isinstance(found, list)  # noqa: S101 - the cells are ours
    return found
