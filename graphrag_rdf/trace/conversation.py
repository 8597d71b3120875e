"""Conversations: the questions and answers that a session goes on with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.store.blobs import BlobStore
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


def read_turns(store: Store, blobs: BlobStore, session: NamedNode, limit: int) -> tuple[Turn, ...]:
    """A session and the ones before it, the oldest first.

    Args:
        limit: how many, at most; the newest.
    """
    found = store.select("trace/conversation", session=session, limit=limit) if limit else []
    sessions = [rows.node(row, "session") for row in found]
    texts = {
        rows.node(row, "session"): rows.text(row, "text") or _kept(blobs, row)
        for row in (store.select("trace/answer-texts", sessions=sessions) if sessions else ())
    }
    return tuple(
        Turn(
            rows.node(row, "asked"),
            rows.must(row, "question"),
            _MARKERS.sub("", texts.get(rows.node(row, "session"), ""))[:_LONGEST],
        )
        for row in reversed(found)
    )


def _kept(blobs: BlobStore, row: Row) -> str:
    """A long text; empty when there is none, or it was forgotten."""
    stored = rows.text(row, "stored")
    return (blobs.text(stored) if stored else None) or ""
