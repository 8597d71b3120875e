"""How long people wait before anything happens: import, `--help`, and a first question without a model.

    python -m benchmarks.startup [--repeats 7]

The baseline is a Python that does nothing. The question is asked of the sample documents, each time in a new
process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.common import ROOT, Figure, Spent, median_of, show, spend

_QUESTION = "Who founded the Skell Tidal Power Company?"
_SAMPLES = ROOT / "examples" / "documents"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.startup", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    python = [sys.executable]
    nothing = median_of(repeats, lambda: spend([*python, "-c", "pass"]))
    with tempfile.TemporaryDirectory(prefix="graphrag-bench-") as temporary:
        store = ["--store", str(Path(temporary) / "store")]
        command = [*python, "-m", "graphrag_rdf"]
        ingested = spend([*command, "ingest", str(_SAMPLES), *store])
        runs = (
            ("python -c pass", nothing, ""),
            ("import graphrag_rdf", _median(repeats, [*python, "-c", "import graphrag_rdf"]), "< 0.3 s"),
            ("from graphrag_rdf import Engine", _median(repeats, [*python, "-c", _ENGINE]), ""),
            ("graphrag-rdf --help", _median(repeats, [*command, "--help"]), "< 0.3 s"),
            (
                "graphrag-rdf ask, without a model",
                _median(repeats, [*command, "ask", _QUESTION, *store]),
                "< 1 s",
            ),
            ("graphrag-rdf ingest of the samples, once", ingested, ""),
        )
    show("Start", [_figure(name, spent, bar, nothing) for name, spent, bar in runs])
    return 0


_ENGINE = "from graphrag_rdf import Engine"


def _median(repeats: int, command: list[str]) -> Spent:
    spend(command)  # compiles what was never run
    return median_of(repeats, lambda: spend(command))


def _figure(name: str, spent: Spent, bar: str, nothing: Spent) -> Figure:
    beside = f"{spent.cpu / nothing.cpu:.1f} × the CPU of python -c pass"
    return Figure(name, f"{spent.wall:.2f} s, {spent.cpu:.2f} CPU s", bar, beside)


if __name__ == "__main__":
    sys.exit(main())
