"""Listing the newest traces among many; with TrustGraph's commands, too.

    python -m benchmarks.traces
    make .stamps/trustgraph; TRUSTGRAPH_BIN=.stamps/trustgraph-cli/bin python -m benchmarks.traces

The variable names the folder of the commands of `trustgraph-cli`. They list and show traces of the same store
through our server; our own commands read the store. All times are of whole commands, with their start.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from pyoxigraph import Literal, NamedNode, Quad

from benchmarks.common import ROOT, Figure, Used, percentile, run_command, show, skip
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import TG
from graphrag_rdf.steps.answer import SYNTHESIS
from graphrag_rdf.steps.exploration import CONSIDERED, EXPLORATION, Edge
from graphrag_rdf.steps.focus import FOCUS_NODE
from graphrag_rdf.steps.ground import GROUNDING
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.kinds import Statement
from graphrag_rdf.trace.model import EDGE, Selected
from graphrag_rdf.trace.recorder import TraceRecorder
from tests.support.endpoint import Endpoint

_CONSIDERED = 20
_SELECTED = 8
_BIN_VARIABLE = "TRUSTGRAPH_BIN"
_REPEATS = 5


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
        recorder = TraceRecorder(
            collector,  # type: ignore[arg-type]
            BlobStore(),
            detail="summary",
            question_types=["tg:GraphRagQuestion"],
        )
        asked = recorder.begin(
            f"Question {number}?", pipeline="graph_rag", label="GraphRAG", parameters={}, model=None
        )
        list(asked)
        for kind in (GROUNDING, EXPLORATION, FOCUS_NODE, SYNTHESIS):
            step = recorder.step(kind)
            for rank in range(1, 1 + _CONSIDERED if kind is EXPLORATION else 1):
                edge = Edge(_fact(number, rank), "", "", "", 1, "out", TG.concept, score=0.5, rank=rank)
                recorder.item(step, CONSIDERED, edge)
            for rank in range(1, 1 + _SELECTED if kind is FOCUS_NODE else 1):
                recorder.item(step, EDGE, Selected(_fact(number, rank), score=0.5, rank=rank))
            if kind is SYNTHESIS:
                recorder.say(step, TG.content, Literal(f"Answer {number}."))
            recorder.finish(step)
        recorder.end()
        yield from collector.quads


def _fact(number: int, index: int) -> Statement:
    return _thing(number, index), TG.concept, _thing(number, index + 1)


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
                quads = engine.store.count()
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


def compare_commands(count: int) -> int:
    """Load so many traces, and list and show some with our commands and with TrustGraph's."""
    folder = os.environ.get(_BIN_VARIABLE)
    if not folder:
        return skip("TrustGraph's commands", f"name their folder with {_BIN_VARIABLE}")
    theirs = Path(folder).resolve()
    with tempfile.TemporaryDirectory(prefix="graphrag-bench-") as store:
        with Engine.open(store, config=Settings(store=store)) as engine:
            engine.store.bulk_add(_recorded(count))
            engine.store.optimize()
        own = {
            "list 50": _least([*_ours(store), "list", "--limit", "50"]),
            "show one": _least([*_ours(store), "show", "last"]),
        }
        with Endpoint.start(Path(store)) as endpoint:
            address = ["-u", f"{endpoint.url}/"]
            server = psutil.Process(endpoint.process.pid)
            listing = [str(theirs / "tg-list-explain-traces"), *address, "--limit", "50"]
            newest = json.loads(_output([*listing[:-1], "1", "--format", "json"]))[0]["id"]
            showing = [str(theirs / "tg-show-explain-trace"), *address, newest]
            peer = {"list 50": _served(listing, server), "show one": _served(showing, server)}
    figures = []
    for what, used in own.items():
        command, served = peer[what]
        ratio = f"{used.cpu / (command.cpu + served):.2f} × TrustGraph's with our server's"
        figures += [
            Figure(f"{what} of {count:,}: ours", f"{used.wall:.2f} s, {used.cpu:.2f} CPU s", "", ratio),
            Figure(f"{what} of {count:,}: TrustGraph's", f"{command.wall:.2f} s, {command.cpu:.2f} CPU s"),
            Figure(f"{what} of {count:,}: our server for it", f"{served * 1000:.0f} CPU ms"),
        ]
    show("Commands for traces", figures)
    return 0


def _ours(store: str) -> list[str]:
    return [sys.executable, "-m", "graphrag_rdf", "--store", store, "trace"]


def _least(command: list[str]) -> Used:
    return min((run_command(command, ROOT) for _ in range(_REPEATS)), key=lambda used: used.cpu)


def _served(command: list[str], server: psutil.Process) -> tuple[Used, float]:
    """What a command took at least, and the CPU seconds of the server for it."""
    least, times = None, []
    for _ in range(_REPEATS):
        before = _cpu(server)
        used = run_command(command, ROOT)
        times.append(_cpu(server) - before)
        least = used if least is None or used.cpu < least.cpu else least
    assert least is not None
    return least, min(times)


def _cpu(process: psutil.Process) -> float:
    """CPU seconds of a process and its children."""
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _output(command: list[str]) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _list(engine: Engine) -> int:
    return len(engine.store.select("trace/list", pipelines=[], outcomes=[], texts=[], limit=50, offset=0))


if __name__ == "__main__":
    measure_traces(10_000)
    sys.exit(compare_commands(10_000))
