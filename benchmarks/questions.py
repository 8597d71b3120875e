"""A process that answers questions all day: whether the last takes longer than the first, and what it holds.

    python -m benchmarks.questions                      2,000 questions of the sample documents
    python -m benchmarks.questions --questions 10000

Every question leaves its trace in the store. The baseline is the first tenth of the same run.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.common import ROOT, folder_bytes, percentile, slowdown, table
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine

_QUESTIONS = (
    "When did the Petrel sink?",
    "Who designed Drumlaw Head Lighthouse?",
    "Who founded the Tarnay Electric Light Company?",
)
_PARTS = 10


def main() -> int:
    """Ask, and print a row for each tenth."""
    parser = argparse.ArgumentParser(prog="benchmarks.questions", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=2000)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="graphrag-questions-"))
    try:
        with Engine.open(folder, config=Settings(store=str(folder))) as engine:
            engine.ingest([ROOT / "examples" / "documents"])
            rows = _ask(engine, folder, asked.questions // _PARTS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n## Questions, one after the other\n")
    print(f"This machine is {slowdown():.1f} × slower than at its best just now.\n")
    table(("questions", "median", "× the first tenth", "95th percentile", "memory", "disk"), rows)
    return 0


def _ask(engine: Engine, folder: Path, count: int) -> list[list[str]]:
    process, rows, first = psutil.Process(), [], 0.0
    for part in range(_PARTS):
        times = []
        for number in range(count):
            start = time.perf_counter()
            for _ in engine.ask(_QUESTIONS[number % len(_QUESTIONS)]):
                pass
            times.append((time.perf_counter() - start) * 1000)
        median = statistics.median(times)
        first = first or median
        held = process.memory_info().rss / 1e6
        rows.append(
            [
                f"{part * count + 1:,} to {(part + 1) * count:,}",
                f"{median:.1f} ms",
                f"{median / first:.2f}",
                f"{percentile(times, 0.95):.1f} ms",
                f"{held:.0f} MB",
                f"{folder_bytes(folder) / 1e6:.0f} MB",
            ]
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
