"""Retrieval by several checkouts over one store, question by question in turn.

    python -m benchmarks.beside STORE PASSAGES CHECKOUT CHECKOUT …

The store is one that `benchmarks.growth --store` kept. On a busy machine the load falls on all checkouts
alike, so the ratios of their CPU times hold. All of them run in this environment, and take turns in being the
first with a question, who reads what is not in memory yet.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

_WARM_UP = 12


def main() -> int:
    """Ask all checkouts, and print CPU times and ratios to the first."""
    parser = argparse.ArgumentParser(prog="benchmarks.beside", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("passages", type=int)
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--pipeline", default="graph_rag")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    return _answer(asked) if asked.worker else _compare(asked)


def _compare(asked: argparse.Namespace) -> int:
    from benchmarks.common import percentile, table

    arguments = [str(asked.store.resolve()), str(asked.passages), ".", "--worker"]
    arguments += ["--questions", str(asked.questions), "--pipeline", asked.pipeline]
    workers = [
        subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), *arguments],
            cwd=checkout,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for checkout in asked.checkouts
    ]
    spent: list[list[float]] = [[] for _ in workers]
    for number in range(_WARM_UP + asked.questions):
        turns = [*zip(workers, spent, strict=True)]
        for worker, own in turns[number % len(turns) :] + turns[: number % len(turns)]:
            print(number, file=worker.stdin, flush=True)
            used = worker.stdout.readline()  # type: ignore[union-attr] # they are pipes
            if not used:
                raise SystemExit("a checkout failed; its error is above")
            if number >= _WARM_UP:
                own.append(float(used) * 1000)
    for worker in workers:
        worker.communicate()
    first = percentile(spent[0], 0.5)
    rows = [
        (
            str(checkout),
            f"{percentile(own, 0.5):.0f} ms",
            f"{percentile(own, 0.95):.0f} ms",
            f"{percentile(own, 0.5) / first:.2f}×",
        )
        for checkout, own in zip(asked.checkouts, spent, strict=True)
    ]
    table(("checkout", "CPU, p50", "p95", "p50 beside the first"), rows)
    return 0


def _answer(asked: argparse.Namespace) -> int:
    """In a checkout: for each number read, retrieve for that question, and print the CPU seconds."""
    sys.path.insert(0, str(Path.cwd()))  # before the checkout of this environment
    from benchmarks.synthetic import FACTS_PER_PASSAGE, Collection
    from graphrag_rdf.config import Settings
    from graphrag_rdf.engine import Engine

    questions = Collection(asked.passages * FACTS_PER_PASSAGE).questions(_WARM_UP + asked.questions)
    with Engine.open(asked.store, config=Settings(store=str(asked.store)), read_only=True) as engine:
        for line in sys.stdin:
            before = time.process_time()
            engine.retrieve(questions[int(line)], pipeline=asked.pipeline)
            print(time.process_time() - before, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
