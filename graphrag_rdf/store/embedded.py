"""The embedded store: Oxigraph in this process, in a folder or in memory.

What the engine asks of us (docs/architecture.md, "What the engine punishes"): one writer at a time, since two
read-modify-write updates at once lose writes silently; and every result is read to its end in the
thread and function that asked for it, since a result touched by another thread ends the process.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pyoxigraph as ox
from pyoxigraph import BlankNode, NamedNode, Quad, QueryBoolean, QueryTriples, Triple

from graphrag_rdf.errors import (
    RAISE_FILES,
    StoreError,
    StoreLockedError,
    UsageError,
    is_out_of_files,
    short_cause,
)
from graphrag_rdf.rdf.namespaces import RAG, STORE_NODE, Graphs
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.sparql.complaints import complaint
from graphrag_rdf.sparql.dialect import Dialect, encode, encode_removal
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store import generations
from graphrag_rdf.store.base import Answer, Changes, Row, TemplateStore
from graphrag_rdf.store.generations import Generation
from graphrag_rdf.store.lock import FolderLock
from graphrag_rdf.store.updates import data, drop_update, graph_update, placed, sequence
from graphrag_rdf.store.writing import write_found

_LOCKED = re.compile(r"lock hold by|While lock file")  # a corrupt "block" is no lock
_DAMAGED = re.compile(r"Corruption|IO error: ")
_PASSING = ("No space left", "ermission denied", "Read-only file system", "File too large")
_PATIENCE = 60.0
"""Seconds that writing the database anew waits for readers of the old one, before its files go."""

_LOGS = "*.log"
_LOG_BYTES = 32 << 20
"""Of the engine's logs from which on it is told to flush: they hold what was written since the last time.
About twice as much is in memory for them, writes take longer the more it is, and all of it is read again
after a kill. The engine would wait until one of its eleven indexes alone has 128 MB."""

_ADDRESS_SPACE = 640 << 20
"""Bytes of address space, most of it stacks of the engine's threads; 560 MB are enough to open a store."""

_LOOK = 16
"""Commits from one look at the logs to the next."""


