"""litellm as it is used here: loaded late, quiet and offline, without work that comes to nothing."""

from __future__ import annotations

import functools
import gc
import logging
import os
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

LITELLM_WARNINGS = ("Item .* is using the `ReadOnly` qualifier", "Pydantic serializer warnings")
"""Warnings of pydantic's about litellm's own types: with the first stream, and with packed vectors."""


@functools.cache
def load_litellm() -> ModuleType:
    """Import litellm, quiet and offline: no price list, headers or tokenizers from the network, no prints.

    Takes about 2 s and 200 MB, so it waits for the first call.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    gc.disable()  # looking through what the import makes, again and again, takes a fifth of its time
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
    # it would make up counts where a server tells none
    litellm.disable_token_counter = True
    litellm.num_retries = None
    # embedding calls take max_retries=0 for "not set" and use this
    vars(litellm)["DEFAULT_MAX_RETRIES"] = 0
    for message in LITELLM_WARNINGS:
        warnings.filterwarnings("ignore", message=message, category=UserWarning)
    _spare_futile_work(litellm)
    return litellm


def _spare_futile_work(litellm: ModuleType) -> None:
    """Have litellm leave out, in our calls, what comes to nothing: a third of what a call costs.

    It looks for the price of a model that its list does not have with each answer anew, in eleven ways; and
    it prepares each answer, in another thread, for callbacks that `no-log` then keeps it from. Calls of
    others in this process, which are not marked so, stay as they are.
    """
    log = litellm.litellm_core_utils.litellm_logging.Logging
    replacements = {
        "response_cost_calculator": _if_priced,
        "_response_cost_calculator": _if_priced,  # as versions before call it
        "success_handler": _if_logged,
    }
    for name, replacement in replacements.items():
        if original := getattr(log, name, None):
            setattr(log, name, functools.partialmethod(replacement, original))


def _is_ours(log: Any) -> bool:
    return bool((getattr(log, "litellm_params", None) or {}).get("no-log"))


def _if_priced(log: Any, price: Callable[..., float | None], *args: Any, **values: Any) -> float | None:
    model = values.get("litellm_model_name") or log.model
    return None if _is_ours(log) and not has_price(model) else price(log, *args, **values)


def _if_logged(log: Any, tell: Callable[..., object], *args: Any, **values: Any) -> None:
    if not _is_ours(log):
        tell(log, *args, **values)


@functools.lru_cache(maxsize=256)
def has_price(model: str) -> bool:
    """Whether litellm's list has a price for a model."""
    return price_of(model, 1, 1) is not None


def price_of(model: str, in_tokens: int, out_tokens: int) -> float | None:
    """Cost in USD by litellm's list of prices, None for a model that is not in it."""
    try:
        parts = load_litellm().cost_per_token(model, prompt_tokens=in_tokens, completion_tokens=out_tokens)
    except Exception:  # noqa: BLE001  # it raises plain Exception for what it does not know
        return None
    return float(sum(parts))
