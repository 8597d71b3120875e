"""The names in a store's folder: what the program makes there, and how it writes and deletes it.

    graphrag-store/
      oxigraph/     the triple store          librarian/   blobs by SHA-256
      index/        text and vector indexes   cache/       answers of models
      snapshots/    copies for reader processes, and copies that a command changes
      frozen/       copies for other processes that read meanwhile
      history/      earlier states, by the number of their commit, and a log of them
      holder.json   the process that has it open
      token         by which a running server knows its own user's commands
      collections/NAME/   another collection: the same again

A stranger may have made the folder. So the program follows no link in it, and deletes only files that have a
name and a place that it uses itself. Only the path of the store may be a link.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from graphrag_rdf.errors import RAISE_FILES, StoreError, is_out_of_files, short_cause
from graphrag_rdf.i18n import tr

# the second and the third are of older versions
_UNFINISHED = re.compile(r"\.new-[0-9a-f]+(?:-[0-9]+)?|oxigraph\.current\.tmp|manifest\.json\.[0-9]+\.new")
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True)
class Name:
    """A name that the program uses in a folder.

    Args:
        pattern: a regular expression for the whole name.
        sample: a name that fits.
        shape: of a folder; None for a file.
    """

    pattern: str
    sample: str
    shape: Shape | None = None

    def fits(self, name: str) -> bool:
        """Whether an entry of the folder has this name."""
        return re.fullmatch(self.pattern, name) is not None


@dataclass(slots=True)
class Shape:
    """The names that the program uses in a folder.

    Attributes:
        apart: the folder is checked by whoever opens it, not with the store.
    """

    names: list[Name] = field(default_factory=list)
    apart: bool = False

    def name_of(self, entry: str) -> Name | None:
        """The declared name that an entry has; None for a foreign entry."""
        if _UNFINISHED.fullmatch(entry):
            return Name(_UNFINISHED.pattern, entry)
        return next((name for name in self.names if name.fits(entry)), None)


def _file(pattern: str, sample: str | None = None) -> Name:
    return Name(pattern, sample or pattern.replace("\\", ""))


def _folder(pattern: str, shape: Shape, sample: str | None = None) -> Name:
    return Name(pattern, sample or pattern, shape)


_HEX = "0123456789abcdef"

DATABASE = Shape(
    [
        *(_file(name) for name in ("CURRENT", "IDENTITY", "LOCK", "LOG")),
        _file(r"LOG\.old\.[0-9]+", "LOG.old.1795860743023033"),
        _file(r"(?:MANIFEST|OPTIONS)-[0-9]+(?:\.dbtmp)?", "MANIFEST-000026"),
        _file(r"[0-9]+\.(?:sst|log|blob|dbtmp)(?:\.trash)?", "000010.sst"),
        _file(r"bulk-[0-9]+\.sst", "bulk-1131.sst"),  # of loading that was killed
    ]
)
"""A database of the engine (RocksDB)."""
WORDS = Shape(
    [
        *(_file(name) for name in (r"meta\.json", r"\.managed\.json")),
        _file(r"\.tantivy-(?:meta|writer)\.lock", ".tantivy-writer.lock"),
        _file(r"\.tmp\w+", ".tmpAb12Cd"),
        _file(r"[0-9a-f]{32}\.(?:[0-9]+\.)?[a-z]+", f"{_HEX}{_HEX}.idx"),
    ]
)
"""The index of words of a kind (Tantivy)."""
_MANIFEST = _file(r"manifest\.json")
TEXT_INDEX = Shape([_MANIFEST, _folder("(?:entity|sentence|chunk|report)-[0-9]+", WORDS, "entity-1")])
VECTOR_INDEX = Shape(
    [_MANIFEST, _file(r"[0-9]+\.(?:vectors\.npy|rows\.npy|iris|usearch|new)", "000001.vectors.npy")]
)
INDEX = Shape([_folder("text", TEXT_INDEX), _folder("vectors", VECTOR_INDEX)])
_BLOBS = Shape([_file("[0-9a-f]{64}", _HEX * 4)], apart=True)
_CACHE = Shape([_file(r"llm\.sqlite(?:-wal|-shm|-journal|\.damaged-[0-9]+)?", "llm.sqlite")])
COPIES = Shape()
STATE = Shape([_folder(r"oxigraph(?:\.tmp)?", DATABASE, "oxigraph"), _folder("index", INDEX)])
STATES = Shape([_folder("[0-9]{1,18}", STATE, "42")])
"""Earlier states of a store."""
_COLLECTIONS = Shape(apart=True)
COLLECTIONS = "collections"
STORE = Shape(
    [
        _folder("oxigraph", DATABASE),
        _folder(r"oxigraph\.(?:[0-9]{1,18}|new|old|tmp)", DATABASE, "oxigraph.1"),
        _file(r"oxigraph\.current", "oxigraph.current"),
        _file(r"oxigraph\.lock"),
        _folder("librarian", Shape([_folder("[0-9a-f]{2}", _BLOBS, "0a")])),
        _folder("index", INDEX),
        _folder("cache", _CACHE),
        _folder("snapshots", COPIES),
        _folder("frozen", COPIES),
        _folder("history", Shape([*STATES.names, _file(r"log\.jsonl")])),
        *(_file(name) for name in (r"holder\.json", "token", "lock", r"origin\.json")),
        _folder(COLLECTIONS, _COLLECTIONS),
    ]
)
COLLECTION = "[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
"""Names of collections."""
_COLLECTIONS.names.append(_folder(COLLECTION, STORE, "other"))
_TRIAL = Shape([_folder("copy|store", DATABASE, "copy"), _file(r"copy\.lock")])
COPIES.names += [
    _folder("[0-9a-f]{16}", STORE, _HEX),
    # made by older versions
    _folder("copy-[0-9a-f-]{36}", STORE, "copy-00000000-0000-4000-8000-000000000000"),
    _folder(r"(?:trial|question)-\w+", _TRIAL, "trial-1"),
    _folder("[0-9]{1,9}", DATABASE, "1"),
]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a store's folder, or below.

    Attributes:
        name: None for a foreign entry.
        in_the_way: it has a name that the program uses, and is a link, or of another type.
    """

    path: Path
    name: Name | None
    in_the_way: bool = False

    @property
    def own(self) -> bool:
        """Whether the program made it."""
        return self.name is not None and not self.in_the_way


