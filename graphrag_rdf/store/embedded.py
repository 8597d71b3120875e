"""The embedded store: Oxigraph in this process, in a folder or in memory.

What the engine asks of us (docs/architecture.md, "What the engine punishes"): one writer at a time, since two
read-modify-write updates at once lose writes silently; and every result is read to its end in the
thread and function that asked for it, since a result touched by another thread ends the process.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pyoxigraph as ox
from pyoxigraph import NamedNode, Quad, QueryBoolean, QueryTriples, RdfFormat, Triple

from graphrag_rdf.errors import StoreError, StoreLockedError, UsageError
from graphrag_rdf.rdf.namespaces import RAG, STORE_NODE, Graphs
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.sparql.complaints import complaint
from graphrag_rdf.sparql.dialect import Dialect, encode, encode_removal
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.base import Answer, Changes, Row, TemplateStore
from graphrag_rdf.store.updates import data, drop_update, graph_update, placed, sequence
from graphrag_rdf.store.writing import write_found

_LOCKED = re.compile(r"lock hold by|While lock file")  # a corrupt "block" is no lock
_PASSING = ("No space left", "ermission denied", "Read-only file system", "File too large", "Too many open")
_FRESH, _FORMER = ".new", ".old"  # beside the database, while it is written anew

_LOGS = "*.log"
_LOG_BYTES = 32 << 20
"""Of the engine's logs from which on it is told to flush: they hold what was written since the last time.
About twice as much is in memory for them, writes take longer the more it is, and all of it is read again
after a kill. The engine would wait until one of its eleven indexes alone has 128 MB."""

_LOOK = 16
"""Commits from one look at the logs to the next."""


class EmbeddedStore(TemplateStore):
    """Oxigraph in this process.

    Args:
        templates: the query library.
        path: the folder of the database, made if missing; None for memory.
        dialect: `rdf12`; `classic` stores statements as RDF 1.1 reification (used to prove templates).
        read_only: write nothing at all into the folder, and take no lock; nobody may write meanwhile.

    Raises:
        StoreLockedError: when another process holds the folder.
        StoreError: when the folder cannot be opened.
    """

    def __init__(
        self,
        templates: TemplateLibrary,
        path: Path | None = None,
        dialect: Dialect = "rdf12",
        *,
        read_only: bool = False,
    ) -> None:
        facts_graph = Graphs.FACTS if dialect == "classic" else None
        super().__init__(templates, dialect, facts_graph, lateral=dialect != "classic")
        self.path = path
        self._read_only = read_only
        self._store = _open(path, read_only=read_only)
        self._write_lock = threading.RLock()
        self._commit = self._read_number(RAG.commit)
        self._content_commit = self._read_number(RAG.contentCommit)

    # --- reading -----------------------------------------------------------------------------------

    def query(self, sparql: str) -> Answer:
        """See `Store.query`.

        Raises:
            UsageError: when the query is malformed.
        """
        with _query_errors(sparql):
            found = self._store.query(sparql)
            try:
                if isinstance(found, QueryBoolean):
                    return Answer(boolean=bool(found))
                if isinstance(found, QueryTriples):
                    return Answer(triples=list(found))
                names = tuple(variable.value for variable in found.variables)
                rows: list[Row] = [
                    {name: term for name, term in zip(names, solution, strict=True) if term is not None}
                    for solution in found
                ]
                return Answer(variables=names, rows=rows)
            finally:
                del found  # not left to an error's traceback, which another thread may let go of

    def write_results(self, sparql: str, output: IO[bytes], media_type: str) -> None:
        """See `Store.write_results`."""
        with _query_errors(sparql):
            write_found(self._store.query(sparql), output, media_type)

    @property
    def engine(self) -> ox.Store:
        """The engine itself, for the server, which serialises answers straight to bytes."""
        return self._store

    def has_graph(self, graph: NamedNode) -> bool:
        """Whether there is a named graph, be it empty."""
        return self._store.contains_named_graph(graph)

    def __len__(self) -> int:
        return len(self._store)

    def count(self) -> int:
        """See `Store.count`; here it costs nothing."""
        return len(self._store)

    def quads(self, graph: NamedNode | None = None) -> Iterator[Quad]:
        """All quads, or those of one graph (for tests and dumps; not for retrieval)."""
        return self._store.quads_for_pattern(None, None, None, graph)

    # --- writing -----------------------------------------------------------------------------------

    def commit(self, changes: Changes) -> int:
        """See `Store.commit`.

        Raises:
            StoreError: when the disk or the engine refuses; nothing of the changes is left.
            TemplateError: when an update has unfit parameters.
        """
        if not changes:
            return self._commit
        with self._write_lock, _write_errors(self.path):
            number = self._commit + 1
            add = self._placed(encode(changes.add, self.renderer.dialect))
            marks = self._marks(number, content=changes.content)
            if changes.updates or changes.remove:
                parts = [self.render(name, **values) for name, values in changes.updates]
                remove = self._placed(encode_removal(changes.remove, self.renderer.dialect))
                parts += [data("DELETE", remove), data("INSERT", [*add, *marks])]
                self._store.update(sequence(parts))
            else:
                self._store.extend([*add, *marks])
            return self._advance(number, content=changes.content)

    def update(self, sparql: str, base: str | None = None, *, content: bool = True) -> int:
        """See `Store.update`.

        Args:
            base: against which relative IRIs are resolved.
            content: whether it may change what the search indexes hold.

        Raises:
            UsageError: when the update is malformed or cannot be evaluated; nothing of it is left.
        """
        with self._numbered(content=content), _query_errors(sparql):
            self._store.update(sparql, base_iri=base)
        return self._commit

    def write_graph(self, graph: NamedNode | None, triples: Iterable[Triple], *, replace: bool) -> int:
        """Put triples into a graph, in one transaction; the new commit number.

        Args:
            graph: made when it is missing; None for the default graph.
            replace: what it held goes.
        """
        return self.update(graph_update(graph, triples, replace=replace))

    def write_quads(self, quads: Iterable[Quad]) -> int:
        """Put quads into their graphs, in one transaction; the new commit number.

        Blank nodes keep their names, and may name graphs.
        """
        with self._numbered():
            self._store.extend(quads)
        return self._commit

    def drop_graph(self, graph: NamedNode | None) -> int:
        """Take a graph out, or empty the default graph; the new commit number."""
        return self.update(drop_update(graph))

    def bulk_add(self, quads: Iterable[Quad]) -> int:
        """See `Store.bulk_add`."""
        with self._numbered():
            encoded = encode(quads, self.renderer.dialect)
            self._store.bulk_extend(placed(encoded, self.renderer.facts_graph))
        return self._commit

    def load(self, source: Path, rdf_format: RdfFormat, graph: NamedNode | None = None) -> int:
        """Bulk load an RDF file, all of it or nothing; the new commit number.

        Raises:
            UsageError: when the file is missing or not of the format.
        """
        if not source.is_file():
            raise UsageError(f"{source} is not a file")
        with self._numbered():
            try:
                self._store.bulk_load(path=str(source), format=rdf_format, to_graph=graph)
            except (SyntaxError, ValueError) as error:
                raise UsageError(f"{source}: {error}") from error
        return self._commit

    def dump(self, output: IO[bytes], rdf_format: RdfFormat, graph: NamedNode | None = None) -> None:
        """Write the store, or one graph of it.

        A format without named graphs writes the default graph unless one is named.
        """
        if graph is not None:
            self._store.dump(output, rdf_format, from_graph=graph)
        elif rdf_format.supports_datasets:
            self._store.dump(output, rdf_format)
        else:
            self._store.dump(output, rdf_format, from_graph=ox.DefaultGraph())

    def snapshot(self, folder: Path) -> None:
        """A consistent copy in a new folder, by hard links on the same filesystem (milliseconds)."""
        with _write_errors(self.path):
            self._store.backup(str(folder))

    def optimize(self) -> None:
        """See `Store.optimize`."""
        with self._write_lock:
            self._store.optimize()

    def purge(self) -> bool:
        """Write the database anew, so that nothing that was removed is left in its files.

        The engine keeps the text of every literal that it ever saw; `optimize` does not take it out.
        Takes about as long as loading the store, and as much disk again while it does. A process that is
        killed meanwhile leaves the old database or the new one, whole.

        Raises:
            StoreError: when the disk refuses; the store is then as before.
        """
        with self._write_lock, _write_errors(self.path):
            if self.path is None:
                fresh = ox.Store()
                fresh.bulk_extend(self.quads())
                self._store = fresh
                return True
            place = self.path.with_name(f"{self.path.name}{_FRESH}")
            shutil.rmtree(place, ignore_errors=True)
            fresh = ox.Store(str(place))
            fresh.bulk_extend(self.quads())
            fresh.optimize()
            fresh.flush()
            del fresh, self._store
            self.path.rename(self.path.with_name(f"{self.path.name}{_FORMER}"))
            settle_purge(self.path)
            self._store = _open(self.path, read_only=False)
            return True

    def refresh(self) -> None:
        """See `Store.refresh`: nobody else writes."""

    def sync(self) -> None:
        """See `Store.sync`: the engine has written it to its logs, which the system may hold back still."""
        if self.path is not None and not self._read_only:
            with _write_errors(self.path):
                for log in self.path.glob(_LOGS):
                    _sync(log, os.O_RDWR)  # Windows syncs only what may be written
                if os.name == "posix":
                    _sync(self.path, os.O_RDONLY)  # that the logs are there at all

    def flush(self) -> None:
        """See `Store.flush`."""
        if self.path is not None and not self._read_only:
            with _write_errors(self.path):
                self._store.flush()

    def close(self) -> None:
        """See `Store.close`. Closing twice does nothing."""
        if hasattr(self, "_store"):
            try:
                self.flush()
            finally:
                del self._store

    # --- commit numbers ----------------------------------------------------------------------------

    def commit_number(self) -> int:
        """See `Store.commit_number`."""
        return self._commit

    def content_commit(self) -> int:
        """See `Store.content_commit`."""
        return self._content_commit

    def _read_number(self, predicate: NamedNode) -> int:
        """The greatest number; smaller ones, which a process left when it was killed, are taken out."""
        found = list(self._store.quads_for_pattern(STORE_NODE, predicate, None, Graphs.SYSTEM))
        found.sort(key=lambda quad: int(quad.object.value))  # type: ignore[union-attr]
        if not self._read_only:
            for quad in found[:-1]:
                self._store.remove(quad)
        return int(found[-1].object.value) if found else 0  # type: ignore[union-attr]

    def _placed(self, quads: Iterable[Quad]) -> list[Quad]:
        return list(placed(quads, self.renderer.facts_graph))

    @contextmanager
    def _numbered(self, *, content: bool = True) -> Iterator[None]:
        """Number a write that is not a `Changes`: a bulk load, or an update given as text.

        The number is stored before the data: a process that is killed between the two leaves indexes that
        look again for nothing, not indexes that miss something.
        """
        with self._write_lock, _write_errors(self.path):
            marks = self._marks(self._commit + 1, content=content)
            self._store.extend(marks)
            try:
                yield
            except BaseException:
                for mark in marks:
                    self._store.remove(mark)
                raise
            self._store.extend(marks)  # DROP ALL takes them too
            self._advance(self._commit + 1, content=content)

    @staticmethod
    def _marks(number: int, *, content: bool) -> list[Quad]:
        predicates = (RAG.commit, RAG.contentCommit) if content else (RAG.commit,)
        return [_number_quad(predicate, number) for predicate in predicates]

    def _advance(self, number: int, *, content: bool) -> int:
        # The new number is already stored with the data; a crash here leaves both, and the greater counts.
        if self._commit:
            self._store.remove(_number_quad(RAG.commit, self._commit))
        if content:
            if self._content_commit:
                self._store.remove(_number_quad(RAG.contentCommit, self._content_commit))
            self._content_commit = number
        self._commit = number
        if number % _LOOK == 0:
            self._flush_if_much()
        return number

    def _flush_if_much(self) -> None:
        if self.path is None:
            return
        with suppress(OSError):  # what was written is in the logs; the next write tells what is wrong
            if sum(log.stat().st_size for log in self.path.glob(_LOGS)) > _LOG_BYTES:
                self._store.flush()


def _sync(path: Path, flags: int) -> None:
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:  # the engine is done with it, and has what it said elsewhere
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def settle_purge(path: Path) -> None:
    """Bring a purge to its end: the new database is whole once the old one has stepped aside."""
    fresh, former = (path.with_name(f"{path.name}{suffix}") for suffix in (_FRESH, _FORMER))
    if not path.exists() and former.exists():
        (fresh if fresh.exists() else former).rename(path)
    for leftover in (fresh, former):
        shutil.rmtree(leftover, ignore_errors=True)


def _open(path: Path | None, *, read_only: bool) -> ox.Store:
    if path is None:
        return ox.Store()
    try:
        if read_only:
            return ox.Store.read_only(str(path))
        settle_purge(path)
        path.mkdir(parents=True, exist_ok=True)
        return ox.Store(str(path))
    except (OSError, RuntimeError, ValueError) as error:
        if _LOCKED.search(str(error)):
            raise StoreLockedError(f"the store {path.parent} is in use") from error
        raise StoreError(
            f"the store {path.parent} cannot be opened: {error}", hint=_way_out(error)
        ) from error


def _way_out(error: Exception) -> str:
    """What helps when a store does not open: the engine tells the cause in words only."""
    if any(cause in str(error) for cause in _PASSING):
        return "check free space and permissions; what was committed before is intact"
    return "restore it from a backup, or ingest again into a new folder"


def _number_quad(predicate: NamedNode, number: int) -> Quad:
    return Quad(STORE_NODE, predicate, integer(number), Graphs.SYSTEM)


@contextmanager
def _query_errors(sparql: str) -> Iterator[None]:
    try:
        yield
    except SyntaxError as error:
        raise UsageError(complaint(sparql, error)) from error.with_traceback(None)
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"the SPARQL cannot be evaluated: {error}") from error.with_traceback(None)


@contextmanager
def _write_errors(path: Path | None) -> Iterator[None]:
    place = f"the store {path.parent}" if path else "the store in memory"
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{place} cannot be written: {error}",
            hint="check free space and permissions; what was committed before is intact",
        ) from error
    except (SyntaxError, ValueError, RuntimeError) as error:
        raise StoreError(f"{place} refused a change: {error}", hint="nothing of it was written") from error
