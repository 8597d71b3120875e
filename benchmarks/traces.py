"""Listing the newest traces among many."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Quad, Triple

from benchmarks.common import Figure, percentile, show
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import double, integer
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.recorder import TraceRecorder

_STEPS = (
    ("grounding", TG.Grounding),
    ("exploration", TG.Exploration),
    ("focus", TG.Focus),
    ("synthesis", TG.Synthesis),
)
_CONSIDERED = 20
_SELECTED = 8


class _Collector:
    """Takes what a recorder writes, to be loaded at once."""

    def __init__(self) -> None:
        self.quads: list[Quad] = []

    def commit(self, changes: Changes) -> int:
        self.quads += changes.add
        return 0

    def commit_number(self) -> int:
        return 0


def _recorded(count: int) -> Iterator[Quad]:
    """The quads of so many traces, written by the recorder."""
    for number in range(count):
        collector = _Collector()
        recorder = TraceRecorder(collector, BlobStore(), detail="summary")  # type: ignore[arg-type]
        list(
            recorder.begin(
                f"Question {number}?",
                pipeline="graph_rag",
                question_types=[TG.GraphRagQuestion],
                label="GraphRAG",
                parameters={},
                model=None,
            )
        )
        for kind, trace_class in _STEPS:
            step = recorder.step(kind, trace_class)
            if kind in ("exploration", "focus"):
                for index in range(_CONSIDERED if kind == "exploration" else _SELECTED):
                    node = recorder.item(
                        step,
                        RAG.consideredEdge if kind == "exploration" else TG.selectedEdge,
                        kind,
                        index,
                        (RDF.type, RAG.ConsideredEdge if kind == "exploration" else TG.EdgeSelection),
                        (TG.score, double(0.5)),
                        (RAG.rank, integer(index)),
                    )
                    edge = Triple(_thing(number, index), TG.concept, _thing(number, index + 1))
                    step.quads.append(recorder.quad(node, TG.edge, edge))
            if kind == "synthesis":
                recorder.say(step, TG.content, Literal(f"Answer {number}."))
            recorder.finish(step)
        recorder.end()
        yield from collector.quads


def _thing(number: int, index: int) -> NamedNode:
    return NamedNode(f"http://trustgraph.ai/e/{(number * 7 + index) % 5000}")


def measure_traces(count: int) -> None:
    """Load so many traces and list the newest 50; beside it, the newest 50 where there are no others."""
    medians = {}
    for size in (50, count):
        folder = Path(tempfile.mkdtemp(prefix="graphrag-bench-"))
        try:
            with Engine.open(folder, config=Settings(store=str(folder))) as engine:
                engine.store.bulk_add(_recorded(size))
                engine.store.optimize()
                quads = len(engine.store)
                listed = _list(engine)
                times, used = [], []
                for _ in range(21):
                    start, cpu = time.perf_counter(), time.process_time()
                    listed = _list(engine)
                    used.append((time.process_time() - cpu) * 1000)
                    times.append((time.perf_counter() - start) * 1000)
                medians[size] = statistics.median(times)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    value = (
        f"p50 {medians[count]:.1f} ms, p95 {percentile(times, 0.95):.1f} ms, p50 of CPU "
        f"{statistics.median(used):.1f} ms, {listed} rows, {quads:,} quads"
    )
    beside = f"{medians[count] / medians[50]:.1f} × 50 among 50 ({medians[50]:.1f} ms)"
    show("Traces", [Figure(f"list 50 among {count:,}", value, "< 50 ms", beside)])


def _list(engine: Engine) -> int:
    return len(engine.store.select("trace/list", pipelines=[], outcomes=[], texts=[], limit=50, offset=0))


if __name__ == "__main__":
    measure_traces(10_000)
