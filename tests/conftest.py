"""Fixtures that tests of every room may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.scripted_server import ScriptedServer


def pytest_configure(config: pytest.Config) -> None:
    """What `load_litellm` silences for users, as pytest puts its own filters before."""
    config.addinivalue_line("filterwarnings", "ignore:.*`ReadOnly` qualifier:UserWarning")


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