class EmbeddedStore(TemplateStore):
    """Oxigraph in this process.

    Attributes:
        generation: how often the database was written anew.

    Args:
        templates: the query library.
        path: the folder of the database, made if missing; None for memory (see `generations`).
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
        self.generation = 0
        self._lock = None if path is None or read_only else _lock(path)
        self._news = threading.Condition()  # of readers that leave
        self._write_lock = threading.RLock()
        self._database: Generation | None = None
        try:
            self._database = _open(path, read_only=read_only)
            with _read_errors(path):
                self._commit = self._read_number(RAG.commit)
                self._content_commit = self._read_number(RAG.contentCommit)
        except BaseException:
            self._database = None
            self._unlock()
            raise

    # --- reading -----------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[ox.Store]:
        """The engine, for the length of a block: its files stay, also when the database is written anew.

        Raises:
            StoreError: when the store is closed.
        """
        with self._news:
            database, engine = self._opened()
            database.readers += 1
        try:
            with _read_errors(self.path):
                yield engine
        finally:
            del engine
            with self._news:
                database.readers -= 1
                if database.replaced and not database.readers:
                    database.remove()
                    self._news.notify_all()

    def _opened(self) -> tuple[Generation, ox.Store]:
        database = self._database
        if database is None or database.engine is None:
            raise StoreError("the store is closed")
        return database, database.engine

    @property
    def _engine(self) -> ox.Store:
        """The engine, for who holds the lock of writers."""
        return self._opened()[1]

    @property
    def folder(self) -> Path | None:
        """Where the files of the database are now; None in memory."""
        return self._opened()[0].folder

    def query(self, sparql: str) -> Answer:
        """See `Store.query`.

        Raises:
            UsageError: when the query is malformed.
        """
        with self.reading() as engine, _query_errors(sparql):
            found = engine.query(sparql)
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
        with self.reading() as engine, _query_errors(sparql):
            write_found(engine.query(sparql), output, media_type)

    def has_graph(self, graph: NamedNode) -> bool:
        """Whether there is a named graph, be it empty."""
        with self.reading() as engine:
            return engine.contains_named_graph(graph)

    def graphs(self) -> Iterator[NamedNode | BlankNode]:
        """The names of named graphs, be they empty."""
        with self.reading() as engine:
            yield from engine.named_graphs()

    def __len__(self) -> int:
        with self.reading() as engine:
            return len(engine)

    def count(self) -> int:
        """See `Store.count`; here it costs nothing."""
        return len(self)

    def quads(self, graph: NamedNode | None = None) -> Iterator[Quad]:
        """All quads, or those of one graph (for tests and dumps; not for retrieval)."""
        with self.reading() as engine:
            yield from engine.quads_for_pattern(None, None, None, graph)

    # --- writing -----------------------------------------------------------------------------------

    def commit(self, changes: Changes) -> int:
        """See `Store.commit`.

        Raises:
            StoreError: when the disk or the engine refuses; nothing of the changes is left.
            TemplateError: when an update has unfit parameters.
        """
        if not changes:
            return self._commit
        self._require_writable()
        with self._write_lock, _write_errors(self.path):
            number = self._commit + 1
            add = self._placed(encode(changes.add, self.renderer.dialect))
            marks = self._marks(number, content=changes.content)
            if changes.updates or changes.remove:
                parts = [self.render(name, **values) for name, values in changes.updates]
                remove = self._placed(encode_removal(changes.remove, self.renderer.dialect))
                parts += [data("DELETE", remove), data("INSERT", [*add, *marks])]
                self._engine.update(sequence(parts))
            else:
                self._engine.extend([*add, *marks])
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
            self._engine.update(sparql, base_iri=base)
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
            self._engine.extend(quads)
        return self._commit

    def drop_graph(self, graph: NamedNode | None) -> int:
        """Take a graph out, or empty the default graph; the new commit number."""
        return self.update(drop_update(graph))

    def bulk_add(self, quads: Iterable[Quad]) -> int:
        """See `Store.bulk_add`."""
        with self._numbered():
            encoded = encode(quads, self.renderer.dialect)
            self._engine.bulk_extend(placed(encoded, self.renderer.facts_graph))
        return self._commit

    def snapshot(self, folder: Path) -> None:
        """A consistent copy in a new folder, by hard links on the same filesystem (milliseconds)."""
        with self.reading() as engine, _write_errors(self.path):
            engine.backup(str(folder))

    def optimize(self) -> None:
        """See `Store.optimize`."""
        with self._write_lock:
            self._engine.optimize()

    def purge(self) -> str | None:
        """Write the database anew, so that nothing that was removed is left in its files.

        The engine keeps the text of every literal that it ever saw; `optimize` does not take it out.
        Takes about as long as loading the store, and as much disk again. Readers go on meanwhile, writers
        wait. A process that is killed leaves the old database or the new one (see `generations`).

        Raises:
            StoreError: when the disk refuses, or the new database is not the same; the old one is still there
                then, and in use.
        """
        with self._write_lock, _write_errors(self.path):
            former = self._opened()[0]
            fresh = generations.write_anew(former, self.path)
            with self._news:
                self._database = fresh
                self.generation += 1
                former.replaced = True
        with self._news:
            if not self._news.wait_for(lambda: former.readers == 0, _PATIENCE):
                return "a reader still uses the old database: its files are removed when that ends"
            former.remove()
        return None

    def refresh(self) -> None:
        """See `Store.refresh`: nobody else writes."""

    def sync(self) -> None:
        """See `Store.sync`: the engine has written it to its logs, which the system may hold back still."""
        if self.path is not None and not self._read_only:
            with self.reading(), _write_errors(self.path):
                folder = self.folder
                assert folder is not None  # noqa: S101 - it is not in memory
                for log in folder.glob(_LOGS):
                    _sync(log, os.O_RDWR)  # Windows syncs only what may be written
                if os.name == "posix":
                    _sync(folder, os.O_RDONLY)  # that the logs are there at all

    def flush(self) -> None:
        """See `Store.flush`."""
        if self.path is not None and not self._read_only:
            with self.reading() as engine, _write_errors(self.path):
                engine.flush()

    def close(self) -> None:
        """See `Store.close`. Closing twice does nothing."""
        if self._database is None:
            return
        try:
            self.flush()
        finally:
            with self._news:
                database, self._database = self._database, None
                database.engine = None
                alone = not database.readers
            if self.path is not None and not self._read_only and alone:
                with suppress(OSError):
                    generations.settle(self.path)
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()

    # --- commit numbers ----------------------------------------------------------------------------

    def commit_number(self) -> int:
        """See `Store.commit_number`."""
        return self._commit

    def content_commit(self) -> int:
        """See `Store.content_commit`."""
        return self._content_commit

    def _read_number(self, predicate: NamedNode) -> int:
        """The greatest number; smaller ones, which a process left when it was killed, are taken out."""
        found = list(self._engine.quads_for_pattern(STORE_NODE, predicate, None, Graphs.SYSTEM))
        found.sort(key=lambda quad: int(quad.object.value))  # type: ignore[union-attr]
        if not self._read_only:
            for quad in found[:-1]:
                self._engine.remove(quad)
        return int(found[-1].object.value) if found else 0  # type: ignore[union-attr]

    def _placed(self, quads: Iterable[Quad]) -> list[Quad]:
        return list(placed(quads, self.renderer.facts_graph))

    @contextmanager
    def _numbered(self, *, content: bool = True) -> Iterator[None]:
        """Number a write that is not a `Changes`: a bulk load, or an update given as text.

        The number is stored before the data: a process that is killed between the two leaves indexes that
        look again for nothing, not indexes that miss something.
        """
        self._require_writable()
        with self._write_lock, _write_errors(self.path):
            marks = self._marks(self._commit + 1, content=content)
            self._engine.extend(marks)
            try:
                yield
            except BaseException:
                for mark in marks:
                    self._engine.remove(mark)
                raise
            self._engine.extend(marks)  # DROP ALL takes them too
            self._advance(self._commit + 1, content=content)

    def _require_writable(self) -> None:
        if self._read_only:
            place = self.path.parent if self.path else "in memory"
            raise StoreError(
                f"the store {place} is open for reading only",
                hint="if this user may not write to it, change the permissions of the folder, or copy it",
            )

    @staticmethod
    def _marks(number: int, *, content: bool) -> list[Quad]:
        predicates = (RAG.commit, RAG.contentCommit) if content else (RAG.commit,)
        return [_number_quad(predicate, number) for predicate in predicates]

    def _advance(self, number: int, *, content: bool) -> int:
        # The new number is already stored with the data; a crash here leaves both, and the greater counts.
        if self._commit:
            self._engine.remove(_number_quad(RAG.commit, self._commit))
        if content:
            if self._content_commit:
                self._engine.remove(_number_quad(RAG.contentCommit, self._content_commit))
            self._content_commit = number
        self._commit = number
        if number % _LOOK == 0:
            self._flush_if_much()
        return number

    def _flush_if_much(self) -> None:
        if self.path is None:
            return
        with suppress(OSError):  # what was written is in the logs; the next write tells what is wrong
            database, engine = self._opened()
            assert database.folder is not None  # noqa: S101 - it is not in memory
            if sum(log.stat().st_size for log in database.folder.glob(_LOGS)) > _LOG_BYTES:
                engine.flush()


def _sync(path: Path, flags: int) -> None:
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:  # the engine is done with it, and has what it said elsewhere
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(path: Path) -> FolderLock:
    """Held as long as the store is open: the engine's own lock is in the folder, which is replaced."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        return FolderLock(lock)
    except StoreLockedError as error:
        raise StoreLockedError(f"the store {path.parent} is in use") from error


