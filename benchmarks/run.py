"""`make bench`: run the benchmarks one after the other, each in a process of its own.

    python -m benchmarks.run                    all of them, the big one small
    python -m benchmarks.run startup million    some of them
    python -m benchmarks.run --full             all of them in full: a million facts, a fresh installation

What a benchmark lacks (recorded data, an embedding model) it says, and leaves out. Nothing passes or fails by
time, only `scaling` by ratios of CPU time; a benchmark fails when what it measures does not work.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

BENCHMARKS: dict[str, tuple[list[str], list[str]]] = {
    "startup": ([], []),
    "house": ([], ["--rooms"]),
    "modules": ([], []),
    "ingest_book": ([], ["--install"]),
    "interchange": ([], []),
    "add_document": (["--documents", "50", "1000"], []),
    "templates": (["--facts", "20000"], []),
    "scaling": ([], []),
    "million": (["--facts", "50000", "--traces", "2000"], []),
    "growth": (["--passages", "1000", "4000", "16000", "--questions", "40"], []),
    "questions": (["--questions", "300"], []),
    "agent": ([], []),
    "traces": ([], []),
    "carol": (["--repeats", "1"], ["--as-shipped"]),
    "communities": (["--edges", "100000", "--passages", "1000"], []),
    "searches": (["--copies", "0"], []),
    "endpoint": (["--facts", "50000", "--seconds", "2"], []),
    "load": (["--facts", "2000", "--seconds", "3", "--questions", "200"], []),
    "fuzz": (["--seconds", "60"], ["--seconds", "1200"]),
    "validation": (["--facts", "20000"], []),
    "shown": (["--limit", "25", "--only", "hotpot"], []),
    "evaluation": (["--limit", "25", "--only", "retrieval"], []),
}
"""Name → (arguments of a short run, arguments of a full run)."""


def main() -> int:
    """Run what was asked for; the number of benchmarks that failed."""
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--full", action="store_true", help="in full size; takes an hour or so")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    failed = []
    for name in asked.names or BENCHMARKS:
        short, full = BENCHMARKS[name]
        command = [sys.executable, "-m", f"benchmarks.{name}", *(full if asked.full else short)]
        if subprocess.run(command, cwd=Path(__file__).resolve().parents[1], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
