"""How the cost of a question grows with the store: 1×, 4× and 16× the passages, and the ratios of the time.

    python -m benchmarks.growth                             2,000, 8,000 and 32,000 passages
    python -m benchmarks.growth --passages 8000 32000 128000

A question about any entity has the same neighbourhood in every store, as degrees follow Zipf's law; one that
names a hub has a larger one the larger the store is. Questions are asked through `Engine.ask` without a
model, traces stored, warm, as many others through `Engine.retrieve`, which only explores, and as many others
through that by doc_rag. Rows and quads are counted, so they are the same on every machine; times are not. The
baseline is one BM25 search for the same questions in the same index.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks.common import percentile, slowdown, table
from benchmarks.synthetic import FACTS_PER_PASSAGE, Collection
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.indexing import IndexFeed
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import to_python

_WARM_UP = 12
_KINDS = ("naming a hub", "naming a hub", "about any entity", "about any entity")
"""What the questions of a collection are in turn."""

Measured: TypeAlias = Mapping[tuple[str, str], float]


def main() -> int:
    """Build each store, measure, print the ratios."""
    parser = argparse.ArgumentParser(prog="benchmarks.growth", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passages", type=int, nargs="+", default=[2_000, 8_000, 32_000])
    parser.add_argument("--questions", type=int, default=80)
    parser.add_argument("--store", type=Path, help="keep the stores in this folder; used again if there")
    parser.add_argument("--set", action="append", default=[], metavar="STEP.PARAMETER=VALUE")
    asked = parser.parse_args()
    chosen = dict(pair.split("=", 1) for pair in asked.set)
    folder = asked.store or Path(tempfile.mkdtemp(prefix="graphrag-growth-"))
    try:
        found = [_measure(folder / str(size), size, asked.questions, chosen) for size in asked.passages]
    finally:
        if asked.store is None:
            shutil.rmtree(folder, ignore_errors=True)
    _show(asked.passages, found)
    return 0


def _measure(folder: Path, passages: int, count: int, chosen: Mapping[str, str]) -> Measured:
    """What a question takes in a store of so many passages: (kind, figure) → value."""
    collection = Collection(passages * FACTS_PER_PASSAGE)
    seen: dict[tuple[str, str], list[float]] = defaultdict(list)
    with Engine.open(folder, config=Settings(store=str(folder))) as engine:
        fill(engine, collection)
        questions = collection.questions(_WARM_UP + 3 * count)
        asked, retrieved = questions[: _WARM_UP + count], questions[_WARM_UP + count :]
        for number, question in enumerate(asked):
            start, cpu = time.perf_counter(), time.process_time()
            messages = list(engine.ask(question, settings=chosen))
            cpu, wall = time.process_time() - cpu, time.perf_counter() - start
            if number < _WARM_UP:
                continue
            kind = _KINDS[number % len(_KINDS)]
            triples = [triple for message in messages for triple in message.explain_triples or ()]
            rows = sum(int(to_python(t.object)) for t in triples if t.predicate == RAG.rowCount)  # type: ignore[arg-type,misc]
            seen[kind, "CPU, p50 ms"].append(cpu * 1000)
            seen[kind, "wall, p50 ms"].append(wall * 1000)
            seen[kind, "rows read, p50"].append(rows)
            seen[kind, "triples of the trace, p50"].append(len(triples))
            seen["all", "CPU, p95 ms"].append(cpu * 1000)
            seen["all", "wall, p95 ms"].append(wall * 1000)
            cpu = time.thread_time()
            engine.text_index.search(question, kind="sentence", k=25, language="en")
            seen["all", "one BM25 search, CPU p50 ms"].append((time.thread_time() - cpu) * 1000)
        for number, question in enumerate(retrieved):
            pipeline = "graph_rag" if number < count else "doc_rag"
            start, cpu = time.perf_counter(), time.process_time()
            engine.retrieve(question, pipeline=pipeline, settings=chosen if number < count else None)
            cpu, wall = (time.process_time() - cpu) * 1000, (time.perf_counter() - start) * 1000
            for share in ("p50", "p95"):
                seen["all", f"{pipeline}, retrieval alone, CPU {share} ms"].append(cpu)
                seen["all", f"{pipeline}, retrieval alone, wall {share} ms"].append(wall)
    return {key: percentile(values, 0.95 if "p95" in key[1] else 0.5) for key, values in seen.items()}


def fill(engine: Engine, collection: Collection) -> None:
    """Load a collection and index it, unless that was done before."""
    if engine.store.count() < collection.facts:
        for make in collection.layers().values():
            engine.store.bulk_add(make())
        engine.store.optimize()
    if engine.text_index.commit_number != engine.store.content_commit():
        engine.text_index.sync(IndexFeed(engine.store).everything())
        engine.text_index.commit(engine.store.content_commit())


def _show(sizes: Sequence[int], found: Sequence[Measured]) -> None:
    print("\n## How a question grows with the store\n")
    print(f"This machine is {slowdown():.1f} × slower than at its best just now.\n")
    first = sizes[0]
    head = ("questions", "figure", *(f"{size:,} passages ({size / first:g}×)" for size in sizes), "growth")
    rows = []
    for key in sorted(found[0]):
        values = [measured[key] for measured in found]
        cells = (f"{value:,.0f}" if value >= 100 else f"{value:.1f}" for value in values)
        ratios = " → ".join(f"{value / values[0]:.2f}×" for value in values if values[0])
        rows.append((*key, *cells, ratios))
    table(head, rows)


if __name__ == "__main__":
    sys.exit(main())
