"""The local files of a remote store: indexes, caches, long texts.

The folder has the layout of an embedded store (see `folder`), without a database. Only one process at a time
uses it. It belongs to one store: if the address has another store now (it was emptied and filled again), the
indexes are deleted and will be rebuilt.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from urllib.parse import urlsplit

from graphrag_rdf import layout
from graphrag_rdf.errors import StoreError, StoreLockedError
from graphrag_rdf.i18n import tr
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.endpoint import Endpoint
from graphrag_rdf.store.folder import StoreFolder
from graphrag_rdf.store.lock import FolderLock
from graphrag_rdf.store.migrations import migrate, require_known_version
from graphrag_rdf.store.remote import RemoteStore

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._]+")


def local_folder(root: Path, endpoint: Endpoint) -> StoreFolder:
    """The folder for an endpoint, with a readable and unique name."""
    query = endpoint.addresses.query
    parts = urlsplit(query)
    readable = _NOT_IN_A_NAME.sub("-", f"{parts.netloc}{parts.path}").strip("-.")[:80]
    return StoreFolder(root / f"{readable}-{hashlib.sha256(query.encode()).hexdigest()[:8]}")


def open_remote(
    place: StoreFolder, endpoint: Endpoint, templates: TemplateLibrary, *, create: bool, read_only: bool
) -> tuple[RemoteStore, BlobStore]:
    """Open the store behind an endpoint, migrated to this program's version, and its local blob store.

    Args:
        place: see `local_folder`.
        create: create a missing store.
        read_only: write nothing, here or there, and take no lock.

    Raises:
        StoreError: when the endpoint cannot be used, or the store is missing and not to be created, or from a
            newer version.
        StoreLockedError: when another process uses the folder.
    """
    place.require_own()
    if read_only:
        store = RemoteStore(templates, endpoint, create=False, read_only=True)
        require_known_version(store)
        return store, BlobStore(place.blobs)
    try:
        lock = FolderLock(place.lock)
    except StoreLockedError as error:
        raise place.locked() from error
    try:
        store = RemoteStore(templates, endpoint, create=create, on_close=lock.release)
        migrate(store)
        _belongs(place, store)
    except BaseException:
        lock.release()
        raise
    place.note_holder()
    return store, BlobStore(place.blobs)


def _belongs(place: StoreFolder, store: RemoteStore) -> None:
    """Delete the indexes in the folder if they belong to another store."""
    rows = store.select("remote/made")
    origin = {"made": min((row["time"] for row in rows), default=None)}
    try:
        if json.loads(place.origin.read_text(encoding="utf-8")) == origin:
            return
    except (OSError, ValueError):
        pass  # without the file, it belongs to no store
    try:
        layout.remove(place.index, layout.INDEX)
        layout.write(place.origin, json.dumps(origin))
    except OSError as error:
        raise StoreError(tr("cannot write {path}: {cause}").format(path=place.root, cause=error)) from error
