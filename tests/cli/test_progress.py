"""The lines about progress of long work on stderr."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphrag_rdf.cli import progress
from tests.support.commands import Run


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chunk takes six seconds."""
    seconds = count(0, 6)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(seconds)))


@pytest.fixture
def towns(folder: Path) -> Path:
    """Twelve documents with a chunk each."""
    (folder / "towns").mkdir()
    for number in range(12):
        (folder / "towns" / f"{number:02}.txt").write_text(f"Ada Reay built House {number} in 1901.\n")
    return folder / "towns"


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if " of " in line]


def test_total_and_time_left(run: Run, towns: Path) -> None:
    found = run("ingest", "towns")
    assert found.code == 0, found.err
    first, *others = lines(found.err)
    assert re.match(r"2 of 12 chunks, 1:00 left; .*01\.txt$", first)
    assert others[-1].startswith("12 of 12 chunks; ")
    assert len(others) < 8, "a line every ten seconds, not one a chunk"
    again = lines(run("refresh", "facts").err)
    assert re.match(r"\d+ of 12 chunks, \d:\d\d left; ", again[0])


def test_hours(run: Run, towns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count(0, 3600)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    assert lines(run("ingest", "towns").err)[0].startswith("1 of 12 chunks, 11:00:00 left")


def test_no_time_before_it_means_something(run: Run, towns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_MEANINGFUL", 20.0)
    first, second, *_ = lines(run("ingest", "towns").err)
    assert first.startswith("2 of 12 chunks; ")
    assert second.startswith("4 of 12 chunks, ")


def test_quiet(run: Run, towns: Path) -> None:
    assert run("-q", "ingest", "towns").err == ""
