"""The Python of the how-to runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import REPOSITORY, blocks
from tests.support.commands import environment


@pytest.mark.slow
def test_the_examples_run(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "examples" / "documents", tmp_path / "examples" / "documents")
    page = (REPOSITORY / "docs" / "how-to" / "python.md").read_text("utf-8")
    printed = []
    for _, code in blocks(page, "python"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert "14 November 1911" in printed[0]
    assert "1911-11-14" in printed[0]
    assert printed[1].split()[:2] == ["session", "question"]
