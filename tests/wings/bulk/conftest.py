"""The fixtures of tests/cli."""

from __future__ import annotations

from tests.cli.conftest import folder, run

__all__ = ["folder", "run"]
