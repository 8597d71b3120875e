"""The embedded store: Oxigraph in this process, in a folder or in memory.

Two rules of the engine (docs/architecture/templates.md, "What the engine punishes"): only one writer at a
time, because concurrent read-modify-write updates lose writes silently; and every result is read to its end
in the thread and function that ran the query, because a result touched by another thread ends the process.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, QueryBoolean, QueryTriples, Triple

from graphrag_rdf.errors import (
    RAISE_FILES,
    EvaluationError,
    StoreError,
    StoreLockedError,
    UsageError,
    is_out_of_files,
    short_cause,
)
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RAG, STORE_NODE, Graphs
from graphrag_rdf.sparql.complaints import complaint
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import Dialect, encode, encode_removal
from graphrag_rdf.store import generations
from graphrag_rdf.store.base import (
    Answer,
    Changes,
    Row,
    TemplateStore,
    commit_mark,
    commit_marks,
    run_query,
    write_found,
)
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.functions import functions
from graphrag_rdf.store.generations import Generation
from graphrag_rdf.store.lock import FolderLock
from graphrag_rdf.store.updates import data, drop_update, graph_update, placed, sequence

_LOCKED = re.compile(r"lock hold by|While lock file")  # a corrupt "block" is no lock
_DAMAGED = re.compile(r"Corruption|IO error: ")
_PASSING = ("No space left", "ermission denied", "Read-only file system", "File too large")
_PATIENCE = 60.0
"""Seconds to wait for readers of the old database, after it was rewritten."""

_LOGS = "*.log"
_LOG_BYTES = 32 << 20
"""Size of the engine's logs at which the program flushes them. They hold all writes since the last flush.
The engine keeps about twice as much in memory, slows down as it grows, and reads all of it again after a
kill. By itself it would wait until one of its eleven indexes has 128 MB."""

_ADDRESS_SPACE = 640 << 20
"""Bytes of address space, most of it stacks of the engine's threads; 560 MB are enough to open a store."""

_LOOK = 16
"""Number of commits between checks of the logs."""


