"""The fixtures of tests/pipeline."""

from __future__ import annotations

from tests.pipeline.conftest import (
    engine,
    sample_folder,
    samples,
)

__all__ = ["engine", "sample_folder", "samples"]