def _open(path: Path | None, *, read_only: bool) -> Generation:
    if path is None:
        return Generation(ox.Store(), None)
    _require_memory(path)
    try:
        if read_only:
            folder = generations.folder_of(path)
            return Generation(ox.Store.read_only(str(folder)), folder)
        folder = generations.settle(path)
        folder.mkdir(parents=True, exist_ok=True)
        return Generation(ox.Store(str(folder)), folder)
    except (OSError, RuntimeError, ValueError) as error:
        if _LOCKED.search(str(error)):
            raise StoreLockedError(f"the store {path.parent} is in use") from error
        raise StoreError(
            f"the store {path.parent} cannot be opened: {_cause(error)}", hint=_way_out(error)
        ) from error


def _cause(error: Exception) -> str:
    said = short_cause(error)
    if is_out_of_files(said) and (limit := process_limit("RLIMIT_NOFILE")) is not None:
        return f"this process may open only {limit} files at once (ulimit -n)"
    return said


def _require_memory(path: Path) -> None:
    """Refuse to open a store where the engine's threads find no room: it would end the whole process."""
    limit = process_limit("RLIMIT_AS")
    if limit is not None and limit < _ADDRESS_SPACE:
        raise StoreError(
            f"the store {path.parent} cannot be opened: this process may use only {limit >> 20} MB of memory "
            f"(ulimit -v), and a store needs {_ADDRESS_SPACE >> 20}",
            hint="raise the limit: ulimit -v unlimited",
        )


def process_limit(name: str) -> int | None:
    """A limit of this process; None for no limit, or where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    found = resource.getrlimit(getattr(resource, name))[0]
    return None if found == resource.RLIM_INFINITY else found


def _way_out(error: Exception) -> str:
    """What helps when a store does not open: the engine tells the cause in words only."""
    if is_out_of_files(str(error)):
        return RAISE_FILES
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
        if _DAMAGED.search(str(error)):
            raise
        raise UsageError(f"the SPARQL cannot be evaluated: {error}") from error.with_traceback(None)


@contextmanager
def _read_errors(path: Path | None) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        if not _DAMAGED.search(str(error)):
            raise
        raise StoreError(
            f"the store {path.parent if path else 'in memory'} cannot be read: {error}",
            hint="graphrag-rdf check --full names what is damaged; restore it from a backup",
        ) from error.with_traceback(None)


@contextmanager
def _write_errors(path: Path | None) -> Iterator[None]:
    place = f"the store {path.parent}" if path else "the store in memory"
    try:
        yield
    except OSError as error:
        way = RAISE_FILES if is_out_of_files(str(error)) else "check free space and permissions"
        raise StoreError(
            f"{place} cannot be written: {_cause(error)}",
            hint=f"{way}; what was committed before is intact",
        ) from error
    except (SyntaxError, ValueError, RuntimeError) as error:
        raise StoreError(
            f"{place} refused a change: {short_cause(error)}", hint="nothing of it was written"
        ) from error
