"""Settings in the store, which can change while the program runs.

There are two kinds of keys: those of `config` (`documents.chunk_size`), except those that cannot be stored,
and parameters of the steps of pipelines (`graph_rag.exploration.passage_words`, `graph_rag.focus.use`). They
are read for each question, whether `config set` or a SPARQL update wrote them. A model decides where text is
sent, so a model in the store has an effect only if the user of this computer set or trusted it (see
`config.trust`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from graphrag_rdf.config import (
    RETIRED,
    Origin,
    Settings,
    check_stored,
    explicit_values,
    flat_values,
    is_setting,
    trust,
    with_stored,
)
from graphrag_rdf.errors import ConfigError, UnknownParameterError, UsageError, alternatives
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.stages import own_parameters
from graphrag_rdf.pipeline import Pipeline, all_pipelines, load_pipeline, pipeline_names
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
from graphrag_rdf.wing import absent, data_folders
from graphrag_rdf.wing import in_words as lacking

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.config import Loaded
    from graphrag_rdf.store.base import Store


@dataclass(frozen=True, slots=True)
class InForce:
    """The settings of a question.

    Attributes:
        stored: what the store says, dotted key → value.
        settings: in place of defaults those of the user's own ingest pipeline, then those of the store; under
            what was given.
        untrusted: settings of the store that are ignored, because the user does not trust them.
        ignored: settings of the store that an earlier version of the program had, or of wings that are not
            installed, dotted key → why they have no effect.
        steps: pipeline → `step.parameter` → value as text.
        version: of the settings in the store; None if it never had any, or if versions cannot be written.
    """

    stored: Mapping[str, Value]
    settings: Settings
    steps: Mapping[str, Mapping[str, str]]
    version: NamedNode | None
    untrusted: Mapping[str, Value] = field(default_factory=dict)
    ignored: Mapping[str, str] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """What `ignored` holds, for people."""
        note = tr("{key} in the store has no effect: {why}. Remove it: graphrag-rdf config unset {key}")
        return [note.format(key=key, why=why) for key, why in self.ignored.items()]


class LiveSettings:
    """Reads and changes the settings in the store.

    Args:
        given: settings of command line, environment and file, which override those of the store.
        place: name of the store where trust is recorded.
        writable: whether a version may be written after a change by SPARQL.
    """

    def __init__(self, store: Store, settings: Settings, place: str, *, writable: bool) -> None:
        self._store = store
        self._given = settings
        self.place = place
        self._writable = writable
        self._lock = RLock()
        self._folders = pipeline_folders(settings)
        self._unread = True
        self.now = InForce({}, settings, {}, None)

    def read(self) -> InForce:
        """The current settings. A new state becomes a version.

        Raises:
            ConfigError: for an invalid setting in the store, with key and value.
        """
        with self._lock:
            stored = read_in_force(self._store)
            if self._unread or stored != self.now.stored or self.now.untrusted:
                values, ignored = self._known(stored)
                untrusted = self._untrusted(values)
                counted = {k: v for k, v in _settings(values).items() if k not in untrusted}
                settings = with_stored(self._given, {**own_parameters(self._given), **counted})
                version = self._version(stored)
                self.now = InForce(stored, settings, _steps(values), version, untrusted, ignored)
                self._unread = False
            return self.now

    def trust(self) -> Mapping[str, Value]:
        """Trust the current settings of the store, on this computer; return those that were not trusted
        before.

        Raises:
            ConfigError: as `read`, or when trust cannot be recorded.
        """
        untrusted = self.read().untrusted
        if untrusted:
            trust.trust(self.place, untrusted)
            self._unread = True
        return untrusted

    def _untrusted(self, values: Mapping[str, Value]) -> dict[str, Value]:
        explicit = explicit_values(self._given)
        return {
            key: value
            for key, value in values.items()
            if trust.effect(key, value, None)
            and key not in explicit
            and not trust.is_trusted(self.place, key, value)
        }

    def set(self, key: str, text: str) -> tuple[Value, bool]:
        """Set a value; return the parsed value, and whether that changed anything.

        Raises:
            ConfigError: when the key or value is invalid, or another setting in the store.
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
        """Change several settings, as one version.

        Args:
            values: dotted key → value; None deletes a setting.
            reason: in words.

        Raises:
            ConfigError: as `set`; then nothing is changed.
        """
        with self._lock:
            unchanged = {key: value for key, value in self.read().stored.items() if key not in values}
            put = {key: value for key, value in values.items() if value is not None}
            self._write({**unchanged, **self._checked(put)}, reason)

    def unset(self, key: str) -> None:
        """Delete a setting, whatever its value.

        Raises:
            UsageError: when the store does not have it.
        """
        with self._lock:
            if not unset(self._store, key):
                raise UsageError(
                    tr("the store has no setting {key}").format(key=key),
                    hint=tr("graphrag-rdf config list shows all settings"),
                )
            self._unread = True
            try:
                stored = read_in_force(self._store)
            except ConfigError:
                return  # another setting is invalid; a version is written after its correction
            self._write(stored, f"config unset {key}")

    def restore(self, number: int) -> tuple[Mapping[str, Value], bool]:
        """Restore an earlier version, as a new one; return its values, and whether that changed anything.

        Raises:
            UsageError: when there is no such version, or it was altered.
            ConfigError: when it has settings that are invalid in this version of the program.
        """
        version = next((version for version in self.history() if version.number == number), None)
        hint = tr("graphrag-rdf config history lists the versions")
        if version is None:
            raise UsageError(tr("the settings have no version {number}").format(number=number), hint)
        if version.altered:
            raise UsageError(
                tr("version {number} of the settings was altered after it was written").format(number=number),
                hint,
            )
        self._checked(version.values)
        with self._lock:
            try:
                changes = read_in_force(self._store) != version.values
            except ConfigError:
                changes = True  # the invalid setting is replaced
            if changes:
                self._write(version.values, f"config restore {number}")
        return version.values, changes

    def _write(self, values: Mapping[str, Value], reason: str) -> None:
        write_version(self._store, values, reason)
        self._unread = True

    def history(self) -> list[Version]:
        """All versions, newest first."""
        return read_versions(self._store)

    def _known(self, stored: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, str]]:
        """The settings that this version of the program has, and why it ignores the others."""
        valid: dict[str, Value] = {}
        ignored: dict[str, str] = {}
        for key, value in stored.items():
            try:
                if key in RETIRED:
                    ignored[key] = tr(RETIRED[key])
                elif absent() and not self._is_here(key):
                    ignored[key] = tr("unknown setting") + lacking()
                else:
                    valid |= self._checked({key: value})
            except ConfigError as error:
                if not isinstance(error.__cause__, UnknownParameterError):
                    raise
                ignored[key] = error.__cause__.message
        return valid, ignored

    def _is_here(self, key: str) -> bool:
        """Whether this installation has a setting, or the pipeline of a parameter."""
        names = (pipeline.definition.name for pipeline in all_pipelines(self._folders))
        return is_setting(key) or key.partition(".")[0] in names

    def _checked(self, stored: Mapping[str, Value]) -> dict[str, Value]:
        checked: dict[str, Value] = {}
        for key, value in stored.items():
            try:
                checked[key] = check_value(key, value, self._folders)
            except ConfigError as error:
                setting = key if "secret" in error.message else f"{key} = {_text(value)}"
                cause = f"{error.message} ({error.hint})" if error.hint else error.message
                raise ConfigError(
                    tr("invalid setting in the store: {said}: {cause}").format(said=setting, cause=cause),
                    hint=tr("remove it with: graphrag-rdf config unset {key}").format(key=key),
                ) from error
        return checked

    def _version(self, stored: Mapping[str, Value]) -> NamedNode | None:
        kept = newest(self._store)
        if kept is not None and kept[2] == stored:
            return kept[0]
        if not self._writable or (kept is None and not stored):
            return None
        return write_version(self._store, stored, "changed in the store")


