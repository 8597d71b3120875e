"""litellm as it is used here: loaded late, quiet and offline, without work that comes to nothing."""

from __future__ import annotations

import functools
import gc
import logging
import os
import re
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

_MODELS = 256  # that are remembered
# what our requests have, spelled on the wire as in Python
_PLAIN = frozenset(
    {"messages", "model", "temperature", "max_tokens", "seed", "response_format", "stream", "stream_options"}
)
_THINK = re.compile(r"<(/?)think>")
LITELLM_WARNINGS = ("Item .* is using the `ReadOnly` qualifier", "Pydantic serializer warnings")
"""Warnings of pydantic's about litellm's own types: with the first stream, and with packed vectors."""


@functools.cache
def load_litellm() -> ModuleType:
    """Import litellm, quiet and offline: no price list, headers or tokenizers from the network, no prints.

    Takes about 2 s and 200 MB, so it waits for the first call.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # else it reads the first .env above its own folder: with .venv in a cloned folder, that of the folder
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
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
    _keep_thinking_tags()
    return litellm


def _keep_thinking_tags() -> None:
    """Have litellm leave `<think>` in the streams of Ollama: it takes the tags out, and most of the thinking
    for the answer. It does not know `<thinking>`.
    """
    try:
        from litellm.llms.ollama.chat.transformation import OllamaChatCompletionResponseIterator as Pieces
    except ImportError:
        return
    read = Pieces.chunk_parser

    def chunk_parser(self: Any, chunk: dict[str, Any]) -> Any:
        message = chunk.get("message")
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            message["content"] = _THINK.sub(r"<\1thinking>", message["content"])
        return read(self, chunk)

    setattr(Pieces, "chunk_parser", chunk_parser)  # noqa: B010  # mypy takes methods for constants


def _spare_futile_work(litellm: ModuleType) -> None:
    """Have litellm leave out, in our calls, what comes to nothing: half of what a call costs.

    It looks for the price of a model that its list does not have with each answer anew, in eleven ways, and
    twice before each call for what else the list says of it; and it prepares each answer, in another thread,
    for callbacks that `no-log` then keeps it from. Calls of others in this process, which are not marked so,
    stay as they are. The OpenAI client goes through the type hints of each request to rename what is spelled
    otherwise on the wire, which nothing in a chat of plain texts is.

    What a version does not have where it was looked for is left alone.
    """
    internals = vars(litellm).get("litellm_core_utils")
    log = getattr(getattr(internals, "litellm_logging", None), "Logging", None)
    replacements = {
        "response_cost_calculator": _if_priced,
        "_response_cost_calculator": _if_priced,  # as versions before call it
        "success_handler": _if_logged,
    }
    for name, replacement in replacements.items():
        if original := getattr(log, name, None):
            setattr(log, name, functools.partialmethod(replacement, original))
    main = getattr(vars(litellm).get("main"), "__dict__", {})
    if look_up := main.get("get_model_info_helper"):
        main["get_model_info_helper"] = _unknown_once(look_up, lambda: len(litellm.model_cost))
    try:
        from openai._types import NotGiven, Omit
        from openai.resources.chat.completions import completions
    except ImportError:
        return
    if transform := vars(completions).get("maybe_transform"):
        vars(completions)["maybe_transform"] = functools.partial(_transformed, transform, (NotGiven, Omit))


def _unknown_once(look_up: Callable[..., Any], known: Callable[[], int]) -> Callable[..., Any]:
    """A look-up of models that remembers which ones it did not find, as long as so many are known."""
    unknown: set[tuple[object, ...]] = set()

    def found(model: str, custom_llm_provider: str | None = None, **values: Any) -> Any:
        asked = model, custom_llm_provider, known()
        if asked in unknown:
            raise ValueError(f"{model} is not in the list")
        try:
            return look_up(model=model, custom_llm_provider=custom_llm_provider, **values)
        except Exception:
            if len(unknown) < _MODELS:
                unknown.add(asked)
            raise

    return found


def _transformed(
    transform: Callable[[Any, Any], Any], left_out: tuple[type, ...], data: Any, hints: Any
) -> Any:
    """A request as it goes out: as it is, without what was not given, if it is a chat of plain texts.

    Args:
        left_out: what stands for a value that was not given.
    """
    if not (isinstance(data, dict) and _is_plain(data.get("messages"))):
        return transform(data, hints)
    given = {name: value for name, value in data.items() if not isinstance(value, left_out)}
    return given if given.keys() <= _PLAIN else transform(data, hints)


def _is_plain(messages: Any) -> bool:
    return isinstance(messages, list) and all(
        isinstance(message, dict) and all(isinstance(value, str) for value in message.values())
        for message in messages
    )


def _is_ours(log: Any) -> bool:
    return bool((getattr(log, "litellm_params", None) or {}).get("no-log"))


def _if_priced(log: Any, price: Callable[..., float | None], *args: Any, **values: Any) -> float | None:
    model = values.get("litellm_model_name") or log.model
    return None if _is_ours(log) and not has_price(model) else price(log, *args, **values)


def _if_logged(log: Any, tell: Callable[..., object], *args: Any, **values: Any) -> None:
    if not _is_ours(log):
        tell(log, *args, **values)


@functools.lru_cache(maxsize=_MODELS)
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
