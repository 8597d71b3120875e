"""The same documents read here, on Dask, and into another engine; then asked of three servers.

    python -m benchmarks.machines [--documents FOLDER | --made 150] [--workers 2] [--questions 60]

Each store must hold the same quads, but times, random names and the store's own numbers. The servers only
read (`serve --store URL --read-only`), with the indexes that the ingest shared. One of them is killed in the
middle, and the others must answer as one. The baseline is a server that builds its own indexes in memory.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from benchmarks.common import ROOT, Figure, run_command, show, skip
from graphrag_rdf import Engine
from graphrag_rdf.config import Settings

_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_PROGRAM = [sys.executable, "-m", "graphrag_rdf"]
_READY = re.compile(r"serving (http://[^\s;]+);")
_QUESTION = "Who designed the Skell Tidal Station?"
_MADE_QUESTION = "Who founded the Guild7 Society?"
_SENTENCE = (
    "{} {}{} {} the Guild{} Society in {}. It was a matter of some interest to the town of Port Merrin and "
    "its harbour at the time."
)
_NAMES = ("Harrow", "Pennock", "Finlay", "Marwick", "Orr", "Tennant", "Kell", "Aldersey", "Brandt", "Crake")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.machines", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=Path, default=ROOT / "examples" / "documents")
    parser.add_argument("--made", type=int, default=0, help="so many made-up documents instead")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--question", default=_QUESTION)
    options = parser.parse_args()
    oxigraph = Path(sys.executable).with_name("oxigraph")
    if not oxigraph.exists():
        return skip("machines", "oxigraph is not installed (pip install oxigraph)")
    with tempfile.TemporaryDirectory(prefix="graphrag-bench-") as temporary, ExitStack() as stack:
        work = Path(temporary)
        if options.made:
            options.documents, options.question = _made(work / "documents", options.made), _MADE_QUESTION
        cluster = stack.enter_context(_cluster(options.workers))
        url = stack.enter_context(_endpoint(oxigraph, work))
        shared = {"GRAPHRAG_RDF_INDEX__SHARED": str(work / "shared")}
        local = {"GRAPHRAG_RDF_REMOTE__FOLDER": str(work / "files")}
        ingest = [*_PROGRAM, "ingest", str(options.documents.resolve()), "--store"]
        here = run_command([*ingest, str(work / "here")], work)
        dask = run_command([*ingest, str(work / "dask"), "--dask", cluster], work)
        remote = run_command([*ingest, url], work, {**shared, **local})
        quads = _quads(str(work / "here"))
        same = [_quads(store) == quads for store in (str(work / "dask"), url)]
        figures = [
            Figure("quads of the store, without times and the store's own", f"{len(quads):,}"),
            Figure("ingest here: wall, CPU of this process", f"{here.wall:.1f} s, {here.cpu:.1f} s"),
            Figure(
                f"ingest on Dask, {options.workers} workers: the same; equal quads",
                f"{dask.wall:.1f} s, {dask.cpu:.1f} s; {same[0]}",
            ),
            Figure(
                "ingest into oxigraph serve, indexes shared: the same; equal quads",
                f"{remote.wall:.1f} s, {remote.cpu:.1f} s; {same[1]}",
            ),
        ]
        for name, index in (("in memory", {}), ("shared", shared)):
            with _servers(1, url, {**index, **local}) as ((address, process),):
                first = _ask(address, options.question)[1]
                resident = _resident_mb(process)
            figures.append(
                Figure(f"first answer of a server, index {name}", f"{first:.2f} s, {resident:.0f} MB")
            )
        with _servers(3, url, {**shared, **local}) as servers:
            answers, failed = set(), 0
            for number in range(options.questions):
                if number == options.questions // 2:
                    servers[1][1].send_signal(signal.SIGKILL)
                    servers[1][1].wait()
                address = servers[number % 3][0]
                try:
                    answers.add(_ask(address, options.question)[0])
                except httpx.TransportError:  # a load balancer asks the next one
                    failed += 1
                    answers.add(_ask(servers[0][0], options.question)[0])
        figures.append(
            Figure(
                "three servers, one killed: questions, asked again of another one, different answers",
                f"{options.questions}, {failed}, {len(answers)}",
            )
        )
    show("One command line, several machines", figures)
    return 0 if all(same) and len(answers) == 1 else 1


def _made(folder: Path, number: int) -> Path:
    """Documents of sixty paragraphs with a fact each."""
    folder.mkdir()
    chance = random.Random(3)
    for document in range(number):
        paragraphs = [
            _SENTENCE.format(
                chance.choice(_NAMES),
                chance.choice(_NAMES),
                chance.randrange(400),
                chance.choice(("founded", "visited", "led", "joined")),
                chance.randrange(300),
                chance.randrange(1800, 1990),
            )
            for _ in range(60)
        ]
        (folder / f"made-{document}.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    return folder


def _quads(store: str) -> set[str]:
    with Engine.open(config=Settings(store=store), create=False, read_only=True) as engine:
        return {
            _RANDOM.sub("", line)
            for line in map(str, engine.store.quads())
            if "dateTime" not in line and "urn:graph:system" not in line
        }


def _ask(address: str, question: str) -> tuple[str, float]:
    start = time.perf_counter()
    answer = httpx.post(f"{address}/ask", json={"question": question}, timeout=120).raise_for_status().json()
    return answer["answer"], time.perf_counter() - start


def _resident_mb(process: subprocess.Popen[str]) -> float:
    pages = int(Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def _servers(number: int, url: str, env: dict[str, str]) -> Iterator[list[tuple[str, subprocess.Popen[str]]]]:
    command = [*_PROGRAM, "--store", url, "serve", "--read-only", "--port", "0"]
    started = [
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **env})
        for _ in range(number)
    ]
    try:
        yield [(_first(process, _READY), process) for process in started]
    finally:
        _end(started)


@contextmanager
def _endpoint(oxigraph: Path, work: Path) -> Iterator[str]:
    command = [str(oxigraph), "serve", "--location", str(work / "oxigraph"), "--bind", "127.0.0.1:7979"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield _first(process, re.compile(r"(http://127\.0\.0\.1:\d+)"))
    finally:
        _end([process])


@contextmanager
def _cluster(workers: int) -> Iterator[str]:
    module = [sys.executable, "-m"]
    scheduler = subprocess.Popen(
        [*module, "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    started = [scheduler]
    try:
        address = _first(scheduler, re.compile(r"(tcp://\S+)"))
        command = [*module, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
        started += [
            subprocess.Popen([*command, "--no-nanny"], stderr=subprocess.DEVNULL, text=True)
            for _ in range(workers)
        ]
        for _ in range(workers):
            _first(scheduler, re.compile("(Register worker)"))
        yield address
    finally:
        _end(started)


def _first(process: subprocess.Popen[str], pattern: re.Pattern[str]) -> str:
    """What the first line with a pattern has of it."""
    assert process.stderr is not None
    for line in process.stderr:
        if match := pattern.search(line):
            return match[1]
    raise SystemExit(f"{process.args!r} ended")


def _end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()
        process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
