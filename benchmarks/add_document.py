"""What one more document costs in a small and in a large store, and the ratio.

    python -m benchmarks.add_document                       50 and 5,000 documents
    python -m benchmarks.add_document --documents 50 20000

Documents have four sentences; facts come by rules. Documents are added to each store in turn, in one process,
so that a busy time of the machine falls on all.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.common import Figure, cpu_seconds, show
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine

_WARM_UP = 2
_ADDED = 7


def main() -> int:
    """Fill the stores, add documents, print the figures."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.add_document", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--documents", type=int, nargs="+", default=[50, 5_000])
    sizes = parser.parse_args().documents
    took: dict[int, list[float]] = {size: [] for size in sizes}
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="graphrag-bench-")))
        engines = {}
        for size in sizes:
            store = place / f"store{size}"
            engines[size] = stack.enter_context(Engine.open(store, config=Settings(store=str(store))))
            engines[size].ingest([_write(place / f"old{size}", number) for number in range(size)])
        for number in range(_WARM_UP + _ADDED):
            path = _write(place / "new", 1_000_000 + number)
            for size, engine in engines.items():
                cpu = cpu_seconds()
                added = engine.ingest([path]).documents.added
                took[size].append(cpu_seconds() - cpu)
                if added != 1:
                    raise SystemExit(f"{path.name} was not added")
    medians = {size: statistics.median(times[_WARM_UP:]) for size, times in took.items()}
    show("One more document", [_figure(size, medians) for size in sizes])
    return 0


def _figure(size: int, medians: dict[int, float]) -> Figure:
    least = min(medians)
    beside = f"{medians[size] / medians[least]:.1f} × a store of {least:,}" if size != least else ""
    return Figure(f"in a store of {size:,} documents", f"{medians[size]:.3f} CPU s", "≤ 0.5 s", beside)


def _write(folder: Path, number: int) -> Path:
    """A document about a person and a company that share their names with few others."""
    folder.mkdir(exist_ok=True)
    path = folder / f"report-{number}.md"
    person, company, town = (_name(number * 3 + place) for place in range(3))
    path.write_text(
        f"# Report {number}\n\nAda {person} founded the {company} Company in {1850 + number % 150}. "
        f"The {company} Company has its office in {town}. Bo {person} was born in {town} in "
        f"{1800 + number % 190}. Bo {person} joined the {company} Company.\n",
        encoding="utf-8",
    )
    return path


def _name(number: int) -> str:
    """A name of syllables, each about as often as the others."""
    syllables = ("ba", "den", "for", "gil", "ham", "kos", "lun", "mer", "nor", "rud", "sel", "tor", "vik")
    name = ""
    while number or not name:
        number, rest = divmod(number, len(syllables))
        name += syllables[rest]
    return name.capitalize()


if __name__ == "__main__":
    sys.exit(main())
