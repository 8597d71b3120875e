"""Replacing a database as a whole while others read it.

The database is in the folder `oxigraph`. Writing it anew makes a copy in `oxigraph.1` (then `.2` …). When the
copy is whole and verified, the file `oxigraph.current` names it. That one rename is the whole replacement: a
killed process leaves the old database or the new one. The old folder goes when its last reader has left. The
next process that opens or closes the store alone gives the copy the name `oxigraph` again.
"""

from __future__ import annotations

import os
import re
import shutil
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox
from pyoxigraph import Quad

from graphrag_rdf.errors import StoreError

_HASHES = (1 << 64) - 1


@dataclass(slots=True)
class Generation:
    """A database that is open.

    Attributes:
        engine: None once it is closed.
        folder: its files; None in memory.
        readers: blocks that use the engine now.
        replaced: it goes when the last of them ends.
    """

    engine: ox.Store | None
    folder: Path | None
    readers: int = 0
    replaced: bool = False

    def remove(self) -> None:
        """Close it and remove its files; nobody may use it any more."""
        self.engine = None
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)  # what is left goes with `settle`


def folder_of(path: Path) -> Path:
    """The folder in which the database `path` is now; `path` itself when there is none yet."""
    try:
        named = _pointer(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return path
    others = sorted(_copies(path), key=_number, reverse=True)
    first = [folder for folder in others if folder.name == named]
    return next((folder for folder in (*first, path, *others) if is_database(folder)), path)


def is_database(folder: Path) -> bool:
    """Whether a folder holds a database of the engine."""
    return (folder / "CURRENT").exists()


def settle(path: Path) -> Path:
    """Give the database the name `path` again and remove everything else; the folder that it is in.

    Only for who holds the store alone, with the database closed.
    """
    _settle_older(path)
    found = folder_of(path)
    if is_database(found):
        with suppress(OSError):  # then it stays where it is
            if found != path:
                shutil.rmtree(path, ignore_errors=True)
                found.rename(path)
                found = path
            _pointer(path).unlink(missing_ok=True)
            _unfinished(path).unlink(missing_ok=True)
        for copy in _copies(path):
            if copy != found:
                shutil.rmtree(copy, ignore_errors=True)
    return found


def _settle_older(path: Path) -> None:
    """Finish what a version of this program left that renamed two folders."""
    fresh, former = (path.with_name(f"{path.name}{suffix}") for suffix in (".new", ".old"))
    if not path.exists() and former.exists():
        (fresh if fresh.exists() else former).rename(path)
    for leftover in (fresh, former):
        shutil.rmtree(leftover, ignore_errors=True)


def write_anew(former: Generation, path: Path | None) -> Generation:
    """A verified copy of a database, which `path` names from now on; nobody may write meanwhile.

    Args:
        path: None for a database in memory.

    Raises:
        OSError, StoreError, RuntimeError, ValueError: when the copy cannot be made, or is not the same; it is
            removed then, and the old database is still the one that `path` names.
    """
    if path is None:
        assert former.engine is not None  # noqa: S101 - it is open
        return Generation(_fill(ox.Store(), former.engine)[0], None)
    folder = path.with_name(f"{path.name}.{max(map(_number, _copies(path)), default=0) + 1}")
    engine: ox.Store | None = None
    try:
        engine = _copied(former, folder)
        _name(path, folder, former.folder)
    except BaseException as error:
        engine = None
        traceback.clear_frames(error.__traceback__)  # they hold the copy open
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Generation(engine, folder)


def _copied(former: Generation, folder: Path) -> ox.Store:
    assert former.engine is not None  # noqa: S101 - it is open
    engine, written = _fill(ox.Store(str(folder)), former.engine)
    engine.optimize()
    engine.flush()
    del engine
    engine = ox.Store(str(folder))
    if _tally(engine) != (*written, set(former.engine.named_graphs())):
        raise StoreError("the copy of the database does not hold what the database holds")
    return engine


def _fill(engine: ox.Store, source: ox.Store) -> tuple[ox.Store, tuple[int, int]]:
    seen = [0, 0]

    def counted(quads: Iterable[Quad]) -> Iterator[Quad]:
        for quad in quads:
            seen[0] += 1
            seen[1] = (seen[1] + hash(quad)) & _HASHES
            yield quad

    engine.bulk_extend(counted(source))
    for graph in source.named_graphs():  # empty ones too
        engine.add_graph(graph)
    return engine, (seen[0], seen[1])


def _tally(engine: ox.Store) -> tuple[int, int, set[object]]:
    """How many quads there are, what their hashes add up to in any order, and the named graphs."""
    count = total = 0
    for quad in engine:
        count += 1
        total = (total + hash(quad)) & _HASHES
    return count, total, set(engine.named_graphs())


def _name(path: Path, folder: Path, former: Path | None) -> None:
    """Have `path` name a folder from now on, and after a loss of power."""
    try:
        _point(path, folder)
    except OSError:
        if former is not None:
            with suppress(OSError):
                _point(path, former)
        raise


def _point(path: Path, folder: Path) -> None:
    written = _unfinished(path)
    with written.open("w", encoding="ascii") as file:
        file.write(folder.name)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)
    written.replace(_pointer(path))
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _pointer(path: Path) -> Path:
    return path.with_name(f"{path.name}.current")


def _unfinished(path: Path) -> Path:
    return path.with_name(f"{path.name}.current.tmp")


def _copies(path: Path) -> list[Path]:
    name = re.compile(rf"{re.escape(path.name)}\.[0-9]{{1,18}}")
    return [folder for folder in path.parent.glob(f"{path.name}.*") if name.fullmatch(folder.name)]


def _number(folder: Path) -> int:
    return int(folder.name.rpartition(".")[2])
