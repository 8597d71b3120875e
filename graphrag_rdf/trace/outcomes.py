"""How runs end: the codes of the graph and of JSON, and the words for people."""

from __future__ import annotations

from collections.abc import Mapping

from graphrag_rdf.store.base import Store
from graphrag_rdf.trace import rows

UNFINISHED = "unfinished"
"""The code of a run that was never closed: it still runs, or it was killed."""

OUTCOMES: Mapping[str, str] = {
    "completed": "answered",
    "unanswered": "no answer: closest chunks",
    "failed": "failed",
    "cancelled": "cancelled",
    UNFINISHED: "not finished",
}
"""Code → words."""


def outcome_told(outcome: str | None) -> str:
    """The words for an outcome; None is a run that was never closed."""
    return OUTCOMES.get(outcome or UNFINISHED, outcome or "")


def count_outcomes(store: Store) -> dict[str, int]:
    """How many traces ended in each way, by code; ways in which none ended are left out."""
    found = {
        rows.must(row, "outcome"): rows.whole(row, "traces") or 0 for row in store.select("trace/outcomes")
    }
    return {
        code: found[code] for code in (*OUTCOMES, *sorted(found.keys() - OUTCOMES.keys())) if code in found
    }
