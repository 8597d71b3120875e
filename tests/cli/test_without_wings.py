"""The core without any wing: it ingests, lists and retrieves, and says what it lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_CODE = """
import sys
from graphrag_rdf import wing
wing.wings = lambda: ()
from graphrag_rdf.cli.app import root
root(sys.argv[1:])
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with one document."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Harbours\n\nElspeth Marwick founded the Skell Tidal Power Company.\n")
    return folder


def test_the_core_needs_no_wing(docs: Path) -> None:
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        arguments = [sys.executable, "-c", _CODE, *command]
        return subprocess.run(arguments, cwd=docs.parent, capture_output=True, text=True, check=False)

    assert "1 added" in run("ingest", "docs").stdout
    assert "Elspeth Marwick" in run("entities", "list").stdout
    assert "founded" in run("relations", "list").stdout
    assert "Skell Tidal Power Company" in run("retrieve", "Marwick").stdout
    assert run("check").returncode == 0
    assert run("entities", "merge", "a", "b").returncode == 2
