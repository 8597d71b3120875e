"""Whole databases: replacing one while others read it, and reading one through every index.

The database is in the folder `oxigraph`. Rewriting it creates a copy in `oxigraph.1` (then `.2` …). When the
copy is complete and verified, the file `oxigraph.current` is renamed to point to it. This rename is atomic:
after a kill, either the old database or the new one is used. The old folder is deleted after its last reader
has left. The next process that opens or closes the store alone renames the copy to `oxigraph`.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyoxigraph as ox
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad

from graphrag_rdf import layout
from graphrag_rdf.errors import StoreError
from graphrag_rdf.i18n import tr

_HASHES = (1 << 64) - 1


@dataclass(slots=True)
class Generation:
    """An open database.

    Attributes:
        engine: None after closing.
        folder: its files; None in memory.
        readers: number of blocks that use the engine.
        replaced: delete it after the last reader.
    """

    engine: ox.Store | None
    folder: Path | None
    readers: int = 0
    replaced: bool = False

    def remove(self) -> None:
        """Close it and delete its files; no reader may use it any more."""
        self.engine = None
        if self.folder is not None:
            layout.remove(self.folder, layout.DATABASE)  # `settle` deletes the rest


def folder_of(path: Path) -> Path:
    """The current folder of the database `path`; `path` itself if there is none yet."""
    try:
        named = _pointer(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return path
    copies = sorted(_copies(path), key=_number, reverse=True)
    first = [folder for folder in copies if folder.name == named]
    return next((folder for folder in (*first, path, *copies) if is_database(folder)), path)


def is_database(folder: Path) -> bool:
    """Whether a folder holds a database of the engine."""
    return (folder / "CURRENT").exists()


def settle(path: Path) -> Path:
    """Rename the database to `path` and delete everything else; return its folder.

    Only for the only process that has the store open, with the database closed.
    """
    _settle_older(path)
    database = folder_of(path)
    if is_database(database):
        with suppress(OSError):  # it stays in its folder
            if database != path:
                layout.remove(path, layout.DATABASE)
                database.rename(path)
                database = path
            _pointer(path).unlink(missing_ok=True)
            layout.remove_unfinished(path.parent)
        for copy in _copies(path):
            if copy != database:
                layout.remove(copy, layout.DATABASE)
    return database


def _settle_older(path: Path) -> None:
    """Finish the renaming of two folders by an older version of this program."""
    fresh, former = (path.with_name(f"{path.name}{suffix}") for suffix in (".new", ".old"))
    if not path.exists() and is_database(former):
        (fresh if is_database(fresh) else former).rename(path)
    for leftover in (fresh, former):
        layout.remove(leftover, layout.DATABASE)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a database at a moment, to be read once, in the thread that began."""

    quads: Iterator[Quad]
    graphs: tuple[NamedNode | BlankNode, ...]


def content_of(database: Generation) -> Content:
    """The content of an open database as it is now, whatever is written later."""
    assert database.engine is not None  # noqa: S101 - it is open
    return Content(iter(database.engine), tuple(database.engine.named_graphs()))


def write_anew(
    former: Generation, content: Content, path: Path | None, catch_up: Callable[[ox.Store], None]
) -> Generation:
    """Make a verified copy of a database the current one.

    Args:
        content: of the former one.
        path: None for a database in memory.
        catch_up: puts into the copy what was written meanwhile, and lets nothing be written from then on.

    Raises:
        OSError, StoreError, RuntimeError, ValueError: when the copy fails, or differs; then it is deleted,
        and
            the old database stays the current one.
    """
    if path is None:
        engine, _ = _fill(ox.Store(), content)
        catch_up(engine)
        return Generation(engine, None)
    folder = path.with_name(f"{path.name}.{max(map(_number, _copies(path)), default=0) + 1}")
    copy: ox.Store | None = None
    try:
        copy = _copied(content, folder)
        catch_up(copy)
        copy.flush()
        _require_same(former.engine is not None and len(copy) == len(former.engine))
        _name(path, folder, former.folder)
    except BaseException as error:
        copy = None
        traceback.clear_frames(error.__traceback__)  # their variables keep the copy open
        layout.remove(folder, layout.DATABASE)
        raise
    return Generation(copy, folder)


def _copied(content: Content, folder: Path) -> ox.Store:
    engine, written = _fill(ox.Store(str(folder)), content)
    engine.optimize()
    engine.flush()
    del engine
    engine = ox.Store(str(folder))
    _require_same(_tally(engine) == (written, set(content.graphs)))
    return engine


def _require_same(is_same: bool) -> None:
    if not is_same:
        raise StoreError(tr("the copy of the database differs from the database"))


