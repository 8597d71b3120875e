"""The settings and the store of a command."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from graphrag_rdf.cli.command import given_options, require_shapes, shapes_overrides
from graphrag_rdf.errors import StoreError, StoreLockedError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.loopback import is_loopback

if TYPE_CHECKING:
    from graphrag_rdf.client import Client
    from graphrag_rdf.config import ClientSection, Loaded, Settings
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.live_settings import LiveSettings


def load(overrides: Mapping[str, Any] | None = None, *, require_trust: bool = True) -> Loaded:
    """The settings in force.

    Args:
        overrides: dotted key → value of the command's own options; None is ignored.
        require_trust: see `config.load_settings`; on a terminal the user is asked.

    Raises:
        ConfigError: see `config.load_settings`.
    """
    from graphrag_rdf.config import load_settings

    given = given_options()
    named = {"store": given.get("store"), "collection": given.get("collection")}
    values = {**named, **(overrides or {})}
    at_terminal = all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr))
    loaded = load_settings(given.get("config"), values, require_trust=require_trust and not at_terminal)
    if require_trust and at_terminal:
        _ask_for_trust(loaded)
    return loaded


def _ask_for_trust(loaded: Loaded) -> None:
    """Ask the user whether to trust settings, if necessary.

    Raises:
        ConfigError: if not, or if they change meanwhile.
    """
    from graphrag_rdf.config import trust

    if loaded.file is None or not (untrusted := loaded.untrusted):
        return
    for line in effects(loaded.file, untrusted):
        click.echo(line, err=True)
    if click.confirm(tr("Trust this?"), err=True) and loaded.untrusted == untrusted:
        trust.trust(trust.place_of(loaded.file), {key: value for key, (value, _) in untrusted.items()})
    loaded.require_trust()


def effects(path: Path, untrusted: Mapping[str, tuple[Any, str]]) -> list[str]:
    """Lines with settings that need trust, and the effect of each, safe to print."""
    from graphrag_rdf.cli.output import safe
    from graphrag_rdf.config import shown

    return [safe(f"{path}: {key} = {shown(key, value)}: {does}") for key, (value, does) in untrusted.items()]


def validating(
    shapes: Sequence[str], mode: str | None, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The settings that the options `--shapes` and `--validation` give, with others.

    Raises:
        UsageError: there is a mode, but no shapes.
    """
    overrides = {**(more or {}), **shapes_overrides(shapes, mode)}
    require_shapes(load(overrides).settings, mode)
    return overrides


def in_folder(settings: Settings) -> bool:
    """Whether the store is in a folder, not in memory or behind an endpoint."""
    return settings.store != ":memory:" and "://" not in settings.store


def about_default(namespace: str) -> str | None:
    """What to say of the default namespace, which belongs to strangers; None for another one."""
    from graphrag_rdf.rdf.iris import DEFAULT_NAMESPACE

    if namespace != DEFAULT_NAMESPACE:
        return None
    return tr(
        "IRIs begin with {namespace}, the default, which is a domain of others. For a namespace of your own: "
        "graphrag-rdf config set extract.namespace https://data.example.org/, then graphrag-rdf refresh facts"
    ).format(namespace=namespace)


_REQUESTS = {
    "cache clear": "curl -X POST {url}/cache/clear",
    "forget": "curl -X DELETE {url}/documents/PATH",
    "import": "curl --data-binary @FILE -H 'Content-Type: text/turtle' '{url}/store?graph=IRI'",
    "sparql": "curl --data-urlencode update@FILE {url}/update",
}
"""Commands that write → the requests that do the same, where they have no option --server."""


def open_engine(
    overrides: Mapping[str, Any] | None = None,
    *,
    create: bool = False,
    read_only: bool = False,
    beside: bool = False,
    copy: Path | None = None,
) -> Engine:
    """Open the store that the options name.

    Args:
        create: create a missing store.
        read_only: write nothing, not even a lock.
        beside: the command only reads: if a server has the store open, it reads a frozen copy.
        copy: a frozen copy to read (see `copy_beside`).

    Raises:
        UsageError: when the collection is unknown.
        StoreError: see `Engine.open`.
    """
    loaded = load(overrides)
    settings = loaded.settings
    if given_options().get("at"):
        return _past(loaded, writing=create)
    if not create and in_folder(settings):
        _require_collection(Path(settings.store), settings.collection)
    from graphrag_rdf.engine import Engine

    try:
        return Engine.open(config=loaded, create=create, read_only=read_only, copy=copy)
    except StoreLockedError as error:
        if beside and _is_local(error.server):
            return Engine.open(config=loaded, create=False, copy=copy_beside(loaded, error))
        context = click.get_current_context()
        request = _REQUESTS.get(context.command_path.partition(" ")[2])
        if error.server is None:
            raise
        if any(option.name == "server" for option in context.command.params):
            hint = tr("a server has it open: run the same command with --server {url}")
        elif request is not None:
            hint = tr("a server has it open; clients with the role write can send it: {request}")
        else:
            raise
        hint = hint.format(url=error.server, request=(request or "").format(url=error.server))
        raise StoreLockedError(error.message, hint, error.server) from error


def _past(loaded: Loaded, *, writing: bool) -> Engine:
    """The store as it was at the commit or time that `--at` names.

    Raises:
        UsageError: when the command writes, the store has no folder, or no such state is kept.
    """
    from graphrag_rdf.cli import output
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.folder import StoreFolder
    from graphrag_rdf.wing import finder_of_states

    find_state = finder_of_states()
    if writing or not in_folder(loaded.settings) or find_state is None:
        raise UsageError(
            tr("--at has no effect here"),
            hint=tr("only commands that read, from a store in a folder, read its earlier states"),
        )
    place = StoreFolder.of_collection(Path(loaded.settings.store), loaded.settings.collection)
    state = find_state(place, given_options()["at"])
    output.note(tr("reading {state}").format(state=state))
    return Engine.open(config=loaded, create=False, past=state.folder)


