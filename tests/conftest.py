"""Fixtures that tests of every room may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from graphrag_rdf.llm.gateway import LITELLM_WARNINGS
from tests.support.scripted_server import ScriptedServer

# a machine shared with others is now and then slow; what must be quick has a test of its own
settings.register_profile("project", deadline=None)
settings.load_profile("project")


def pytest_configure(config: pytest.Config) -> None:
    """What `load_litellm` silences for users, as pytest puts its own filters before."""
    for message in LITELLM_WARNINGS:
        config.addinivalue_line("filterwarnings", f"ignore:{message}:UserWarning")


@pytest.fixture(scope="session")
def _scripted_server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def scripted_server(_scripted_server: ScriptedServer) -> Iterator[ScriptedServer]:
    """The scripted OpenAI-compatible server, fresh: nothing asked, nothing queued."""
    _scripted_server.reset()
    yield _scripted_server
    _scripted_server.reset()
