"""The fixtures of tests/trace."""

from __future__ import annotations

from tests.trace.conftest import run, sample

__all__ = ["run", "sample"]
