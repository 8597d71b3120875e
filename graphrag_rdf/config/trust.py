"""Trust in settings that decide where text and secrets are sent, and which programs run.

The current folder may come from someone else (a cloned repository), and others may write to a store. Their
settings of a destination, a credential, or permissions have an effect only if the user trusts that value. For
a folder of pipelines, trust also covers the programs and addresses in its files. Prompts and templates run in
a sandbox, so a change of these is only reported.
Trust is recorded in the user's own configuration folder, never next to the trusted file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path, PureWindowsPath
from typing import Any

from graphrag_rdf.config.sections import Settings
from graphrag_rdf.errors import ConfigError, system_cause, without_credentials
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.loopback import is_loopback

_TEXT = later("documents and questions are sent there, with the provider's key")
_SERVER = later("documents and questions are sent there, with the token")
_STORE = later("documents and questions are sent there, with the password or token of the endpoint")
_ENDPOINTS = later("queries with words of questions and values of facts are sent there")
_ACCOUNT = later("the owner of this credential can see everything that is sent")
_QUERIES = later("its query templates read and change the store")
_OUTSIDE = later("files outside the folder of this file are read or written")
_CLIENTS = later("it decides which clients can reach and change a served store")

_MODELS_WITHIN = ("lexical", "vector")
_EFFECTS: Mapping[str, str] = {
    "llm.model": _TEXT,
    "llm.api_base": _TEXT,
    "llm.api_key": _ACCOUNT,
    "embedding.model": _TEXT,
    "rerank.model": _TEXT,
    "rerank.api_base": _TEXT,
    "queries": _QUERIES,
    "client.server": _SERVER,
    "client.token": _ACCOUNT,
    "client.token_file": _ACCOUNT,
    "federation.endpoints": _ENDPOINTS,
    "remote.query_url": _STORE,
    "remote.update_url": _STORE,
    "remote.user": _ACCOUNT,
    "remote.password": _ACCOUNT,
    "remote.token": _ACCOUNT,
    "server.host": _CLIENTS,
    "server.allow_hosts": _CLIENTS,
    "server.cors": _CLIENTS,
    "server.anonymous": _CLIENTS,
    "server.token_file": _CLIENTS,
    "server.read_token": _CLIENTS,
    "server.write_token": _CLIENTS,
    "server.admin_token": _CLIENTS,
    "server.ingest_folder": _CLIENTS,
    "server.allow_service": _CLIENTS,
    "server.trusted_proxies": _CLIENTS,
}
_PATHS = ("store", "pipelines", "extract.synonyms", "remote.folder")
"""Settings with a path, which is harmless within the folder of the settings file (see `effect`)."""
_HARMLESS: Mapping[str, Callable[[Any], bool]] = {
    "server.host": is_loopback,
    "server.anonymous": lambda role: role in ("nothing", "read"),
}
_NAMES_A_MODEL = ("embedding.model", "rerank.model")
_OF_A_SERVER = ("command", "env", "url", "token_env")
"""What a tool of type mcp in a tools.yaml starts, or sends text to, and with what secrets."""
_REPORTED = {"pipelines": "*/*", "queries": "**/*.r[qu]"}
"""Settings with a folder → its files, whose change is reported."""


def effect(key: str, value: Any, folder: Path | None) -> str | None:
    """The effect of a setting that needs trust; None for a harmless one.

    Args:
        key: dotted.
        value: as in TOML or JSON.
        folder: of the settings file, where relative paths are harmless; None for a setting in a store.
    """
    if not value or value == "none":
        return None
    if key in _PATHS:
        if key == "store" and "://" in value:
            return tr(_STORE)
        effects = [] if _is_within(str(value), folder) else [tr(_OUTSIDE)]
        if key == "pipelines":
            effects += dict.fromkeys(_in_words(server) for server in _servers(Path(folder or "") / value))
        return "; ".join(effects) or None
    if key == "validation.shapes":
        files = [each for each in ([value] if isinstance(value, str) else value) if not _is_iri(each)]
        return None if all(_is_within(str(each), folder) for each in files) else tr(_OUTSIDE)
    if key in _NAMES_A_MODEL:
        if value in _MODELS_WITHIN:
            return None
        scheme, _, place = str(value).partition(":")
        if scheme == "local":
            return None if _is_within(place, folder) else tr(_OUTSIDE)
    if key in _HARMLESS and _HARMLESS[key](value):
        return None
    return tr(_EFFECTS.get(key, "")) or None


def _is_iri(source: str) -> bool:
    return source.startswith("urn:") or "://" in source


def _is_within(path: str, folder: Path | None) -> bool:
    """Whether a path is within a folder; a network share never is."""
    if folder is None or path.startswith(("~", "//", "\\")) or PureWindowsPath(path).drive:
        return False
    return (folder / path).resolve().is_relative_to(folder.resolve())


def _servers(folder: Path) -> list[Mapping[str, Any]]:
    """The MCP servers that agents in a folder of pipelines use, and the files that cannot be read."""
    import yaml

    servers: list[Mapping[str, Any]] = []
    for path in sorted(folder.glob("*/tools.yaml")):
        try:
            data = path.read_bytes()
            tools = [tool for tool in yaml.safe_load(data.decode("utf-8")) or () if tool.get("type") == "mcp"]
            servers += [{key: tool[key] for key in _OF_A_SERVER if tool.get(key)} for tool in tools]
        except (OSError, ValueError, yaml.YAMLError, AttributeError, TypeError) as error:
            text = data if not isinstance(error, OSError) else b""
            servers.append({"unreadable": str(path), "hash": hashlib.sha256(text).hexdigest()})
    return servers


def _in_words(server: Mapping[str, Any]) -> str:
    """The effect of an MCP server, or of an unreadable file."""
    if "unreadable" in server:
        return tr("{path} is invalid: what it starts is unknown").format(path=server["unreadable"])
    words = {key: value if isinstance(value, list) else [value] for key, value in server.items()}
    effects = []
    if "command" in words:
        command = shlex.join(map(str, words["command"]))
        effects.append(tr("starts the program `{command}`").format(command=command))
    if "url" in words:
        url = without_credentials(" ".join(map(str, words["url"])))
        effects.append(tr("sends text to {url}").format(url=url))
    if secrets := [*words.get("env", ()), *words.get("token_env", ())]:
        names = " ".join(map(str, secrets))
        effects.append(tr("passes the environment variables {names}").format(names=names))
    return ", ".join(effects)


# --- what the user trusts ------------------------------------------------------------------------


def trust_file() -> Path:
    """Where trust is recorded: `trusted.json` in the user's configuration folder for this program.

    Raises:
        ConfigError: the user has no such folder.
    """
    import click

    folder = Path(click.get_app_dir("graphrag-rdf"))
    if not folder.is_absolute():  # it would be relative to the current folder
        raise ConfigError(
            tr("the configuration folder {folder} is not absolute").format(folder=folder),
            hint=tr("set XDG_CONFIG_HOME"),
        )
    return folder / "trusted.json"


def place_of(path: Path) -> str:
    """The name under which trust in a file or store folder is recorded; a link is not resolved."""
    return os.path.normcase(path.parent.resolve() / path.name)


def is_trusted(place: str, key: str, value: Any) -> bool:
    """Whether the user trusts this value of a setting in a file or store.

    Raises:
        ConfigError: the record cannot be read.
    """
    return _read().get(place, {}).get(key) == _noted(place, key, value)


def trust(place: str, values: Mapping[str, Any]) -> None:
    """Record that the user trusts these values, dotted key → value, in a file or store.

    Raises:
        ConfigError: the record cannot be read or written.
    """
    trusted = _read()
    noted = {key: _noted(place, key, value) for key, value in values.items()}
    trusted[place] = trusted.get(place, {}) | noted | _files(place, values)
    _write(trusted)


def changed_folders(place: str, values: Mapping[str, Any]) -> list[Any]:
    """The trusted folders whose prompts or templates changed since they were trusted, each once for a change.

    Args:
        values: the settings of a file, dotted key → value.

    Raises:
        ConfigError: the record cannot be read.
    """
    if not _REPORTED.keys() & values.keys():
        return []
    trusted = _read()
    before = trusted.get(place, {})
    current = _files(place, {key: value for key, value in values.items() if key in before})
    if new := {key: noted for key, noted in current.items() if before.get(key) != noted}:
        with suppress(ConfigError):  # where the record cannot be written, the change is reported again
            _write(trusted | {place: before | new})
    return [values[key.partition(" ")[0]] for key in new if key in before]


def _files(place: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Hashes of the files whose change is reported, as in the record."""
    hashes = {}
    for key in _REPORTED.keys() & values.keys():
        hashed = hashlib.sha256()
        folder = Path(place).parent / values[key]
        for path in sorted(path for path in folder.glob(_REPORTED[key]) if path.is_file()):
            hashed.update(f"{path.relative_to(folder)}\0".encode("utf-8", "surrogatepass"))
            with suppress(OSError):
                hashed.update(path.read_bytes())
        hashes[f"{key} files"] = hashed.hexdigest()
    return hashes


