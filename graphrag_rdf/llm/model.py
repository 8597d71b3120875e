"""Prompts and answers of models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from graphrag_rdf.llm.thinking import without_thinking

if TYPE_CHECKING:
    from pydantic import SecretStr

Message = Mapping[str, str]
"""A chat message: `role` and `content`."""

CHARS_PER_TOKEN = 4
"""Rule of thumb for estimates before a call; the server reports the real number."""


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """Models, servers and limits.

    Attributes:
        model, embedding_model, rerank_model: litellm names, such as `openai/gpt-4o-mini`.
        api_base: URL of the server, None for the provider's own.
        rerank_api_base: the same of the reranker, None for `api_base`.
        api_key: None to let litellm read the provider's environment variable.
        temperature: sampling temperature; None leaves it to the provider.
        max_tokens: longest answer, None for the model's own limit.
        timeout: seconds to wait for a connection, and then for each further piece of an answer.
        max_retries: tries after the first.
        backoff_base, backoff_cap: seconds, see `retry.RetryPolicy`.
        jobs: concurrent calls; None for no limit.
        requests_per_minute, tokens_per_minute: None for no limit.
        seed: sent to models that accept one.
    """

    model: str | None = None
    embedding_model: str | None = None
    rerank_model: str | None = None
    api_base: str | None = None
    rerank_api_base: str | None = None
    api_key: SecretStr | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = None
    timeout: float = 120.0
    max_retries: int = 5
    backoff_base: float = 0.5
    backoff_cap: float = 30.0
    jobs: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer.

    Attributes:
        raw: the output as received, with thinking between tags.
        model: as requested.
        in_tokens, out_tokens: as the server counted them; None if unreported.
        cost_usd: None when tokens or price are unknown; 0 when the answer came from the cache.
        cached: whether it came from the cache; tokens are then those of the first time.
        finish_reason: `stop`, `length` (cut off), …; None if unreported.
        seconds: from the call to the last character, waiting included.
        attempts: 1 when the first try worked, 0 when it came from the cache.
        prompt_hash: SHA-256 (hex) of messages, model and parameters.
        cached_in_tokens: of `in_tokens` those from the provider's cache; None if unreported.
    """

    raw: str
    model: str
    in_tokens: int | None
    out_tokens: int | None
    cost_usd: float | None
    cached: bool
    finish_reason: str | None
    seconds: float
    attempts: int
    prompt_hash: str
    cached_in_tokens: int | None = None

    @property
    def text(self) -> str:
        """The answer: the output without thinking."""
        return without_thinking(self.raw)

    @property
    def truncated(self) -> bool:
        """Whether the answer was cut off at the token limit."""
        return self.finish_reason == "length"


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One chat call, for the log.

    Attributes:
        purpose: for the log, such as `extract`.
        model: as requested.
        messages: the exact prompt.
        parameters: all other arguments; never a key.
        completion: the answer, None when the call failed.
        error: why it failed, None when it did not.
        started: when, UTC.
    """

    purpose: str
    model: str
    messages: tuple[Message, ...]
    parameters: Mapping[str, Any]
    completion: Completion | None
    error: str | None
    started: datetime


def prompt_hash(model: str, messages: Sequence[Message], parameters: Mapping[str, Any]) -> str:
    """SHA-256 (hex) over canonical JSON: sorted keys, no blanks, UTF-8."""
    whole = {
        "messages": [dict(message) for message in messages],
        "model": model,
        "parameters": dict(parameters),
    }
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def encodable(text: str) -> str:
    """The text with lone surrogates, which broken documents hold and UTF-8 does not, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def estimate_tokens(messages: Sequence[Message]) -> int:
    """About how many tokens a prompt has."""
    return sum(len(message["content"]) for message in messages) // CHARS_PER_TOKEN + 4 * len(messages)
