"""Settings from command line, environment, file and store, with the origin of each."""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from graphrag_rdf.config import trust
from graphrag_rdf.config.elsewhere import meant
from graphrag_rdf.config.sections import ENV_PREFIX, Settings
from graphrag_rdf.errors import ConfigError, in_words, system_cause, without_credentials
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.section import Section
from graphrag_rdf.wing import in_words as lacking

log = logging.getLogger(__name__)

CONFIG_FILE = "graphrag.toml"
RETIRED = {
    "answers.history": later("a follow-up question sees the last 5 questions of its session"),
    "extract.entity_max_length": later("names have at most 120 characters"),
    "relations.sentence_window": later("entities co-occur in one sentence"),
    "server.outposts": later("connections no longer move between processes"),
    "server.queries_per_client": later("the limit is 64"),
}
"""Settings of earlier versions, and why they are gone. They are ignored, with a warning."""
LISTS = frozenset(
    {
        "llm.temperatures",
        "extract.entity_types",
        "extract.predicates",
        "extract.ontology",
        "server.allow_hosts",
        "server.cors",
        "server.allow_service",
        "server.trusted_proxies",
    }
)
"""Settings with comma-separated lists in the environment."""
Origin = Literal["command line", "program", "environment", "file", "store", "default"]
"""The origin of a setting; `program`: the Python program that opened the store."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings with the origin of each.

    Attributes:
        origins: dotted key → origin.
        file: the settings file; None without one.
        found: settings of a file in the current folder, which nobody named, dotted key → value.
    """

    settings: Settings
    origins: Mapping[str, Origin]
    file: Path | None
    found: Mapping[str, Any] = field(default_factory=dict)

    @property
    def untrusted(self) -> dict[str, tuple[Any, str]]:
        """Those of `found` that need trust and that the user does not trust, dotted key → (value, effect)."""
        return _untrusted(self.file, self.found) if self.file else {}

    def require_trust(self, *keys: str) -> None:
        """Refuse untrusted settings.

        Args:
            keys: the settings to look at; none for all.

        Raises:
            ConfigError: naming those that are not trusted, with the command that trusts them.
        """
        untrusted_values = {key: value for key, value in self.found.items() if not keys or key in keys}
        if self.file and (untrusted := _untrusted(self.file, untrusted_values)):
            raise _not_trusted(self.file, untrusted)


def given_settings(settings: Settings) -> Loaded:
    """Settings that a Python program created."""
    origins: dict[str, Origin] = dict.fromkeys(flat(settings.model_dump()), "default")
    origins.update(dict.fromkeys(explicit_values(settings), "program"))
    return Loaded(settings, origins, None)


def load_settings(
    file: Path | None = None, overrides: Mapping[str, Any] | None = None, *, require_trust: bool = True
) -> Loaded:
    """Read all settings.

    Args:
        file: a settings file, trusted because it is named; None reads `graphrag.toml` in the current folder
            if there is one.
        overrides: dotted key → value, from the command line; None is ignored.
        require_trust: False to show settings, or to ask; untrusted ones are in `Loaded.untrusted`.

    Raises:
        ConfigError: for a missing or malformed file, an unknown key, an invalid value, or an untrusted
            destination in a file of the current folder.
    """
    explicit = {key: value for key, value in (overrides or {}).items() if value is not None}
    path = file or (Path(CONFIG_FILE) if Path(CONFIG_FILE).is_file() else None)
    from_file = _without_retired(flat(_read(path)), path) if path else {}
    from_env = _without_retired(_environment(), None)
    merged = {**from_file, **from_env, **explicit}
    try:
        settings = Settings(**nested(merged))
    except ValidationError as error:
        unknown = (str(entry["loc"][-1]) for entry in error.errors() if entry["type"] == "extra_forbidden")
        hint = next((hint for key in unknown if (hint := meant(key, (), ""))), "")
        raise ConfigError(_explain(error, explicit, from_env, path), hint=hint) from error
    origins: dict[str, Origin] = dict.fromkeys(flat(settings.model_dump()), "default")
    for keys, origin in ((from_file, "file"), (from_env, "environment"), (explicit, "command line")):
        origins.update(dict.fromkeys(keys, origin))  # type: ignore[arg-type]
    from_untrusted = (
        {} if file else {key: value for key, value in from_file.items() if origins[key] == "file"}
    )
    loaded = Loaded(settings, origins, path, from_untrusted)
    if require_trust:
        loaded.require_trust()
    if path and not loaded.untrusted:
        for folder in trust.changed_folders(trust.place_of(path), from_untrusted):
            log.warning(tr("%s: prompts or templates changed since you trusted this folder"), folder)
    return loaded


def destinations(path: Path) -> dict[str, tuple[Any, str]]:
    """The settings of a file that the user does not trust yet; see `Loaded.untrusted`.

    Raises:
        ConfigError: see `load_settings`.
    """
    load_settings(path)  # raises for unknown keys and invalid values
    return _untrusted(path, _without_retired(flat(_read(path)), path))


