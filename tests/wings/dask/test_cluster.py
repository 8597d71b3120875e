"""An ingest on a Dask cluster of processes, which are killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from tests.support.commands import Outcome, documents_in, environment

MANY = 12
_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """Two workers, each a process of its own."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as opened:
        yield opened


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
    cluster: LocalCluster, documents: Path, local: set[str], tmp_path: Path
) -> None:
    done, stored = ingested(documents, tmp_path / "store", "--dask", cluster.scheduler_address)
    assert done.code == 3  # broken.pdf
    assert "broken.pdf" in done.err
    assert "this process does its work" not in done.err
    assert stored == local


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(
    cluster: LocalCluster, documents: Path, local: set[str], tmp_path: Path
) -> None:
    worker = next(iter(cluster.workers.values())).pid
    threading.Timer(2.5, lambda: os.kill(worker, signal.SIGKILL)).start()
    _, stored = ingested(documents, tmp_path / "store", "--dask", cluster.scheduler_address)
    assert stored == local


@pytest.mark.slow
def test_a_scheduler_that_goes_away_loses_nothing(documents: Path, local: set[str], tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--host",
        "127.0.0.1",
    ]
    scheduler = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert scheduler.stderr is not None
    address = next(match[0] for line in scheduler.stderr if (match := re.search(r"tcp://\S+", line)))
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"],
        stderr=subprocess.DEVNULL,
    )
    try:
        threading.Thread(target=kill_once_connected, args=[scheduler]).start()
        done, stored = ingested(documents, tmp_path / "store", "--dask", address)
    finally:
        worker.kill()
        scheduler.kill()
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
