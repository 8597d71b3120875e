"""The fixtures of tests/exchange."""

from __future__ import annotations

from tests.exchange.conftest import (
    empty,
    sample,
)

__all__ = ["empty", "sample"]
