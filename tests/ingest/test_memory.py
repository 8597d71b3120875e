"""Memory does not grow with the number of documents."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
import psutil
from graphrag_rdf.engine import Engine
from tests.ingest.conftest import settings

def progress(done, total, path):
    if done % 100 == 0:
        print(psutil.Process().memory_info().rss // 2**20)

with Engine.open(sys.argv[1], config=settings()) as engine:
    engine.ingest([sys.argv[2]], progress=progress)
"""
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.embedded
def test_two_thousand_documents(tmp_path: Path) -> None:
    """After the first 800 it goes up and down with what waits to be indexed."""
    docs = tmp_path / "docs"
    docs.mkdir()
    random_ = random.Random(1)
    names = [a + b for a in ("Al", "Bor", "Cas", "Del", "Eth") for b in ("den", "mere", "ton", "wick")]
    for number in range(2000):
        pick = [random_.choice(names) for _ in range(8)]
        met = f"In the year {1000 + number}, the mayor of {pick[0]} met {pick[1]}son {number} of {pick[2]}."
        (docs / f"{number}.txt").write_text(f"{met} They were the builders of the {pick[3]} Works.")
    run = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "store"), str(docs)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    sizes = [int(line) for line in run.stdout.split()]
    assert len(sizes) >= 20
    assert max(sizes[8:]) < max(sizes[:8]) + 80, sizes
