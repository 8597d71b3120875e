"""An ingest on a Dask cluster of processes, which are killed."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.commands import Outcome, documents_in, environment

MANY = 12
_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass
class Cluster:
    """A scheduler and its workers. They are processes: importing Dask changes how exceptions are pickled."""

    address: str
    scheduler: subprocess.Popen[str]
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Two workers of one thread."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*command, "--host", "127.0.0.1"], stderr=subprocess.PIPE, text=True)
    assert scheduler.stderr is not None
    address = next(match[0] for line in scheduler.stderr if (match := re.search(r"tcp://\S+", line)))
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        address,
        "--nthreads",
        "1",
        "--no-dashboard",
    ]
    workers = [subprocess.Popen([*command, "--no-nanny"], stderr=subprocess.DEVNULL) for _ in range(2)]
    joined = 0
    while joined < len(workers):
        joined += "Register worker" in scheduler.stderr.readline()
    yield Cluster(address, scheduler, workers)
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small documents, a dozen longer ones, and one that cannot be read."""
    folder = documents_in(tmp_path_factory.mktemp("dask"))
    for number in range(MANY):
        lines = [
            f"Person{number} Finlay founded the Guild{number} Society in {1800 + line}." for line in range(40)
        ]
        (folder / f"guild-{number}.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    return folder


@pytest.fixture(scope="module")
def local(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What the store of a local ingest holds."""
    return ingested(documents, tmp_path_factory.mktemp("local") / "store")[1]


def ingested(documents: Path, store: Path, *options: str) -> tuple[Outcome, set[str]]:
    command = [
        sys.executable,
        "-m",
        "graphrag_rdf",
        "ingest",
        "--store",
        str(store),
        str(documents),
        *options,
    ]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr), quads(store)


def quads(store: Path) -> set[str]:
    """The quads of a store, without times and random names."""
    from graphrag_rdf import Engine
    from graphrag_rdf.config import Settings

    with Engine.open(config=Settings(store=str(store)), create=False, read_only=True) as engine:
        lines = map(str, engine.store.quads())
        return {
            _RANDOM.sub("", line)
            for line in lines
            if "dateTime" not in line and "urn:graph:system" not in line
        }


def test_the_store_is_that_of_a_local_ingest(
    cluster: Cluster, documents: Path, local: set[str], tmp_path: Path
) -> None:
    done, stored = ingested(documents, tmp_path / "store", "--dask", cluster.address)
    assert done.code == 3  # broken.pdf
    assert "broken.pdf" in done.err
    assert "this process does its work" not in done.err
    assert stored == local


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(
    cluster: Cluster, documents: Path, local: set[str], tmp_path: Path
) -> None:
    threading.Timer(2.5, cluster.workers[0].kill).start()
    _, stored = ingested(documents, tmp_path / "store", "--dask", cluster.address)
    assert stored == local


@pytest.mark.slow
def test_a_scheduler_that_goes_away_loses_nothing(
    cluster: Cluster, documents: Path, local: set[str], tmp_path: Path
) -> None:
    threading.Thread(target=kill_once_connected, args=[cluster.scheduler]).start()
    done, stored = ingested(documents, tmp_path / "store", "--dask", cluster.address)
    assert stored == local
    assert "this process does its work" in done.err


def kill_once_connected(scheduler: subprocess.Popen[str]) -> None:
    """Kill a scheduler soon after the ingest has connected to it."""
    assert scheduler.stderr is not None
    for line in scheduler.stderr:
        if "Receive client connection" in line:
            time.sleep(1.5)
            scheduler.kill()


def test_without_a_scheduler_nothing_is_read(documents: Path, tmp_path: Path) -> None:
    done, _ = ingested(documents, tmp_path / "store", "--dask", "tcp://127.0.0.1:9")
    assert done.code == 2
    assert "tcp://127.0.0.1:9 cannot be used" in done.err
