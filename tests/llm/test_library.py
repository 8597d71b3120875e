"""litellm as it is used here, in versions that are built differently."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from graphrag_rdf.llm.library import load_litellm

OLLAMA = "litellm.llms.ollama.chat.transformation"


def test_a_version_without_what_is_patched_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    bare, elsewhere = ModuleType("litellm"), ModuleType(OLLAMA)
    monkeypatch.setitem(sys.modules, "litellm", bare)
    monkeypatch.setitem(sys.modules, OLLAMA, None)  # there is no such module
    assert load_litellm.__wrapped__() is bare
    monkeypatch.setitem(sys.modules, OLLAMA, elsewhere)
    elsewhere.OllamaChatCompletionResponseIterator = type("Pieces", (), {})  # type: ignore[attr-defined]
    assert load_litellm.__wrapped__() is bare
