"""Settings that the store keeps and that can be changed while the program runs.

Two kinds of keys: those of `config` (`documents.chunk_size`), except what is not for a store to say, and
parameters of the steps of pipelines (`graph_rag.exploration.passage_words`, `graph_rag.focus.use`). They are
read anew for each question; what somebody wrote into the store by SPARQL counts like what `config set` wrote.
Models are the exception: their names say where text is sent, so a model that the store names counts only
if the user of this computer set or trusted it (see `config.trust`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from graphrag_rdf.config import (
    Origin,
    Settings,
    check_stored,
    explicit_values,
    flat_values,
    is_setting,
    trust,
    with_stored,
)
from graphrag_rdf.errors import ConfigError, UsageError
from graphrag_rdf.ingest.stages import own_parameters
from graphrag_rdf.pipeline import Pipeline, load_pipeline, pipeline_names
from graphrag_rdf.resources import folder
from graphrag_rdf.store.settings import (
    Value,
    Version,
    newest,
    read_in_force,
    read_versions,
    unset,
    write_version,
)

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.config import Loaded
    from graphrag_rdf.store.base import Store


@dataclass(frozen=True, slots=True)
class InForce:
    """What holds for a question.

    Attributes:
        stored: what the store says, dotted key → value.
        settings: in place of defaults those of the user's own ingest pipeline, then those of the store; under
            what was given.
        untrusted: settings of the store that are ignored, because the user does not trust them.
        steps: pipeline → `step.parameter` → value as text.
        version: of what the store says; None when it never said anything, or when that cannot be kept.
    """

    stored: Mapping[str, Value]
    settings: Settings
    steps: Mapping[str, Mapping[str, str]]
    version: NamedNode | None
    untrusted: Mapping[str, Value] = field(default_factory=dict)


class LiveSettings:
    """Keeps what is in force in step with the store.

    Args:
        given: settings of command line, environment and file; they win.
        place: what the store is called where trust is recorded.
        writable: whether a version may be written for what somebody changed by SPARQL.
    """

    def __init__(self, store: Store, given: Settings, place: str, *, writable: bool) -> None:
        self._store = store
        self._given = given
        self._place = place
        self._writable = writable
        self._lock = RLock()
        self._folders = pipeline_folders(given)
        self._unread = True
        self.now = InForce({}, given, {}, None)

    def read(self) -> InForce:
        """What is in force now. A state that nobody has seen yet becomes a version.

        Raises:
            ConfigError: when the store says what cannot be, naming key and value.
        """
        with self._lock:
            stored = read_in_force(self._store)
            if self._unread or stored != self.now.stored or self.now.untrusted:
                values = self._checked(stored)
                untrusted = self._untrusted(values)
                counted = {k: v for k, v in _settings(values).items() if k not in untrusted}
                settings = with_stored(self._given, {**own_parameters(self._given), **counted})
                self.now = InForce(stored, settings, _steps(values), self._version(stored), untrusted)
                self._unread = False
            return self.now

    def trust(self) -> Mapping[str, Value]:
        """Trust what the store says now, on this computer; what was not trusted before.

        Raises:
            ConfigError: as `read`; or trust cannot be recorded.
        """
        untrusted = self.read().untrusted
        if untrusted:
            trust.trust(self._place, untrusted)
            self._unread = True
        return untrusted

    def _untrusted(self, values: Mapping[str, Value]) -> dict[str, Value]:
        given = explicit_values(self._given)
        return {
            key: value
            for key, value in values.items()
            if trust.effect(key, value, None)
            and key not in given
            and not trust.is_trusted(self._place, key, value)
        }

    def set(self, key: str, text: str) -> tuple[Value, bool]:
        """Put a value into force; the value as it was understood, and whether that changed anything.

        Raises:
            ConfigError: when key or value are wrong, or what the store says beside it.
        """
        try:
            value = check_value(key, text, self._folders)
        except ConfigError as error:
            raise ConfigError(f"{key}: {error.message}", hint=error.hint) from error
        with self._lock:
            stored = self.read().stored
            changes = key not in stored or stored[key] != value
            if changes:
                self._write({**stored, key: value}, f"config set {key} {_text(value)}")
        return value, changes

    def change(self, values: Mapping[str, Value], reason: str) -> None:
        """Put several values into force at once, as one version.

        Args:
            values: dotted key → value; None takes a setting out.
            reason: what made it, in words.

        Raises:
            ConfigError: as `set`; nothing is changed then.
        """
        with self._lock:
            left = {key: value for key, value in self.read().stored.items() if key not in values}
            put = {key: value for key, value in values.items() if value is not None}
            self._write({**left, **self._checked(put)}, reason)

    def unset(self, key: str) -> None:
        """Take a setting out, whatever its value.

        Raises:
            UsageError: when the store does not keep it.
        """
        with self._lock:
            if not unset(self._store, key):
                raise UsageError(f"the store keeps no setting {key}", hint="graphrag-rdf config list")
            self._unread = True
            try:
                left = read_in_force(self._store)
            except ConfigError:
                return  # another one is malformed: there is a version again once that is mended
            self._write(left, f"config unset {key}")

    def restore(self, number: int) -> tuple[Mapping[str, Value], bool]:
        """Put an earlier version into force again, as a new one; what it holds, and whether that changed
        anything.

        Raises:
            UsageError: when there is no such version, or somebody altered it.
            ConfigError: when it holds what this program does not take.
        """
        found = next((version for version in self.history() if version.number == number), None)
        if found is None or found.altered:
            what = "there is no version" if found is None else "somebody altered version"
            raise UsageError(f"{what} {number} of the settings", hint="graphrag-rdf config history")
        self._checked(found.values)
        with self._lock:
            try:
                changes = read_in_force(self._store) != found.values
            except ConfigError:
                changes = True  # what is malformed goes
            if changes:
                self._write(found.values, f"config restore {number}")
        return found.values, changes

    def _write(self, values: Mapping[str, Value], reason: str) -> None:
        write_version(self._store, values, reason)
        self._unread = True

    def history(self) -> list[Version]:
        """All versions, the newest first."""
        return read_versions(self._store)

    def _checked(self, stored: Mapping[str, Value]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key, value in stored.items():
            try:
                found[key] = check_value(key, value, self._folders)
            except ConfigError as error:
                said = key if "secret" in error.message else f"{key} = {_text(value)}"
                way = f"; {error.hint}" if error.hint else ""
                raise ConfigError(
                    f"settings in the store: {said}: {error.message}{way}",
                    hint=f"graphrag-rdf config unset {key}",
                ) from error
        return found

    def _version(self, stored: Mapping[str, Value]) -> NamedNode | None:
        kept = newest(self._store)
        if kept is not None and kept[2] == stored:
            return kept[0]
        if not self._writable or (kept is None and not stored):
            return None
        return write_version(self._store, stored, "changed in the store")


def pipeline_folders(settings: Settings) -> list[Path]:
    """Where pipelines are; later folders override earlier ones."""
    return [folder("pipelines"), *([settings.pipelines] if settings.pipelines else [])]


def check_value(key: str, value: Value, folders: Sequence[Path]) -> Value:
    """A setting for the store: its value as JSON has it.

    Args:
        key: of `config`, or `pipeline.step.parameter`.
        value: as JSON has it, or as text.
        folders: see `pipeline_folders`.

    Raises:
        ConfigError: naming what is wrong, without key and value.
    """
    name, _, parameter = key.partition(".")
    if name not in (pipelines := pipeline_names(folders)) and not is_setting(key):
        parameters = [k for p in pipelines for k in step_values(load_pipeline(p, folders))]
        if meant := [full for full in parameters if full.partition(".")[2] == key]:
            raise ConfigError("there is no such setting", hint=f"did you mean {' or '.join(meant)}?")
    if is_setting(name) or name not in pipelines:
        found: Value = check_stored(key, value)
        return found
    if not parameter:
        raise ConfigError("this is a pipeline", hint=f"name a parameter: {name}.STEP.PARAMETER")
    changed = load_pipeline(name, folders).with_settings({parameter: _text(value)})
    return step_values(changed)[key]


def step_values(pipeline: Pipeline) -> dict[str, bool | int | float | str]:
    """`pipeline.step.parameter` → value."""
    name = pipeline.definition.name
    return {
        f"{name}.{step.name}.{parameter}": value
        for step in pipeline.definition.steps
        for parameter, value in {"use": step.use or step.kind.default, **step.values()}.items()
    }


def describe(loaded: Loaded, now: InForce | None) -> dict[str, dict[str, Any]]:
    """Every setting and every parameter of every pipeline, with its value and origin.

    Args:
        now: what the store says; None without a store.
    """
    stored = now.stored if now else {}
    own = own_parameters(loaded.settings)
    values = flat_values(now.settings if now else with_stored(loaded.settings, own))
    found: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        origin: Origin = loaded.origins[key]
        if origin == "default" and key in stored and key not in (now.untrusted if now else ()):
            origin = "store"
        elif origin == "default" and key in own:
            origin = "file"
        found[key] = {"value": value, "origin": origin}
    folders = pipeline_folders(loaded.settings)
    for name in pipeline_names(folders):
        pipeline = load_pipeline(name, folders)
        written: Origin = "default" if pipeline.folder.parent == folders[0] else "file"
        pipeline = pipeline.with_settings(now.steps.get(name, {}) if now else {})
        for key, value in step_values(pipeline).items():
            found[key] = {"value": value, "origin": "store" if key in stored else written}
    return found


def _settings(values: Mapping[str, Value]) -> dict[str, Value]:
    return {key: value for key, value in values.items() if is_setting(key)}


def _steps(values: Mapping[str, Value]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for key, value in values.items():
        if not is_setting(key):
            name, _, parameter = key.partition(".")
            found.setdefault(name, {})[parameter] = _text(value)
    return found


def _text(value: Value) -> str:
    """A value as the command line would have it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
