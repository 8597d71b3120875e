"""litellm as it is used here: loaded late, quiet and offline."""

from __future__ import annotations

import functools
import gc
import logging
import os
import re
import warnings
from types import ModuleType
from typing import Any

_UNPRICED = {"mode": "chat", "added_by": "graphrag-rdf"}
"""Entry of litellm's list for a model whose price is not known."""
_THINK = re.compile(r"<(/?)think>")
LITELLM_WARNINGS = ("Item .* is using the `ReadOnly` qualifier", "Pydantic serializer warnings")
"""Warnings of pydantic about litellm's own types: with the first stream, and with packed vectors."""


@functools.cache
def load_litellm() -> ModuleType:
    """Import litellm, quiet and offline: no price list, headers or tokenizers from the network, no prints.

    Takes about 2 s and 200 MB, so it waits for the first call.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # else it reads the first .env above its own folder: with .venv in a cloned folder, that of the folder
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    # else it hands each answer to threads of its own for callbacks, of which there are none
    os.environ.setdefault("LOGGING_EXECUTOR_MAX_PENDING_TASKS", "0")
    gc.disable()  # collections during the import take a fifth of its time
    try:
        import litellm
    finally:
        gc.enable()
    gc.freeze()  # it stays for good: each full collection would take a quarter of a second longer
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.disable_streaming_logging = True
    litellm.disable_hf_tokenizer_download = True
    # else it invents token counts where a server reports none
    litellm.disable_token_counter = True
    litellm.num_retries = None
    # embedding calls take max_retries=0 for "not set" and use this
    vars(litellm)["DEFAULT_MAX_RETRIES"] = 0
    for message in LITELLM_WARNINGS:
        warnings.filterwarnings("ignore", message=message, category=UserWarning)
    _keep_thinking_tags()
    return litellm


def litellm_for(model: str) -> ModuleType:
    """litellm, ready for a model.

    It asks an Ollama server about each model that is not in its list, before and after each call.
    """
    litellm = load_litellm()
    if model.startswith("ollama") and model not in litellm.model_cost:
        litellm.model_cost[model] = _UNPRICED | {"litellm_provider": model.partition("/")[0]}
    return litellm


def _keep_thinking_tags() -> None:
    """Have litellm leave `<think>` in streams of Ollama: it removes the tags and returns most of the thinking
    as the answer. It does not know `<thinking>`. Versions without this class or method stay as they are.
    """
    try:
        from litellm.llms.ollama.chat.transformation import OllamaChatCompletionResponseIterator as Pieces
    except ImportError:
        return
    read = getattr(Pieces, "chunk_parser", None)
    if read is None:
        return

    def chunk_parser(self: Any, chunk: dict[str, Any]) -> Any:
        message = chunk.get("message")
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            message["content"] = _THINK.sub(r"<\1thinking>", message["content"])
        return read(self, chunk)

    setattr(Pieces, "chunk_parser", chunk_parser)  # noqa: B010  # mypy takes methods for constants


@functools.lru_cache(maxsize=256)
def has_price(model: str) -> bool:
    """Whether litellm's list has a price for a model."""
    return price_of(model, 1, 1) is not None


def price_of(model: str, in_tokens: int, out_tokens: int) -> float | None:
    """Cost in USD by litellm's list of prices, None for a model that is not in it."""
    litellm = load_litellm()
    if litellm.model_cost.get(model, {}).items() >= _UNPRICED.items():
        return None
    try:
        parts = litellm.cost_per_token(model, prompt_tokens=in_tokens, completion_tokens=out_tokens)
    except Exception:  # noqa: BLE001  # it raises plain Exception for unknown models
        return None
    return float(sum(parts))
