"""Names in the package say what a thing is."""

from __future__ import annotations

from benchmarks.common import ROOT
from benchmarks.house import VAGUE, assigned

MOST = 1221
"""Vague names today. Lower it when there are fewer; never raise it."""


def test_vague_names_become_fewer() -> None:
    paths = (ROOT / "graphrag_rdf").rglob("*.py")
    names = [name for path in paths for _, name in assigned(path.read_text("utf-8")) if name in VAGUE]
    assert len(names) <= MOST, "python -m benchmarks.house --names ROOM lists them"