def _fill(engine: ox.Store, content: Content) -> tuple[ox.Store, _Sum]:
    seen = _Sum()

    def counted(quads: Iterable[Quad]) -> Iterator[Quad]:
        for quad in quads:
            seen.add((quad,))
            yield quad

    engine.bulk_extend(counted(content.quads))
    for graph in content.graphs:  # empty ones too
        engine.add_graph(graph)
    return engine, seen


def _tally(engine: ox.Store) -> tuple[_Sum, set[object]]:
    """The quads and the named graphs."""
    tally = _Sum()
    tally.add(engine)
    return tally, set(engine.named_graphs())


def _name(path: Path, folder: Path, former: Path | None) -> None:
    """Make a folder the current one, also after a power loss."""
    try:
        _point(path, folder)
    except OSError:
        if former is not None:
            with suppress(OSError):
                _point(path, former)
        raise


def _point(path: Path, folder: Path) -> None:
    layout.write(_pointer(path), folder.name, durable=True)


def _pointer(path: Path) -> Path:
    return path.with_name(f"{path.name}.current")


def _copies(path: Path) -> list[Path]:
    name = re.compile(rf"{re.escape(path.name)}\.[0-9]{{1,18}}")
    return [folder for folder in path.parent.glob(f"{path.name}.*") if name.fullmatch(folder.name)]


def _number(folder: Path) -> int:
    return int(folder.name.rpartition(".")[2])


Graph: TypeAlias = NamedNode | BlankNode | DefaultGraph

_FILE = re.compile(r"[^\s:]*/(?:[0-9]+\.(?:sst|log)|MANIFEST-[0-9]+|CURRENT|OPTIONS-[0-9]+)")


def file_of(message: str) -> str | None:
    """The file that an error of the engine names."""
    match = _FILE.search(message)
    return match[0] if match else None


def engine_faults(engine: ox.Store) -> Iterator[str]:
    """Differences between the indexes of the engine, found by reading every quad through each of them.

    The engine stores each quad in three indexes, and in three more by graph, each in another order. A query
    reads the index that fits its pattern, so damage in another one goes unnoticed. The engine verifies a
    checksum of every block that it reads.

    Raises:
        OSError: when a block cannot be read; the message usually names its file.
    """
    graphs: list[Graph] = [DefaultGraph(), *engine.named_graphs()]
    whole = _Sum()
    whole.add(engine)
    if (counted := len(engine)) != whole.count:
        yield tr("the database counts {counted:,} quads but has {count:,}").format(
            counted=counted, count=whole.count
        )
    for part in ("subject", "predicate", "object"):
        yield from _compared(f"by {part}", whole, _by(engine, part, None))
    sums = {graph: _Sum() for graph in graphs}
    for quad in engine:
        sums.setdefault(quad.graph_name, _Sum()).add((quad,))
    for graph, expected in sums.items():
        place = (
            tr("in {graph}").format(graph=graph)
            if graph in graphs
            else tr("in {graph}, which is not listed,").format(graph=graph)
        )
        yield from _compared(place, expected, engine.quads_for_pattern(None, None, None, graph))
        for part in ("subject", "predicate", "object"):
            yield from _compared(f"{place} by {part}", expected, _by(engine, part, graph))


@dataclass(slots=True)
class _Sum:
    """The number of quads, and the sum of their hashes: equal for equal quads in any order."""

    count: int = 0
    total: int = 0

    def add(self, quads: Iterable[Quad]) -> None:
        for quad in quads:
            self.count += 1
            self.total = (self.total + hash(quad)) & _HASHES


def _compared(place: str, expected: _Sum, quads: Iterable[Quad]) -> Iterator[str]:
    actual = _Sum()
    actual.add(quads)
    if actual != expected:
        yield tr("the index {place} has {count:,} quads, or others, instead of {expected:,}").format(
            place=place, count=actual.count, expected=expected.count
        )


def _by(engine: ox.Store, part: str, graph: Graph | None) -> Iterator[Quad]:
    """All quads, found by each of their subjects, predicates or objects."""
    seen: set[int] = set()  # hashes: the terms would take several times the memory
    for quad in engine.quads_for_pattern(None, None, None, graph):
        term = getattr(quad, part)
        if (term_hash := hash(term)) in seen:
            continue
        seen.add(term_hash)
        pattern = {
            "subject": (term, None, None),
            "predicate": (None, term, None),
            "object": (None, None, term),
        }
        # For 255, the engine (0.5.13) also returns 256: it misses the end of a range at the byte 0xff.
        quads = engine.quads_for_pattern(*pattern[part], graph)
        yield from (quad for quad in quads if getattr(quad, part) == term)
