"""What is made from other things of a store, and goes when they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.store.base import Changes, Store, in_batches, updates_in_batches


@dataclass(frozen=True, slots=True)
class Made:
    """A kind of thing that is made from others, such as reports.

    Attributes:
        column, parameter: what templates call them: `find` in its rows, the others as their parameter.
        find: query for those that were made from things, with a parameter for each of `origins`.
        origins: kinds of things that they are made from.
        drop: update that removes them.
        texts: query for their texts, which `forget` erases; with `merged`, also for the texts that they were
            made from, which are only in prompts.
    """

    column: str
    parameter: str
    find: str
    drop: str
    texts: str
    origins: tuple[str, ...] = ("entities", "sources")

    def drop_all(self, nodes: Sequence[NamedNode], changes: Changes) -> None:
        """Add the removal of these to a transaction."""
        changes.updates += updates_in_batches(self.drop, self.parameter, nodes)

    def drop_made(self, store: Store, changes: Changes, **origins: Sequence[NamedNode]) -> list[NamedNode]:
        """Add the removal of those that were made from things, and of all that derive from them, to a
        transaction.

        Args:
            origins: things by their kind; a kind that is none of `origins` counts for nothing.

        Returns:
            what is removed.
        """
        nodes: dict[NamedNode, None] = {}
        empty: dict[str, Sequence[NamedNode]] = dict.fromkeys(self.origins, ())
        for kind in self.origins:
            for batch in in_batches(origins.get(kind, ())):
                rows = store.select(self.find, **{**empty, kind: batch})
                nodes |= dict.fromkeys(row[self.column] for row in rows)
        made = sorted(nodes, key=str)
        self.drop_all(made, changes)
        return made
