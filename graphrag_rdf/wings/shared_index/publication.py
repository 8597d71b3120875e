"""The files of search indexes in a shared folder or object store.

    files/SHA-256     the content of a file
    listing.json      the names of the newest indexes' files, with their SHA-256, and the commit they reflect

Index files are copied, not the search: so each reader finds the same with the same scores. The listing is
replaced last and as a whole. Files that it no longer names are deleted, so what was forgotten is in none.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import stat
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, TypeAdapter, ValidationError

from graphrag_rdf import layout
from graphrag_rdf.errors import ConfigError, SearchIndexError, StoreError, short_cause
from graphrag_rdf.i18n import tr
from graphrag_rdf.layout import StorePaths
from graphrag_rdf.store.lock import FolderLock
from graphrag_rdf.wings.shared_index.settings import IndexSection

if TYPE_CHECKING:
    from graphrag_rdf.components import Components
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.base import Store

log = logging.getLogger(__name__)

_LISTING = "listing.json"
_PREFIX = "graphrag-rdf-index-"
_USER = os.getuid() if os.name == "posix" else 0
_UNCLAIMED = 1.0
"""Seconds that a new folder has to be locked."""
_ATTEMPTS = 3
"""At reading files that another process replaces meanwhile."""


Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True)
class Listing:
    """Published indexes.

    Attributes:
        commit: of the store, that they reflect.
        origin: when the store was made; another store at the same address has another time.
        files: path in the folder of indexes → SHA-256 and bytes.
    """

    commit: int
    origin: str
    files: Mapping[str, tuple[Digest, int]]


class Publication:
    """A shared folder or object store.

    Args:
        url: a folder, or a URL of fsspec (https://filesystem-spec.readthedocs.io).

    Raises:
        ConfigError: when fsspec, or its package for such URLs, is not installed.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.in_place = "://" not in url
        try:
            import fsspec

            self._files, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise ConfigError(
                tr("index.shared = {url} cannot be used: {cause}").format(url=url, cause=short_cause(error)),
                hint=tr(
                    'install it with pip install "graphrag-rdf[shared-index]", or the package that is named'
                ),
            ) from error
        self.root = str(root).rstrip("/")
        self._local = "file" in self._files.protocol

    def listing(self) -> Listing | None:
        """The newest listing; None if nothing was published.

        Raises:
            SearchIndexError: when it cannot be read.
        """
        try:
            return TypeAdapter(Listing).validate_json(self._files.cat_file(f"{self.root}/{_LISTING}"))
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise self._failed(tr("{name} is malformed").format(name=_LISTING)) from error
        except Exception as error:
            raise self._failed(error) from error

    def put(self, index: Path, commit: int, origin: str) -> Listing:
        """Publish the files of a folder of indexes, which nobody writes meanwhile.

        Raises:
            SearchIndexError: when they cannot be written.
        """
        try:
            self._files.makedirs(f"{self.root}/files", exist_ok=True)
            present = {
                PurePosixPath(path).name for path in self._files.ls(f"{self.root}/files", detail=False)
            }
            files: dict[str, tuple[str, int]] = {}
            for path in _files_of(index):
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                if digest not in present:
                    self._copy(path, f"{self.root}/files/{digest}")
                files[path.relative_to(index).as_posix()] = digest, path.stat().st_size
            listing = Listing(commit, origin, files)
            with tempfile.TemporaryDirectory() as folder:
                written = Path(folder, _LISTING)
                written.write_text(json.dumps(asdict(listing)), encoding="utf-8")
                self._copy(written, f"{self.root}/{_LISTING}")
            if stale := present - {digest for digest, _ in files.values()}:
                self._files.rm([f"{self.root}/files/{name}" for name in sorted(stale)])
        except Exception as error:  # each kind of store has its own
            raise self._failed(error) from error
        return listing

    def _copy(self, source: Path, target: str) -> None:
        """Copy a file; it is there as a whole or not at all, as in object stores."""
        if self._local:
            self._files.put_file(str(source), f"{target}.new")
            Path(f"{target}.new").replace(target)
        else:
            self._files.put_file(str(source), target)

    def get(self, listing: Listing) -> _OwnFolder:
        """Put the listed files into a temporary folder: links where they are in one, else copies.

        Raises:
            SearchIndexError: when one cannot be read, or is not what the listing says.
            FileNotFoundError: when one was replaced meanwhile.
        """
        try:
            folder = _OwnFolder()
        except (OSError, StoreError) as error:
            raise self._failed(error) from error
        try:
            for name, (digest, _) in listing.files.items():
                self._get(name, digest, folder.place.index / name)
        except (FileNotFoundError, SearchIndexError):
            folder.remove()
            raise
        except Exception as error:  # each kind of store has its own
            folder.remove()
            raise self._failed(error) from error
        return folder

    def _get(self, name: str, digest: str, target: Path) -> None:
        if not layout.fits(name, layout.INDEX):
            raise self._failed(tr("unknown file {name}").format(name=name))
        target.parent.mkdir(parents=True, exist_ok=True)
        source = f"{self.root}/files/{digest}"
        if self.in_place:
            target.symlink_to(Path(source).resolve(strict=True))
            return
        self._files.get_file(source, str(target))
        with target.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise self._failed(tr("{name} is not what the listing says").format(name=name))

    def _failed(self, cause: object) -> SearchIndexError:
        message = tr("the shared index {url} cannot be used: {cause}")
        return SearchIndexError(message.format(url=self.url, cause=short_cause(cause)))


def _files_of(index: Path) -> list[Path]:
    entries = layout.entries(index, layout.INDEX)
    return [
        entry.path
        for entry in entries
        if entry.own and entry.name and entry.name.shape is None and entry.path.suffix != ".lock"
    ]


def _origin(store: Store) -> str:
    times = [str(row["time"]) for row in store.select("remote/made")]
    return min(times, default="")


# --- writing -------------------------------------------------------------------------------------------


def publish(engine: Engine) -> Listing:
    """Bring the indexes of a store behind an endpoint up to date, and publish them.

    Raises:
        ConfigError: when the settings name no place, or the store is not behind an endpoint.
        SearchIndexError: when the indexes cannot be made or written.
    """
    url = engine.settings.of(IndexSection).shared
    if not url or engine.place is None or not engine.is_remote:
        raise ConfigError(
            tr("there is nothing to publish"),
            hint=tr(
                "set index.shared to a folder or URL, and name a store behind an endpoint with --store URL"
            ),
        )
    publication = Publication(url)
    with engine.keeping_indexes():
        engine.indexer.recover()
        return publication.put(engine.place.index, engine.text_index.commit_number, _origin(engine.store))


def publish_at_rest(engine: Engine, *, opening: bool = False) -> None:
    """Publish after a change, if the settings say so. A failure is a warning: the store has the change."""
    if opening or not engine.settings.of(IndexSection).shared or not engine.is_remote:
        return
    try:
        publish(engine)
    except SearchIndexError as error:
        log.warning("%s", error.message)


# --- reading -------------------------------------------------------------------------------------------


def shared_index(components: Components) -> SharedIndex | None:
    """The published indexes of a store that is only read; None if the settings name no place."""
    url = components.settings.of(IndexSection).shared
    return SharedIndex(Publication(url), components.store) if url else None


class _OwnFolder:
    """A temporary folder, locked and kept until `remove` or the end of this process.

    Attributes:
        remove: deletes it; a second call does nothing. Files that are open or mapped can still be read.
    """

    def __init__(self) -> None:
        self.place = StorePaths(Path(tempfile.mkdtemp(prefix=_PREFIX)))
        lock = FolderLock(self.place.lock)
        self.remove = weakref.finalize(self, _delete, self.place, lock)


def _delete(place: StorePaths, lock: FolderLock) -> None:
    shutil.rmtree(place.root, ignore_errors=True)
    lock.release()
    shutil.rmtree(place.root, ignore_errors=True)  # Windows deletes no file that is open


def _sweep() -> None:
    """Delete the folders of this user's processes that were killed: nobody has their locks."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/lock"):
        place = StorePaths(path.parent)
        try:
            details = place.root.lstat()
            own = stat.S_ISDIR(details.st_mode) and details.st_uid == _USER
            if not own or time.time() - path.lstat().st_mtime < _UNCLAIMED:
                continue
            lock = FolderLock(place.lock)
        except (OSError, StoreError):  # gone, or in use
            continue
        _delete(place, lock)


class SharedIndex:
    """Published indexes, as this process reads them.

    Args:
        publication: where they are.
        store: which they are of.
    """

    def __init__(self, publication: Publication, store: Store) -> None:
        self._publication = publication
        self._store = store
        self._listing: Listing | None = None
        self._folder: _OwnFolder | None = None
        self._lock = threading.Lock()

    @property
    def place(self) -> StorePaths:
        """The folder with the indexes, as below a store.

        Raises:
            SearchIndexError: when nothing is published of this store, or it cannot be read.
        """
        while self._folder is None:
            self.renew()
        return self._folder.place

    def renew(self) -> bool:
        """Get the newest indexes; whether they are newer than those that this process has.

        Raises:
            SearchIndexError: as `place`.
        """
        with self._lock:
            for _ in range(_ATTEMPTS):
                listing = self._publication.listing()
                if listing is None or listing.origin != _origin(self._store):
                    raise SearchIndexError(
                        tr("nothing is published in {url} of this store").format(url=self._publication.url),
                        hint=tr("run graphrag-rdf --store URL index publish where the store is written"),
                    )
                if listing == self._listing:
                    return False
                _sweep()
                try:
                    folder = self._publication.get(listing)
                except FileNotFoundError:  # replaced meanwhile
                    continue
                former, self._folder, self._listing = self._folder, folder, listing
                if former is not None:
                    former.remove()  # questions have its files open, and what was forgotten is in them
                return True
        raise SearchIndexError(
            tr("the shared index {url} changes faster than it can be read").format(url=self._publication.url)
        )
