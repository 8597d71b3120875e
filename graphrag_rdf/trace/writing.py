"""Writes what a run records, in order, in a thread beside the run: to store a step takes about as long as to
find what it tells, and the engine lets other threads work meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from weakref import WeakKeyDictionary, WeakSet

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.store.blobs import BlobStore

_threads: WeakKeyDictionary[Store, ThreadPoolExecutor] = WeakKeyDictionary()
_running: WeakKeyDictionary[Store, WeakSet[TraceWriter]] = WeakKeyDictionary()
_lock = threading.Lock()


def _thread_of(store: Store) -> ThreadPoolExecutor:
    """The one thread for all runs over a store, until `end_thread`.

    Not one for each run: RocksDB draws the heights of what it puts into a skip list from a generator of each
    thread, whose seed is the thread's place in memory. Threads that follow one another have the same place,
    so the same heights come again with every run, and lists become chains that are walked link by link.
    """
    with _lock:
        return _threads.setdefault(store, ThreadPoolExecutor(1, "trace"))


def end_thread(store: Store) -> None:
    """Wait for all that was begun over a store that is about to be closed, and end its thread."""
    with _lock:
        thread = _threads.pop(store, None)
    if thread is not None:
        thread.shutdown()


def bar_runs(store: Store) -> list[NamedNode]:
    """Let the runs that are under way write no more steps: they may have read what is forgotten now.

    Only runs of this process are known.

    Returns:
        their sessions, as far as these are stored.
    """
    with _lock:
        writers = list(_running.get(store, ()))
    for writer in writers:
        writer.barred = True
    if writers:
        _thread_of(store).submit(lambda: None).result()  # what is being written now is stored then
    return [writer.session for writer in writers if writer.begun]


class TraceWriter:
    """The writes of one run, each one transaction. After one that failed none is made, until `recover`.

    Args:
        store: where triples go.
        blobs: where long texts go, before the triples that name them.
        session: the run.

    Attributes:
        begun: something is stored.
        barred: nothing more is stored but the end, see `bar_runs`.
    """

    def __init__(self, store: Store, blobs: BlobStore, session: NamedNode) -> None:
        self._store = store
        self._blobs = blobs
        self.session = session
        self.begun = self.barred = False
        with _lock:
            _running.setdefault(store, WeakSet()).add(self)
        self._thread = _thread_of(store)
        self._last: Future[None] | None = None
        self._failure: Exception | None = None

    def write(self, quads: Sequence[Quad], texts: Sequence[str], *, last: bool = False) -> Future[None]:
        """Begin to write.

        Args:
            quads: not changed any more.
            texts: those that the quads name.
            last: also when the run is barred.

        Returns:
            what is done once all is written, or raises the `StoreError`.
        """
        try:
            self._last = self._thread.submit(self._work, quads, texts, last)
        except RuntimeError:  # the interpreter is ending, and starts no threads any more
            self._last = Future()
            self._work(quads, texts, last)
            self._last.set_result(None)
        return self._last

    def end(self, quads: Sequence[Quad]) -> None:
        """Write the end of the run, which no text of documents is in, and wait until it is stored.

        Raises:
            StoreError: when the store refuses.
        """
        if self.barred and not self.begun:
            return
        self.write(quads, (), last=True).result()
        with _lock:
            _running[self._store].discard(self)

    def recover(self) -> None:
        """Wait for what was begun, and go on although it failed; raises nothing."""
        if self._last is not None:
            self._last.exception()
        self._failure = None

    def _work(self, quads: Sequence[Quad], texts: Sequence[str], last: bool) -> None:
        if self._failure is not None:
            raise self._failure
        if self.barred and not last:
            return
        held: list[NamedNode] = []
        try:
            held += [self._blobs.put(text, hold=True) for text in texts]
            self._store.commit(Changes(add=list(quads), content=False))
            self.begun = True
        except Exception as error:
            self._failure = error
            raise
        finally:
            self._blobs.release(held)
