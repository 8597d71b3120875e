"""Settings in the store (see `live_settings`): which can be stored, and their effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from graphrag_rdf.config import trust
from graphrag_rdf.config.loading import CONFIG_FILE, LISTS, WHAT, explicit_values, flat_values, listed, nested
from graphrag_rdf.config.sections import Settings
from graphrag_rdf.errors import ConfigError, did_you_mean, without_credentials

_NOT_IN_A_STORE = (
    *("store", "collection", "queries", "pipelines", "server", "client", "remote", "trace.graph"),
    *("llm.api_base", "rerank.api_base", "extract.synonyms", "extract.ontology", "cache.max_bytes"),
)
"""Settings of locations, of this computer's resources, and of permissions: write access to a store is not
enough to change them."""

ALL_SETTINGS = "graphrag-rdf config list shows all settings"
_MODELS = ("llm.model", "embedding.model", "rerank.model")


def with_stored(settings: Settings, stored: Mapping[str, Any]) -> Settings:
    """Settings with those of the store instead of defaults.

    Args:
        stored: dotted key → value, each accepted by `check_stored`.
    """
    return Settings(**nested({**stored, **explicit_values(settings)})) if stored else settings


def is_setting(key: str) -> bool:
    """Whether there is a setting, or a section, of this name."""
    return key in flat_values(Settings.model_construct()) or key in Settings.model_fields


def check_stored(key: str, value: Any) -> Any:
    """The value of a setting for the store, as in JSON.

    Args:
        key: dotted.
        value: as in JSON, or as text.

    Raises:
        ConfigError: when the setting is unknown, a secret, or cannot be stored, or the value is invalid; the
            message does not contain the value.
    """
    known = flat_values(Settings.model_construct())
    if key not in known:
        raise ConfigError("unknown setting", did_you_mean(key, known, ALL_SETTINGS))
    if trust.is_secret(key) or (isinstance(value, str) and without_credentials(value) != value):
        raise ConfigError("secrets cannot be stored in the store", hint="set it as an environment variable")
    if any(key == name or key.startswith(f"{name}.") for name in _NOT_IN_A_STORE):
        raise ConfigError("this setting cannot be stored in the store", hint=f"set it in {CONFIG_FILE}")
    if key in _MODELS and isinstance(value, str) and ("://" in value or value.startswith(("//", "\\\\"))):
        raise ConfigError("a model's address cannot be stored in the store", hint=f"set it in {CONFIG_FILE}")
    given = listed(value) if key in LISTS and isinstance(value, str) else value
    try:
        return flat_values(Settings(**nested({key: given})))[key]
    except ValidationError as error:
        problem = error.errors()[0]
        raise ConfigError(WHAT.get(problem["type"], problem["msg"])) from None
