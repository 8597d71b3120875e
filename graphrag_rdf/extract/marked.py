"""What of a passage is known before it is read: rows of tables, who speaks, and what stands before it."""

from __future__ import annotations

from dataclasses import dataclass

from graphrag_rdf.documents.context import NO_CONTEXT, Context
from graphrag_rdf.documents.model import Turn

from .rows import Row


@dataclass(frozen=True, slots=True)
class Marked:
    """What is known of a passage.

    Args:
        rows: of tables, in text order.
        columns: names of the columns of its first row, if the passage does not hold them itself.
        turns: who speaks where, in text order.
        context: what stands before it in its document.
    """

    rows: tuple[Row, ...] = ()
    columns: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    context: Context = NO_CONTEXT


UNMARKED = Marked()
