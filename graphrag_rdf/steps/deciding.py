"""Queries that decide what is taken, in which order, and where it is cut."""

from __future__ import annotations

from typing import Any

from pyoxigraph import Literal

from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.steps.state import Context
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.trace.rerun import result_hash


def decide(context: Context, step: Step, template: str, /, **values: Any) -> list[Row]:
    """Run a template whose rows, in their order, are what is taken.

    The trace marks the call as one that decided, with a hash of its rows: `trace verify` runs it again.
    """
    run = context.store.run(template, **values)
    recorder = context.recorder
    call = recorder.queried(step, run)
    recorder.say(step, RAG.decidedBy, call)
    step.quads.append(recorder.quad(call, RAG.resultHash, Literal(result_hash(run.rows))))
    return run.rows
