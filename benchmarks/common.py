"""What the benchmarks share: where data is, how a process is measured, how figures are printed."""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
"""The checkout."""
DATA_VARIABLE = "BENCH_DATA"
_DATA_BESIDE = ROOT / ".." / "shared" / "data"


def data_folder() -> Path | None:
    """The folder of recorded data: the one that the environment names, or the one beside the checkout."""
    named = os.environ.get(DATA_VARIABLE)
    folder = Path(named) if named else _DATA_BESIDE.resolve()
    return folder if folder.is_dir() else None


def skip(what: str, need: str) -> int:
    """Say that a benchmark cannot run here, and why; the exit code of a clean run."""
    print(f"{what}: skipped, {need}")
    return 0


def no_data(what: str) -> int:
    """Skip for want of the data folder."""
    return skip(what, f"there is no data folder; name one with {DATA_VARIABLE}")


# --- one process ------------------------------------------------------------------------------------


def cpu_seconds() -> float:
    """CPU seconds of this process, all its threads, user and system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mb() -> float:
    """Peak resident memory of this process, in 10^6 bytes.

    Linux hands a parent's `ru_maxrss` on to its children, so the kernel's own high-water mark comes first.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6


@dataclass(frozen=True, slots=True)
class Spent:
    """What a child process took: seconds of wall clock and of CPU."""

    wall: float
    cpu: float


def spend(command: Sequence[str], env: Mapping[str, str] | None = None) -> Spent:
    """Run a command to its end and measure it.

    Raises:
        SystemExit: when it fails; with the end of what it said.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return Spent(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


@dataclass(frozen=True, slots=True)
class Used:
    """What a command and its children took: seconds of wall clock and of CPU, peak memory of one process."""

    wall: float
    cpu: float
    peak_mb: float


def run_command(command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> Used:
    """Run a command to its end in a folder, and measure it. Python may write bytecode, as `pip install` does.

    Raises:
        SystemExit: when it fails; with the end of its output.
    """
    start = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            command, cwd=cwd, env={**environment, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT,
        ) as process,
    ):  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            said = output.read()[-3000:].decode(errors="replace")
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{said}")
    peak = used.ru_maxrss / 1e6 if sys.platform == "darwin" else used.ru_maxrss * 1024 / 1e6
    return Used(time.perf_counter() - start, used.ru_utime + used.ru_stime, peak)


def worker(module: str, *arguments: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run a benchmark's worker in a process of its own; the JSON object that it prints last.

    Raises:
        SystemExit: when it fails.
    """
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def slowdown() -> float:
    """How much slower than at its best this machine does a fixed piece of work just now, by CPU seconds.

    Neighbours on the same cores cost CPU time too, not only waiting: figures of a busy machine are too high.
    """
    times = []
    for _ in range(60):
        start = time.thread_time()
        sum(len(str(number)) for number in range(20_000))
        times.append(time.thread_time() - start)
    return statistics.median(times) / min(times)


# --- figures ----------------------------------------------------------------------------------------


def median_of(repeats: int, run: Callable[[], Spent]) -> Spent:
    """Medians over so many runs, each of wall and CPU seconds."""
    spent = [run() for _ in range(repeats)]
    return Spent(statistics.median(s.wall for s in spent), statistics.median(s.cpu for s in spent))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)] if ordered else float("nan")


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured figure.

    Attributes:
        bar: what the project holds itself to, as text; empty where there is no bar.
        beside: the ratio to a named baseline of the same run, as text.
    """

    what: str
    value: str
    bar: str = ""
    beside: str = ""


def show(title: str, figures: Iterable[Figure]) -> None:
    """Print figures as a Markdown table."""
    print(f"\n## {title}\n\nThis machine is {slowdown():.1f} × slower than at its best just now.\n")
    table(
        ("figure", "measured", "bar", "beside the baseline"),
        [(f.what, f.value, f.bar, f.beside) for f in figures],
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table with even columns."""
    widths = [max(len(str(row[i])) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, tuple("-" * width for width in widths), *rows):
        print(
            "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        )
    sys.stdout.flush()


def folder_bytes(folder: Path) -> int:
    """Bytes of all files under a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
