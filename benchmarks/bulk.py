"""A store through an engine's bulk loader, and the share of commits in an ingest.

    python -m benchmarks.bulk --facts 1000000
    python -m benchmarks.bulk --documents FOLDER

The first writes a made-up collection (see `synthetic`) in shards, loads them and adopts the result, each in a
process of its own. The second ingests documents by rules, and compares its commits with the engine's own
rates for the same quads, by transactions of as many and by its bulk loader.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyoxigraph as ox

from benchmarks.common import Figure, Used, cpu_seconds, folder_bytes, run_command, show
from benchmarks.synthetic import Collection
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.exchange import read_manifest
from graphrag_rdf.store.base import Changes

_SHARDS = 8
_PROGRAM = [sys.executable, "-m", "graphrag_rdf"]
_OXIGRAPH = str(Path(sys.executable).with_name("oxigraph"))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.bulk", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--store", type=Path, help="of the collection; made if it is missing, and kept")
    parser.add_argument("--documents", help="ingest these instead")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="graphrag-bench-") as temporary:
        if asked.documents:
            show(f"An ingest of {asked.documents} by rules", _ingest(asked.documents, Path(temporary)))
        else:
            store = asked.store or Path(temporary) / "store"
            show(f"A store of {asked.facts:,} facts", _moved(store, asked.facts, Path(temporary)))
    return 0


def _moved(store: Path, facts: int, place: Path) -> list[Figure]:
    if not (store / "oxigraph").exists():
        with Engine.open(store, config=Settings(store=str(store))) as engine:
            for make in Collection(facts).layers().values():
                engine.store.bulk_add(make())
    shards, data = place / "shards", place / "data"
    export = ["export", "--store", str(store), "--shards", str(_SHARDS), "-o", str(shards)]
    exported = run_command([*_PROGRAM, *export], place)
    manifest = read_manifest(shards)
    size = sum(shard.bytes for shard in manifest.shards)
    files = sorted(map(str, shards.glob("*.nq.gz")))
    loaded = run_command([_OXIGRAPH, "load", "--location", str(data), "--file", *files], place)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = subprocess.Popen([_OXIGRAPH, "serve", "--location", str(data), "--bind", address])
    try:
        time.sleep(5)
        adopted = run_command([*_PROGRAM, "adopt", f"http://{address}", str(shards)], place)
    finally:
        server.kill()
        _, _, used = _wait(server)
    quads = manifest.quads
    return [
        Figure("quads", f"{quads:,}, {quads / facts:.1f} a fact"),
        Figure("export --shards", _rate(quads, exported)),
        Figure("shards", f"{size / 1e6:,.0f} MB, {size / quads:.1f} bytes a quad"),
        Figure("oxigraph load", _rate(quads, loaded)),
        Figure(
            "database", f"{folder_bytes(data) / 1e6:,.0f} MB, {folder_bytes(data) / quads:.0f} bytes a quad"
        ),
        Figure("adopt", f"{_rate(quads, adopted)}; the server {used:,.0f} CPU s"),
        Figure("indexes", f"{folder_bytes(place / 'graphrag-remote') / 1e6:,.0f} MB"),
    ]


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, int, float]:
    import os

    pid, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return pid, status, used.ru_utime + used.ru_stime


def _rate(quads: int, used: Used) -> str:
    return (
        f"{used.wall:,.0f} s, {used.cpu:,.0f} CPU s, {quads / used.cpu:,.0f} quads a CPU s, "
        f"{used.peak_mb:,.0f} MB"
    )


def _ingest(documents: str, place: Path) -> list[Figure]:
    spent = commits = added = 0.0
    with Engine.open(place / "store", config=Settings(store=str(place / "store"))) as engine:
        original = engine.store.commit

        def commit(changes: Changes) -> int:
            nonlocal spent, commits, added
            begun = time.thread_time()
            number = original(changes)
            spent, commits = spent + time.thread_time() - begun, commits + 1
            added += len(changes.add)
            return number

        engine.store.commit = commit  # type: ignore[method-assign]
        cpu = cpu_seconds()
        report = engine.ingest([documents])
        engine.store.flush()
        cpu = cpu_seconds() - cpu
        quads = list(engine.store.quads())
    size = max(1, round(len(quads) / commits))
    parts = [quads[start : start + size] for start in range(0, len(quads), size)]

    def rate(how: str) -> float:
        folder = place / how
        store = ox.Store(str(folder))
        begun = time.thread_time()
        if how == "bulk":
            begun = cpu_seconds()  # of all its threads
            store.bulk_extend(quads)
            return len(quads) / (cpu_seconds() - begun)
        for part in parts:
            store.extend(part)
        return len(quads) / (time.thread_time() - begun)

    found = {how: rate(how) for how in ("transactions", "bulk")}
    shutil.rmtree(place / "store")
    own = added / spent
    return [
        Figure("ingest", f"{report.chunks.added:,} chunks, {report.facts:,} facts, {len(quads):,} quads"),
        Figure("CPU", f"{cpu:.1f} s, {cpu / report.chunks.added * 1000:.0f} ms a chunk"),
        Figure("of it in commits", f"{spent:.1f} s, {spent / cpu:.0%}", "", f"{own:,.0f} quads a CPU s"),
        *(
            Figure(f"the engine alone, {how}", f"{value:,.0f} quads a CPU s", "", f"ratio {own / value:.2f}")
            for how, value in found.items()
        ),
        Figure(
            "a bulk load at the end would save at most", f"{(spent - len(quads) / found['bulk']) / cpu:.0%}"
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
