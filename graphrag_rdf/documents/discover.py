"""From what a user names (files, folders, globs) to the documents to read."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from graphrag_rdf.documents.readers import (
    IS_RDF,
    NOT_REGULAR,
    OF_WING_FORMATS,
    RDF,
    SUPPORTED,
    no_reader,
    suffix_of,
    why_unreadable,
)
from graphrag_rdf.documents.readers.encoding import SAMPLE, beginning, is_text
from graphrag_rdf.documents.text import inner_name
from graphrag_rdf.i18n import later, tr

_MAGIC = frozenset("*?[")
_HIDDEN = (".", "~$")  # also the lock files of office programs
_OF_TOOLS = frozenset({"node_modules"})
"""Folders of installed packages: nobody means them by naming a folder above."""
_STORE = later("a store of graphrag-rdf")
_BINARY = later("not text, and not in a format that can be read")
_EMPTY = "empty"
_LINK = later("a folder behind a symbolic link")


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read.

    Args:
        path: as it can be opened.
        identity: what the document is called in the store, wherever the program is started: name of the
            folder that was named (of a file: its folder), then the path below it, with "/", in NFC.
        real: the path without symbolic links, if it was looked up already.
    """

    path: Path
    identity: str
    real: str = ""

    @property
    def location(self) -> str:
        """The file's IRI."""
        return Path(self.real).as_uri() if self.real else location_of(self.path)