class EmbeddedStore(TemplateStore):
    """Oxigraph in this process.

    Attributes:
        generation: number of times that the database was rewritten.
        notes_changes: changes of facts are noted for reasoning.
        functions: of queries, beside those of SPARQL.

    Args:
        templates: the query library.
        path: the folder of the database, created if missing; None for memory (see `generations`).
        dialect: `rdf12`; `classic` stores statements as RDF 1.1 reification (used to prove templates).
        read_only: write nothing into the folder, and take no lock; no other process may write meanwhile.
        blobs: what `rag:text` reads in queries.

    Raises:
        StoreLockedError: when another process holds the folder.
        StoreError: when the folder cannot be opened.
    """

    notes_changes = True

    def __init__(
        self,
        templates: TemplateLibrary,
        path: Path | None = None,
        dialect: Dialect = "rdf12",
        *,
        read_only: bool = False,
        blobs: BlobStore | None = None,
    ) -> None:
        facts_graph = Graphs.FACTS if dialect == "classic" else None
        super().__init__(templates, dialect, facts_graph, lateral=dialect != "classic")
        self.path = path
        self.blobs = blobs
        self.functions = functions(blobs)
        self.read_only = read_only
        self.generation = 0
        self._lock = None if path is None or read_only else _lock(path)
        self._news = threading.Condition()  # notified when readers leave
        self._rewriting = threading.RLock()  # before the next; traces are written without it
        self._write_lock = threading.RLock()
        self._meanwhile: list[Quad] | None = None  # traces written while the database is rewritten
        self._database: Generation | None = None
        try:
            self._database = _open(path, read_only=read_only)
            with _read_errors(path):
                self._commit = self._knowledge_commit = self._read_number(RAG.commit)
                self._content_commit = self._read_number(RAG.contentCommit)
        except BaseException:
            self._database = None
            self._unlock()
            raise

    # --- reading -----------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[ox.Store]:
        """The engine, for the length of a block. Its files stay, even if the database is rewritten.

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
            raise StoreError(tr("the store is closed"))
        return database, database.engine

    @property
    def _engine(self) -> ox.Store:
        """The engine; only with the write lock."""
        return self._opened()[1]

    @property
    def folder(self) -> Path | None:
        """The current folder of the database; None in memory."""
        return self._opened()[0].folder

    def query(self, sparql: str, *, union: bool = False) -> Answer:
        """See `Store.query`.

        Raises:
            UsageError: when the query is malformed.
        """
        with self.reading() as engine, _query_errors(sparql):
            results = run_query(
                engine, sparql, custom_functions=self.functions, **_dataset(engine, union=union)
            )
            try:
                if isinstance(results, QueryBoolean):
                    return Answer(boolean=bool(results))
                if isinstance(results, QueryTriples):
                    return Answer(triples=list(results))
                names = tuple(variable.value for variable in results.variables)
                rows: list[Row] = [
                    {name: term for name, term in zip(names, solution, strict=True) if term is not None}
                    for solution in results
                ]
                return Answer(variables=names, rows=rows)
            finally:
                del results  # an error's traceback would keep it, and another thread may free that

    def write_results(self, sparql: str, output: IO[bytes], media_type: str, *, union: bool = False) -> None:
        """See `Store.write_results`."""
        with self.reading() as engine, _query_errors(sparql):
            dataset = _dataset(engine, union=union)
            results = run_query(engine, sparql, custom_functions=self.functions, **dataset)
            write_found(results, output, media_type)

    def has_graph(self, graph: NamedNode) -> bool:
        """Whether there is a named graph, even an empty one."""
        with self.reading() as engine:
            return engine.contains_named_graph(graph)

    def graphs(self) -> Iterator[NamedNode | BlankNode]:
        """The names of all named graphs, even empty ones."""
        with self.reading() as engine:
            yield from engine.named_graphs()

    def __len__(self) -> int:
        with self.reading() as engine:
            return len(engine)

    def count(self) -> int:
        """See `Store.count`; here the engine knows the number."""
        return len(self)

    def quads(self, graph: NamedNode | None = None) -> Iterator[Quad]:
        """All quads, or those of one graph (for tests and dumps; not for retrieval)."""
        with self.reading() as engine:
            yield from engine.quads_for_pattern(None, None, None, graph)

    # --- writing -----------------------------------------------------------------------------------

    def commit(self, changes: Changes) -> int:
        """See `Store.commit`.

        Raises:
            StoreError: when the disk or the engine fails; then nothing is changed.
            TemplateError: when an update has invalid parameters.
        """
        if not changes:
            return self._commit
        self._require_writable()
        adds_trace = changes.trace and not (changes.updates or changes.remove)
        with nullcontext() if adds_trace else self._rewriting, self._write_lock, _write_errors(self.path):
            number = self._commit + 1
            added = [*changes.add, *self._notes(changes)]
            add = self._placed(encode(added, self.renderer.dialect))
            marks = commit_marks(number, content=changes.content)
            if changes.updates or changes.remove:
                parts = [self.render(name, **values) for name, values in changes.updates]
                remove = self._placed(encode_removal(changes.remove, self.renderer.dialect))
                parts += [data("DELETE", remove), data("INSERT", [*add, *marks])]
                self._engine.update(sequence(parts))
            else:
                self._engine.extend([*add, *marks])
                if self._meanwhile is not None:
                    self._meanwhile += add
            return self._advance(number, content=changes.content, trace=changes.trace)

    def update(self, sparql: str, base: str | None = None, *, content: bool = True) -> int:
        """See `Store.update`.

        Args:
            base: base IRI of relative IRIs.
            content: whether it may change documents, facts or names.

        Raises:
            UsageError: when the update is malformed or cannot be evaluated; then nothing is changed.
        """
        with self._numbered(content=content), _query_errors(sparql):
            self._engine.update(sparql, base_iri=base)
        return self._commit

    def write_graph(self, graph: NamedNode | None, triples: Iterable[Triple], *, replace: bool) -> int:
        """Put triples into a graph, in one transaction; return the new commit number.

        Args:
            graph: created if missing; None for the default graph.
            replace: remove its former triples.
        """
        return self.update(graph_update(graph, triples, replace=replace))

    def write_quads(self, quads: Iterable[Quad]) -> int:
        """Put quads into their graphs, in one transaction; return the new commit number.

        Blank nodes keep their names, and may name graphs.
        """
        with self._numbered():
            self._engine.extend(quads)
        return self._commit

    def drop_graph(self, graph: NamedNode | None) -> int:
        """Drop a graph, or empty the default graph; return the new commit number."""
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
        with self._rewriting, self._write_lock:
            self._engine.optimize()

    def purge(self) -> str | None:
        """Rewrite the database, so that its files hold no removed data.

        The engine keeps the text of every literal that was ever stored, even after `optimize`. Rewriting
        takes about as long as loading the store, and as much disk space again. Readers continue, and so do
        questions, whose traces are put into both; other writers wait. After a kill, either the old database
        or the new one is used (see `generations`).

        Raises:
            StoreError: when the disk fails, or the new database differs from the old one, which then stays in
                use.
        """
        with self._rewriting, ExitStack() as until_switched, _write_errors(self.path):
            with self._write_lock:
                former, copied = self._opened()[0], self._commit
                content = generations.content_of(former)
                self._meanwhile = []
            until_switched.callback(setattr, self, "_meanwhile", None)

            def catch_up(copy: ox.Store) -> None:
                until_switched.enter_context(self._write_lock)
                until_switched.callback(setattr, self, "_meanwhile", None)  # before the lock is released
                copy.extend([*(self._meanwhile or ()), commit_mark(RAG.commit, self._commit)])
                if copied != self._commit:
                    copy.remove(commit_mark(RAG.commit, copied))

            fresh = generations.write_anew(former, content, self.path, catch_up)
            del content  # which reads the old database
            with self._news:
                self._database = fresh
                self.generation += 1
                former.replaced = True
        with self._news:
            if not self._news.wait_for(lambda: former.readers == 0, _PATIENCE):
                return tr("a reader still uses the old database; its files are removed when the reader ends")
            former.remove()
        return None

    def refresh(self) -> None:
        """See `Store.refresh`: no other process can write."""

    def sync(self) -> None:
        """See `Store.sync`: syncs the engine's logs, which may still be in the system's buffers."""
        if self.path is not None and not self.read_only:
            with self.reading(), _write_errors(self.path):
                folder = self.folder
                assert folder is not None  # noqa: S101 - it is not in memory
                for log in folder.glob(_LOGS):
                    _sync(log, os.O_RDWR)  # Windows syncs writable files only
                if os.name == "posix":
                    _sync(folder, os.O_RDONLY)  # the directory entries of the logs

    def flush(self) -> None:
        """See `Store.flush`."""
        if self.path is not None and not self.read_only:
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
            if self.path is not None and not self.read_only and alone:
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

    def knowledge_commit(self) -> int:
        """See `Store.knowledge_commit`."""
        return self._knowledge_commit

    def _read_number(self, predicate: NamedNode) -> int:
        """The greatest number. Smaller ones, which a killed process left, are removed."""
        quads = list(self._engine.quads_for_pattern(STORE_NODE, predicate, None, Graphs.SYSTEM))
        quads.sort(key=lambda quad: int(quad.object.value))  # type: ignore[union-attr]
        if not self.read_only:
            for quad in quads[:-1]:
                self._engine.remove(quad)
        return int(quads[-1].object.value) if quads else 0  # type: ignore[union-attr]

    def _inference_marks(self) -> list[Quad]:
        """The triple that says that inferences are complete, but for noted changes."""
        pattern = (STORE_NODE, RAG.inferredBy, None, Graphs.SYSTEM)
        return list(self._engine.quads_for_pattern(*pattern))

    def _notes(self, changes: Changes) -> list[Quad]:
        """Copies of changed facts for the next update of inferences; none while none are kept.

        Templates that change facts write their own.
        """
        if changes.trace or not self._inference_marks():
            return []
        facts = (DefaultGraph(), Graphs.FACTS)
        changed = (quad for quad in (*changes.add, *changes.remove) if quad.graph_name in facts)
        return [Quad(quad.subject, quad.predicate, quad.object, Graphs.CHANGED) for quad in changed]

    def _placed(self, quads: Iterable[Quad]) -> list[Quad]:
        return list(placed(quads, self.renderer.facts_graph))

    @contextmanager
    def _numbered(self, *, content: bool = True) -> Iterator[None]:
        """Number a write that is not a `Changes`: a bulk load, or an update given as text.

        The number is stored before the data. If the process is killed in between, the indexes check for
        changes in vain; the other order could make them miss some.
        """
        self._require_writable()
        with self._rewriting, self._write_lock, _write_errors(self.path):
            marks = commit_marks(self._commit + 1, content=content)
            self._engine.extend(marks)
            if content:  # nobody knows what it changes, so the next inferences are made from scratch
                for mark in self._inference_marks():
                    self._engine.remove(mark)
            try:
                yield
            except BaseException:
                for mark in marks:
                    self._engine.remove(mark)
                raise
            self._engine.extend(marks)  # DROP ALL removes them
            self._advance(self._commit + 1, content=content)

    def _require_writable(self) -> None:
        if self.read_only:
            raise StoreError(
                (
                    tr("the store {place} is open for reading only").format(place=self.path.parent)
                    if self.path
                    else tr("the store in memory is open for reading only")
                ),
                hint=tr(
                    "leave out --at and --read-only; if you lack the permission, change it, or copy the store"
                ),
            )

    def _advance(self, number: int, *, content: bool, trace: bool = False) -> int:
        # The new number is already stored with the data. A crash leaves both; the greater one counts.
        if self._commit:
            self._engine.remove(commit_mark(RAG.commit, self._commit))
        if content:
            if self._content_commit:
                self._engine.remove(commit_mark(RAG.contentCommit, self._content_commit))
            self._content_commit = number
        self._commit = number
        if not trace:
            self._knowledge_commit = number
        if number % _LOOK == 0:
            self._flush_if_much()
        return number

    def _flush_if_much(self) -> None:
        if self.path is None:
            return
        with suppress(OSError):  # all writes are in the logs; the next write reports the error
            database, engine = self._opened()
            assert database.folder is not None  # noqa: S101 - it is not in memory
            if sum(log.stat().st_size for log in database.folder.glob(_LOGS)) > _LOG_BYTES:
                engine.flush()


def _sync(path: Path, flags: int) -> None:
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:  # the engine has flushed and removed this log
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(path: Path) -> FolderLock:
    """The lock of an open store. The engine's own lock is in the folder that a rewrite replaces."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        return FolderLock(lock)
    except StoreLockedError as error:
        raise StoreLockedError(tr("the store {parent} is in use").format(parent=path.parent)) from error


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
            raise StoreLockedError(tr("the store {parent} is in use").format(parent=path.parent)) from error
        raise StoreError(
            tr("cannot open the store {parent}: {error}").format(parent=path.parent, error=_cause(error)),
            hint=_way_out(error),
        ) from error


