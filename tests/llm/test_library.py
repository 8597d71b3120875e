"""litellm as it is used here, in versions that are not built alike."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from graphrag_rdf.llm.library import load_litellm


def test_what_a_version_has_elsewhere_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What calls cost is all that may depend on the insides of other libraries."""
    bare = ModuleType("litellm")
    monkeypatch.setitem(sys.modules, "litellm", bare)
    monkeypatch.setitem(sys.modules, "openai.resources.chat.completions", None)  # as if it were not there
    assert load_litellm.__wrapped__() is bare