def location_of(path: str | Path) -> str:
    """The IRI of a file or folder with symbolic links resolved, except circular ones."""
    return Path(os.path.realpath(path)).as_uri()


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files to read, and what was skipped.

    Args:
        sources: each file once, in the order of the arguments, within one by code point.
        skipped: (path, reason) of files without text that no reader supports, and of folders behind symbolic
            links.
        errors: (argument or path, reason) of what could not be found.
        left_out: (folder, reason) of folders that were not searched although they are not hidden.
        idle: patterns that matched nothing.
    """

    sources: tuple[Source, ...]
    skipped: tuple[tuple[Path, str], ...]
    errors: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[Path, str], ...] = ()
    idle: tuple[str, ...] = ()


class _Collector:
    def __init__(
        self,
        exclude: Sequence[Path],
        patterns: Sequence[str],
        root: Path | None,
        is_store: Callable[[Path], bool],
    ) -> None:
        self.root = root
        self.patterns = dict.fromkeys(patterns, False)  # whether each has left out something
        self.is_store = is_store
        self.looked_at: set[Path] = set()
        self.left_out: dict[Path, str] = {}
        self.excluded = [Path(os.path.realpath(path)) for path in exclude]
        self.sources: dict[str, Source] = {}  # by real path
        self.identities: dict[str, Path] = {}
        self.skipped: dict[Path, str] = {}
        self.errors: dict[tuple[str, str], None] = {}

    def excludes(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return any(real == place or place in real.parents for place in self.excluded)

    def leaves_out(self, path: Path, root: Path) -> bool:
        """Whether a pattern matches a file or folder, by its name or its path below the argument."""
        below = path.relative_to(root).as_posix() if path != root else path.name
        fitting = [
            pattern
            for pattern in self.patterns
            if fnmatchcase(below if "/" in pattern else path.name, pattern.strip("/"))
        ]
        self.patterns.update(dict.fromkeys(fitting, True))
        return bool(fitting)

    def passes_over(self, folder: Path) -> bool:
        """Whether a folder is skipped, unless it was named itself."""
        if folder not in self.looked_at:
            self.looked_at.add(folder)
            if folder.name in _OF_TOOLS:
                self.left_out[folder] = later("what tools have installed")
            elif self._holds_store(folder):
                self.left_out[folder] = _STORE
        return folder in self.left_out

    def _holds_store(self, folder: Path) -> bool:
        try:
            return self.is_store(folder)
        except OSError:  # one that may not be looked into; that is told where its files are asked for
            return False

    def found(self, path: Path, root: Path) -> None:
        """A file below a folder or matched by a glob."""
        try:
            regular = stat.S_ISREG(path.stat().st_mode)
        except OSError as error:
            reason = why_unreadable(error, path)
            if suffix_of(path.name) in SUPPORTED:
                self.fail(str(path), reason)
            else:
                self.skipped[path] = reason
            return
        if not regular:
            self.skipped[path] = tr(NOT_REGULAR)
        elif why := self.no_text(path):
            self.skipped[path] = why
        else:
            self.add(path, root)

    def no_text(self, path: Path) -> str | None:
        """Why a file is skipped: it is RDF, has no reader, or is no text. None if it is read."""
        suffix = suffix_of(path.name)
        if suffix in SUPPORTED:
            return None
        if suffix in RDF:
            return tr(IS_RDF)
        if suffix in OF_WING_FORMATS:
            return no_reader(suffix)
        try:
            with path.open("rb") as file:
                sample = file.read(SAMPLE)
            if inner_name(path.name) != path.name:
                sample = beginning(sample, SAMPLE)
        except OSError:
            return None  # reading it tells why
        return None if is_text(sample) else _EMPTY if not sample.strip() else _BINARY

    def add(self, path: Path, root: Path) -> None:
        real = os.path.realpath(path)
        identity = _identity(path, self.root or root)
        if real in self.sources:
            return
        if identity in self.identities:
            self.fail(
                str(path),
                tr(
                    "would be called {identity}, like {other}; name their common folder, or rename one"
                ).format(identity=identity, other=self.identities[identity]),
            )
            return
        self.sources[real] = Source(path, identity, real)
        self.identities[identity] = path

    def fail(self, argument: str, reason: str) -> None:
        self.errors[argument, reason] = None


def _no_store(folder: Path) -> bool:
    del folder
    return False


def discover(
    arguments: Sequence[str],
    *,
    exclude: Sequence[Path] = (),
    patterns: Sequence[str] = (),
    root: Path | None = None,
    is_store: Callable[[Path], bool] = _no_store,
) -> Discovery:
    """Find the documents that files, folders and globs name.

    Folders are searched recursively. Hidden files and folders, stores, installed packages (node_modules)
    and folders behind symbolic links are skipped; symbolic links to files are followed. A folder that is
    named itself is searched unless it is a store. Globs know `*`, `?`, `[…]` and `**`; an existing name
    with such characters is not a glob. Nothing is raised: missing files are reported.

    Args:
        arguments: as typed.
        exclude: folders never to search, e.g. the store's.
        patterns: globs of files and folders to leave out: of a name, or, with "/", of a path below what was
            named.
        root: folder by which all documents are named, whatever argument named them; it is absolute and above
            all arguments. None takes the folder that was named.
        is_store: whether a folder is a store of ours, whose files are no documents.
    """
    collector = _Collector(exclude, patterns, root, is_store)
    for argument in arguments:
        path = Path(argument)
        try:
            if not argument:
                collector.fail(argument, tr("an empty name"))
            elif not os.path.lexists(path) and _MAGIC & set(argument):
                _glob(path, collector)
            else:
                _named(path, argument, collector)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            collector.fail(argument, why_unreadable(error, path))
    return Discovery(
        tuple(collector.sources.values()),
        tuple(collector.skipped.items()),
        tuple(collector.errors),
        tuple(collector.left_out.items()),
        tuple(pattern for pattern, used in collector.patterns.items() if not used),
    )


def _named(path: Path, argument: str, collector: _Collector) -> None:
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        if collector.is_store(path):  # also of a shell's `*`, so it is no error
            collector.left_out[path] = _STORE
            return
        for file in _walk(path, collector):
            collector.found(file, path)
    elif collector.excludes(path):
        collector.fail(argument, tr("belongs to the store"))
    elif not stat.S_ISREG(mode):
        collector.fail(argument, tr(NOT_REGULAR))
    elif why := collector.no_text(path):
        collector.skipped[path] = why
    elif not collector.leaves_out(path, path):
        collector.add(path, path.absolute().parent)


def _walk(root: Path, collector: _Collector) -> Iterator[Path]:
    files: list[Path] = []

    def unreadable(error: OSError) -> None:
        name = os.fsdecode(error.filename or root)
        collector.fail(name, why_unreadable(error, Path(name)))

    for name, folders, names in os.walk(root, onerror=unreadable):
        here = Path(name)
        if collector.excludes(here):
            folders.clear()
            continue
        folders[:] = [
            folder
            for folder in folders
            if not folder.startswith(_HIDDEN)
            and not collector.passes_over(here / folder)
            and not collector.leaves_out(here / folder, root)
        ]
        for folder in folders:
            if (here / folder).is_symlink():
                collector.skipped[here / folder] = _LINK
        files += [
            here / file
            for file in names
            if not file.startswith(_HIDDEN) and not collector.leaves_out(here / file, root)
        ]
    yield from sorted(files, key=lambda file: file.relative_to(root).as_posix())


def _glob(path: Path, collector: _Collector) -> None:
    fixed = next(number for number, part in enumerate(path.parts) if _MAGIC & set(part))
    root = Path(*path.parts[:fixed])
    pattern = str(Path(*path.parts[fixed:]))
    # unlike glob.glob, Path.glob does not follow symbolic links to folders, which may lead in circles
    matches = {
        match
        for match in root.glob(pattern)
        if not any(part.startswith(_HIDDEN) for part in match.relative_to(root).parts)
        and not os.path.isdir(match)  # noqa: PTH112 - Path.is_dir raises where it may not look
        and not collector.excludes(match)
        and not _below(match, root, collector, named=set(path.parts))
    }
    if not matches:
        collector.fail(str(path), tr("matches no file"))
    for match in sorted(matches, key=lambda file: file.relative_to(root).as_posix()):
        below = [match, *(folder for folder in match.parents if folder != root and root in folder.parents)]
        if not any(collector.leaves_out(place, root) for place in below):
            collector.found(match, root)


def _below(match: Path, root: Path, collector: _Collector, *, named: set[str]) -> bool:
    """Whether a match of a glob is in a skipped folder that the glob does not name."""
    above = [folder for folder in match.parents if folder.is_relative_to(root) and folder != root]
    return any(collector.passes_over(folder) for folder in above if folder.name not in named)


def _identity(path: Path, root: Path) -> str:
    name = Path(os.path.abspath(root)).name  # noqa: PTH100 - must not follow symbolic links
    below = (path.absolute() if root.is_absolute() else path).relative_to(root).as_posix()
    whole = f"{name}/{below}" if name else below
    # names that are not valid UTF-8 reach Python as lone surrogates, which RDF cannot carry
    return unicodedata.normalize("NFC", os.fsencode(whole).decode("utf-8", "backslashreplace"))
