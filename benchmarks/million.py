"""A store of a million facts with all their provenance: how large it is, and what a question takes.

    python -m benchmarks.million --facts 1000000

The collection is made up (see `synthetic`), each layer is loaded apart. Questions are asked
through `Engine.ask` without a model, traces stored, in the state that a server is in: warm. The baseline is
one BM25 search for the same question in the same index, the least that any retrieval needs.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import Figure, cpu_seconds, folder_bytes, peak_mb, percentile, show, table
from benchmarks.synthetic import Collection
from benchmarks.traces import measure_traces
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.indexing import IndexFeed

_WARM_UP = 10


def main() -> int:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.million", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--traces", type=int, default=10_000, help="stored traces to list 50 of")
    parser.add_argument("--store", type=Path, help="keep the store in this folder; used again if it is there")
    parser.add_argument("--pipeline", default="graph_rag")
    parser.add_argument("--no-checks", action="store_true", help="leave out the integrity of the whole store")
    parser.add_argument("--set", action="append", default=[], metavar="STEP.PARAMETER=VALUE")
    asked = parser.parse_args()
    collection = Collection(asked.facts)
    folder = asked.store or Path(tempfile.mkdtemp(prefix="graphrag-bench-"))
    try:
        built = (folder / "oxigraph" / "CURRENT").exists()
        with Engine.open(folder, config=Settings(store=str(folder))) as engine:
            if not built:
                _build(engine, collection, folder)
            _index(engine, folder)
            chosen = dict(pair.split("=", 1) for pair in asked.set)
            _questions(engine, collection, asked.questions, asked.pipeline, chosen)
            _lookups(engine, collection, checks=not asked.no_checks)
        measure_traces(asked.traces)
    finally:
        if asked.store is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


# --- building ---------------------------------------------------------------------------------------


def _build(engine: Engine, collection: Collection, folder: Path) -> None:
    figures = [
        Figure("facts", f"{collection.facts:,}"),
        Figure("entities drawn from", f"{collection.entities:,}"),
    ]
    database = folder / "oxigraph"
    per = {
        "passages": collection.passages,
        "sentences and mentions": collection.passages,
        "facts": collection.facts,
    }
    bars = {"sentences and mentions": "≤ 60 quads, ≤ 10 kB a passage", "facts": "≤ 10 quads, ≤ 4 kB a fact"}
    quads = size = 0
    for name, make in collection.layers().items():
        made = time.process_time()
        count = sum(1 for _ in make())
        made = time.process_time() - made
        start, cpu = time.perf_counter(), cpu_seconds()
        engine.store.bulk_add(make())
        loaded, load_cpu = time.perf_counter() - start, cpu_seconds() - cpu - made
        grown = folder_bytes(database) - size
        stored = engine.store.count() - quads
        quads, size = quads + stored, size + grown
        one = "fact" if name == "facts" else "passage"
        value = f"{stored / per[name]:.1f} quads, {grown / per[name] / 1000:.2f} kB a {one}"
        figures.append(Figure(f"layer: {name}", value, bars.get(name, "")))
        rate = f"{count / loaded:,.0f} quads/s with making them; {count / load_cpu:,.0f} per CPU s without"
        figures.append(Figure(f"load: {name}", rate))
    figures.append(Figure("a fact itself, in a subgraph that is there", "10 quads", "≤ 10"))
    for state in ("loaded", "after optimize"):
        if state != "loaded":
            engine.store.optimize()
            size = folder_bytes(database)
        whole = f"{quads:,} quads, {size / 1e6:,.0f} MB, {size / quads:.0f} bytes a quad, "
        value = f"{whole}{size / collection.facts / 1000:.2f} kB a fact"
        figures.append(Figure(f"everything, {state}", value, "≤ 4 kB a fact"))
    figures.append(Figure("peak memory", f"{peak_mb():,.0f} MB"))
    show(f"A store of {collection.facts:,} facts", figures)


def _index(engine: Engine, folder: Path) -> None:
    index = engine.text_index
    if index.commit_number == engine.store.content_commit():
        return
    start, cpu = time.perf_counter(), cpu_seconds()
    index.sync(IndexFeed(engine.store).everything())
    index.commit(engine.store.content_commit())
    took = f"{time.perf_counter() - start:,.0f} s, {cpu_seconds() - cpu:,.0f} CPU s"
    records = sum(index.count(kind) for kind in ("entity", "sentence", "chunk"))
    size = f"{folder_bytes(folder / 'index') / 1e6:,.0f} MB"
    show("The text index", [Figure("rebuilt from the store", f"{records:,} records, {took}, {size}")])


# --- questions --------------------------------------------------------------------------------------


class Clock:
    """Adds up what calls of a name took, in milliseconds of wall clock and of CPU.

    Args:
        cpu: the seconds of CPU so far; of this thread, or of the process where a call has threads of its own.
    """

    def __init__(self, cpu: Callable[[], float] = time.thread_time) -> None:
        self._cpu = cpu
        self.wall: dict[str, list[float]] = defaultdict(list)
        self.cpu: dict[str, list[float]] = defaultdict(list)
        self._watched: list[tuple[Any, str]] = []

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start, cpu = time.perf_counter(), self._cpu()
        yield
        cpu = self._cpu() - cpu
        self.cpu[name].append(cpu * 1000)
        self.wall[name].append((time.perf_counter() - start) * 1000)

    def watch(self, thing: Any, method: str, name: Callable[..., str]) -> None:
        """Time a method of one object, under a name made of its arguments."""
        original = getattr(thing, method)

        def timed(*args: Any, **values: Any) -> Any:
            with self(name(*args, **values)):
                return original(*args, **values)

        setattr(thing, method, timed)
        self._watched.append((thing, method))

    def stop(self) -> None:
        """Watch no longer."""
        for thing, method in self._watched:
            delattr(thing, method)

    def rows(self, questions: int) -> list[tuple[str, ...]]:
        """Name, calls a question, mean CPU ms a question, p50 and p95 of wall ms a call."""
        found: list[tuple[str, ...]] = []
        for name in sorted(self.wall, key=lambda each: -sum(self.cpu[each])):
            wall, cpu = self.wall[name], self.cpu[name]
            found.append(
                (
                    name,
                    f"{len(wall) / questions:.1f}",
                    f"{sum(cpu) / questions:.2f}",
                    f"{percentile(wall, 0.5):.2f}",
                    f"{percentile(wall, 0.95):.2f}",
                )
            )
        return found


def _questions(
    engine: Engine, collection: Collection, count: int, pipeline: str, chosen: Mapping[str, str]
) -> None:
    questions = collection.questions(count + _WARM_UP)
    for question in questions[:_WARM_UP]:
        list(engine.ask(question, pipeline, settings=chosen))
    clock, parts = Clock(time.process_time), Clock()
    kinds: dict[str, int] = defaultdict(int)
    parts.watch(engine.store, "run", lambda template, /, **_: f"query {template}")
    parts.watch(engine.store, "select", lambda template, /, **_: f"query {template}")
    parts.watch(engine.store, "commit", lambda _: "commit of the trace")
    parts.watch(engine.blobs, "put", lambda *_, **__: "librarian: keep a text")
    parts.watch(engine.text_index, "search", lambda *_, kind, **__: f"index: search {kind}")
    parts.watch(engine.text_index, "exact", lambda *_, **__: "index: exact names")
    parts.watch(engine.text_index, "rarity", lambda *_, **__: "index: rarity of words")
    measured = questions[_WARM_UP:]
    for question in measured:
        with clock("ask"):
            messages = list(engine.ask(question, pipeline, settings=chosen))
        answer = messages[-1].answer or {}
        kinds["with citations" if answer.get("citations") else "declined"] += 1
    parts.stop()
    for question in measured:
        with clock("bm25"):
            engine.text_index.search(question, kind="sentence", k=25, language="en")
    ask, bm25 = clock.wall["ask"], clock.wall["bm25"]
    ratio = statistics.median(ask) / statistics.median(bm25)
    p50, p95 = percentile(ask, 0.5), percentile(ask, 0.95)
    figures = [
        Figure("ask, wall p50", f"{p50:.1f} ms", "< 50 ms", f"{ratio:.1f} × one BM25 search"),
        Figure("ask, wall p95", f"{p95:.1f} ms", "< 150 ms", f"{p95 / percentile(bm25, 0.95):.1f} × its p95"),
        Figure("ask, CPU p50", f"{percentile(clock.cpu['ask'], 0.5):.1f} ms"),
        Figure("ask, CPU p95", f"{percentile(clock.cpu['ask'], 0.95):.1f} ms"),
        Figure("one BM25 search, wall p50", f"{percentile(bm25, 0.5):.1f} ms"),
        Figure("answers", ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))),
        Figure("peak memory", f"{peak_mb():,.0f} MB"),
    ]
    show(f"{len(measured)} questions over {collection.facts:,} facts, warm, trace stored", figures)
    print()
    head = ("part of a question", "calls", "mean CPU ms a question", "p50 ms a call", "p95 ms a call")
    table(head, parts.rows(len(measured)))


def _lookups(engine: Engine, collection: Collection, *, checks: bool) -> None:
    """25 facts to all their chunks, pages, documents and quotes, in one query."""
    clock = Clock()
    for _ in range(21):
        with clock("sources"):
            found = engine.store.run("provenance/sources", edges=collection.edges)
        with clock("one value"):
            engine.store.run("system/store-version")
    wall, cpu = clock.wall["sources"], clock.cpu["sources"]
    ratio = statistics.median(cpu) / statistics.median(clock.cpu["one value"])
    beside = f"{ratio:.0f} × the CPU of a query for one value"
    value = f"p50 {percentile(wall, 0.5):.1f} ms, p95 {percentile(wall, 0.95):.1f} ms, "
    value += f"p50 of CPU {percentile(cpu, 0.5):.1f} ms, {len(found.rows)} rows"
    figures = [Figure("25 facts → quotes, chunks, pages, documents", value, "< 10 ms", beside)]
    start = time.perf_counter()
    checked = _checks(engine) if checks else None
    if checked is not None:
        figures.append(
            Figure("integrity of the whole store", f"{time.perf_counter() - start:.1f} s, {checked} findings")
        )
    show("Lookups", figures)


def _checks(engine: Engine) -> int | None:
    """Run the integrity checks; the number of their findings, None where the program has none."""
    try:
        from graphrag_rdf.checks import run_checks
    except ImportError:
        return None
    return len(run_checks(engine.store, engine.blobs, engine.text_index))


if __name__ == "__main__":
    sys.exit(main())