def _untrusted(path: Path, values: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    place, folder = trust.place_of(path), path.parent.resolve()
    return {
        key: (value, does)
        for key, value in values.items()
        if (does := trust.effect(key, value, folder)) and not trust.is_trusted(place, key, value)
    }


def _not_trusted(path: Path, untrusted: Mapping[str, tuple[Any, str]]) -> ConfigError:
    lines = [f"{key} = {shown(key, value)} ({does})" for key, (value, does) in untrusted.items()]
    return ConfigError(
        tr(
            "{path} in the current folder has settings that you have not trusted: {lines}. Nothing was sent"
        ).format(path=path.absolute(), lines="; ".join(lines)),
        hint=tr(
            "read the file. If you trust it, run: graphrag-rdf config trust (or use --config {path})"
        ).format(path=path),
    )


def shown(key: str, value: Any) -> str:
    """A value as text, with asterisks for secrets, even in addresses."""
    if trust.is_secret(key):
        return "**********"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text.lower() if isinstance(value, bool) else without_credentials(text)


def flat_values(settings: Settings) -> dict[str, Any]:
    """Dotted key → value as in JSON, with asterisks for secrets, even in addresses."""
    values = flat(settings.model_dump(mode="json"))
    return {
        key: without_credentials(value) if isinstance(value, str) else value for key, value in values.items()
    }


def explicit_values(settings: Settings) -> dict[str, Any]:
    """Dotted key → value of the settings that were set explicitly."""
    values: dict[str, Any] = {}
    for name in settings.model_fields_set:
        value = getattr(settings, name)
        if isinstance(value, Section):
            values |= {f"{name}.{key}": getattr(value, key) for key in value.model_fields_set}
        else:
            values[name] = value
    return values


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(
            tr("cannot read {path}: {cause}").format(path=path, cause=system_cause(error))
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(tr("{path} is not valid TOML: {error}").format(path=path, error=error)) from error


def _environment() -> dict[str, Any]:
    values = {}
    for name, value in os.environ.items():
        if name.upper().startswith(ENV_PREFIX) and value:
            key = name[len(ENV_PREFIX) :].lower().replace("__", ".")
            values[key] = listed(value) if key in LISTS else value
    return values


def _without_retired(values: dict[str, Any], path: Path | None) -> dict[str, Any]:
    """Values of a file, or of the environment (None), without those that have no effect any more."""
    for key in RETIRED.keys() & values.keys():
        _warn_retired(str(path.absolute()) if path else _variable(key), key)
    return {key: value for key, value in values.items() if key not in RETIRED}


@cache  # a command may read its settings several times
def _warn_retired(place: str, key: str) -> None:
    log.warning("%s: the setting %s has no effect any more: %s. Delete it", place, key, RETIRED[key])


def _variable(key: str) -> str:
    """The environment variable of a setting."""
    return ENV_PREFIX + key.replace(".", "__").upper()


def listed(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            out |= flat(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = value
    return out


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in flat.items():
        *parents, last = key.split(".")
        table = out
        for parent in parents:
            table = table.setdefault(parent, {})
            if not isinstance(table, dict):
                raise ConfigError(tr("setting {key}: {parent} is not a table").format(key=key, parent=parent))
        table[last] = _none(value)
    return out


def _none(value: Any) -> Any:
    return None if isinstance(value, str) and value.lower() == "none" else value


def _wrong(problem: ErrorDetails) -> str:
    return tr("unknown setting") + lacking() if problem["type"] == "extra_forbidden" else in_words(problem)


def _explain(
    error: ValidationError, explicit: Mapping[str, Any], env: Mapping[str, Any], path: Path | None
) -> str:
    lines = []
    for problem in error.errors():
        key = ".".join(part for part in problem["loc"] if isinstance(part, str))
        item = next((f" {problem['input']!r}:" for part in problem["loc"] if isinstance(part, int)), "")
        if key in explicit:
            place = tr("command line")
        elif key in env:
            place = _variable(key)
        else:
            place = str(path) if path else tr("settings")
        lines.append(f"{place}: {key}:{item} {_wrong(problem)}")
    return "; ".join(lines)


_NOT_IN_A_STORE = (
    *("store", "collection", "queries", "pipelines", "trace.graph"),
    *("llm.api_base", "rerank.api_base", "extract.synonyms", "cache.max_bytes"),
)
"""Others than those of whole sections, see `Section.in_store`."""

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
    defaults = flat_values(Settings.model_construct())
    if key not in defaults:
        raise ConfigError(tr("unknown setting") + lacking(), meant(key, defaults, ALL_SETTINGS))
    if trust.is_secret(key) or (isinstance(value, str) and without_credentials(value) != value):
        raise ConfigError(
            tr("secrets cannot be stored in the store"), hint=tr("set it as an environment variable")
        )
    section = Settings.model_fields[key.partition(".")[0]].annotation
    if key in _NOT_IN_A_STORE or not getattr(section, "in_store", True):
        raise ConfigError(
            tr("this setting cannot be stored in the store"),
            hint=tr("set it in {config_file}").format(config_file=CONFIG_FILE),
        )
    if key in _MODELS and isinstance(value, str) and ("://" in value or value.startswith(("//", "\\\\"))):
        raise ConfigError(
            tr("a model's address cannot be stored in the store"),
            hint=tr("set it in {config_file}").format(config_file=CONFIG_FILE),
        )
    checked = listed(value) if key in LISTS and isinstance(value, str) else value
    try:
        return flat_values(Settings(**nested({key: checked})))[key]
    except ValidationError as error:
        raise ConfigError(_wrong(error.errors()[0])) from None
