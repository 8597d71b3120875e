"""A gateway to the scripted server."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from graphrag_rdf.llm.gateway import LlmGateway
from graphrag_rdf.llm.model import LlmSettings

KEY = "sk-planted-7f3a9c"


@pytest.fixture(autouse=True)
def _no_keys_around(monkeypatch):
    """What is set on the machine decides nothing here."""
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "ANTHROPIC_API_KEY",
        "OLLAMA_API_BASE",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def slept():
    """The waits of gateways made by `make_gateway`, seconds."""
    return []


@pytest.fixture
def make_gateway(scripted_server, slept):
    """Makes a gateway; settings by keyword, also cache and budget."""

    def make(*, cache=None, budget=None, servers=None, **settings):
        defaults = {
            "model": "openai/test-model",
            "embedding_model": "openai/test-embedding",
            "rerank_model": "infinity/test-reranker",
            "api_base": scripted_server.base_url,
            "api_key": SecretStr(KEY),
            "timeout": 20.0,
        }
        return LlmGateway(
            LlmSettings(**defaults | settings),
            cache=cache,
            budget=budget,
            servers=servers,
            sleep=slept.append,
        )

    return make