def copy_beside(loaded: Loaded, locked: StoreLockedError) -> Path:
    """A frozen copy of a store that a server on this computer has open, deleted when the command ends.

    Raises:
        StoreLockedError: when there is no such server, it makes none, or this user may not lock it.
    """
    from graphrag_rdf.cli import output
    from graphrag_rdf.client import Client
    from graphrag_rdf.client.connection import ServerError
    from graphrag_rdf.store.folder import StoreFolder
    from graphrag_rdf.store.frozen import FrozenCopy

    place = StoreFolder.of_collection(Path(loaded.settings.store), loaded.settings.collection)
    served = place.served
    if not _is_local(locked.server) or served is None or served.key is None:
        raise locked
    try:
        name, commit = Client(served.url).freeze(served.key)
        copy = FrozenCopy(place.frozen, name)
    except (ServerError, StoreError) as error:
        raise StoreLockedError(
            tr("{locked}, and a copy of it cannot be read: {reason}").format(
                locked=locked.message, reason=error.message
            ),
            tr("use the server's pages, or a command with --server {url}").format(url=served.url),
            locked.server,
        ) from error
    click.get_current_context().call_on_close(copy.close)
    output.note(
        tr("the server at {url} has this store open: reading its state of commit {commit}").format(
            url=served.url, commit=commit
        )
    )
    return copy.database


@contextmanager
def stored_settings(*, create: bool = False) -> Iterator[LiveSettings]:
    """The settings in the store, to be changed. If a server of this user has the store open, they are changed
    through it.

    Args:
        create: create a missing store.

    Raises:
        UsageError, StoreError: see `open_engine`.
    """
    try:
        engine = open_engine(create=create)
    except StoreLockedError as error:
        client = server_instead(error)
    else:
        with engine:
            yield engine.live
        return
    from graphrag_rdf.components import template_library
    from graphrag_rdf.config.trust import place_of
    from graphrag_rdf.live_settings import LiveSettings
    from graphrag_rdf.store.endpoint import Addresses, Endpoint, RemoteSettings
    from graphrag_rdf.store.folder import StoreFolder
    from graphrag_rdf.store.remote import RemoteStore

    settings = load().settings
    root = StoreFolder.of_collection(Path(settings.store), settings.collection).root
    endpoint = Endpoint(Addresses.of(client.url), RemoteSettings(token=client.token))
    with closing(RemoteStore(template_library(settings), endpoint, create=False)) as store:
        yield LiveSettings(store, settings, place_of(root), writable=True)


def server_instead(locked: StoreLockedError) -> Client:
    """The server on this computer that has the store open, for a command that it can carry out.

    Without a token in the settings, the user who runs the server sends the one in the store's folder.

    Raises:
        StoreLockedError: the one given, if there is no such server.
        UsageError: as `client_of`.
    """
    from graphrag_rdf.cli import output
    from graphrag_rdf.client import Client
    from graphrag_rdf.store.folder import StoreFolder

    if locked.server is None or not _is_local(locked.server):
        raise locked
    settings = load({"client.server": locked.server}).settings
    if settings.client.token or settings.client.token_file:
        client = client_of(settings.client)
    else:
        place = StoreFolder.of_collection(Path(settings.store), settings.collection)
        client = Client(locked.server, place.own_token)
    output.note(
        tr("the server at {server} has this store open: sending the command to it").format(
            server=locked.server
        )
    )
    return client


def _is_local(server: str | None) -> bool:
    """Whether a server is on this computer. Only such a one is used unasked: tokens go to no other."""
    return server is not None and is_loopback(urlsplit(server).hostname or "")


def _require_collection(store: Path, name: str) -> None:
    """Raise an error that lists the collections, rather than one about a missing folder."""
    from graphrag_rdf.store.folder import StoreFolder, collections

    if StoreFolder.of_collection(store, name).exists:
        return
    known = collections(store)
    if known:
        raise UsageError(
            tr("there is no collection {name!r} in {store}").format(name=name, store=store),
            hint=tr("name one of these with --collection: {known}").format(known=", ".join(known)),
        )


def server_of(server: str | None, token_file: Path | None) -> Client | None:
    """The client of the server that `--server` or the settings name; None for a local store.

    Raises:
        UsageError: as `client_of`; when there is a token file but no server.
    """
    given = {"client.server": server, "client.token_file": token_file}
    if load(given, require_trust=False).settings.client.server is not None:
        refuse({"at": given_options().get("at")})
        return client_of(load(given).settings.client)
    if token_file is not None:
        raise UsageError(tr("--token-file needs a server"), hint=tr("add --server URL"))
    return None


def refuse(options: Mapping[str, object]) -> None:
    """Refuse options that only the server may set.

    Raises:
        UsageError: when one of the options is given.
    """
    for name, value in options.items():
        if value:
            raise UsageError(
                tr("--{name} has no effect with --server: the server's own settings apply").format(
                    name=name.replace("_", "-")
                )
            )


def client_of(settings: ClientSection) -> Client:
    """The client of the server that the settings name.

    Raises:
        UsageError: when the address or the token file is invalid.
    """
    from graphrag_rdf.client import Client, read_token

    token = settings.token.get_secret_value() if settings.token else None
    if settings.token_file is not None:
        token = read_token(settings.token_file)
    assert settings.server is not None  # noqa: S101 - checked by the caller
    return Client(settings.server, token)
