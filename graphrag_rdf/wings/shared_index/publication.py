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
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from graphrag_rdf import layout
from graphrag_rdf.errors import ConfigError, SearchIndexError, short_cause
from graphrag_rdf.i18n import tr
from graphrag_rdf.layout import StorePaths
from graphrag_rdf.wings.shared_index.settings import IndexSection

if TYPE_CHECKING:
    from graphrag_rdf.components import Components
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.base import Store

log = logging.getLogger(__name__)

_LISTING = "listing.json"
_ATTEMPTS = 3
"""At reading files that another process replaces meanwhile."""


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
    files: Mapping[str, tuple[str, int]]


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
            content = json.loads(self._files.cat_file(f"{self.root}/{_LISTING}"))
            files = {name: (digest, size) for name, (digest, size) in content["files"].items()}
            return Listing(int(content["commit"]), str(content["origin"]), files)
        except FileNotFoundError:
            return None
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

    def get(self, listing: Listing, folder: Path) -> None:
        """Put the listed files into a folder: links where they are in one, else copies.

        Raises:
            SearchIndexError: when one cannot be read, or is not what the listing says.
            FileNotFoundError: when one was replaced meanwhile.
        """
        for name, (digest, _) in listing.files.items():
            target = folder / name
            if not layout.fits(name, layout.INDEX):
                raise self._failed(tr("unknown file {name}").format(name=name))
            target.parent.mkdir(parents=True, exist_ok=True)
            source = f"{self.root}/files/{PurePosixPath(digest).name}"
            if self.in_place:
                target.symlink_to(Path(source).resolve(strict=True))
                continue
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
        self._folders: list[tempfile.TemporaryDirectory[str]] = []
        self._lock = threading.Lock()

    @property
    def place(self) -> StorePaths:
        """The folder with the indexes, as below a store.

        Raises:
            SearchIndexError: when nothing is published of this store, or it cannot be read.
        """
        if not self._folders:
            self.renew()
        return StorePaths(Path(self._folders[-1].name))

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
                folder = tempfile.TemporaryDirectory(prefix="graphrag-rdf-index-", ignore_cleanup_errors=True)
                try:
                    self._publication.get(listing, StorePaths(Path(folder.name)).index)
                except FileNotFoundError:  # replaced meanwhile
                    continue
                self._listing = listing
                self._folders = [*self._folders[-1:], folder]  # questions may still read the one before
                return True
        raise SearchIndexError(
            tr("the shared index {url} changes faster than it can be read").format(url=self._publication.url)
        )
