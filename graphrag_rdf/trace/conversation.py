"""Conversations: the questions and answers that a session goes on with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.rdf import iris
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.librarian import Librarian
from graphrag_rdf.trace import rows

_MARKERS = re.compile(r"\s*\[S?\d{1,4}(?:\s*[,;]\s*S?\d{1,4})*\]")
_LONGEST = 2000
"""Characters of an answer that a later question sees."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was asked before, and its answer.

    Attributes:
        asked: the question's node.
        answer: without citations, cut where it is long; empty when there was none.
    """

    asked: NamedNode
    question: str
    answer: str


def read_turns(store: Store, librarian: Librarian, session: NamedNode, limit: int) -> tuple[Turn, ...]:
    """A session and the ones before it, the oldest first.

    Args:
        limit: how many, at most; the newest.
    """
    found = store.select("trace/conversation", session=session, limit=limit) if limit else ()
    return tuple(
        Turn(
            iris.question(rows.must(row, "session").rpartition(":")[2]),
            rows.must(row, "question"),
            _MARKERS.sub("", rows.text(row, "text") or _kept(librarian, rows.text(row, "stored")))[:_LONGEST],
        )
        for row in reversed(found)
    )


def _kept(librarian: Librarian, iri: str | None) -> str:
    """A long text; empty when it was forgotten."""
    return (librarian.text(iri) if iri else None) or ""
