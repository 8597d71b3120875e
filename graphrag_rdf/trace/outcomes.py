"""How runs end: the codes of the graph and of JSON, and the words for people."""

from __future__ import annotations

from collections.abc import Mapping

from graphrag_rdf.i18n import later, tr

FOREIGN = "foreign"
"""The code of traces of other programs, which record none."""

UNFINISHED = "unfinished"
"""The code of a run that was never closed: it still runs, or it was killed."""

OUTCOMES: Mapping[str, str] = {
    "completed": later("answered"),
    "unanswered": later("no answer: closest chunks"),
    "failed": later("failed"),
    "cancelled": later("cancelled"),
    UNFINISHED: later("not finished"),
    FOREIGN: later("in TrustGraph's form"),
}
"""Code → words."""


def outcome_words(outcome: str | None) -> str:
    """The words for an outcome; None is a run that was never closed."""
    return tr(OUTCOMES.get(outcome or UNFINISHED, outcome or ""))
