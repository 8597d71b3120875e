"""The fixtures of tests/server, and the ways to the tools."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import (
    _guarded,
    _open_endpoint,
    answering,
    client,
    documents_store,
    endpoint,
    guarded,
    server,
    stranger,
    writer,
)
from tests.support.endpoint import Endpoint
from tests.support.tools import over_http, stdio

__all__ = [
    "_guarded",
    "_open_endpoint",
    "answering",
    "client",
    "documents_store",
    "endpoint",
    "guarded",
    "server",
    "stranger",
    "writer",
]

Connect = Callable[[], Any]


@pytest.fixture(scope="module")
def store(documents_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store for programs that are started by clients."""
    place = tmp_path_factory.mktemp("mcp") / "store"
    shutil.copytree(documents_store, place, ignore=shutil.ignore_patterns("snapshots", "holder.json"))
    return place


@pytest.fixture(params=[pytest.param("stdio", marks=pytest.mark.slow), "http"])
def connect(request: pytest.FixtureRequest, store: Path, answering: Endpoint) -> Connect:
    """A way to the tools, by either transport."""
    return (lambda: stdio(store)) if request.param == "stdio" else lambda: over_http(answering)
