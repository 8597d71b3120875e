"""What is kept on this computer beside a remote store: indexes, caches, long texts.

The folder is laid out as that of an embedded store (see `folder`), without a database. One process at a time
works in it. It belongs to one store: when another is found at the same address (it was emptied and filled
anew), the indexes are thrown away and will be built from what is there.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

from graphrag_rdf.errors import StoreError, StoreLockedError
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.endpoint import Endpoint
from graphrag_rdf.store.folder import StoreFolder
from graphrag_rdf.store.lock import FolderLock
from graphrag_rdf.store.migrations import migrate, require_known_version
from graphrag_rdf.store.remote import RemoteStore

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._]+")
_ORIGIN = "origin.json"


def local_folder(root: Path, endpoint: Endpoint) -> StoreFolder:
    """The folder of an endpoint, readable and its own."""
    query = endpoint.addresses.query
    parts = urlsplit(query)
    readable = _NOT_IN_A_NAME.sub("-", f"{parts.netloc}{parts.path}").strip("-.")[:80]
    return StoreFolder(root / f"{readable}-{hashlib.sha256(query.encode()).hexdigest()[:8]}")


def open_remote(
    place: StoreFolder, endpoint: Endpoint, templates: TemplateLibrary, *, create: bool, read_only: bool
) -> tuple[RemoteStore, BlobStore]:
    """Open the store behind an endpoint, brought to this program's version, and the blob store beside it.

    Args:
        place: see `local_folder`.
        create: make the store where there is none.
        read_only: write nothing at all, here or there, and take no lock.

    Raises:
        StoreError: when the endpoint cannot be used, there is no store and none is to be made, or it is
            from a newer program.
        StoreLockedError: when another process works in the folder.
    """
    if read_only:
        store = RemoteStore(templates, endpoint, create=False, read_only=True)
        require_known_version(store)
        return store, BlobStore(place.blobs)
    try:
        lock = FolderLock(place.root / "lock")
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
    """See that the folder is that of this store; else throw its indexes away."""
    rows = store.select("remote/made")
    origin = {"made": min((text_of(row["time"]) for row in rows), default=None)}
    file = place.root / _ORIGIN
    try:
        if json.loads(file.read_text(encoding="utf-8")) == origin:
            return
    except (OSError, ValueError):
        pass  # a folder that says nothing is nobody's
    try:
        shutil.rmtree(place.index, ignore_errors=True)
        file.write_text(json.dumps(origin), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{place.root} cannot be written: {error}") from error