def entries(folder: Path, shape: Shape, *, deep: bool = True, apart: bool = True) -> Iterator[Entry]:
    """The entries of a folder, each after those below it. No link is followed.

    Args:
        deep: also those of folders in it.
        apart: also those of folders that are checked apart.
    """
    try:
        with os.scandir(folder) as scanned:
            entries_here = sorted(scanned, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    for entry in entries_here:
        path, name = folder / entry.name, shape.name_of(entry.name)
        below = name.shape if name is not None else None
        is_ours = entry.is_file if below is None else entry.is_dir
        right = name is None or is_ours(follow_symlinks=False)
        if deep and below is not None and right and (apart or not below.apart):
            yield from entries(path, below, apart=apart)
        yield Entry(path, name, in_the_way=not right)


def fits(path: str, shape: Shape) -> bool:
    """Whether a relative path is one of a file that the program makes in a folder."""
    inner: Shape | None = shape
    for part in path.split("/"):
        name = inner.name_of(part) if inner is not None else None
        if name is None:
            return False
        inner = name.shape
    return inner is None


@dataclass(frozen=True, slots=True)
class StorePaths:
    """The paths in a store's folder.

    Attributes:
        store: the folder of the store that this is a collection of; None for the default collection.
        copy: a frozen copy of the database, to read in its place (see `store.frozen`).
        past: the folder of an earlier state, whose database and indexes are read instead.
    """

    root: Path
    store: Path | None = None
    copy: Path | None = None
    past: Path | None = None

    @property
    def database(self) -> Path:
        """The Oxigraph database."""
        return self.copy or (self.past or self.root) / "oxigraph"

    @property
    def blobs(self) -> Path:
        """Blobs."""
        return self.root / "librarian"

    @property
    def index(self) -> Path:
        """Text and vector indexes."""
        return (self.past or self.root) / "index"

    @property
    def text_index(self) -> Path:
        """The index of words."""
        return self.index / "text"

    @property
    def vector_index(self) -> Path:
        """The index of vectors."""
        return self.index / "vectors"

    @property
    def cache(self) -> Path:
        """The cache of model answers and embeddings."""
        return self.root / "cache" / "llm.sqlite"

    @property
    def snapshots(self) -> Path:
        """Copies for reader processes, and copies that this process changes. Beside a server, they are in the
        folder of its own copy."""
        return (self.copy.parent if self.copy else self.root) / "snapshots"

    @property
    def frozen(self) -> Path:
        """Copies for other processes that read while a server runs."""
        return self.root / "frozen"

    @property
    def history(self) -> Path:
        """Earlier states, and their log."""
        return self.root / "history"

    @property
    def holder(self) -> Path:
        """The file that names the process that has the store open."""
        return self.root / "holder.json"

    @property
    def token(self) -> Path:
        """The file with a token of role write, by which a running server knows its own user's commands."""
        return self.root / "token"

    @property
    def lock(self) -> Path:
        """The lock of a frozen copy, or of the local files of a remote store."""
        return self.root / "lock"

    @property
    def origin(self) -> Path:
        """The file that names the remote store whose local files these are."""
        return self.root / "origin.json"

    def new_copy(self) -> StorePaths:
        """Make a folder for a copy that this process may change."""
        return new_copy(self.snapshots)

    def delete(self) -> None:
        """Delete what the program made in the folder, and the folder if nothing else is in it."""
        remove(self.root, STORE)

    def require_own(self) -> None:
        """Refuse links in the folder, and other entries in the way. The folder itself may be a link.

        Raises:
            StoreError: it names the entry.
        """
        above = [] if self.store is None else [self.store / COLLECTIONS, self.root]
        try:
            wrong = [entry.path for entry in entries(self.root, STORE, apart=False) if entry.in_the_way]
        except OSError as error:
            raise StoreError(
                tr("cannot read {path}: {cause}").format(path=self.root, cause=short_cause(error)),
                hint=tr(RAISE_FILES) if is_out_of_files(str(error)) else tr("check its permissions"),
            ) from error
        for path in (*filter(Path.is_symlink, above), *wrong):
            raise _in_the_way(path)


def _in_the_way(path: Path) -> StoreError:
    if path.is_symlink():
        return StoreError(
            tr("{path} is a link, and the program follows no link in a store").format(path=path),
            hint=tr("remove the link, or move the data that it points to in its place"),
        )
    return StoreError(
        tr("{path} was not made by this program, which uses this name").format(path=path),
        hint=tr("move it elsewhere"),
    )


def foreign(root: Path) -> list[Path]:
    """The entries in a store's folder that the program did not make, and never touches."""
    return [entry.path for entry in entries(root, STORE) if not entry.own]


def remove(path: Path, shape: Shape) -> None:
    """Delete what the program made in a folder, and the folder if nothing else is in it.

    What cannot be deleted stays.
    """
    if path.is_symlink():
        return
    with suppress(OSError):
        for entry in entries(path, shape):
            if entry.own:
                with suppress(OSError):
                    entry.path.rmdir() if entry.name and entry.name.shape else entry.path.unlink()
        path.rmdir()


def remove_unfinished(folder: Path) -> None:
    """Delete the files that a killed `write` left in a folder. Nothing may be written there meanwhile."""
    for path in own(folder, STORE):
        if _UNFINISHED.fullmatch(path.name):
            path.unlink(missing_ok=True)


def copy(folder: Path, target: Path, shape: Shape) -> None:
    """Copy what the program made in a folder."""
    for entry in entries(folder, shape):
        if entry.own and entry.name is not None and entry.name.shape is None:
            place = target / entry.path.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(entry.path, place)


def new_copy(folder: Path) -> StorePaths:
    """Make a folder for a copy of a store, among other copies."""
    path = folder / secrets.token_hex(8)
    path.mkdir(parents=True)
    return StorePaths(path)


def copies(folder: Path) -> list[StorePaths]:
    """The copies of a store in a folder."""
    return [StorePaths(place) for place in own(folder, COPIES)]


def own(folder: Path, shape: Shape) -> list[Path]:
    """What the program made directly in a folder."""
    return [entry.path for entry in entries(folder, shape, deep=False) if entry.own]


def read(path: Path) -> bytes:
    """The content of a file. No link is followed."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NOFOLLOW)) as file:
        return file.read()


def write(target: Path, content: bytes | str, *, mode: int = 0o666, durable: bool = False) -> None:
    """Replace a file as a whole; create a missing folder.

    Args:
        mode: permissions of the file.
        durable: after a power cut either the old or the new file is there.
    """
    data = content.encode() if isinstance(content, str) else content
    beside = target.with_name(f".new-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        try:
            handle = os.open(beside, flags, mode)
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(beside, flags, mode)
        with os.fdopen(handle, "wb", buffering=0) as file:
            while data:
                data = data[file.write(data) :]
            if durable:
                os.fsync(file.fileno())
        if durable:
            _sync(target.parent)
        beside.replace(target)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):  # errors name the file, not the unfinished one
            error.filename, error.filename2 = str(target), None
        raise
    if durable:
        _sync(target.parent)


def _sync(folder: Path) -> None:
    """Make the names in a folder durable, if the system supports it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
