"""The labels of what a step names."""

from __future__ import annotations

from collections.abc import Iterable

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import Term, one_label
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.trace.recorder import Step


def labels_of(context: Context, step: Step, state: State, terms: Iterable[Term]) -> dict[str, str]:
    """What to call the IRIs among some terms."""
    things = sorted({term for term in terms if isinstance(term, NamedNode)}, key=str)
    rows = context.select(step, "retrieval/labels", things=things) if things else []
    return {row["thing"].value: row["label"].value for row in one_label(rows, state.language)}
