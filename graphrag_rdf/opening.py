"""Opens the store that `--store` names: a folder, an endpoint, or memory."""

from __future__ import annotations

from pathlib import Path

from graphrag_rdf.config import Settings
from graphrag_rdf.errors import UsageError
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.endpoint import Addresses, Endpoint, RemoteSettings
from graphrag_rdf.store.folder import DEFAULT_COLLECTION, StoreFolder, is_address
from graphrag_rdf.store.migrations import migrate


def is_read_only(where: str, settings: Settings) -> bool:
    """Whether a store exists that this user cannot write: no permission, or a read-only disk."""
    if where == ":memory:" or is_address(where):
        return False
    place = StoreFolder.of_collection(Path(where), settings.collection)
    return place.exists and not place.is_writable


def open_store(
    where: str, settings: Settings, *, create: bool, read_only: bool
) -> tuple[Store, BlobStore, StoreFolder | None]:
    """Open a store and its blob store; return also its folder, or None in memory.

    Args:
        where: folder, URL of a SPARQL endpoint, or `:memory:`.

    Raises:
        StoreError, UsageError: see `Engine.open`.
    """
    templates = TemplateLibrary(folder("queries"), *([settings.queries] if settings.queries else []))
    if where == ":memory:":
        memory = EmbeddedStore(templates)
        migrate(memory)
        return memory, BlobStore(), None
    if is_address(where):
        from graphrag_rdf.store.local_files import local_folder, open_remote

        endpoint = endpoint_of(where, settings)
        place = local_folder(settings.remote.folder, endpoint)
        return *open_remote(place, endpoint, templates, create=create, read_only=read_only), place
    place = StoreFolder.of_collection(Path(where), settings.collection)
    return *place.open(templates, create=create and not read_only, read_only=read_only), place


def endpoint_of(url: str, settings: Settings) -> Endpoint:
    """The endpoint that a URL and the settings `remote` name.

    Raises:
        UsageError: when the URL is invalid, or a collection is named, which endpoints do not have.
    """
    if settings.collection != DEFAULT_COLLECTION:
        raise UsageError(
            f"endpoints have no collections, so {settings.collection!r} does not exist",
            hint="leave out --collection, or name the endpoint of another dataset with --store",
        )
    remote = settings.remote
    spoken = RemoteSettings(
        user=remote.user,
        password=remote.password.get_secret_value() if remote.password else None,
        token=remote.token.get_secret_value() if remote.token else None,
        timeout=remote.timeout,
        retries=remote.retries,
        batch_quads=remote.batch,
        batch_bytes=remote.batch_mb << 20,
    )
    return Endpoint(Addresses.of(url, remote.query_url, remote.update_url), spoken)