def _cause(error: Exception) -> str:
    cause = short_cause(error)
    if is_out_of_files(cause) and (limit := process_limit("RLIMIT_NOFILE")) is not None:
        return tr("this process may open only {limit} files at once (ulimit -n)").format(limit=limit)
    return cause


def _require_memory(path: Path) -> None:
    """Raise StoreError with too little memory for the engine's threads, which would end the process."""
    limit = process_limit("RLIMIT_AS")
    if limit is not None and limit < _ADDRESS_SPACE:
        raise StoreError(
            tr(
                "cannot open the store {parent}: it needs {needed} MB of memory, and this "
                "process may use only {limit} MB (ulimit -v)"
            ).format(parent=path.parent, needed=_ADDRESS_SPACE >> 20, limit=limit >> 20),
            hint=tr("raise the limit: ulimit -v unlimited"),
        )


def process_limit(name: str) -> int | None:
    """A limit of this process; None for no limit, or if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(getattr(resource, name))[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _way_out(error: Exception) -> str:
    """The hint for a store that does not open; the engine gives the cause as text only."""
    if is_out_of_files(str(error)):
        return tr(RAISE_FILES)
    if any(cause in str(error) for cause in _PASSING):
        return tr("check free space and permissions. Everything committed before is intact")
    return tr("restore it from a backup, or ingest again into a new folder")


def _dataset(engine: ox.Store, *, union: bool) -> dict[str, Any]:
    """The dataset of a query, as arguments of the engine; the bookkeeping is no part of a union."""
    if not union:
        return {}
    named = [graph for graph in engine.named_graphs() if graph != Graphs.SYSTEM]
    return {"default_graph": [DefaultGraph(), *named], "named_graphs": named}


@contextmanager
def _query_errors(sparql: str) -> Iterator[None]:
    try:
        yield
    except SyntaxError as error:
        raise UsageError(complaint(sparql, error)) from error.with_traceback(None)
    except (OSError, ValueError, RuntimeError) as error:  # OSError: of what SERVICE or LOAD calls
        if _DAMAGED.search(str(error)) or getattr(error, "errno", None) is not None:
            raise
        raise EvaluationError(
            tr("cannot evaluate the SPARQL: {error}").format(error=error)
        ) from error.with_traceback(None)


def _called(path: Path | None) -> str:
    """A store in messages."""
    return tr("the store {folder}").format(folder=path.parent) if path else tr("the store in memory")


@contextmanager
def _read_errors(path: Path | None) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        if not _DAMAGED.search(str(error)):
            raise
        damage = tr("find the damage with: graphrag-rdf check --full; then restore the store from a backup")
        cause, hint = (
            (_cause(error), tr(RAISE_FILES)) if is_out_of_files(str(error)) else (str(error), damage)
        )
        raise StoreError(
            tr("cannot read {store}: {error}").format(store=_called(path), error=cause), hint=hint
        ) from error.with_traceback(None)


@contextmanager
def _write_errors(path: Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            tr("cannot write {store}: {error}").format(store=_called(path), error=_cause(error)),
            hint=(
                tr("{way_out}. Everything committed before is intact").format(way_out=tr(RAISE_FILES))
                if is_out_of_files(str(error))
                else tr("check free space and permissions. Everything committed before is intact")
            ),
        ) from error
    except (SyntaxError, ValueError, RuntimeError) as error:
        raise StoreError(
            tr("{store} rejected a change: {error}").format(store=_called(path), error=short_cause(error)),
            hint=tr("nothing was written"),
        ) from error
