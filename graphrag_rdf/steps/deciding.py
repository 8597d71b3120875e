"""Queries that decide what is taken, in which order, and where it is cut."""

from __future__ import annotations

from typing import Any

from graphrag_rdf.steps.state import Context
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.recorder import Step


def decide(context: Context, step: Step, template: str, /, **values: Any) -> list[Row]:
    """Run a template whose rows, in their order, are what is taken; the trace says that it decided."""
    run = context.store.run(template, **values)
    context.recorder.queried(step, run)
    return run.rows
