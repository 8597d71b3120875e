"""The fixtures of tests/cli."""

from __future__ import annotations

from tests.cli.conftest import (
    _ingested,
    folder,
    process,
    run,
    store,
)

__all__ = ["_ingested", "folder", "process", "run", "store"]
