"""What a command works with: its settings, and the store it names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import common
from graphrag_rdf.errors import StoreLockedError, UsageError

if TYPE_CHECKING:
    from graphrag_rdf.client import Client
    from graphrag_rdf.config import ClientSection, Loaded, Settings
    from graphrag_rdf.engine import Engine


def load(overrides: Mapping[str, Any] | None = None, *, require_trust: bool = True) -> Loaded:
    """The settings in force.

    Args:
        overrides: dotted key → value of the command's own options; None does not count.
        require_trust: see `config.load_settings`.

    Raises:
        ConfigError: see `config.load_settings`.
    """
    from graphrag_rdf.config import load_settings

    given = common.kept()
    named = {"store": given.get("store"), "collection": given.get("collection")}
    values = {**named, **(overrides or {})}
    return load_settings(given.get("config"), values, require_trust=require_trust)


def in_folder(settings: Settings) -> bool:
    """Whether the store is one in a folder: neither in memory nor behind an endpoint."""
    return settings.store != ":memory:" and "://" not in settings.store


def open_engine(
    overrides: Mapping[str, Any] | None = None, *, create: bool = False, read_only: bool = False
) -> Engine:
    """Open the store that the options name.

    Args:
        create: make it when it is missing.
        read_only: never write anything, not even a lock.

    Raises:
        UsageError: when the collection is unknown.
        StoreError: see `Engine.open`.
    """
    loaded = load(overrides)
    settings = loaded.settings
    if not create and in_folder(settings):
        _require_collection(Path(settings.store), settings.collection)
    from graphrag_rdf.engine import Engine

    try:
        return Engine.open(config=loaded, create=create, read_only=read_only)
    except StoreLockedError as error:
        command = click.get_current_context().command
        if error.server is None or not any(option.name == "server" for option in command.params):
            raise
        hint = f"it is served: say the same with --server {error.server}"
        raise StoreLockedError(error.message, hint, error.server) from error


def _require_collection(store: Path, name: str) -> None:
    """Say which collections there are, rather than that a folder is missing."""
    from graphrag_rdf.store.folder import StoreFolder, collections

    if StoreFolder.of_collection(store, name).exists:
        return
    known = collections(store)
    if known:
        raise UsageError(
            f"there is no collection {name!r} in {store}", hint=f"known: {', '.join(known)}; see --collection"
        )


def server_of(server: str | None, token_file: Path | None) -> Client | None:
    """What speaks to the server that the options `--server` and `--token-file`, or the settings, name; None
    where it is a store of this computer.

    Raises:
        UsageError: as `client_of`; when there is a file with a token, and no server.
    """
    given = {"client.server": server, "client.token_file": token_file}
    if load(given, require_trust=False).settings.client.server is not None:
        return client_of(load(given).settings.client)
    if token_file is not None:
        raise UsageError("a token is for a server", hint="name it with --server URL")
    return None


def refuse(options: Mapping[str, object]) -> None:
    """Refuse what is for the server alone to choose.

    Raises:
        UsageError: when one of the options is given.
    """
    for name, value in options.items():
        if value:
            raise UsageError(f"--{name.replace('_', '-')} is for the server to choose, not for who asks it")


def client_of(settings: ClientSection) -> Client:
    """What speaks to the server that the settings name.

    Raises:
        UsageError: when its address or the token's file is none.
    """
    from graphrag_rdf.client import Client, read_token

    token = settings.token.get_secret_value() if settings.token else None
    if settings.token_file is not None:
        token = read_token(settings.token_file)
    assert settings.server is not None  # noqa: S101 - checked by the caller
    return Client(settings.server, token)
