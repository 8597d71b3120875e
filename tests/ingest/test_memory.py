"""Memory does not grow with the number of documents."""

from __future__ import annotations

import random
from pathlib import Path

import psutil
import pytest

from tests.ingest.conftest import MakeEngine


@pytest.mark.slow
@pytest.mark.embedded
def test_two_thousand_documents(docs: Path, engine_of: MakeEngine) -> None:
    """After the first 800 it goes up and down with what waits to be indexed."""
    random_ = random.Random(1)
    names = [
        a + b
        for a in ("Al", "Bor", "Cas", "Del", "Eth", "Fro")
        for b in ("den", "mere", "ton", "wick", "ford")
    ]
    for number in range(2000):
        pick = [random_.choice(names) for _ in range(8)]
        met = f"{pick[0]} {pick[1]}son met {pick[2]} {number}-{pick[3]} in {pick[4]}."
        text = f"{met} They built the {pick[5]} Works. "
        (docs / f"{number}.txt").write_text(text * 3)
    sizes: list[int] = []
    process = psutil.Process()

    def progress(done: int, total: int, path: str) -> None:
        if done % 100 == 0:
            sizes.append(process.memory_info().rss // 2**20)

    report = engine_of("store").ingest([docs], progress=progress)
    assert report.documents.added == 2000
    assert max(sizes[8:]) < max(sizes[:8]) + 60