def distrust(place: str) -> bool:
    """Remove all trust in a file or store; whether there was any.

    Raises:
        ConfigError: the record cannot be read or written.
    """
    trusted = _read()
    if trusted.pop(place, None) is None:
        return False
    _write(trusted)
    return True


def _noted(place: str, key: str, value: Any) -> str:
    """A value in the record: as JSON, or a hash for a secret; with a hash of the servers in its files."""
    text = json.dumps(value, ensure_ascii=False)
    if is_secret(key) or without_credentials(text) != text:
        return _hash(text)
    servers = _servers(Path(place).parent / value) if key == "pipelines" else ()
    return f"{text} {_hash(json.dumps(servers, default=str))}" if servers else text


def _hash(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_secret(key: str) -> bool:
    """Whether a setting holds a secret."""
    section, _, name = key.partition(".")
    part = getattr(Settings.model_construct(), section, None)
    field = getattr(type(part), "model_fields", {}).get(name)
    return field is not None and "SecretStr" in str(field.annotation)


def _read() -> dict[str, dict[str, str]]:
    path = trust_file()
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(
            tr("cannot read {path}: {cause}").format(path=path, cause=system_cause(error)),
            hint=tr("repair or delete it; after that, run graphrag-rdf config trust again"),
        ) from error
    well_formed = isinstance(content, dict) and all(isinstance(values, dict) for values in content.values())
    return content if well_formed else {}


def _write(trusted: Mapping[str, Mapping[str, str]]) -> None:
    path = trust_file()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside.write_text(json.dumps(trusted, indent=1, ensure_ascii=False) + "\n", "utf-8")
        beside.replace(path)
    except OSError as error:
        raise ConfigError(
            tr("cannot write {path}: {cause}").format(path=path, cause=system_cause(error)),
            hint=tr("name the settings file with --config FILE, or set XDG_CONFIG_HOME"),
        ) from error
