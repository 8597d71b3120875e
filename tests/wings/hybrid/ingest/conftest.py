"""The fixtures of tests/ingest."""

from __future__ import annotations

from tests.ingest.conftest import (
    docs,
    engine_of,
)

__all__ = ["docs", "engine_of"]
