"""Settings in the store, as RDF in `urn:graph:system`.

The current ones are nodes of the store (`store rag:setting s . s rag:settingKey … ; rag:settingValue …`).
Changing these triples in any way changes the settings. Each former state is stored as a version. Its IRI
depends on its content, so that later changes to it are detected. `live_settings` knows the keys and values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, STORE_NODE, Graphs
from graphrag_rdf.rdf.terms import Term, datetime_, double, integer, now, string, text_of, to_python
from graphrag_rdf.store.base import Changes, Row, Store

Value: TypeAlias = bool | int | float | str | list[str] | None
"""A value as in JSON."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the settings.

    Attributes:
        number: from 1.
        reason: what created it, in words.
        values: dotted key → value.
        altered: whether its content was changed after it was written.
    """

    iri: NamedNode
    number: int
    made: datetime
    reason: str
    values: Mapping[str, Value]
    altered: bool


def read_in_force(store: Store) -> dict[str, Value]:
    """Dotted key → value in the store, not validated.

    Raises:
        ConfigError: when a setting lacks its key or value, has several, or has one that is not a literal.
    """
    values: dict[str, Value] = {}
    for row in store.select("settings/in-force"):
        if row["key"] is None:
            raise ConfigError(
                tr("invalid setting in the store: {setting} has no rag:settingKey").format(
                    setting=row["setting"]
                ),
                hint=tr("delete it from urn:graph:system, or add a key"),
            )
        key = row["key"]
        hint = f"graphrag-rdf config unset {key}"
        if row["value"] is None:
            raise ConfigError(
                tr("invalid setting in the store: {key} has no rag:settingValue").format(key=key), hint=hint
            )
        value = _value(key, row["value"], hint)
        if key in values and values[key] != value:
            raise ConfigError(
                tr("invalid setting in the store: {key} has two values, {found!r} and {value!r}").format(
                    key=key, found=values[key], value=value
                ),
                hint=hint,
            )
        values[key] = value
    return values


def unset(store: Store, key: str) -> bool:
    """Delete a setting, whatever its value, without a version; whether it existed."""
    rows = store.select("settings/in-force")
    if not any(row["key"] == key for row in rows):
        return False
    store.commit(Changes(updates=[("settings/unset", {"key": key})], content=False))
    return True


def newest(store: Store) -> tuple[NamedNode, int, dict[str, Value]] | None:
    """The newest version: its IRI, number and values; None without versions."""
    rows = store.select("settings/newest")
    if not rows:
        return None
    iri, number = rows[0]["version"], _number(rows[0])
    values = _contents(store, [iri]).get(iri, {})
    return iri, number, values


def read_versions(store: Store) -> list[Version]:
    """All versions, newest first."""
    rows = store.select("settings/versions")
    contents = _contents(store, [row["version"] for row in rows]) if rows else {}
    versions = []
    for row in rows:
        iri, number = row["version"], _number(row)
        values = contents.get(iri, {})
        altered = iri != _version_iri(number, values)
        versions.append(Version(iri, number, row["made"], row["reason"] or "", values, altered))
    return versions


def write_version(store: Store, values: Mapping[str, Value], reason: str) -> NamedNode:
    """Replace all settings, as a new version; return its IRI.

    Args:
        values: dotted key → value of all settings; others are deleted.
        reason: what created the version, in words.
    """
    before = newest(store)
    number = before[1] + 1 if before else 1
    version = _version_iri(number, values)
    facts: list[tuple[NamedNode, NamedNode, Term]] = [
        (STORE_NODE, RAG.settings, version),
        (version, RDF.type, RAG.Settings),
        (version, RAG.settingsVersion, integer(number)),
        (version, PROV.generatedAtTime, datetime_(now())),
        (version, RAG.reason, string(reason)),
    ]
    if before:
        facts.append((version, PROV.wasRevisionOf, before[0]))
    for key in sorted(values):
        owned = ((STORE_NODE, iris.setting(key)), (version, iris.setting_of(version, key)))
        for owner, node in owned:
            facts += [
                (owner, RAG.setting, node),
                (node, RDF.type, RAG.Setting),
                (node, RAG.settingKey, string(key)),
                (node, RAG.settingValue, _term(values[key])),
            ]
    add = [Quad(s, p, o, Graphs.SYSTEM) for s, p, o in facts]
    store.commit(Changes(updates=[("settings/replace", {})], add=add, content=False))
    return version


def _version_iri(number: int, values: Mapping[str, Value]) -> NamedNode:
    return iris.settings_version(number, json.dumps(values, sort_keys=True))


def _contents(store: Store, versions: Sequence[NamedNode]) -> dict[NamedNode, dict[str, Value]]:
    contents: dict[NamedNode, dict[str, Value]] = {}
    for row in store.select("settings/of-versions", versions=versions):
        key = row["key"]
        contents.setdefault(row["version"], {})[key] = _value(key, row["value"], None)
    return contents


def _value(key: str, term: Term, hint: str | None) -> Value:
    if not isinstance(term, Literal):
        raise ConfigError(
            tr("invalid setting in the store: {key} = {term} is not a literal").format(
                key=key, term=text_of(term)
            ),
            hint=hint,
        )
    if term.datatype == RDF.JSON:
        try:
            value = json.loads(term.value)
        except ValueError as error:
            raise ConfigError(
                tr("invalid setting in the store: {key} = {term} is not JSON").format(
                    key=key, term=term.value
                ),
                hint=hint,
            ) from error
        if isinstance(value, list):
            return [str(item) for item in value]
        return value if isinstance(value, bool | int | float | str | None) else term.value
    read = to_python(term)
    return read if isinstance(read, bool | int | float | str) else term.value


def _term(value: Value) -> Term:
    if isinstance(value, bool):
        return Literal(value)
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return double(value)
    if isinstance(value, str):
        return string(value)
    return Literal(json.dumps(value, ensure_ascii=False), datatype=RDF.JSON)


def _number(row: Row) -> int:
    number = to_python(row["number"])
    return number if isinstance(number, int) else 0
