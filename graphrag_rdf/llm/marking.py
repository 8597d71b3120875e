"""Messages as they are sent: to Anthropic with a mark after what other calls begin with too.

Anthropic keeps the beginning of a prompt only up to a mark (`cache_control`), for some minutes, and charges a
tenth for reading it again. OpenAI, and servers such as vLLM and llama.cpp, keep beginnings by themselves.
"""

from __future__ import annotations

from typing import Any

from graphrag_rdf.llm.calls import Asked
from graphrag_rdf.llm.failures import Target
from graphrag_rdf.llm.model import CHARS_PER_TOKEN, encodable

_WORTH = 1024 * CHARS_PER_TOKEN
"""Characters: shorter beginnings are not kept, whether they are marked or not."""


def marked_messages(asked: Asked, target: Target) -> list[dict[str, Any]]:
    """The messages of a call, for litellm."""
    messages: list[dict[str, Any]] = [
        {**message, "content": encodable(message["content"])} for message in asked.messages
    ]
    if target.provider == "anthropic" and asked.shared >= _WORTH:
        text = messages[0]["content"]
        mark = {"type": "ephemeral"}
        messages[0]["content"] = [
            {"type": "text", "text": text[: asked.shared], "cache_control": mark},
            {"type": "text", "text": text[asked.shared :]},
        ]
    return messages
