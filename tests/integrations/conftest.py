"""The fixtures of tests/server and tests/steps."""

from __future__ import annotations

from tests.server.conftest import documents_store, server
from tests.steps.conftest import sample_folder

__all__ = ["documents_store", "sample_folder", "server"]