def pipeline_folders(settings: Settings) -> list[Path]:
    """The folders of pipelines; later ones override earlier ones."""
    own = [settings.pipelines] if settings.pipelines else []
    return [folder("pipelines"), *data_folders("pipelines"), *own]


def check_value(key: str, value: Value, folders: Sequence[Path]) -> Value:
    """The value of a setting for the store, as in JSON.

    Args:
        key: of `config`, or `pipeline.step.parameter`.
        value: as in JSON, or as text.
        folders: see `pipeline_folders`.

    Raises:
        ConfigError: for an invalid key or value; the message contains neither.
    """
    name, _, parameter = key.partition(".")
    if name not in (pipelines := pipeline_names(folders)) and not is_setting(key):
        parameters = [k for p in all_pipelines(folders) for k in step_values(p)]
        if meant := [full for full in parameters if full.partition(".")[2] == key]:
            raise ConfigError(
                tr("unknown setting"), hint=tr("did you mean {names}?").format(names=alternatives(meant))
            )
    if is_setting(name) or name not in pipelines:
        checked: Value = check_stored(key, value)
        return checked
    if not parameter:
        raise ConfigError(
            tr("this is a pipeline, not a setting"),
            hint=tr("name a parameter: {name}.STEP.PARAMETER").format(name=name),
        )
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


def describe(loaded: Loaded, in_force: InForce | None) -> dict[str, dict[str, Any]]:
    """Every setting and every parameter of every pipeline, with its value and origin.

    Args:
        in_force: the settings of the store; None without a store.
    """
    stored = in_force.stored if in_force else {}
    own = own_parameters(loaded.settings)
    values = flat_values(in_force.settings if in_force else with_stored(loaded.settings, own))
    described: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        origin: Origin = loaded.origins[key]
        if origin == "default" and key in stored and key not in (in_force.untrusted if in_force else ()):
            origin = "store"
        elif origin == "default" and key in own:
            origin = "file"
        described[key] = {"value": value, "origin": origin}
    folders = pipeline_folders(loaded.settings)
    for pipeline in all_pipelines(folders):
        name = pipeline.definition.name
        written: Origin = "default" if pipeline.folder.parent == folders[0] else "file"
        shown = pipeline.with_settings(in_force.steps.get(name, {}) if in_force else {})
        for key, value in step_values(shown).items():
            is_stored = key in stored and key not in (in_force.ignored if in_force else ())
            described[key] = {"value": value, "origin": "store" if is_stored else written}
    return described


def _settings(values: Mapping[str, Value]) -> dict[str, Value]:
    return {key: value for key, value in values.items() if is_setting(key)}


def _steps(values: Mapping[str, Value]) -> dict[str, dict[str, str]]:
    by_pipeline: dict[str, dict[str, str]] = {}
    for key, value in values.items():
        if not is_setting(key):
            name, _, parameter = key.partition(".")
            by_pipeline.setdefault(name, {})[parameter] = _text(value)
    return by_pipeline


def _text(value: Value) -> str:
    """A value as on the command line."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
