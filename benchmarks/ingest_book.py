"""Ingest of a book, chunk by chunk, with a language model that answers at once and by rules.

    python -m benchmarks.ingest_book [--repeats 3] [--install]

The book is cut into its 42 recorded text units of about 1200 tokens, each a document of one chunk, so that
the scripted model (an OpenAI-compatible server on this machine) gives the recorded answer for each. What a
chunk costs is what 42 of them take beyond 10, divided by 32: start and imports drop out. Each run has a
process and a store of its own. The baseline is reading and cutting the same documents and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import (
    DATA_VARIABLE,
    ROOT,
    Figure,
    cpu_seconds,
    data_folder,
    folder_bytes,
    no_data,
    peak_mb,
    show,
    skip,
    spend,
    worker,
)

FEW, ALL = 10, 42
_MARKER = "[[SCRIPT:extract-json]]\n"
_NO_LIMIT = 100_000  # characters: every document is one chunk


def main() -> int:
    """Measure and print, or be the worker of one run."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.ingest_book", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--install", action="store_true", help="also install into a fresh environment")
    parser.add_argument("--worker", metavar="JSON", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        print(json.dumps(_ingest(**json.loads(asked.worker))))
        return 0
    figures: list[Figure] = []
    if asked.install:
        show("Installation into a fresh environment", _installation())
    data = data_folder()
    if data is None:
        return no_data("ingest_book")
    units = text_units(data)
    if units is None:
        return skip("ingest_book", "the text units need pyarrow: pip install pyarrow")
    with tempfile.TemporaryDirectory(prefix="graphrag-bench-") as temporary:
        place = Path(temporary)
        documents = _documents(place, units)
        prompts = _prompts(place)
        plain = _run_all(place, asked.repeats, documents, {"way": "read"})
        figures += _figures(
            "rules", _run_all(place, asked.repeats, documents, {"way": "rules"}), plain, 0.08, 200
        )
        with scripted_model(data) as port:
            chosen = {"way": "llm", "port": port, "prompts": str(prompts)}
            figures += _figures(
                "scripted model", _run_all(place, asked.repeats, documents, chosen), plain, 0.029, 350
            )
            _require_replayed(port, asked.repeats * (FEW + ALL))
        with scripted_model(data, latency_ms=1000) as port:
            chosen = {"way": "llm", "port": port, "prompts": str(prompts), "jobs": 16}
            run = _run(place, documents[ALL], chosen)
            _require_replayed(port, ALL)
        figures.append(_throughput(run))
    show(f"A book of {ALL} chunks", figures)
    return 0


# --- the runs ---------------------------------------------------------------------------------------


def _ingest(
    documents: str, store: str, way: str, port: int = 0, prompts: str | None = None, jobs: int = 1
) -> dict[str, Any]:
    """One run, in this process: the first documents, then the rest of them."""
    from graphrag_rdf.config import DocumentSection, ExtractSection, LlmSection, Settings
    from graphrag_rdf.engine import Engine

    if way == "read":
        return _read_only(Path(documents))
    settings = Settings(
        store=store,
        pipelines=Path(prompts) if prompts else None,
        documents=DocumentSection(chunk_size=_NO_LIMIT),
        extract=ExtractSection(use="llm" if port else "rules", jobs=jobs),
        llm=LlmSection(model="openai/scripted", api_base=f"http://127.0.0.1:{port}/v1", api_key="none")  # type: ignore[arg-type]
        if port
        else LlmSection(),
    )
    with Engine.open(store, config=settings) as engine:
        paths = sorted(Path(documents).iterdir())
        reports = []
        for part in (paths[:FEW], paths[FEW:]):
            start, cpu = time.perf_counter(), cpu_seconds()
            reports.append(engine.ingest(part))
            rest = {"rest_wall": time.perf_counter() - start, "rest_cpu": cpu_seconds() - cpu}
            if reports[-1].failures:
                raise SystemExit(f"the ingest failed: {reports[-1].failures[0]}")
        cpu = cpu_seconds()
        engine.store.flush()  # what the ingest left in the engine's log costs too, by the chunk
        if len(paths) > FEW:
            rest["rest_cpu"] += (cpu_seconds() - cpu) * (len(paths) - FEW) / len(paths)
        used = {**rest, "cpu": cpu_seconds(), "peak_mb": peak_mb()}
        engine.store.optimize()
        engine.store.flush()
        quads = engine.store.count()
    return {
        **used,
        "chunks": sum(report.chunks.added for report in reports),
        "facts": sum(report.facts for report in reports),
        "quads": quads,
        "bytes": folder_bytes(Path(store) / "oxigraph"),
    }


def _read_only(folder: Path) -> dict[str, Any]:
    """The baseline: documents read, cut into chunks and sentences, and nothing else."""
    from graphrag_rdf.documents.chunk import chunk_text
    from graphrag_rdf.documents.readers import read_bytes
    from graphrag_rdf.documents.sentences import split_sentences

    chunks = 0
    cpu = cpu_seconds()
    for path in sorted(folder.iterdir()):
        if chunks == FEW:
            cpu = cpu_seconds()
        parsed = read_bytes(path.read_bytes(), str(path))
        for chunk in chunk_text(
            parsed.text, size=_NO_LIMIT, overlap=0, unit="characters", language=parsed.language
        ):
            split_sentences(chunk.text, parsed.language)
            chunks += 1
    return {"rest_cpu": cpu_seconds() - cpu, "cpu": cpu_seconds(), "peak_mb": peak_mb(), "chunks": chunks}


def _run(place: Path, documents: Path, chosen: dict[str, Any]) -> dict[str, Any]:
    store = place / "store"
    shutil.rmtree(store, ignore_errors=True)
    arguments = {"documents": str(documents), "store": str(store), **chosen}
    found = worker("benchmarks.ingest_book", "--worker", json.dumps(arguments))
    expected = int(documents.name)
    if found["chunks"] != expected:
        raise SystemExit(f"{found['chunks']} chunks were written, not {expected}")
    return found


def _run_all(
    place: Path, repeats: int, documents: dict[int, Path], chosen: dict[str, Any]
) -> dict[int, list[dict[str, Any]]]:
    """Runs with few chunks and with all in turn, so that a busy time of the machine falls on both."""
    found: dict[int, list[dict[str, Any]]] = {FEW: [], ALL: []}
    for _ in range(repeats):
        for size, runs in found.items():
            runs.append(_run(place, documents[size], chosen))
    return found


def _marginal(runs: dict[int, list[dict[str, Any]]]) -> float:
    """CPU seconds a chunk: what a process with all chunks takes beyond one with few."""
    cpu = {size: statistics.median(run["cpu"] for run in found) for size, found in runs.items()}
    return float(cpu[ALL] - cpu[FEW]) / (ALL - FEW)


def _rest(runs: dict[int, list[dict[str, Any]]]) -> float:
    """The same inside one process, from the end of the first chunks on: steadier on a busy machine."""
    return float(statistics.median(run["rest_cpu"] for run in runs[ALL])) / (ALL - FEW)


def _figures(
    name: str,
    runs: dict[int, list[dict[str, Any]]],
    plain: dict[int, list[dict[str, Any]]],
    cpu: float,
    mb: int,
) -> list[Figure]:
    rest, base, last = _rest(runs), _rest(plain), runs[ALL][-1]
    peak = max(run["peak_mb"] for run in runs[ALL])
    whole = statistics.median(run["cpu"] for run in runs[ALL])
    size = last["bytes"] / last["facts"] / 1000
    quads = last["quads"] / last["facts"]
    layer = f"{last['facts']} facts, {quads:.1f} quads and {size:.2f} kB a fact, all layers"
    beside = f"{rest / base:.1f} × reading and cutting ({base:.4f} s)"
    memory = f"{peak / plain[ALL][-1]['peak_mb']:.1f} ×"
    return [
        Figure(f"{name}: marginal CPU a chunk", f"{_marginal(runs):.4f} s", f"≤ {cpu} s"),
        Figure(f"{name}: the same in one process", f"{rest:.4f} s", f"≤ {cpu} s", beside),
        Figure(f"{name}: all {ALL} chunks, with the start", f"{whole:.2f} CPU s"),
        Figure(f"{name}: peak memory", f"{peak:.0f} MB", f"< {mb} MB", memory),
        Figure(f"{name}: store, after optimize", layer),
    ]


def _throughput(run: dict[str, Any]) -> Figure:
    rate = (ALL - FEW) / run["rest_wall"]
    return Figure(
        "scripted model, answers after 1 s, 16 jobs",
        f"{rate:.1f} chunks/s ({ALL - FEW} in {run['rest_wall']:.2f} s)",
        "",
        f"{rate / 16:.2f} of 16 chunks/s, what waiting alone allows",
    )


# --- documents and the scripted model -----------------------------------------------------------------


def text_units(data: Path) -> list[str] | None:
    """The recorded text units, without the title line before each; None without pyarrow."""
    try:
        from pyarrow.parquet import read_table
    except ImportError:
        return None
    texts: list[str] = read_table(data / "carol" / "text_units.parquet", columns=["text"])["text"].to_pylist()
    return [text.partition(".txt.\n")[2] or text for text in texts]


def _documents(place: Path, units: list[str]) -> dict[int, Path]:
    folders = {}
    for size in (FEW, ALL):
        folders[size] = place / "documents" / str(size)
        folders[size].mkdir(parents=True)
        for number, text in enumerate(units[:size]):
            (folders[size] / f"unit-{number:02}.txt").write_text(text, encoding="utf-8", newline="")
    return folders


def _prompts(place: Path) -> Path:
    """Our prompts with the mark by which the scripted model knows what is asked of it."""
    own = ROOT / "pipelines" / "ingest"
    folder = place / "pipelines" / "ingest"
    shutil.copytree(own, folder)
    (folder / "extract.j2").write_text(_MARKER + (own / "extract.j2").read_text("utf-8"), encoding="utf-8")
    return folder.parent


@contextmanager
def scripted_model(data: Path, latency_ms: int = 0) -> Iterator[int]:
    """The scripted server, as long as the block runs; its port."""
    script = data.parent / "tools" / "scripted_llm.py"
    if not script.is_file():
        raise SystemExit(f"there is no {script.name} beside the data folder of {DATA_VARIABLE}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(script), "--port", str(port), "--latency-ms", str(latency_ms)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()
            _stats(port)
            yield port
        finally:
            server.terminate()


def _stats(port: int) -> dict[str, Any]:
    for attempt in range(50):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats", timeout=10) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except OSError:
            if attempt == 49:
                raise
            time.sleep(0.1)
    raise AssertionError


def _require_replayed(port: int, least: int) -> None:
    """Every answer must have been a recorded one."""
    replay = _stats(port).get("replay", {"hits": 0, "fallbacks": 0})
    if replay["fallbacks"] or replay["hits"] < least:
        raise SystemExit(f"the scripted model did not replay what was recorded: {replay}")


# --- installation -----------------------------------------------------------------------------------


def _installation() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="graphrag-bench-") as temporary:
        environment = Path(temporary) / "venv"
        spend([sys.executable, "-m", "venv", str(environment)])
        python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
        before = folder_bytes(environment)
        took = spend(
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)]
        )
        size = (folder_bytes(environment) - before) / 1e6
        started = spend([str(python), "-c", "import graphrag_rdf"])
    beside = f"{size / (before / 1e6):.1f} × an empty environment"
    return [
        Figure("size, dependencies included", f"{size:,.0f} MB", "", beside),
        Figure("time", f"{took.wall:.0f} s, {took.cpu:.0f} CPU s"),
        Figure("import of what was installed", f"{started.wall:.2f} s"),
    ]


if __name__ == "__main__":
    sys.exit(main())
