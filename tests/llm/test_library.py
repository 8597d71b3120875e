"""litellm as it is used here, in versions that are built differently."""

from __future__ import annotations

import sys
import time
from types import ModuleType

import pytest

from graphrag_rdf.llm.library import load_litellm
from tests.support.scripted_server import Reply

OLLAMA = "litellm.llms.ollama.chat.transformation"


def test_a_version_without_what_is_patched_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    bare, elsewhere = ModuleType("litellm"), ModuleType(OLLAMA)
    monkeypatch.setitem(sys.modules, "litellm", bare)
    monkeypatch.setitem(sys.modules, OLLAMA, None)  # there is no such module
    assert load_litellm.__wrapped__() is bare
    monkeypatch.setitem(sys.modules, OLLAMA, elsewhere)
    elsewhere.OllamaChatCompletionResponseIterator = type("Pieces", (), {})  # type: ignore[attr-defined]
    assert load_litellm.__wrapped__() is bare


def test_ollama_is_asked_nothing_but_our_questions(make_gateway, scripted_server) -> None:
    """litellm would look up the price of its models there, in a thread, after each answer."""
    scripted_server.script(
        Reply(
            raw=b'{"message": {"role": "assistant", "content": "ok"}, "done": true, "prompt_eval_count": 3}'
        )
    )
    gateway = make_gateway(model="ollama_chat/qwen3", api_base=scripted_server.host_url)
    answer = gateway.chat([{"role": "user", "content": "Hello"}], purpose="test")
    time.sleep(0.3)
    assert [request.path for request in scripted_server.requests] == ["/api/chat"]
    assert (answer.text, answer.cost_usd) == ("ok", None)
